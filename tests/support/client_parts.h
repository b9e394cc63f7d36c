/* The parts of the client that its own files share; no test includes this. client_start.c starts
 * and ends the server, client.c moves bytes, client_lines.c hands lines out, client_process.c looks
 * at processes, client_calls.c knows MCP and uses client.h alone. */
#ifndef ECLAVE_TESTS_SUPPORT_CLIENT_PARTS_H
#define ECLAVE_TESTS_SUPPORT_CLIENT_PARTS_H

#include "common/buffer.h"
#include "tests/support/client.h"
#include "tests/support/wire.h"
#include <stdint.h>
#include <stdio.h>

enum {
    CLIENT_TRANSCRIPT_MAX = 32 << 10, /* bytes of what was said that a failure shows */
    CLIENT_DESCENDANTS_MAX = 512
};

struct line {
    char *bytes;
    size_t length;
    bool unread;
    bool batch;
    struct wire_message message; /* when not a batch */
};

struct client {
    struct client *next; /* of client_first */
    pid_t pid;
    int process; /* pidfd */
    bool reaped;
    int status; /* as client_wait returns it */
    int in, out, error;
    bool socket, batches, collect, notices, unprivileged, paused, close_in;
    uint64_t watchdog_ms;
    struct buffer to_server, from_server, from_error, transcript;
    FILE *record; /* NULL: nothing is recorded */
    bool record_in_line;
    size_t scanned; /* bytes of from_server without a newline */
    struct line *lines;
    size_t line_count, line_capacity, first_unread;
    char **kept;
    size_t kept_count;
    char *failure;
};

/* The servers that this process has running are a list, so that what one leaves behind is told from
 * another's children: the first, the rest over `next`. */
struct client *client_first(void);

/* Moves whatever can be moved within TIMEOUT_MS, in all directions. */
void client_pump(struct client *client, int timeout_ms);

/* Pumps until DONE says so. False after a failure; the watchdog makes one that names WHAT. */
bool client_wait_until(struct client *client, bool (*done)(struct client *client, void *context),
                       void *context, const char *what);

/* Takes the exit status if the server has ended. */
void client_reap(struct client *client);

/* Reaps what ended servers left behind and has died since. The kernel keeps the first process of a
 * pid namespace until that is done. */
void client_reap_orphans(void);

/* client_record.c: what passes over the wire goes to a file. */
void client_record_open(struct client *client);
void client_record_sent(struct client *client, const void *bytes, size_t length);
void client_record_close(struct client *client); /* after the last line was received */

/* Closes stdin now, whatever was still to be sent. */
void client_end_stdin(struct client *client);

bool line_is_response(const struct line *line);
/* True for a log message that this machine lacks a layer. */
bool line_is_notice(const struct line *line);
/* Marks LINE as read. */
void line_take(struct client *client, struct line *line);

#endif
