/* Private to the client's files: client_start.c starts and ends the server, client.c moves bytes,
 * client_lines.c returns lines, client_process.c inspects processes, client_calls.c knows MCP. */
#ifndef ECLAVE_TESTS_SUPPORT_CLIENT_PARTS_H
#define ECLAVE_TESTS_SUPPORT_CLIENT_PARTS_H

#include "common/buffer.h"
#include "tests/support/client.h"
#include "tests/support/wire.h"
#include <stdint.h>
#include <stdio.h>

enum {
    CLIENT_TRANSCRIPT_MAX = 32 << 10, /* bytes of the conversation that a failure shows */
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

/* The list of running servers, to distinguish their orphans. */
struct client *client_first(void);

/* Reads and writes what is possible within TIMEOUT_MS. */
void client_pump(struct client *client, int timeout_ms);

/* Pumps until DONE. False after a failure, such as the watchdog's, which names WHAT. */
bool client_wait_until(struct client *client, bool (*done)(struct client *client, void *context),
                       void *context, const char *what);

/* Reaps the server if it has ended. */
void client_reap(struct client *client);

/* Reaps orphans of servers. The kernel keeps the first process of a pid namespace until then. */
void client_reap_orphans(void);

/* client_record.c: records the lines in a file. */
void client_record_open(struct client *client);
void client_record_sent(struct client *client, const void *bytes, size_t length);
void client_record_close(struct client *client); /* after the last line was received */

/* Closes stdin now, even with bytes queued. */
void client_end_stdin(struct client *client);

bool line_is_response(const struct line *line);
/* True for a log message that this machine lacks a layer. */
bool line_is_notice(const struct line *line);
/* Marks LINE as read. */
void line_take(struct client *client, struct line *line);

#endif
