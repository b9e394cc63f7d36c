/* An MCP server under measurement: eclave, or the official reference server. One request at a
 * time; its time ends when the answer was read, before it is checked. An unexpected answer has
 * no time. */
#ifndef ECLAVE_TESTS_BENCH_SERVER_H
#define ECLAVE_TESTS_BENCH_SERVER_H

#include "bench/bench.h"
#include "bench/peer.h"

/* Arguments of evaluate-lisp as JSON; CODE is already escaped. */
#define CODE(code) "{\"code\":\"" code "\"}"

struct server {
    struct peer peer;
    const char *tool; /* the session of calls that name none */
    int last_id;
    const char *answer; /* the line of the last call, or NULL; valid until the next call */
    size_t answer_length;
    const char *awaited; /* the method of a notification, or NULL */
    bool noticed;        /* it arrived before an answer */
};

/* Starts eclave with OPTIONS (end with NULL; NULL: none), or the reference server, which must exist
 * (bench->reference), without a handshake. End with server_finish. */
void server_start_eclave(struct server *server, struct bench *bench, const char *const *options);
void server_start_reference(struct server *server, struct bench *bench);
void server_finish(struct server *server);

/* The same and the handshake, which is not measured. */
void server_ready_eclave(struct server *server, struct bench *bench, const char *const *options);
void server_ready_reference(struct server *server, struct bench *bench);

/* These return milliseconds, or -1 without an answer that contains EXPECTED. */

/* From sending `initialize` to its answer; `notifications/initialized` follows. */
double server_initialize(struct server *server);
/* A call of the server's tool, or of TOOL; ARGUMENTS is a JSON object. */
double server_call(struct server *server, const char *arguments, const char *expected);
double server_call_tool(struct server *server, const char *tool, const char *arguments,
                        const char *expected);
double server_ping(struct server *server);
/* A page of tools/list from CURSOR on; NULL: the first. */
double server_list_tools(struct server *server, const char *cursor);
/* The same and a ping in one write: until the ping is answered. */
double server_ping_behind_list(struct server *server, const char *cursor);

/* The cursor of the page after the last answer, malloc'd; NULL: none. */
char *server_next_cursor(const struct server *server);

/* Waits for a notification of METHOD, and skips other lines. */
bool server_await_notification(struct server *server, const char *method);

/* Opens a session, or a copy of FROM if not NULL; stores its name in NAME. Returns the time. */
enum { SESSION_NAME_MAX = 64 };
double server_open_session(struct server *server, const char *from, char name[SESSION_NAME_MAX]);
/* Evaluates CODE (JSON-escaped) in SESSION. */
double server_evaluate_in(struct server *server, const char *session, const char *code,
                          const char *expected);

#endif
