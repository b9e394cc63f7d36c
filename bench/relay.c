/* bench-relay [MIB KEPT]: the least that a server with a process for its work can do. A supervisor
 * passes each line of its standard input to a worker, by epoll and a socket pair, and the answer to
 * its standard output. With arguments the worker holds MIB of memory and forks after each answer,
 * and the last KEPT forks are kept; a line waits until the fork before it has been announced. Each
 * call writes PAGES pages, as one of Lisp does. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 4096, PAGE_BYTES = 4096, PAGES = 35, KEPT_MAX = 64 };

enum message { CALL = 'c', FORK = 'f', ANNOUNCE = 'a' };

struct relay {
    int epoll, worker;
    size_t bytes; /* that the worker holds; 0: it does not fork */
    size_t kept_max, kept, calls;
    pid_t forks[KEPT_MAX]; /* a ring; the oldest is at calls % kept_max */
    char line[LINE_MAX_BYTES];
    size_t length; /* of a line that waits for the fork; 0: none */
    int forking;
};

static _Noreturn void fail(const char *what) {
    perror(what);
    exit(EXIT_FAILURE);
}

static void send_all(int fd, const void *bytes, size_t size) {
    if (write(fd, bytes, size) != (ssize_t)size)
        fail("bench-relay: write");
}

/* Says which process it is, and waits to be killed. */
static _Noreturn void park(int fd) {
    char text[32] = {ANNOUNCE};
    pid_t pid = getpid();
    memcpy(text + 1, &pid, sizeof pid);
    send_all(fd, text, 1 + sizeof pid);
    for (;;)
        pause();
}

static _Noreturn void work(int fd, size_t bytes) {
    static char line[LINE_MAX_BYTES];
    char *memory =
        bytes ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
              : NULL;
    if (memory == MAP_FAILED)
        fail("bench-relay: mmap");
    if (memory)
        memset(memory, 1, bytes);
    for (ssize_t got; (got = read(fd, line, sizeof line)) > 0;) {
        if (line[0] == FORK) {
            if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) == 0)
                park(fd);
            continue;
        }
        for (size_t i = 0; memory && i < PAGES; i++)
            memory[i * (bytes / PAGES)]++;
        send_all(fd, line, (size_t)got);
    }
    _exit(0);
}

static void watch(const struct relay *relay, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(relay->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        fail("bench-relay: epoll_ctl");
}

static void pass_line(struct relay *relay) {
    send_all(relay->worker, relay->line, relay->length);
    relay->length = 0;
}

static void on_line(struct relay *relay) {
    relay->line[0] = CALL;
    ssize_t got = read(STDIN_FILENO, relay->line + 1, sizeof relay->line - 1);
    if (got <= 0)
        exit(EXIT_SUCCESS);
    relay->length = (size_t)got + 1;
    if (!relay->forking)
        pass_line(relay);
}

static void keep(struct relay *relay, pid_t pid) {
    pid_t *slot = &relay->forks[relay->calls++ % relay->kept_max];
    if (*slot)
        kill(*slot, SIGKILL);
    *slot = pid;
    relay->forking = 0;
    if (relay->length)
        pass_line(relay);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

static void on_worker(struct relay *relay) {
    static char message[LINE_MAX_BYTES];
    ssize_t got = read(relay->worker, message, sizeof message);
    if (got <= 0)
        exit(EXIT_FAILURE);
    if (message[0] == ANNOUNCE) {
        pid_t pid;
        memcpy(&pid, message + 1, sizeof pid);
        keep(relay, pid);
        return;
    }
    send_all(STDOUT_FILENO, message + 1, (size_t)got - 1);
    if (relay->bytes) {
        const char fork_now = FORK;
        relay->forking = 1;
        send_all(relay->worker, &fork_now, sizeof fork_now);
    }
}

static void end_forks(const struct relay *relay) {
    for (size_t i = 0; i < relay->kept_max; i++)
        if (relay->forks[i])
            kill(relay->forks[i], SIGKILL);
}

static struct relay relay;

static void at_end(void) {
    end_forks(&relay);
}

int main(int count, char **arguments) {
    int pair[2];
    relay.bytes = count > 1 ? strtoul(arguments[1], NULL, 10) << 20 : 0;
    relay.kept_max = count > 2 ? strtoul(arguments[2], NULL, 10) : 1;
    if (relay.kept_max < 1 || relay.kept_max > KEPT_MAX)
        return 2;
    relay.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (relay.epoll < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        fail("bench-relay: start");
    pid_t worker = fork();
    if (worker == 0) {
        close(pair[0]);
        work(pair[1], relay.bytes);
    }
    close(pair[1]);
    relay.worker = pair[0];
    atexit(at_end);
    watch(&relay, STDIN_FILENO);
    watch(&relay, relay.worker);
    for (struct epoll_event event; epoll_wait(relay.epoll, &event, 1, -1) >= 0;)
        (event.data.fd == STDIN_FILENO ? on_line : on_worker)(&relay);
    return EXIT_SUCCESS;
}
