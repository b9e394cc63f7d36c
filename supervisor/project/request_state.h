/* The `requestState` of 2026-07-28 (basic/patterns/mrtr), which a client keeps between two requests
 * and may have altered. It names the parked invocation that the second request resumes, and is
 * sealed with a MAC under a key of this process. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_REQUEST_STATE_H
#define ECLAVE_SUPERVISOR_PROJECT_REQUEST_STATE_H

#include "supervisor/registry/digest.h"
#include <json-c/json.h>
#include <stdint.h>

enum { REQUEST_STATE_BYTES = 240 };

struct request_state {
    uint64_t invocation;   /* its number */
    uint64_t round;        /* how often it has asked */
    int64_t expires_ns;    /* in the time of the loop */
    struct digest binding; /* of the request that it belongs to */
};

/* Identifies a request by METHOD, NAME (of a tool or prompt, or a URI) and ARGUMENTS (NULL is the
 * same as an empty object), whatever the order of their members. */
struct digest request_state_binding(const struct digest_key *key, const char *method,
                                    const char *name, struct json_object *arguments);

void request_state_write(const struct digest_key *key, const struct request_state *state,
                         char text[REQUEST_STATE_BYTES]);

/* Reads TEXT into *state. NULL if it is valid for the request of BINDING at NOW_NS, else a sentence
 * for the client. The caller checks that the invocation still waits. */
const char *request_state_read(const struct digest_key *key, const char *text,
                               struct digest binding, int64_t now_ns, struct request_state *state);

#endif
