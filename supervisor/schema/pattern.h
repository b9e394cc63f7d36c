/* Regular expressions of ECMA-262 with the flag u, as far as they can be matched in linear time:
 * a search costs at most the length of the text times the size of the pattern, and counts its
 * steps. The libraries in C that Debian has go back on their steps instead; PCRE2's match limit
 * starts afresh at each place of the text and does not count what a single repetition runs over.
 *
 * Refused: lookahead and lookbehind (allOf and not can say it), back references, \p{…}, flags, and
 * what the flag u refuses (a lone brace or bracket); a pattern that is too long or grows too big by
 * its counts. Groups, also named ones, only group; greedy and lazy find the same. */
#ifndef ECLAVE_SUPERVISOR_SCHEMA_PATTERN_H
#define ECLAVE_SUPERVISOR_SCHEMA_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PATTERN_MAX_BYTES = 1024,
    PATTERN_GROUPS_MAX = 32,  /* groups within groups */
    PATTERN_STEPS_MAX = 4096, /* instructions, after counts are multiplied out */
    PATTERN_MADE_MAX = 16384, /* the same with those that a count of 0 throws away */
    PATTERN_RANGES_MAX = 1024
};

enum pattern_code {
    PATTERN_CHARACTER, /* value */
    PATTERN_ANY,       /* all but line ends */
    PATTERN_CLASS,     /* value: its first range, length: how many; negated */
    PATTERN_SPLIT,     /* to both places */
    PATTERN_JUMP,      /* to the first place */
    PATTERN_START,
    PATTERN_END,
    PATTERN_BORDER, /* of a word; negated: anywhere else */
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
    size_t made; /* steps, of which some were thrown away: what compiling it cost */
};

struct pattern_fault {
    const char *text; /* what is wrong, static */
    size_t at;        /* the byte that it is wrong at */
};

/* Compiles TEXT. The caller frees the result with pattern_free. NULL with *fault filled in. */
struct pattern *pattern_compile(const char *text, size_t size, struct pattern_fault *fault);
/* How much memory it takes. */
size_t pattern_bytes(const struct pattern *pattern);
/* PATTERN may be NULL. */
void pattern_free(struct pattern *pattern);

enum pattern_result { PATTERN_MATCHES, PATTERN_DIFFERS, PATTERN_TOO_MUCH };

/* Does PATTERN match somewhere in TEXT? Takes the steps that it needs off *work, and gives up when
 * there are none left. Ill-formed UTF-8 counts as U+FFFD, a byte at a time. */
enum pattern_result pattern_search(const struct pattern *pattern, const char *text, size_t size,
                                   size_t *work);

#endif
