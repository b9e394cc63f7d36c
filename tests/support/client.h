/* A black-box MCP client: starts the server over pipes and exchanges bytes without blocking, so
 * that neither side can deadlock. It checks every line of the server (wire.h). It skips log
 * messages about missing layers after checking them, so that tests read the same lines on every
 * machine. Its watchdog only ends endless waits; nothing asserts a time. A failure ends the
 * Criterion test with what was sent, what was received and the server's stderr. The server ends
 * with the test. */
#ifndef ECLAVE_TESTS_SUPPORT_CLIENT_H
#define ECLAVE_TESTS_SUPPORT_CLIENT_H

#include "tests/support/json.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CLIENT_REVISION_OLDEST "2024-11-05"
#define CLIENT_REVISION_BATCH  "2025-03-26"
#define CLIENT_REVISION_NEWEST "2025-11-25"

struct client;

/* Options of a server; all zero: `eclave` over pipes with an inherited environment. */
struct client_options {
    const char *program;            /* NULL: the server under test */
    const char *const *arguments;   /* after the program's name; end with NULL; NULL: none */
    const char *const *environment; /* "NAME=value" sets, "NAME" alone removes; end with NULL */
    bool socket;                    /* stdin and stdout are one socket pair instead of pipes */
    bool stderr_full;               /* stderr is a full pipe that nobody reads */
    bool stdin_null;                /* stdin is the null device */
    bool batches;                   /* answers may be arrays from the start */
    bool unprivileged;              /* as nobody, regardless of user.h; root only */
    bool notices;                   /* do not skip log messages about missing layers */
    bool collect;                   /* keep a failure for client_failure and continue */
    unsigned watchdog_s;            /* 0: TEST_WATCHDOG_S from the environment, else 60 */
};

/* Starts a server. OPTIONS may be NULL. End with client_finish or client_free. */
struct client *client_start(const struct client_options *options);

/* client_start, then client_initialize with REVISION (NULL: the newest). */
struct client *client_start_ready(const struct client_options *options, const char *revision);

/* client_start_ready with these arguments, in the newest revision. Uses lines.h. */
#define client_start_with(...)                                                                     \
    client_start_ready(&(struct client_options){.arguments = STRINGS(__VA_ARGS__)}, NULL)

/* Closes stdin; fails unless the server exits with 0, every response was read, and no process is
 * left. client_finish frees as well. */
void client_end(struct client *client);
void client_finish(struct client *client);

/* Kills the server and its descendants, and frees. CLIENT may be NULL. */
void client_free(struct client *client);

/* Sending. Bytes are queued and written as the server reads them, while its output is read. */
void client_send(struct client *client, const void *bytes, size_t length);
void client_send_line(struct client *client, const char *line); /* adds the newline */
__attribute__((format(printf, 2, 3))) void client_send_format(struct client *client,
                                                              const char *format, ...);
/* Returns when the server has read everything that was sent, or has closed its stdin. */
void client_flush(struct client *client);
void client_close_stdin(struct client *client); /* after what was sent */
void client_close_stdout(struct client *client);

/* Stops and resumes reading the server's stdout, as a slow reader does. */
void client_pause_reading(struct client *client, bool paused);

/* Receiving. Lines belong to the client; each is returned once. */

/* The next line, without its newline; *length may be NULL. Fails the test when none comes. */
const char *client_read_line(struct client *client, size_t *length);
/* The same, but NULL when the server's stdout has ended. */
const char *client_read_line_or_end(struct client *client, size_t *length);
/* The next line if one has arrived; else NULL. */
const char *client_take_line(struct client *client, size_t *length);
/* The next response or batch of responses; notifications before it are discarded. */
const char *client_read_response(struct client *client);
/* The response with this id, as JSON (`7`, `"a"`, `null`); other lines stay unread. */
const char *client_await(struct client *client, const char *id, size_t *length);
/* The next notification with this method; other lines stay unread. */
const char *client_await_notification(struct client *client, const char *method, size_t *length);

