/* What a run of a definition gives: events and questions while it works, a result at its end. All
 * of it is JSON that a hostile worker wrote; here it becomes data whose shape is known. Nothing
 * here knows MCP's methods, revisions or what a client may be told.
 *
 * How to run one (supervisor/session/session.h):
 *
 *   struct call_request wanted = {.kind = CALL_RUN, .code = source, .timeout_ms = …,
 *                                 .run = {.kind = RUN_TOOL, .name = name, .arguments = json},
 *                                 .event = …, .ask = …, .done = …, .context = …};
 *   struct call *call = session_submit_once(sessions, &wanted);    a fresh world for this call
 *                    or session_submit(session, &wanted);          in a session that lives on
 *   session_run(call_session(call));
 *
 * `event` and `ask` come any number of times before `done`, which comes once. A question waits
 * until call_answer, from within `ask` or later, or until call_cancel; the call's time limit stands
 * still meanwhile, and the waiting of one call is limited by call.timeout_max_s altogether. With
 * OUTCOME_VALUE `evaluation.run` is the result; every other outcome is that of an evaluation and
 * its text is made in the same way. What is handed to `event`, `ask` and `done` is theirs to read
 * until they return, and to keep by json_object_get. */
#ifndef ECLAVE_SUPERVISOR_SESSION_RUN_H
#define ECLAVE_SUPERVISOR_SESSION_RUN_H

#include "common/buffer.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

enum run_kind {
    RUN_TOOL,
    RUN_PROMPT,
    RUN_RESOURCE,
    RUN_COMPLETION,
    RUN_LOAD, /* nothing is called, but it must be defined */
    RUN_KIND_COUNT
};

enum {
    RUN_RESULT_MAX_BYTES =
        16 << 20,               /* of JSON; the worker keeps to these, a hostile one does not */
    RUN_VALUES_MAX = 500000,    /* in one JSON text */
    RUN_ASK_VALUES_MAX = 20000, /* in questions, which are held until they are answered */
    RUN_DEPTH_MAX = 132,        /* 128 of the user's, and what is around them */
    RUN_QUESTIONS_MAX = 16,     /* asked at once */
    RUN_KEY_MAX_BYTES = 128,
    /* In one call; beyond them it ends with OUTCOME_OUTPUT. */
    RUN_EVENTS_MAX = 100000,
    RUN_EVENTS_MAX_BYTES = 64 << 20,
    RUN_ASKS_MAX = 100,
    /* Events that are looked at; those beyond are dropped and counted. The settings may lower what
     * is handed on of it: progress.max_per_min, log.max_per_min. */
    RUN_EVENTS_PER_MINUTE = 6000,
    RUN_EVENTS_AT_ONCE = 200
};

struct run_request {
    enum run_kind kind;
    struct span name;      /* as the source defines it: of a tool or prompt, or a URI template */
    struct span arguments; /* a JSON object. Of a resource: `uri` and the variables of the template;
                              of a completion: `argument`, `value`, `context`; of RUN_LOAD: `kind`,
                              the word for what is to be defined */
};

/* The word for KIND in a FRAME_RUN. */
const char *run_kind_word(enum run_kind kind);

enum run_event_kind { RUN_PROGRESS, RUN_LOG, RUN_CHANGE };

/* JSON of each kind, besides `type`:
 *   RUN_PROGRESS  `progress` and perhaps `total`, numbers, and `message`. It grows from one to the
 *                 next
 *   RUN_LOG       `level` (of MCP), `data` (any value) and perhaps `logger`
 *   RUN_CHANGE    `kind`: "tools", "prompts", "resources", or "resource" with `uri` */
struct run_event {
    enum run_event_kind kind;
    struct json_object *json;
    double progress;
};

/* False when TEXT is no event. Free with run_event_free. */
bool run_event_decode(struct span text, struct run_event *event);
void run_event_free(struct run_event *event);

/* The questions of TEXT, an object of {key: {"method", "params"}}, at least one, each as MCP's
 * `inputRequests` have it: elicitation/create, sampling/createMessage, roots/list. NULL when TEXT
 * is none. The caller's (json_object_put). The answer to it is
 *   {"responses": {key: result, …}}          a key that is not there counts as unanswered
 *   {"error": {"code": integer, "message": string}} */
struct json_object *run_ask_decode(struct span text);

/* JSON of each kind, ready to be sent but for what a revision does not know:
 *   RUN_TOOL        `content`, and perhaps `isError` and `structuredContent` (any value)
 *   RUN_PROMPT      `messages`
 *   RUN_RESOURCE    `contents`; without `mimeType` where the source names none
 *   RUN_COMPLETION  `values` (at most 100), `total`, `hasMore`
 *   RUN_LOAD        nothing */
struct run_result {
    enum run_kind kind;
    struct json_object *json;
    bool is_error;
    /* The text of `structuredContent`, in which integers have all their digits (json-c rounds those
     * beyond 64 bits); bytes NULL when there is none. Points into the text that was decoded. In
     * `json` there is a null in its place: making a tree of it is most of the work, and is left to
     * who needs one. */
    struct span structured;
};

/* False when TEXT is not the result of such a run. Free with run_result_free. */
bool run_result_decode(enum run_kind kind, struct span text, struct run_result *result);
void run_result_free(struct run_result *result);
/* The value of `structuredContent`, which there must be; the caller's. NULL is null, or no memory.
 */
struct json_object *run_result_structured(const struct run_result *result);

#endif
