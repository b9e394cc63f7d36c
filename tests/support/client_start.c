/* See client.h: starts and ends servers. */
#include "tests/support/client_parts.h"
#include "tests/support/user.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

enum {
    BYTES_MAX = 1 << 30, /* of anything that one test sends or receives */
    WATCHDOG_DEFAULT_S = 60
};

static struct client *live_clients;

struct client *client_first(void) {
    return live_clients;
}

struct wires {
    int server[3]; /* its descriptors 0, 1 and 2 */
    int in, out, error;
};

static void fill_pipe(int fd) {
    static const char blanks[4096] = {0};
    fcntl(fd, F_SETFL, O_NONBLOCK);
    while (write(fd, blanks, sizeof blanks) > 0 || write(fd, blanks, 1) > 0)
        ;
    fcntl(fd, F_SETFL, 0);
}

static struct wires make_wires(const struct client_options *options) {
    struct wires wires = {.in = -1};
    int in[2], out[2], error[2];
    cr_assert_eq(pipe2(error, O_CLOEXEC), 0);
    if (options->stderr_full)
        fill_pipe(error[1]);
    wires.error = error[0];
    wires.server[2] = error[1];
    if (options->socket) {
        cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in), 0);
        wires.in = wires.out = in[0];
        wires.server[0] = wires.server[1] = in[1];
        return wires;
    }
    cr_assert_eq(pipe2(out, O_CLOEXEC), 0);
    wires.out = out[0];
    wires.server[1] = out[1];
    if (options->stdin_null) {
        wires.server[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return wires;
    }
    cr_assert_eq(pipe2(in, O_CLOEXEC), 0);
    wires.in = in[1];
    wires.server[0] = in[0];
    return wires;
}

static void set_environment(const char *const *environment) {
    for (; environment && *environment; environment++) {
        if (strchr(*environment, '='))
            putenv((char *)*environment);
        else
            unsetenv(*environment);
    }
}

/* In the child: executes the server, or reports the error and exits. */
_Noreturn static void become_server(const struct client_options *options, const char *program,
                                    const struct wires *wires, pid_t parent) {
    enum { ARGUMENTS_MAX = 64 };
    const char *arguments[ARGUMENTS_MAX] = {program};
    for (size_t i = 0; options->arguments && options->arguments[i] && i < ARGUMENTS_MAX - 2; i++)
        arguments[i + 1] = options->arguments[i];
    /* The pipes may have the numbers 0 to 2 themselves, so they are moved up first. */
    int moved[3];
    for (int i = 0; i < 3; i++)
        moved[i] = fcntl(wires->server[i], F_DUPFD, 10);
    for (int i = 0; i < 3; i++)
        dup2(moved[i], i);
    close_range(3, ~0U, 0);
    if (user_nobody_wanted(options->unprivileged) && !user_become_nobody())
        _exit(126);
    /* Changing the user clears the death signal, so it is set last. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(125);
    signal(SIGPIPE, SIG_DFL);
    set_environment(options->environment);
    execv(program, (char *const *)arguments);
    fprintf(stderr, "cannot start %s: %s\n", program, strerror(errno));
    _exit(127);
}

static uint64_t watchdog_of(const struct client_options *options) {
    const char *text = getenv("TEST_WATCHDOG_S");
    unsigned long seconds = options->watchdog_s ? options->watchdog_s
                            : text              ? strtoul(text, NULL, 10)
                                                : WATCHDOG_DEFAULT_S;
    return seconds * UINT64_C(1000);
}

struct client *client_start(const struct client_options *options) {
    static const struct client_options plain;
    if (!options)
        options = &plain;
    const char *program = options->program ? options->program : ECLAVE_BINARY;
    cr_assert_eq(access(program, X_OK), 0, "there is no server to test at %s", program);
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER, 1);

    struct wires wires = make_wires(options);
    pid_t parent = getpid(), pid = fork();
    cr_assert_geq(pid, 0, "fork: %s", strerror(errno));
    if (pid == 0)
        become_server(options, program, &wires, parent);
    close(wires.server[0]);
    if (!options->socket)
        close(wires.server[1]);
    close(wires.server[2]);

    struct client *client = calloc(1, sizeof *client);
    if (!client)
        abort();
    *client = (struct client){.next = live_clients,
                              .pid = pid,
                              .process = pidfd_open(pid, 0),
                              .in = wires.in,
                              .out = wires.out,
                              .error = wires.error,
                              .socket = options->socket,
                              .batches = options->batches,
                              .collect = options->collect,
                              .notices = options->notices,
                              .unprivileged = user_nobody_wanted(options->unprivileged),
                              .watchdog_ms = watchdog_of(options),
                              .to_server = buffer_make(BYTES_MAX),
                              .from_server = buffer_make(BYTES_MAX),
                              .from_error = buffer_make(BYTES_MAX),
                              .transcript = buffer_make((size_t)4 * CLIENT_TRANSCRIPT_MAX)};
    live_clients = client;
    if (!options->program)
        client_record_open(client);
    if (client->in >= 0)
        fcntl(client->in, F_SETFL, O_NONBLOCK);
    fcntl(client->out, F_SETFL, O_NONBLOCK);
    fcntl(client->error, F_SETFL, O_NONBLOCK);
    if (options->stderr_full) {
        client->error = -1; /* kept open and unread until this process ends */
    }
    return client;
}