/* Sends a ping and waits for the answer, so that all earlier lines were processed. */
void client_barrier(struct client *client);
/* client_barrier; fails when any other line is unread. */
void client_expect_silence(struct client *client);

/* Requests. IDs are JSON; PARAMS is JSON or NULL. */

/* Sends a request and returns its response. */
const char *client_request(struct client *client, const char *id, const char *method,
                           const char *params);
/* Sends LINE; fails unless the response to ID is an error with CODE. Returns the line. */
const char *client_expect_error(struct client *client, const char *line, int code, const char *id);
/* Sends LINE; fails unless the response to ID is a result. Returns the line. */
const char *client_expect_result(struct client *client, const char *line, const char *id);

/* The handshake: initialize, its answer, which must have REVISION (NULL: the newest), and
 * notifications/initialized. Returns the answer. */
const char *client_initialize(struct client *client, const char *revision);
/* The same with CAPABILITIES, a JSON object. */
const char *client_initialize_with(struct client *client, const char *revision,
                                   const char *capabilities);
void client_ping(struct client *client);

/* An id that no test writes, kept by the client. */
const char *client_new_id(struct client *client);

/* How one tools/call ended. */
struct evaluation {
    int error_code;          /* of the JSON-RPC error, 0 when there is a result */
    bool is_error;           /* result.isError */
    int exit_code;           /* _meta.exitCode; -1 when there is none */
    const char *text;        /* content[0].text, or the error's message; never NULL */
    const char *stderr_text; /* _meta.stderr; NULL when absent */
    const char *line;        /* the whole response */
};
/* Calls TOOL; ARGUMENTS is a JSON object. */
void client_tool_send(struct client *client, const char *id, const char *tool,
                      const char *arguments);
struct evaluation client_tool(struct client *client, const char *tool, const char *arguments);
/* Evaluates CODE; the strings belong to the client. */
struct evaluation client_evaluate(struct client *client, const char *code);
/* Calls evaluate-lisp with ARGUMENTS. */
struct evaluation client_evaluate_with(struct client *client, const char *arguments);
/* The two halves of client_evaluate, for calls that overlap. */
void client_evaluate_send(struct client *client, const char *id, const char *code);
struct evaluation client_evaluate_await(struct client *client, const char *id);
/* Evaluates (+ 1 2), which must give 3. */
void client_expect_works(struct client *client);

/* Members of a line by path, as in client_integer(client, line, "error", "code", NULL). They fail
 * when the member is missing or of another type. The string belongs to the client. */
long long client_integer(struct client *client, const char *line, ...);
const char *client_string(struct client *client, const char *line, ...);

/* The process. */
pid_t client_pid(const struct client *client);
void client_kill(struct client *client, int signal);
/* Waits for the end of the server and reads all output. The exit status, or 128 + signal. */
int client_wait(struct client *client);
bool client_ended(struct client *client); /* without waiting */
/* The server's stderr so far, terminated; valid until the next call. */
const char *client_stderr(struct client *client);
/* Waits until stderr contains TEXT. */
void client_await_stderr(struct client *client, const char *text);

/* Stores the pids of the server's live descendants, at most MAXIMUM; returns their number. */
size_t client_descendants(struct client *client, pid_t *pids, size_t maximum);
/* Waits for a confined descendant that uses processor time, that is, the worker of an endless
 * loop. */
pid_t client_busy_worker(struct client *client);

/* Failing. */
__attribute__((format(printf, 2, 3))) void client_fail(struct client *client, const char *format,
                                                       ...);
/* With options.collect: the first failure, or NULL. After one, calls return NULL at once. */
const char *client_failure(const struct client *client);
/* From now on answers may be arrays. */
void client_allow_batches(struct client *client);
/* The number of unread responses. */
size_t client_unread_responses(const struct client *client);
/* Gives a malloc'd string to the client, which frees it at its end. Returns it. */
char *client_keep(struct client *client, char *string);

#endif
