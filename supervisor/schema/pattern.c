/* Compiles regular expressions to steps, by recursive descent. All jumps are relative, so that a
 * sequence of steps can be moved and copied. */
#include "common/utf8.h"
#include "supervisor/schema/pattern_internal.h"

#include <stdlib.h>
#include <string.h>

enum { UNLIMITED = -1, LAST_CHARACTER = 0x10FFFF };

struct parser {
    const unsigned char *start, *at, *end;
    struct pattern *pattern;
    size_t depth;
    struct pattern_fault *fault;
};

static bool refuse(const struct parser *parser, const char *text) {
    if (!parser->fault->text)
        *parser->fault = (struct pattern_fault){text, (size_t)(parser->at - parser->start)};
    return false;
}

/* --- input --- */

static bool is_next(const struct parser *parser, const char *text) {
    size_t size = strlen(text);
    return (size_t)(parser->end - parser->at) >= size && memcmp(parser->at, text, size) == 0;
}

static bool accept(struct parser *parser, const char *text) {
    if (!is_next(parser, text))
        return false;
    parser->at += strlen(text);
    return true;
}

static bool take_character(struct parser *parser, uint32_t *code) {
    size_t length = utf8_sequence_length(parser->at, (size_t)(parser->end - parser->at));
    if (!length)
        return refuse(parser, parser->at == parser->end ? "ends unexpectedly" : "is not UTF-8");
    *code = utf8_decode(parser->at);
    parser->at += length;
    return true;
}

static bool is_digit(const struct parser *parser) {
    return parser->at < parser->end && *parser->at >= '0' && *parser->at <= '9';
}

/* A decimal number; one that exceeds all limits is cut to a value that still does. */
static int take_number(struct parser *parser) {
    int number = 0;
    for (; is_digit(parser); parser->at++)
        if (number <= PATTERN_STEPS_MAX)
            number = number * 10 + (*parser->at - '0');
    return number;
}

