/* One run of a definition, from the request that began it to the answer that it gives, perhaps by
 * way of questions to the client. It outlives a request of the modern era that was answered with
 * questions: it is parked then, until the request that brings the answers. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_INVOCATION_H
#define ECLAVE_SUPERVISOR_PROJECT_INVOCATION_H

#include "supervisor/project/state.h"
#include "supervisor/registry/entry.h"
#include "supervisor/session/evaluation.h"
#include "supervisor/session/run.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of JSON that a run holds for its client, as json_held_bytes counts. */
enum { INVOCATION_HELD_MAX_BYTES = 16 << 20, INVOCATION_ABILITIES_MAX_BYTES = 1 << 20 };

struct project;
struct request;
struct invocation;
struct server;
struct settings;

/* What the kinds of runs differ in. */
struct invocation_form {
    enum run_kind kind;
    const char *subject; /* "Tool", "Prompt", … */
    const char *method;
    int64_t timeout_max_ms; /* 0: none but the settings' */
    bool asks;              /* may ask the client */
    bool yields; /* only a quarter of session.max may run, at least one: further ones take
                    the place of the oldest of the same `bound`, or are refused */
    /* Answers with a result, of the shape that run.h has for the kind. */
    void (*answer)(struct invocation *invocation, const struct evaluation *evaluation);
};

struct invocation {
    struct invocation *next;
    uint64_t number;
    const struct invocation_form *form;
    struct server *server;
    struct request *request; /* NULL: parked */
    struct registry_entry *entry;
    char *name; /* of the tool or prompt, or the URI: what its request names */
    struct call *call;
    int64_t begun_ns; /* monotonic */
    bool speaks;      /* it has told of its own progress: there is no heartbeat any more */
    uint64_t beats;   /* of the heartbeat, so far */

    /* Questions: ask.c. */
    struct json_object *abilities; /* what the client said it can do; may be NULL */
    struct json_object *questions; /* asked and not answered; NULL: none */
    struct json_object *responses; /* to them, so far */
    struct json_object
        *early_responses;        /* `inputResponses` that came with the first request; or NULL */
    bool new_session;            /* its session was made for it, and the answer names it */
    struct json_object *lacking; /* capabilities that the last question wanted in vain */
    char failure[240];           /* why one of them has no response; empty: they all have */
    int failure_code;
    uint64_t round; /* how often it has asked */
    unsigned char binding[STATE_HASH_BYTES];
    int64_t parked_ns; /* when, monotonic */
};

/* Begins to run ENTRY for REQUEST, which is kept; BOUND are the arguments that its retries must
 * repeat, ARGUMENTS what the source gets. Answers REQUEST when it cannot. PARAMS are the request's.
 */
void invocation_begin(struct request *request, const struct registry_entry *entry,
                      const struct invocation_form *form, const char *name,
                      struct json_object *bound, struct json_object *arguments,
                      struct json_object *params);

/* How long a run of ENTRY may take; MAXIMUM_MS 0: none but the settings'. */
int64_t invocation_timeout_ms(const struct settings *settings, const struct registry_entry *entry,
                              int64_t maximum_ms);

/* Frees a run that is told nothing any more. */
void invocation_free(struct invocation *invocation);

/* Answers an evaluation that gave no result, for prompts and resources, which have no word for
 * failure in their results: an error with what is known. */
void invocation_answer_failure(struct invocation *invocation, const struct evaluation *evaluation);

#endif