/* Ending. */

static bool nothing_left(struct client *client, void *context) {
    (void)context;
    pid_t pid;
    return client_descendants(client, &pid, 1) == 0;
}

static void unlink_client(struct client *client) {
    struct client **link = &live_clients;
    while (*link && *link != client)
        link = &(*link)->next;
    if (*link)
        *link = client->next;
}

/* In any possible order: orphans become children of this process, and the kernel keeps the first
 * process of a pid namespace until all others in it are reaped. */
static void reap_all(pid_t *pids, size_t count) {
    const struct timespec moment = {.tv_nsec = 1000000};
    for (bool left = true; left; nanosleep(&moment, NULL)) {
        left = false;
        for (size_t i = 0; i < count; i++) {
            if (pids[i] && waitpid(pids[i], NULL, WNOHANG) != 0)
                pids[i] = 0; /* reaped, or not a child */
            left = left || pids[i];
        }
        client_reap_orphans(); /* those that came after PIDS was read */
    }
}

void client_free(struct client *client) {
    if (!client)
        return;
    pid_t pids[CLIENT_DESCENDANTS_MAX];
    size_t count = client_descendants(client, pids, CLIENT_DESCENDANTS_MAX);
    if (!client->reaped) {
        kill(client->pid, SIGKILL);
        while (waitpid(client->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        client->reaped = true;
    }
    for (size_t i = 0; i < count; i++)
        kill(pids[i], SIGKILL);
    reap_all(pids, count);
    unlink_client(client);
    client_record_close(client);
    if (client->in >= 0 && client->in != client->out)
        close(client->in);
    if (client->out >= 0)
        close(client->out);
    if (client->error >= 0)
        close(client->error);
    if (client->process >= 0)
        close(client->process);
    for (size_t i = 0; i < client->line_count; i++)
        free(client->lines[i].bytes);
    for (size_t i = 0; i < client->kept_count; i++)
        free(client->kept[i]);
    free(client->lines);
    free(client->kept);
    free(client->failure);
    buffer_free(&client->to_server);
    buffer_free(&client->from_server);
    buffer_free(&client->from_error);
    buffer_free(&client->transcript);
    free(client);
}

void client_end(struct client *client) {
    client_close_stdin(client);
    int status = client_wait(client);
    if (status != 0)
        client_fail(client, "the server ended with status %d", status);
    for (size_t i = client->first_unread; i < client->line_count; i++)
        if (client->lines[i].unread && line_is_response(&client->lines[i]))
            client_fail(client, "an unexpected response: %.500s", client->lines[i].bytes);
    client_wait_until(client, nothing_left, NULL, "the server's descendants to end");
}

void client_finish(struct client *client) {
    client_end(client);
    client_free(client);
}
