/* See peer.h. */
#include "bench/peer.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    WAIT_MS = 30000, /* longer than any measurement */
    END_MS = 10000,
    RECEIVED_MAX_BYTES = 64 << 20,
    READ_BYTES = 256 << 10
};

double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

void sleep_ms(double ms) {
    time_t seconds = (time_t)(ms / 1e3);
    const struct timespec gap = {.tv_sec = seconds,
                                 .tv_nsec = (long)((ms - (double)seconds * 1e3) * 1e6)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &gap, NULL);
}

bool peer_fail(struct peer *peer, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!peer->failed)
        report_problem(peer->report, "%s: %s", peer->name, text);
    peer->failed = true;
    return false;
}

/* The child after fork; async-signal-safe calls only. */
static _Noreturn void become(const char *const *arguments, int input, int output, pid_t parent) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* no process outlives an interrupted bench */
    if (getppid() == parent && dup2(input < 0 ? null : input, STDIN_FILENO) >= 0 &&
        dup2(output < 0 ? null : output, STDOUT_FILENO) >= 0 && dup2(null, STDERR_FILENO) >= 0)
        execvp(arguments[0], (char *const *)arguments);
    _exit(127);
}

bool peer_start(struct peer *peer, const char *name, struct report *report,
                const char *const *arguments) {
    *peer = (struct peer){.name = name,
                          .report = report,
                          .input = -1,
                          .output = -1,
                          .received = buffer_make(RECEIVED_MAX_BYTES)};
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
        return peer_fail(peer, "a pipe cannot be made: %s", strerror(errno));
    pid_t parent = getpid();
    peer->pid = fork();
    if (peer->pid == 0)
        become(arguments, to[0], from[1], parent);
    close(to[0]);
    close(from[1]);
    peer->input = to[1];
    peer->output = from[0];
    fcntl(peer->input, F_SETFL, O_NONBLOCK);
    fcntl(peer->output, F_SETFL, O_NONBLOCK);
    return peer->pid > 0 || peer_fail(peer, "it cannot be started: %s", strerror(errno));
}

/* PID is a child that has not been reaped. */
static void end_child(pid_t pid) {
    int fd = pidfd_open(pid, 0);
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (fd < 0 || poll(&ready, 1, END_MS) != 1)
        kill(pid, SIGKILL);
    if (fd >= 0)
        close(fd);
    waitpid(pid, NULL, 0);
}

void peer_finish(struct peer *peer) {
    if (peer->input >= 0)
        close(peer->input);
    if (peer->output >= 0)
        close(peer->output);
    if (peer->pid > 1)
        end_child(peer->pid);
    buffer_free(&peer->received);
    peer->pid = 0;
    peer->input = peer->output = -1;
    peer->failed = true;
}

static bool read_some(struct peer *peer) {
    unsigned char *space = buffer_reserve(&peer->received, READ_BYTES);
    if (!space)
        return peer_fail(peer, "it wrote more than %d bytes", RECEIVED_MAX_BYTES);
    ssize_t got = read(peer->output, space, READ_BYTES);
    if (got > 0) {
        peer->received.length += (size_t)got;
        return true;
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    return peer_fail(peer, "it closed its stdout");
}

/* Waits until there is something to read, or, if WRITING, something can be written; reads. */
static bool wait_and_read(struct peer *peer, bool writing) {
    struct pollfd ready[2] = {{.fd = peer->output, .events = POLLIN},
                              {.fd = peer->input, .events = POLLOUT}};
    int count = poll(ready, writing ? 2 : 1, WAIT_MS);
    if (count == 0)
        return peer_fail(peer, "no output for %d s", WAIT_MS / 1000);
    return count < 0 || !ready[0].revents || read_some(peer);
}

bool peer_send(struct peer *peer, const void *bytes, size_t size) {
    const unsigned char *next = bytes;
    while (!peer->failed && size) {
        ssize_t written = write(peer->input, next, size);
        if (written > 0) {
            next += written;
            size -= (size_t)written;
        } else if (errno == EAGAIN) {
            wait_and_read(peer, true);
        } else if (errno != EINTR) {
            peer_fail(peer, "it closed its stdin: %s", strerror(errno));
        }
    }
    return !peer->failed;
}

/* The first newline that was not returned, or NULL. */
static unsigned char *find_newline(struct peer *peer) {
    unsigned char *found =
        memchr(peer->received.data + peer->searched, '\n', peer->received.length - peer->searched);
    peer->searched = found ? (size_t)(found - peer->received.data) : peer->received.length;
    return found;
}

const char *peer_line(struct peer *peer, size_t *length) {
    if (peer->failed)
        return NULL;
    if (peer->taken == peer->received.length)
        peer->taken = peer->searched = peer->received.length = 0;
    unsigned char *end = NULL;
    while (peer->received.length == 0 || (end = find_newline(peer)) == NULL)
        if (!wait_and_read(peer, false))
            return NULL;
    unsigned char *line = peer->received.data + peer->taken;
    *end = '\0';
    peer->taken = peer->searched = (size_t)(end - peer->received.data) + 1;
    if (length)
        *length = (size_t)(end - line);
    return (const char *)line;
}

bool peer_await_lines(struct peer *peer, size_t count) {
    size_t seen = 0, at = peer->taken;
    while (!peer->failed && seen < count) {
        for (; at < peer->received.length && seen < count; at++)
            seen += peer->received.data[at] == '\n';
        if (seen < count)
            wait_and_read(peer, false);
    }
    return !peer->failed;
}

/* The processor time of PID, without its children, in milliseconds; also of one that has ended and
 * was not waited for. -1 if it is not known. */
static double own_time_ms(pid_t pid) {
    char path[64];
    unsigned long long ns;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
    FILE *file = fopen(path, "re");
    // NOLINTNEXTLINE(cert-err34-c): the kernel's own number fits
    bool good = file && fscanf(file, "%llu", &ns) == 1;
    if (file)
        fclose(file);
    return good ? (double)ns / 1e6 : -1;
}

double run_to_end_own_ms(struct report *report, const char *const *arguments, double *own_ms) {
    pid_t parent = getpid();
    double begin = now_ms();
    pid_t pid = fork();
    if (pid == 0)
        become(arguments, -1, -1, parent);
    int status = -1;
    siginfo_t info;
    if (pid > 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0)
        *own_ms = own_time_ms(pid);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        report_problem(report, "%s ended with wait status %d", arguments[0], status);
        *own_ms = -1;
        return -1;
    }
    return now_ms() - begin;
}

double run_to_end_ms(struct report *report, const char *const *arguments) {
    double own_ms;
    return run_to_end_own_ms(report, arguments, &own_ms);
}