static int hex_digit(unsigned char byte) {
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static bool take_hex(struct parser *parser, size_t count, uint32_t *code) {
    *code = 0;
    for (; count; count--, parser->at++) {
        int digit = parser->at < parser->end ? hex_digit(*parser->at) : -1;
        if (digit < 0)
            return refuse(parser, "needs a hexadecimal digit here");
        *code = *code * 16 + (uint32_t)digit;
    }
    return true;
}

/* --- steps --- */

static bool emit(struct parser *parser, struct pattern_step step) {
    struct pattern *pattern = parser->pattern;
    if (pattern->step_count == PATTERN_STEPS_MAX || pattern->made == PATTERN_MADE_MAX)
        return refuse(parser, "is too big");
    pattern->made++;
    pattern->steps[pattern->step_count++] = step;
    return true;
}

/* Inserts STEP at AT. */
static bool insert(struct parser *parser, size_t at, struct pattern_step step) {
    struct pattern *pattern = parser->pattern;
    size_t count = pattern->step_count - at;
    if (!emit(parser, step))
        return false;
    memmove(pattern->steps + at + 1, pattern->steps + at, count * sizeof step);
    pattern->steps[at] = step;
    return true;
}

static struct pattern_step split(size_t first, size_t second) {
    return (struct pattern_step){.code = PATTERN_SPLIT, .to = {(int16_t)first, (int16_t)second}};
}

static struct pattern_step back(uint8_t code, size_t steps) {
    return (struct pattern_step){.code = code, .to = {(int16_t) - (int)steps, 1}};
}

/* --- characters and classes --- */

static bool add_range(struct parser *parser, uint32_t first, uint32_t last) {
    struct pattern *pattern = parser->pattern;
    if (pattern->range_count == PATTERN_RANGES_MAX)
        return refuse(parser, "is too big");
    pattern->ranges[pattern->range_count++] = (struct pattern_range){first, last};
    return true;
}

static const struct pattern_range digits[] = {{'0', '9'}};
static const struct pattern_range words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
static const struct pattern_range blanks[] = {
    {'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
    {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};

static const struct named_class {
    unsigned char lower, upper; /* \d: the class; \D: its complement */
    size_t count;
    const struct pattern_range *ranges;
} classes[] = {{'d', 'D', sizeof digits / sizeof *digits, digits},
               {'w', 'W', sizeof words / sizeof *words, words},
               {'s', 'S', sizeof blanks / sizeof *blanks, blanks}};

static bool add_class(struct parser *parser, const struct named_class *class, bool negated) {
    uint32_t next = 0; /* the character after the last range */
    for (size_t i = 0; i < class->count; i++) {
        struct pattern_range range = class->ranges[i];
        if (!(negated ? add_range(parser, next, range.first - 1)
                      : add_range(parser, range.first, range.last)))
            return false;
        next = range.last + 1;
    }
    return !negated || add_range(parser, next, LAST_CHARACTER);
}

/* Takes the letter after the backslash if it is a class, and adds its ranges. */
static bool take_class(struct parser *parser, bool *taken) {
    *taken = false;
    for (size_t i = 0; i < sizeof classes / sizeof *classes && parser->at < parser->end; i++)
        if (*parser->at == classes[i].lower || *parser->at == classes[i].upper) {
            *taken = true;
            return add_class(parser, &classes[i], *parser->at++ == classes[i].upper);
        }
    return true;
}

static bool take_unicode(struct parser *parser, uint32_t *code) {
    if (accept(parser, "{")) {
        for (*code = 0;
             parser->at < parser->end && *parser->at != '}' && *code <= LAST_CHARACTER;) {
            uint32_t digit;
            if (!take_hex(parser, 1, &digit))
                return false;
            *code = *code * 16 + digit;
        }
        if (*code > LAST_CHARACTER || parser->at[-1] == '{' || !accept(parser, "}"))
            return refuse(parser, "has an invalid \\u{} escape");
    } else if (!take_hex(parser, 4, code)) {
        return false;
    }
    if (*code >= 0xD800 && *code <= 0xDBFF && accept(parser, "\\u")) {
        uint32_t low;
        if (!take_hex(parser, 4, &low))
            return false;
        if (low >= 0xDC00 && low <= 0xDFFF)
            *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
    }
    return (*code < 0xD800 || *code > 0xDFFF) || refuse(parser, "has a lone surrogate");
}

static bool take_control(struct parser *parser, uint32_t *code) {
    unsigned char letter = parser->at < parser->end ? *parser->at | 0x20 : 0;
    if (letter < 'a' || letter > 'z')
        return refuse(parser, "needs a letter after \\c");
    *code = *parser->at++ & 0x1F;
    return true;
}

static bool refuse_letter(struct parser *parser, uint32_t letter) {
    parser->at--;
    if ((letter >= '1' && letter <= '9') || letter == 'k')
        return refuse(parser, "has a back reference, which is not supported");
    if (letter == 'p' || letter == 'P')
        return refuse(parser, "has a Unicode property, which is not supported");
    return refuse(parser, "has an unknown escape");
}

/* Takes the escape of one character, after the backslash. */
static bool take_escape(struct parser *parser, uint32_t *code) {
    static const char letters[] = "tnvfr", meant[] = "\t\n\v\f\r";
    if (!take_character(parser, code))
        return false;
    const char *letter = *code && *code < 0x80 ? strchr(letters, (int)*code) : NULL;
    if (letter) {
        *code = (uint32_t)meant[letter - letters];
        return true;
    }
    switch (*code) {
    case 'u':
        return take_unicode(parser, code);
    case 'x':
        return take_hex(parser, 2, code);
    case 'c':
        return take_control(parser, code);
    case '0':
        *code = 0;
        return !is_digit(parser) || refuse(parser, "has an octal escape");
    default: /* punctuation is itself */
        return (*code > ' ' && *code < 0x7F && *code != '_' &&
                !((*code | 0x20) >= 'a' && (*code | 0x20) <= 'z') &&
                !(*code >= '0' && *code <= '9')) ||
               refuse_letter(parser, *code);
    }
}

/* Takes a member of a bracket: a character, or a class, whose ranges it adds. */
static bool take_member(struct parser *parser, uint32_t *code, bool *is_class) {
    *is_class = false;
    if (!accept(parser, "\\"))
        return take_character(parser, code);
    if (accept(parser, "b")) {
        *code = '\b';
        return true;
    }
    return take_class(parser, is_class) && (*is_class || take_escape(parser, code));
}

static bool take_range(struct parser *parser) {
    uint32_t first = 0, last = 0;
    bool is_class;
    if (!take_member(parser, &first, &is_class))
        return false;
    bool has_end = is_next(parser, "-") && !is_next(parser, "-]");
    if (!has_end)
        return is_class || add_range(parser, first, first);
    bool end_is_class;
    if (!accept(parser, "-") || !take_member(parser, &last, &end_is_class))
        return false;
    if (is_class || end_is_class)
        return refuse(parser, "has a range that starts or ends with a class");
    return first <= last ? add_range(parser, first, last)
                         : refuse(parser, "has a range that ends before it starts");
}

static bool emit_class(struct parser *parser, size_t first, bool negated) {
    return emit(parser,
                (struct pattern_step){.code = PATTERN_CLASS,
                                      .negated = negated,
                                      .value = (uint32_t)first,
                                      .length = (uint16_t)(parser->pattern->range_count - first)});
}

static bool parse_bracket(struct parser *parser) {
    size_t first = parser->pattern->range_count;
    bool negated = accept(parser, "^");
    while (!accept(parser, "]")) {
        if (parser->at == parser->end)
            return refuse(parser, "has a [ without a ]");
        if (!take_range(parser))
            return false;
    }
    return emit_class(parser, first, negated);
}

static bool emit_character(struct parser *parser, uint32_t code) {
    return emit(parser, (struct pattern_step){.code = PATTERN_CHARACTER, .value = code});
}

static bool parse_backslash(struct parser *parser) {
    size_t first = parser->pattern->range_count;
    bool is_class;
    uint32_t code;
    if (!take_class(parser, &is_class))
        return false;
    if (is_class)
        return emit_class(parser, first, false);
    return take_escape(parser, &code) && emit_character(parser, code);
}

/* --- sequences --- */

/* NOLINTBEGIN(misc-no-recursion): PATTERN_GROUPS_MAX deep at most */

static bool parse_alternatives(struct parser *parser);

static bool take_name(struct parser *parser) {
    const unsigned char *name = parser->at;
    while (parser->at < parser->end &&
           (is_digit(parser) || *parser->at == '_' || *parser->at == '$' ||
            ((*parser->at | 0x20) >= 'a' && (*parser->at | 0x20) <= 'z')))
        parser->at++;
    bool named = parser->at > name && (*name < '0' || *name > '9');
    return (named && accept(parser, ">")) || refuse(parser, "has a group with an invalid name");
}

static bool parse_group(struct parser *parser) {
    if (is_next(parser, "?=") || is_next(parser, "?!"))
        return refuse(parser, "has a lookahead, which is not supported; use allOf and not");
    if (is_next(parser, "?<=") || is_next(parser, "?<!"))
        return refuse(parser, "has a lookbehind, which is not supported; use allOf and not");
    if (accept(parser, "?<") && !take_name(parser))
        return false;
    if (is_next(parser, "?") && !accept(parser, "?:"))
        return refuse(parser, "has an unknown kind of group");
    if (++parser->depth > PATTERN_GROUPS_MAX)
        return refuse(parser, "nests its groups too deeply");
    if (!parse_alternatives(parser))
        return false;
    parser->depth--;
    return accept(parser, ")") || refuse(parser, "has a ( without a )");
}

/* Takes ^, $, \b or \B, which cannot be repeated. */
static bool parse_assertion(struct parser *parser, bool *taken) {
    static const struct {
        const char *text;
        uint8_t code;
        bool negated;
    } assertions[] = {{"^", PATTERN_START, false},
                      {"$", PATTERN_END, false},
                      {"\\b", PATTERN_BORDER, false},
                      {"\\B", PATTERN_BORDER, true}};
    *taken = false;
    if (!*parser->at || !strchr("^$\\", *parser->at))
        return true;
    for (size_t i = 0; i < sizeof assertions / sizeof *assertions; i++)
        if (accept(parser, assertions[i].text)) {
            *taken = true;
            return emit(parser, (struct pattern_step){.code = assertions[i].code,
                                                      .negated = assertions[i].negated});
        }
    return true;
}

static bool is_letter(unsigned char byte) {
    return (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z');
}

static bool parse_atom(struct parser *parser) {
    uint32_t code;
    if (is_letter(*parser->at))
        return emit_character(parser, *parser->at++);
    if (accept(parser, "("))
        return parse_group(parser);
    if (accept(parser, "["))
        return parse_bracket(parser);
    if (accept(parser, "\\"))
        return parse_backslash(parser);
    if (accept(parser, "."))
        return emit(parser, (struct pattern_step){.code = PATTERN_ANY});
    if (*parser->at && strchr("*+?", *parser->at))
        return refuse(parser, "has nothing to repeat here");
    if (*parser->at && strchr("{}]", *parser->at))
        return refuse(parser, "has a brace or bracket that needs a backslash");
    return take_character(parser, &code) && emit_character(parser, code);
}

/* Takes {3}, {3,} or {3,5}, after the brace. */
static bool take_counts(struct parser *parser, int *minimum, int *maximum) {
    if (!is_digit(parser))
        return refuse(parser, "has a brace or bracket that needs a backslash");
    *minimum = *maximum = take_number(parser);
    if (accept(parser, ","))
        *maximum = is_digit(parser) ? take_number(parser) : UNLIMITED;
    if (!accept(parser, "}"))
        return refuse(parser, "has a { without a }");
    if (*maximum != UNLIMITED && *maximum < *minimum)
        return refuse(parser, "has a repetition whose maximum is below its minimum");
    bool small = *minimum <= PATTERN_STEPS_MAX && *maximum <= PATTERN_STEPS_MAX;
    return small || refuse(parser, "is too big");
}

static bool append(struct parser *parser, const struct pattern_step *steps, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!emit(parser, steps[i]))
            return false;
    return true;
}

/* Appends the steps MINIMUM times, and then optionally up to MAXIMUM times. */
static bool multiply(struct parser *parser, const struct pattern_step *steps, size_t count,
                     int minimum, int maximum) {
    for (int i = 0; i < minimum; i++)
        if (!append(parser, steps, count))
            return false;
    if (maximum == UNLIMITED)
        return emit(parser, back(PATTERN_SPLIT, count));
    for (int left = maximum - minimum; left; left--)
        if ((size_t)left * (count + 1) > PATTERN_STEPS_MAX)
            return refuse(parser, "is too big");
        else if (!emit(parser, split(1, (size_t)left * (count + 1))) ||
                 !append(parser, steps, count))
            return false;
    return true;
}

static bool copy(struct parser *parser, size_t start, int minimum, int maximum) {
    struct pattern *pattern = parser->pattern;
    size_t count = pattern->step_count - start;
    struct pattern_step *steps = malloc((count + 1) * sizeof *steps);
    if (!steps)
        return refuse(parser, "cannot be compiled: out of memory");
    memcpy(steps, pattern->steps + start, count * sizeof *steps);
    pattern->step_count = start;
    bool done = multiply(parser, steps, count, minimum, maximum);
    free(steps);
    return done;
}

/* Repeats the steps from START on. Copies them only for a count above 1, so that nested counts cost
 * no more than the steps they make. */
static bool repeat(struct parser *parser, size_t start, int minimum, int maximum) {
    struct pattern *pattern = parser->pattern;
    size_t count = pattern->step_count - start;
    if (maximum == 0) {
        pattern->step_count = start;
        return true;
    }
    if (maximum == 1)
        return minimum == 1 || insert(parser, start, split(1, count + 1));
    if (maximum == UNLIMITED && minimum == 0)
        return insert(parser, start, split(1, count + 2)) &&
               emit(parser, back(PATTERN_JUMP, count + 1));
    if (maximum == UNLIMITED && minimum == 1)
        return emit(parser, back(PATTERN_SPLIT, count));
    return copy(parser, start, minimum, maximum);
}

static bool parse_repeated(struct parser *parser) {
    size_t start = parser->pattern->step_count;
    int minimum = 1, maximum = 1;
    if (!parse_atom(parser))
        return false;
    if (parser->at == parser->end || !*parser->at || !strchr("*+?{", *parser->at))
        return true;
    if (accept(parser, "*"))
        minimum = 0, maximum = UNLIMITED;
    else if (accept(parser, "+"))
        maximum = UNLIMITED;
    else if (accept(parser, "?"))
        minimum = 0;
    else if (!accept(parser, "{") || !take_counts(parser, &minimum, &maximum))
        return false;
    accept(parser, "?");
    return repeat(parser, start, minimum, maximum);
}

static bool parse_sequence(struct parser *parser) {
    while (parser->at < parser->end && !is_next(parser, "|") && !is_next(parser, ")")) {
        bool taken;
        if (!parse_assertion(parser, &taken) || (!taken && !parse_repeated(parser)))
            return false;
    }
    return true;
}

/* Until the end is known, the jumps to it form a chain: each holds the distance to the one before
 * it, the first holds 0. */
static bool parse_alternatives(struct parser *parser) {
    struct pattern *pattern = parser->pattern;
    size_t last = 0; /* jump */
    bool has_jump = false;
    for (;;) {
        size_t start = pattern->step_count;
        if (!parse_sequence(parser))
            return false;
        if (!accept(parser, "|"))
            break;
        /* cppcheck-suppress duplicateExpression ; the sequence has added steps */
        size_t count = pattern->step_count - start;
        if (!insert(parser, start, split(1, count + 2)))
            return false;
        size_t here = pattern->step_count;
        if (!emit(parser, back(PATTERN_JUMP, has_jump ? here - last : 0)))
            return false;
        last = here;
        has_jump = true;
    }
    for (size_t at = last; has_jump;) {
        size_t before = (size_t)-pattern->steps[at].to[0];
        pattern->steps[at].to[0] = (int16_t)(pattern->step_count - at);
        has_jump = before > 0;
        at -= before;
    }
    return true;
}

/* NOLINTEND(misc-no-recursion) */

static bool parse(struct parser *parser) {
    if ((size_t)(parser->end - parser->start) > PATTERN_MAX_BYTES)
        return refuse(parser, "is too long");
    if (!parse_alternatives(parser))
        return false;
    if (parser->at < parser->end)
        return refuse(parser, "has a ) without a (");
    return emit(parser, (struct pattern_step){.code = PATTERN_FOUND});
}

/* Frees the memory that was reserved up to the limits. */
static void shrink(struct pattern *pattern) {
    void *steps = realloc(pattern->steps, pattern->step_count * sizeof *pattern->steps);
    void *ranges = realloc(pattern->ranges, (pattern->range_count + 1) * sizeof *pattern->ranges);
    pattern->steps = steps ? steps : pattern->steps;
    pattern->ranges = ranges ? ranges : pattern->ranges;
}

struct pattern *pattern_compile(const char *text, size_t size, struct pattern_fault *fault) {
    *fault = (struct pattern_fault){0};
    struct pattern *pattern = calloc(1, sizeof *pattern);
    struct parser parser = {.start = (const unsigned char *)text,
                            .at = (const unsigned char *)text,
                            .end = (const unsigned char *)text + size,
                            .pattern = pattern,
                            .fault = fault};
    if (pattern) {
        pattern->steps = malloc(PATTERN_STEPS_MAX * sizeof *pattern->steps);
        pattern->ranges = malloc(PATTERN_RANGES_MAX * sizeof *pattern->ranges);
    }
    bool fine = pattern && pattern->steps && pattern->ranges;
    if (!(fine ? parse(&parser) : refuse(&parser, "cannot be compiled: out of memory"))) {
        pattern_free(pattern);
        return NULL;
    }
    shrink(pattern);
    return pattern;
}

size_t pattern_bytes(const struct pattern *pattern) {
    enum { OVERHEAD = 48 }; /* of the allocator, for three blocks */
    return sizeof *pattern + pattern->step_count * sizeof *pattern->steps +
           (pattern->range_count + 1) * sizeof *pattern->ranges + OVERHEAD;
}

void pattern_free(struct pattern *pattern) {
    if (!pattern)
        return;
    free(pattern->steps);
    free(pattern->ranges);
    free(pattern);
}
