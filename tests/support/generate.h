/* Random lines for the property tests: valid and invalid, of every kind that the contract names.
 * What the server should answer is the oracle's business. Must never make a newline. */
#ifndef ECLAVE_TESTS_SUPPORT_GENERATE_H
#define ECLAVE_TESTS_SUPPORT_GENERATE_H

#include "common/buffer.h"
#include "tests/support/random.h"
#include "tests/support/script.h"

enum generate_kind {
    GENERATE_VALID = 1,        /* requests that are served: ping, lists, levels, evaluations */
    GENERATE_REFUSED = 2,      /* well-formed requests that are refused: methods, parameters */
    GENERATE_ILL_FORMED = 4,   /* JSON that is no request: wrong types, missing members, scalars */
    GENERATE_UNREADABLE = 8,   /* no JSON: random bytes, broken and mutated text, bad UTF-8 */
    GENERATE_SILENT = 16,      /* notifications, responses, blank lines */
    GENERATE_BATCH = 32,       /* arrays */
    GENERATE_TWINS = 64,       /* members that stand twice */
    GENERATE_EVALUATIONS = 128 /* among the valid ones, tools/call of evaluate-lisp too */
};

/* What the generator carries on: its random numbers and a serial number for ids. */
struct generator {
    struct random random;
    unsigned long serial;
};

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
