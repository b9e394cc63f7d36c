/* What tool calls have in common: argument checks, the choice of a session, submission, progress
 * and answers. */
#ifndef ECLAVE_SUPERVISOR_MCP_TOOL_CALL_H
#define ECLAVE_SUPERVISOR_MCP_TOOL_CALL_H

#include "common/buffer.h"
#include "supervisor/mcp/request.h"
#include "supervisor/session/evaluation.h"
#include "supervisor/session/session.h"
#include "supervisor/settings/settings.h"
#include <json-c/json.h>
#include <stdbool.h>

/* The implicit session of the legacy era. */
#define OWN_SESSION "main"

/* Answers with a tool error. No worker is involved. */
void tool_refuse(struct request *request, const char *type, const char *message);
/* The same with a formatted message, of which 1,023 bytes are sent. */
__attribute__((format(printf, 3, 4))) void
tool_refuse_format(struct request *request, const char *type, const char *format, ...);

/* The argument NAME; NULL when it is absent, null or an empty string, since models fill every
 * field. */
struct json_object *tool_given(struct json_object *arguments, const char *name);

/* Stores a string argument in *span, which stays as it is when the argument is not given.
 * False when it is given and not a string. */
bool tool_string(struct json_object *arguments, const char *name, struct span *span);
/* The same for an integer within MINIMUM and MAXIMUM. */
bool tool_integer(struct json_object *arguments, const char *name, int64_t minimum, int64_t maximum,
                  int64_t *number);

/* The name of the session for calls that name none; NULL when each such call gets a new one. */
const char *tool_implicit_session(const struct server *server, const struct request *request);
/* NAME is the name of an existing session or of the implicit one. */
bool tool_has_session(const struct server *server, const struct request *request, struct span name);

/* The session that the argument NAME names, or the implicit one when it is absent. If MAKE is set,
 * a session is created for a name that was never used, and where there is no implicit session. NULL
 * when the request was answered with an error. */
struct session *tool_session(struct server *server, struct request *request,
                             struct json_object *arguments, const char *name, bool make);
/* The session that the argument `session` names, for a call that closes it. */
struct session *tool_session_to_close(struct server *server, struct request *request,
                                      struct json_object *arguments);
/* Answers that session.queue is reached. */
void tool_queue_full(struct request *request);
/* Refuses to open a session: session.max is reached. Names some that can be closed. */
void tool_no_room(struct request *request);
/* Refuses ARGUMENT, which is no valid name of a session. */
void tool_refuse_name(struct request *request, const char *argument);

/* Keeps the request and submits the call. DONE receives the request as its context and answers it.
 */
void tool_submit(struct server *server, struct request *request, struct session *session,
                 const struct call_request *wanted, call_done done);
/* Appends the last line of a text: the name of the session that was created for REQUEST, if one
 * was. */
void tool_append_session(struct buffer *text, const struct request *request,
                         const struct evaluation *evaluation);
/* The usual DONE: answers as in doc/contract.md, section 6. */
void tool_answer(void *context, const struct evaluation *evaluation);

/* The same for REQUEST, which is in flight and not silent. The caller calls server_call_done. */
void tool_answer_evaluation(struct request *request, const struct evaluation *evaluation);
/* It is answered with a result, with or without isError, and not with an error. */
bool tool_is_shown(const struct evaluation *evaluation);
/* Adds the remaining facts about the evaluation to `_meta`, after `exitCode`. */
void tool_append_facts(struct request *request, const struct evaluation *evaluation);
/* Interval of progress notifications for a running call that reports none itself. */
enum { TOOL_HEARTBEAT_MS = 1000 };
/* Begins a progress notification for REQUEST. The caller appends the number and any further
 * members, and ends it. */
struct buffer *tool_progress_begin(struct request *request);
void tool_progress_end(struct request *request);
/* Progress may be sent under TOKEN: there is one, and no other request uses it. */
bool tool_token_is_free(const struct server *server, const struct json_token *token);

/* Begins a result with one text block and its exit code. Further members go into `_meta`. */
struct buffer *tool_result(struct request *request, const void *text, size_t size, bool is_error,
                           int exit_code);

#endif
