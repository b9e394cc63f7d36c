/* An invocation: one run of a definition with the request that began it, up to the answer. While
 * it runs, it may put questions to the client. In the modern era these answer its request, and it
 * is parked until another request brings the responses. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_INVOCATION_H
#define ECLAVE_SUPERVISOR_PROJECT_INVOCATION_H

#include "supervisor/project/request_state.h"
#include "supervisor/registry/entry.h"
#include "supervisor/session/evaluation.h"
#include "supervisor/session/run.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/* JSON that is held for a client, in bytes as json_held_bytes counts them. */
enum { INVOCATION_HELD_MAX_BYTES = 4 << 20, INVOCATION_CAPABILITIES_MAX_BYTES = 1 << 20 };

struct invocation;
struct request;
struct server;
struct settings;

/* What distinguishes the kinds of invocations. */
struct invocation_form {
    enum run_kind kind;
    const char *subject; /* "Tool", "Prompt", … */
    const char *method;
    int64_t timeout_max_ms; /* 0: none but the settings' */
    bool asks;              /* may ask the client */
    bool yields; /* a quarter of call.running_max, but at least one, may run at a time; another one
                    replaces the oldest of the same binding, or is refused */
    /* Answers the request with a result, in the shape that run.h has for the kind. */
    void (*answer)(struct invocation *invocation, const struct evaluation *evaluation);
};

struct invocation {
    LIST_ENTRY(invocation) link;
    uint64_t number;
    const struct invocation_form *form;
    struct server *server;
    struct request *request; /* NULL: parked */
    struct registry_entry *entry;
    char *name; /* of the tool or prompt, or the URI, as the request has it */
    struct call *call;
    bool has_reported;   /* progress of its own: the heartbeat has ended */
    uint64_t heartbeats; /* sent so far */

    /* For ask.c. */
    struct json_object *capabilities;    /* of the client; may be NULL */
    struct json_object *questions;       /* key -> question, without a response; NULL: none */
    struct json_object *responses;       /* key -> result, so far */
    struct json_object *early_responses; /* `inputResponses` of the first request; may be NULL */
    struct json_object *missing;         /* capability that the last questions needed; NULL: none */
    bool new_session, named_session;     /* as in struct request */
    char failure[ERROR_TEXT_BYTES];      /* why a question has no result; empty: none has failed */
    int failure_code;
    uint64_t round; /* how often it has asked */
    struct digest binding;
    int64_t parked_ns; /* monotonic */
};

/* Begins to run ENTRY for REQUEST, which is kept, or answers REQUEST with an error. BOUND are the
 * arguments that the request must repeat to continue, ARGUMENTS those that the source gets, PARAMS
 * the parameters of the request. */
void invocation_begin(struct request *request, const struct registry_entry *entry,
                      const struct invocation_form *form, const char *name,
                      struct json_object *bound, struct json_object *arguments,
                      struct json_object *params);

/* How long a run of ENTRY may take; MAXIMUM_MS 0: none but the settings'. */
int64_t invocation_timeout_ms(const struct settings *settings, const struct registry_entry *entry,
                              int64_t maximum_ms);

/* Frees an invocation without an answer. */
void invocation_free(struct invocation *invocation);

#endif
