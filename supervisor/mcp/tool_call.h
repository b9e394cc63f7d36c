/* What the tools have in common: their arguments as data, and the forms of their answers. */
#ifndef ECLAVE_SUPERVISOR_MCP_TOOL_CALL_H
#define ECLAVE_SUPERVISOR_MCP_TOOL_CALL_H

#include "common/buffer.h"
#include "supervisor/mcp/request.h"
#include "supervisor/session/evaluation.h"
#include "supervisor/session/session.h"
#include "supervisor/settings/settings.h"
#include <json-c/json.h>
#include <stdbool.h>

/* The connection's own session, in the legacy era. */
#define OWN_SESSION "main"

/* A tool error about the arguments: no worker is asked. */
void tool_refuse(struct request *request, const char *type, const char *message);

/* A string argument into *span; an absent one leaves it alone. False when it is there and is none.
 */
bool tool_string(struct json_object *arguments, const char *name, struct span *span);
/* A whole number likewise, within MINIMUM and MAXIMUM. */
bool tool_integer(struct json_object *arguments, const char *name, int64_t minimum, int64_t maximum,
                  int64_t *number);

/* The session of calls that name none; NULL where each gets one of its own. */
const char *tool_implicit_session(const struct server *server, const struct request *request);
/* Is NAME, any value, the name of a session, or of the implicit one? */
bool tool_session_is_known(const struct server *server, const struct request *request,
                           struct json_object *name);

/* The session that the argument NAME names; without it the connection's own, or where there is none
 * a new one when MAKE. NULL when there is none: the request has been answered then. */
struct session *tool_session(struct server *server, struct request *request,
                             struct json_object *arguments, const char *name, bool make);
/* Answers that session.max is reached. */
void tool_no_room(struct request *request);

/* Keeps the request and submits the call; DONE answers the request, which is its context. */
void tool_submit(struct server *server, struct request *request, struct session *session,
                 const struct call_request *wanted, call_done done);
/* The DONE that answers as CONTRACT.md section 6 has it. */
void tool_answer(void *context, const struct evaluation *evaluation);

/* The same for REQUEST, which is in flight and not silent; server_call_done is the caller's. */
void tool_answer_evaluation(struct request *request, const struct evaluation *evaluation);
/* Is it answered by a result, with or without isError, and not by an error? */
bool tool_is_shown(const struct evaluation *evaluation);
/* Adds to `_meta`, behind `exitCode`, what else is known of the evaluation. */
void tool_append_facts(struct request *request, const struct evaluation *evaluation);
/* Progress. Time between the beats of a heartbeat, which tells a client that asked for progress
 * that its call goes on. */
enum { TOOL_HEARTBEAT_MS = 1000 };
/* Begins a notification of progress of REQUEST. The caller appends the number and, behind it, the
 * members it has besides, and ends it. */
struct buffer *tool_progress_begin(struct request *request);
void tool_progress_end(struct request *request);
/* May progress go out under TOKEN? Not without one, nor when another request has it. */
bool tool_token_is_free(const struct server *server, const struct json_token *token);

/* Begins a result with one text and its exit code; further members go into `_meta`. */
struct buffer *tool_result(struct request *request, const void *text, size_t size, bool is_error,
                           int exit_code);

#endif
