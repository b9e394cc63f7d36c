/* The `requestState` of 2026-07-28 (basic/patterns/mrtr): what a client keeps for us between two
 * requests, and may have altered. It says which parked run goes on, and for which request; a MAC
 * under a key that never leaves this process says that we made it. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_STATE_H
#define ECLAVE_SUPERVISOR_PROJECT_STATE_H

#include <json-c/json.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>

enum { STATE_TEXT_BYTES = 240, STATE_HASH_BYTES = crypto_generichash_BYTES };

struct state_key {
    unsigned char bytes[crypto_generichash_KEYBYTES];
};

struct state {
    uint64_t run;                            /* number of the run */
    uint64_t round;                          /* how often it has asked */
    int64_t expires_ns;                      /* of the monotonic clock */
    unsigned char binding[STATE_HASH_BYTES]; /* of the request it belongs to */
};

/* A random key. */
void state_key_make(struct state_key *key);

/* What ties a state to its request: METHOD, NAME (of a tool or prompt, or a URI) and ARGUMENTS
 * (NULL: none, the same as an empty object), whatever the order of its members. */
void state_bind(const struct state_key *key, const char *method, const char *name,
                struct json_object *arguments, unsigned char binding[STATE_HASH_BYTES]);

void state_write(const struct state_key *key, const struct state *state,
                 char text[STATE_TEXT_BYTES]);

/* The state that TEXT is. NULL when it is good for the request of BINDING at NOW_NS, else the
 * sentence that says why it is refused. Whether its run still waits is for the caller to see. */
const char *state_read(const struct state_key *key, const char *text,
                       const unsigned char binding[STATE_HASH_BYTES], int64_t now_ns,
                       struct state *state);

#endif
