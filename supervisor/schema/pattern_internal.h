/* Regular expressions of ECMA-262 with the flag u that can be matched in linear time. A search
 * takes at most as many steps as the length of the text times the size of the pattern, and counts
 * them. PCRE2 and Oniguruma backtrack (PCRE2's match limit starts again at each position of the
 * text). TRE matches in time linear in the text, but its syntax is POSIX and it counts no steps.
 *
 * Refused are lookahead and lookbehind (allOf and not can replace them), back references, \p{…},
 * inline flags, what the flag u refuses (a lone brace or bracket), and a pattern that is too long
 * or grows too big when its repetitions are expanded. Groups, named ones too, only group; greedy
 * and lazy repetitions find the same. */
#ifndef ECLAVE_SUPERVISOR_SCHEMA_PATTERN_INTERNAL_H
#define ECLAVE_SUPERVISOR_SCHEMA_PATTERN_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PATTERN_MAX_BYTES = 1024,
    PATTERN_GROUPS_MAX = 32,  /* nesting of groups */
    PATTERN_STEPS_MAX = 4096, /* with repetitions expanded */
    PATTERN_MADE_MAX = 16384, /* the same, with those that {0} drops */
    PATTERN_RANGES_MAX = 1024
};

enum pattern_code {
    PATTERN_CHARACTER, /* value */
    PATTERN_ANY,       /* all but line ends */
    PATTERN_CLASS,     /* value: its first range; length: the number of ranges; negated */
    PATTERN_SPLIT,     /* continues at both targets */
    PATTERN_JUMP,      /* continues at the first target */
    PATTERN_START,
    PATTERN_END,
    PATTERN_BORDER, /* \b; negated: \B */
    PATTERN_FOUND
};

struct pattern_step {
    uint8_t code; /* a pattern_code */
    bool negated;
    uint16_t length;
    uint32_t value;
    int16_t to[2]; /* relative to this step */
};

struct pattern_range {
    uint32_t first, last;
};

struct pattern {
    struct pattern_step *steps; /* owned; the last is PATTERN_FOUND */
    struct pattern_range *ranges;
    size_t step_count, range_count;
    size_t made; /* steps emitted, with those dropped: the cost of compiling */
};

struct pattern_fault {
    const char *text; /* static; reads after "the pattern" */
    size_t at;        /* the offset in bytes */
};

/* Compiles TEXT. The caller frees the result with pattern_free. NULL with *fault. */
struct pattern *pattern_compile(const char *text, size_t size, struct pattern_fault *fault);
/* The memory that it takes, in bytes. */
size_t pattern_bytes(const struct pattern *pattern);
/* PATTERN may be NULL. */
void pattern_free(struct pattern *pattern);

enum pattern_result { PATTERN_MATCHES, PATTERN_DIFFERS, PATTERN_TOO_MUCH };

/* Searches TEXT for PATTERN. Deducts its steps from *work and returns PATTERN_TOO_MUCH when none
 * are left. A byte that is not UTF-8 counts as U+FFFD. */
enum pattern_result pattern_search(const struct pattern *pattern, const char *text, size_t size,
                                   size_t *work);

#endif
