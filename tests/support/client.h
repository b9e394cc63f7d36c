/* A black-box MCP client for the tests: starts the server as a program over pipes, talks to it
 * byte by byte and never blocks, so that neither side can deadlock. Each line the server ever
 * writes is checked (wire.h); no test can forget it. A log message that this machine lacks a layer
 * is checked and passed over, so that tests read the same lines on every machine. It must never
 * assert how long something took: its watchdog only ends a wait that would last for ever.
 *
 * Failures end the running Criterion test with what was sent, what was received and what the
 * server wrote to stderr. The server dies with the test, however the test ends. */
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

/* How to start a server; all zero is `eclave` over pipes with an inherited environment. */
struct client_options {
    const char *program;            /* NULL: the server under test */
    const char *const *arguments;   /* behind the program's name; ends with NULL; NULL: none */
    const char *const *environment; /* "NAME=value" sets, "NAME" alone removes; ends with NULL */
    bool socket;                    /* stdin and stdout are one socket pair instead of pipes */
    bool stderr_full;               /* stderr is a full pipe that nobody reads */
    bool stdin_null;                /* stdin is the null device */
    bool batches;                   /* an array may be an answer from the start on */
    bool unprivileged;              /* as nobody, whatever user.h says; only root may ask for it */
    bool notices;                   /* log messages of missing layers are lines to be read */
    bool collect;                   /* a failure is kept for client_failure, the test goes on */
    unsigned watchdog_s;            /* 0: ECLAVE_WATCHDOG_S from the environment, else 60 */
};

/* Starts a server. OPTIONS may be NULL. End with client_finish or client_free. */
struct client *client_start(const struct client_options *options);

/* client_start, then client_initialize with REVISION (NULL: the newest). */
struct client *client_start_ready(const struct client_options *options, const char *revision);

/* client_start_ready with these arguments, in the newest revision. Uses lines.h. */
#define client_start_with(...)                                                                     \
    client_start_ready(&(struct client_options){.arguments = STRINGS(__VA_ARGS__)}, NULL)

/* The orderly end: closes stdin and wants exit status 0, no response that nobody read, and no
 * process left behind. client_finish frees as well. */
void client_end(struct client *client);
void client_finish(struct client *client);

/* Kills what is left of the server and its descendants and frees. NULL is fine. */
void client_free(struct client *client);

/* Sending. Bytes are queued and written as the server takes them, while its output is read. */
void client_send(struct client *client, const void *bytes, size_t length);
void client_send_line(struct client *client, const char *line); /* adds the newline */
__attribute__((format(printf, 2, 3))) void client_send_format(struct client *client,
                                                              const char *format, ...);
/* Returns when the server has taken everything that was sent, or has closed its stdin. */
void client_flush(struct client *client);
void client_close_stdin(struct client *client); /* after what was sent */
void client_close_stdout(struct client *client);

/* Stops and resumes reading the server's stdout, to play a slow reader. */
void client_pause_reading(struct client *client, bool paused);

/* Receiving. Lines stay the client's until it is freed; each is handed out once. */

/* The next line, without its newline; *length may be NULL. Fails the test when none comes. */
const char *client_read_line(struct client *client, size_t *length);
/* The same, but NULL when the server's stdout has ended. */
const char *client_read_line_or_end(struct client *client, size_t *length);
/* The next line, if one is there without waiting; else NULL. */
const char *client_take_line(struct client *client, size_t *length);
/* The next response or batch of responses; notifications before it are discarded. */
const char *client_read_response(struct client *client);
/* The response with this id, given as JSON text (`7`, `"a"`, `null`); other lines stay unread. */
const char *client_await(struct client *client, const char *id, size_t *length);
/* The next notification with this method; other lines stay unread. */
const char *client_await_notification(struct client *client, const char *method, size_t *length);

/* Sends a ping and returns when its answer is there: all lines sent before have been looked at. */
void client_barrier(struct client *client);
/* client_barrier, and nothing else may have arrived that was not read. */
void client_expect_silence(struct client *client);

/* Requests in one go. IDs are JSON text; PARAMS is JSON text or NULL. */

/* Sends a request and waits for its response; *response is the line. */
const char *client_request(struct client *client, const char *id, const char *method,
                           const char *params);
/* Sends LINE and wants the error CODE with ID as the next response to that id; returns the line. */
const char *client_expect_error(struct client *client, const char *line, int code, const char *id);
/* Sends LINE and wants a result with ID; returns the line. */
const char *client_expect_result(struct client *client, const char *line, const char *id);

/* The handshake: initialize, its answer, notifications/initialized. Wants REVISION echoed (NULL:
 * the newest). Returns the answer's line. */
const char *client_initialize(struct client *client, const char *revision);
/* The same by a client that declares CAPABILITIES, the JSON text of an object. */
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
/* Calls TOOL; ARGUMENTS is the JSON text of an object. */
void client_tool_send(struct client *client, const char *id, const char *tool,
                      const char *arguments);
struct evaluation client_tool(struct client *client, const char *tool, const char *arguments);
/* Evaluates CODE; the strings live as long as the client. */
struct evaluation client_evaluate(struct client *client, const char *code);
/* Calls evaluate-lisp with ARGUMENTS. */
struct evaluation client_evaluate_with(struct client *client, const char *arguments);
/* The two halves of client_evaluate, for calls that overlap. */
void client_evaluate_send(struct client *client, const char *id, const char *code);
struct evaluation client_evaluate_await(struct client *client, const char *id);
/* Evaluates (+ 1 2), which must give 3. */
void client_expect_works(struct client *client);

/* Members of a line by path, as in client_integer(client, line, "error", "code", NULL). Both fail
 * the test when the member is missing or of another type. The string lives as long as the client.
 */
long long client_integer(struct client *client, const char *line, ...);
const char *client_string(struct client *client, const char *line, ...);

/* The process. */
pid_t client_pid(const struct client *client);
void client_kill(struct client *client, int signal);
/* Waits for the end of the server and reads all its output: its exit status, or 128 + signal. */
int client_wait(struct client *client);
bool client_ended(struct client *client); /* without waiting */
/* What the server has written to stderr so far, terminated; lives until the next call. */
const char *client_stderr(struct client *client);
/* Waits until stderr holds TEXT. */
void client_await_stderr(struct client *client, const char *text);

/* The live processes under the server: their ids into PIDS, at most MAXIMUM; returns how many. */
size_t client_descendants(struct client *client, pid_t *pids, size_t maximum);
/* The confined descendant (seccomp filter mode) that is burning processor time just now, which is
 * the worker of a session that evaluates an endless loop. Waits for one. */
pid_t client_busy_worker(struct client *client);

/* Failing. */
__attribute__((format(printf, 2, 3))) void client_fail(struct client *client, const char *format,
                                                       ...);
/* With options.collect: the first failure, or NULL. After one, calls return at once, with NULL. */
const char *client_failure(const struct client *client);
/* An array may be an answer from now on. */
void client_allow_batches(struct client *client);
/* How many responses nobody has read. */
size_t client_unread_responses(const struct client *client);
/* Hands a malloc'd string over to the client, which frees it at its own end. Returns it. */
char *client_keep(struct client *client, char *string);

#endif
