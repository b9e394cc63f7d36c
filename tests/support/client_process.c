/* See client.h: the server as a process, and the processes under it. */
#include "tests/support/client_parts.h"
#include "tests/support/process.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t client_pid(const struct client *client) {
    return client->pid;
}

void client_kill(struct client *client, int signal) {
    client_reap(client);
    if (!client->reaped)
        kill(client->pid, signal);
}

bool client_ended(struct client *client) {
    client_reap(client);
    return client->reaped;
}

static bool has_ended(struct client *client, void *context) {
    (void)context;
    return client->reaped && client->out < 0;
}

int client_wait(struct client *client) {
    bool reading = client->out >= 0;
    client_wait_until(client, has_ended, NULL, "the server to end and close its stdout");
    if (reading && client->from_server.length)
        client_fail(client, "the server's last line has no newline: %.*s",
                    (int)(client->from_server.length < 200 ? client->from_server.length : 200),
                    (const char *)client->from_server.data);
    return client->reaped ? client->status : -1;
}

const char *client_stderr(struct client *client) {
    client_pump(client, 0);
    if (!buffer_reserve(&client->from_error, 1))
        abort();
    client->from_error.data[client->from_error.length] = '\0';
    return (const char *)client->from_error.data;
}

static bool stderr_holds(struct client *client, void *context) {
    return client->error < 0 || strstr(client_stderr(client), context);
}

void client_await_stderr(struct client *client, const char *text) {
    char what[200];
    snprintf(what, sizeof what, "\"%s\" on stderr", text);
    client_wait_until(client, stderr_holds, (void *)text, what);
    if (!strstr(client_stderr(client), text))
        client_fail(client, "stderr ended without \"%s\"", text);
}

static bool is_live_server(pid_t pid) {
    for (const struct client *client = client_first(); client; client = client->next)
        if (client->pid == pid && !client->reaped)
            return true;
    return false;
}

void client_reap_orphans(void) {
    char path[64];
    int pid;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)gettid());
    FILE *children = fopen(path, "re");
    // NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers fit
    while (children && fscanf(children, "%d", &pid) == 1)
        if (process_is_zombie(pid) && !is_live_server(pid))
            waitpid(pid, NULL, WNOHANG);
    if (children)
        fclose(children);
}

/* Orphans of an ended server become children of this process, its subreaper. */
static size_t orphans(pid_t *pids, size_t maximum) {
    pid_t all[CLIENT_DESCENDANTS_MAX], servers[CLIENT_DESCENDANTS_MAX];
    size_t count = process_descendants(getpid(), all, CLIENT_DESCENDANTS_MAX), server_count = 0,
           kept = 0;
    for (size_t i = 0; i < count; i++) {
        pid_t below[CLIENT_DESCENDANTS_MAX];
        if (!is_live_server(all[i]))
            continue;
        servers[server_count++] = all[i];
        size_t more = process_descendants(all[i], below, CLIENT_DESCENDANTS_MAX);
        for (size_t j = 0; j < more && server_count < CLIENT_DESCENDANTS_MAX; j++)
            servers[server_count++] = below[j];
    }
    for (size_t i = 0; i < count && kept < maximum; i++) {
        bool foreign = false;
        for (size_t j = 0; j < server_count; j++)
            foreign = foreign || servers[j] == all[i];
        if (!foreign)
            pids[kept++] = all[i];
    }
    return kept;
}

size_t client_descendants(struct client *client, pid_t *pids, size_t maximum) {
    if (!client_ended(client))
        return process_descendants(client->pid, pids, maximum);
    client_reap_orphans();
    return orphans(pids, maximum);
}

/* The confined descendant that used most processor time in one interval. */
struct busy {
    pid_t pids[CLIENT_DESCENDANTS_MAX];
    long ticks[CLIENT_DESCENDANTS_MAX];
    size_t count;
    pid_t found;
};

static bool find_busy(struct client *client, void *context) {
    enum { BUSY_TICKS = 5 };
    struct busy *busy = context;
    for (size_t i = 0; i < busy->count; i++)
        if (process_ticks(busy->pids[i]) >= busy->ticks[i] + BUSY_TICKS &&
            process_is_worker(busy->pids[i]))
            busy->found = busy->pids[i];
    pid_t pids[CLIENT_DESCENDANTS_MAX];
    size_t count = client_descendants(client, pids, CLIENT_DESCENDANTS_MAX);
    if (count != busy->count || memcmp(pids, busy->pids, count * sizeof *pids) != 0) {
        memcpy(busy->pids, pids, count * sizeof *pids);
        busy->count = count;
        for (size_t i = 0; i < count; i++)
            busy->ticks[i] = process_ticks(pids[i]);
    }
    return busy->found != 0;
}

pid_t client_busy_worker(struct client *client) {
    struct busy busy = {.count = 0};
    client_wait_until(client, find_busy, &busy, "a worker that is busy");
    return busy.found;
}
