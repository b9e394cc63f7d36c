/* Runs the steps of a pattern over a text, with all threads in parallel (Pike's algorithm): each
 * step is visited at most once per character, on however many paths it can be reached. */
#include "common/utf8.h"
#include "supervisor/schema/pattern_internal.h"

#include <string.h>

enum { NOTHING = 0x110000 }; /* stands for the character before the first and after the last */

struct threads {
    uint16_t steps[PATTERN_STEPS_MAX];
    size_t count;
};

struct search {
    const struct pattern *pattern;
    uint32_t seen[PATTERN_STEPS_MAX]; /* the round in which a step was last visited */
    uint32_t round;
    uint32_t before, next; /* the characters on both sides of this place */
    struct threads lists[2], waiting;
    bool found;
    size_t *work;
};

static bool is_word(uint32_t code) {
    return code == '_' || (code >= '0' && code <= '9') ||
           ((code | 0x20) >= 'a' && (code | 0x20) <= 'z' && code < 0x80);
}

static bool is_line_end(uint32_t code) {
    return code == '\n' || code == '\r' || code == 0x2028 || code == 0x2029;
}

static void visit(struct search *search, size_t step) {
    if (search->seen[step] == search->round)
        return;
    search->seen[step] = search->round;
    search->waiting.steps[search->waiting.count++] = (uint16_t)step;
}

static size_t target(const struct search *search, size_t at, size_t which) {
    return (size_t)((long)at + search->pattern->steps[at].to[which]);
}

/* Follows a step that takes no character, or adds one that does to LIST. */
static void follow(struct search *search, size_t at, struct threads *list) {
    const struct pattern_step *step = &search->pattern->steps[at];
    bool passes;
    switch (step->code) {
    case PATTERN_SPLIT:
        visit(search, target(search, at, 0));
        visit(search, target(search, at, 1));
        return;
    case PATTERN_JUMP:
        visit(search, target(search, at, 0));
        return;
    case PATTERN_START:
        passes = search->before == NOTHING;
        break;
    case PATTERN_END:
        passes = search->next == NOTHING;
        break;
    case PATTERN_BORDER:
        passes = (is_word(search->before) != is_word(search->next)) != step->negated;
        break;
    case PATTERN_FOUND:
        search->found = true;
        return;
    default:
        list->steps[list->count++] = (uint16_t)at;
        return;
    }
    if (passes)
        visit(search, at + 1);
}

/* Adds to LIST the steps that can be reached from STEP without taking a character. */
static void enter(struct search *search, size_t step, struct threads *list) {
    visit(search, step);
    while (search->waiting.count && !search->found) {
        *search->work -= *search->work > 0;
        follow(search, search->waiting.steps[--search->waiting.count], list);
    }
}

static bool in_class(const struct search *search, const struct pattern_step *step, uint32_t code) {
    const struct pattern_range *ranges = search->pattern->ranges + step->value;
    bool inside = false;
    for (size_t i = 0; i < step->length && !inside; i++)
        inside = code >= ranges[i].first && code <= ranges[i].last;
    size_t cost = step->length / 8;
    *search->work -= cost < *search->work ? cost : *search->work;
    return inside != step->negated;
}

static bool takes(const struct search *search, size_t at, uint32_t code) {
    const struct pattern_step *step = &search->pattern->steps[at];
    switch (step->code) {
    case PATTERN_CHARACTER:
        return step->value == code;
    case PATTERN_ANY:
        return !is_line_end(code);
    default:
        return in_class(search, step, code);
    }
}

/* Takes the character at *offset. */
static uint32_t take(const unsigned char *text, size_t size, size_t *offset) {
    if (*offset >= size)
        return NOTHING;
    size_t length = utf8_sequence_length(text + *offset, size - *offset);
    uint32_t code = length ? utf8_decode(text + *offset) : 0xFFFD;
    *offset += length ? length : 1;
    return code;
}

/* Moves the threads over the next character. */
static void advance(struct search *search, const unsigned char *text, size_t size, size_t *offset) {
    const struct threads *list = &search->lists[search->round % 2];
    uint32_t code = search->next;
    search->round++;
    struct threads *other = &search->lists[search->round % 2];
    other->count = 0;
    search->before = code;
    search->next = take(text, size, offset);
    for (size_t i = 0; i < list->count && !search->found; i++)
        if (takes(search, list->steps[i], code))
            enter(search, list->steps[i] + 1, other);
}

static enum pattern_result run(struct search *search, const unsigned char *text, size_t size) {
    size_t offset = 0;
    bool anchored = search->pattern->steps[0].code == PATTERN_START;
    search->next = take(text, size, &offset);
    for (;;) {
        struct threads *list = &search->lists[search->round % 2];
        if (!anchored || search->before == NOTHING)
            enter(search, 0, list);
        if (search->found)
            return PATTERN_MATCHES;
        if (search->next == NOTHING || (anchored && !list->count))
            return PATTERN_DIFFERS;
        if (!*search->work)
            return PATTERN_TOO_MUCH;
        *search->work -= *search->work > 1 ? 2 : 1;
        advance(search, text, size, &offset);
        if (search->found)
            return PATTERN_MATCHES;
    }
}

enum pattern_result pattern_search(const struct pattern *pattern, const char *text, size_t size,
                                   size_t *work) {
    struct search search; /* big, so only the parts that are read are initialized */
    search.pattern = pattern;
    search.round = 1;
    search.before = NOTHING;
    search.waiting.count = search.lists[0].count = search.lists[1].count = 0;
    search.found = false;
    search.work = work;
    memset(search.seen, 0, pattern->step_count * sizeof *search.seen);
    size_t cost = 1 + pattern->step_count / 8;
    *work -= cost < *work ? cost : *work;
    return run(&search, (const unsigned char *)text, size);
}
