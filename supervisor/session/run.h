/* A run: it evaluates a source and calls what that defines. While it works it sends events and
 * questions, and at its end a result, all as JSON from a hostile worker. This module checks that
 * JSON and returns it as data of a known shape. It knows no methods and revisions of MCP.
 *
 * How to start one (session.h):
 *
 *   struct call_request request = {.kind = CALL_RUN, .code = source, .timeout_ms = …,
 *                                  .run = {.kind = RUN_TOOL, .name = name, .arguments = json},
 *                                  .event = …, .ask = …, .done = …, .context = …};
 *   struct call *call = session_submit_once(sessions, &request);   in a session of its own
 *                    or session_submit(session, &request);         in an existing one
 *   session_step(call_session(call));
 *
 * `event` and `ask` are called any number of times before `done`, which is called once. A question
 * waits for call_answer, within `ask` or later, or for call_cancel. The time limit of the call is
 * suspended meanwhile; all waiting of one call is limited by call.timeout_max_s. With OUTCOME_VALUE
 * `evaluation.run` is the result; any other outcome is that of an evaluation. The arguments of the
 * callbacks are valid until they return; json_object_get keeps them. */
#ifndef ECLAVE_SUPERVISOR_SESSION_RUN_H
#define ECLAVE_SUPERVISOR_SESSION_RUN_H

#include "common/buffer.h"
#include "supervisor/json/json_reader.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

enum run_kind {
    RUN_TOOL,
    RUN_PROMPT,
    RUN_RESOURCE,
    RUN_COMPLETION,
    RUN_LOAD,    /* only checks that the source defines the name */
    RUN_CONTENT, /* not a run: the content among the values of an evaluation */
    RUN_KIND_COUNT
};

enum {
    RUN_RESULT_MAX_BYTES = 16 << 20,
    RUN_VALUES_MAX = 500000,       /* in one JSON text */
    RUN_PARSED_VALUES_MAX = 32768, /* of a result, that are parsed: outside structuredContent, and
                                      in it if a schema checks it */
    RUN_BLOCKS_MAX = 1024,         /* content blocks, messages or contents of a result */
    RUN_ASK_VALUES_MAX = 20000,    /* in questions, which are held until they are answered */
    RUN_DEPTH_MAX = 132,           /* 128 of the user's, and those around them */
    RUN_QUESTIONS_MAX = 16,        /* in one FRAME_ASK */
    RUN_KEY_MAX_BYTES = 128,       /* of a question */
    /* In one call, which beyond them ends with OUTCOME_OUTPUT. */
    RUN_EVENTS_MAX = 100000,
    RUN_EVENTS_MAX_BYTES = 64 << 20,
    RUN_ASKS_MAX = 100,
    /* Events above this rate are dropped and counted. The settings progress.max_per_min and
     * log.max_per_min can lower it. */
    RUN_EVENTS_PER_MINUTE = 6000,
    RUN_EVENTS_AT_ONCE = 200
};

struct run_request {
    enum run_kind kind;
    struct span name; /* of the tool or prompt, or the URI template, as in the source */
    /* A JSON object. Of a resource: `uri` and the variables of the template; of a completion:
     * `argument`, `value`, `context`; of RUN_LOAD: `kind`, the word for the kind of definition. */
    struct span arguments;
    bool wants_value; /* the result has the value of structuredContent, not only its text */
};

/* The word for KIND in a FRAME_RUN. */
const char *run_kind_word(enum run_kind kind);

enum run_event_kind { RUN_PROGRESS, RUN_LOG, RUN_CHANGE };

/* The members of each kind, besides `type`:
 *   RUN_PROGRESS  `progress`, which increases; optional `total` and `message`
 *   RUN_LOG       `level` (of MCP), `data` (any value); optional `logger`
 *   RUN_CHANGE    `kind`: "tools", "prompts", "resources", or "resource" with `uri` */
struct run_event {
    enum run_event_kind kind;
    struct json_object *json;
    double progress;
};

/* False if TEXT is not an event. Free with run_event_free. */
bool run_event_decode(struct span text, struct run_event *event);
void run_event_free(struct run_event *event);

/* The questions in TEXT: an object with at least one member {key: {"method", "params"}}, as in the
 * `inputRequests` of MCP: elicitation/create, sampling/createMessage, roots/list. NULL if TEXT has
 * another shape. The caller's (json_object_put). The answer is one of
 *   {"responses": {key: result, …}}          a missing key is unanswered
 *   {"error": {"code": integer, "message": string}} */
struct json_object *run_ask_decode(struct span text);

/* The members of each kind, as MCP has them; the caller removes those that a revision lacks:
 *   RUN_TOOL        `content`; optional `isError` and `structuredContent` (any value)
 *   RUN_PROMPT      `messages`
 *   RUN_RESOURCE    `contents`; without `mimeType` if the source names none
 *   RUN_COMPLETION  `values` (at most 100), `total`, `hasMore`
 *   RUN_LOAD        none
 *   RUN_CONTENT     `content` */
struct run_result {
    enum run_kind kind;
    struct json_object *json;
    bool is_error;
    /* The text of `structuredContent`, in which integers keep all their digits (json-c rounds those
     * beyond 64 bits); bytes NULL: none. Points into the decoded text. `json` has null in its
     * place, since parsing it is most of the work, and few callers need a tree. */
    struct span structured;
    struct json_object *value; /* of `structured`, if it was wanted */
    bool is_whole;             /* and no object in it has a member twice */
};

/* False if TEXT is not the result of a run of KIND. Has `value` too. Free with run_result_free. */
bool run_result_decode(enum run_kind kind, struct span text, struct run_result *result);

/* The same in slices. TEXT stays valid until the end. */
struct run_decoder {
    enum run_kind kind;
    struct span text;
    bool wants_value; /* parses the value of structuredContent too */
    enum { RUN_CHECK, RUN_PARSE, RUN_SHAPE, RUN_PARSE_VALUE, RUN_COMPARE_VALUE } stage;
    struct json_reader reader;
    struct run_result *result;
    const char *limit_name; /* with RUN_STEP_LIMIT */
    size_t limit;
};

enum run_step { RUN_STEP_MORE, RUN_STEP_DONE, RUN_STEP_MALFORMED, RUN_STEP_LIMIT };

void run_decode_begin(struct run_decoder *decoder, enum run_kind kind, struct span text,
                      bool wants_value, struct run_result *result);
/* Anything but MORE ends it; only with DONE is the result valid, and to be freed. */
enum run_step run_decode_step(struct run_decoder *decoder);
/* Ends it early. */
void run_decode_cancel(struct run_decoder *decoder);
void run_result_free(struct run_result *result);

#endif
