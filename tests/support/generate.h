/* Random lines for the property tests: valid and invalid, of every kind that the contract names.
 * The oracle knows the answers. No line holds a newline. */
#ifndef ECLAVE_TESTS_SUPPORT_GENERATE_H
#define ECLAVE_TESTS_SUPPORT_GENERATE_H

#include "common/buffer.h"
#include "tests/support/random.h"
#include "tests/support/script.h"

enum generate_kind {
    GENERATE_VALID = 1,         /* requests that are served: ping, lists, levels, evaluations */
    GENERATE_REFUSED = 2,       /* well-formed requests that are refused: methods, parameters */
    GENERATE_ILL_FORMED = 4,    /* JSON that is not a request: wrong types, missing members */
    GENERATE_UNREADABLE = 8,    /* not JSON: random bytes, broken text, bad UTF-8 */
    GENERATE_MUTATED = 16,      /* refused requests with a few bytes changed */
    GENERATE_SILENT = 32,       /* notifications, responses, blank lines */
    GENERATE_BATCH = 64,        /* arrays; with both eras inside if GENERATE_BOTH_ERAS is there */
    GENERATE_TWINS = 128,       /* objects with a member that occurs twice */
    GENERATE_EVALUATIONS = 256, /* among the valid ones, tools/call of evaluate-lisp too */
    GENERATE_BOTH_ERAS = 512,   /* legacy and modern requests, and Lisp that the oracle knows */
    GENERATE_IN_FLIGHT = 1024   /* subscriptions, calls that do not end, and their cancellation */
};

enum { GENERATE_ID_BYTES = 80, GENERATE_SUBSCRIPTIONS_MAX = 20 };

struct generator {
    struct random random;
    unsigned long serial;                                              /* of the last id */
    char subscriptions[GENERATE_SUBSCRIPTIONS_MAX][GENERATE_ID_BYTES]; /* open, as far as known */
    size_t subscription_count;
    char call[GENERATE_ID_BYTES]; /* to be cancelled; empty: none */
    bool endless;                 /* it does not end by itself */
    size_t lines_left;            /* before it is cancelled */
};

/* With the seed of random_for. */
struct generator generate_for(const char *name);

/* One line of one of KINDS (a set of generate_kind), without newline, into OUT. */
void generate_line(struct generator *generator, unsigned kinds, struct buffer *out);

/* COUNT lines of KINDS into SCRIPT. */
void generate_lines(struct generator *generator, unsigned kinds, size_t count,
                    struct script *script);

/* COUNT lines, each of which an initialized server must answer with exactly one error. */
void generate_invalid_lines(struct generator *generator, size_t count, struct script *script);

/* A correct handshake for REVISION (NULL: the newest) into SCRIPT. */
void generate_handshake(const char *revision, struct script *script);

#endif
