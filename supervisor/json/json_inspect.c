/* A strict JSON parser that builds nothing: no allocation, no recursion. */
#include "supervisor/json/json_inspect.h"
#include "common/utf8.h"
#include "supervisor/json/json_build_internal.h"
#include "supervisor/json/json_string_internal.h"

#include <string.h>

/* The next token that the grammar allows. */
enum state {
    EXPECT_VALUE,
    EXPECT_NAME,
    EXPECT_NAME_OR_END,
    EXPECT_VALUE_OR_END,
    EXPECT_COMMA_OR_END,
    FINISHED
};

static bool is_blank(unsigned char byte) {
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static bool is_digit(unsigned char byte) {
    return byte >= '0' && byte <= '9';
}

static bool is_hex(unsigned char byte) {
    return is_digit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

static bool peek_is(const struct json_inspector *in, unsigned char byte) {
    return in->at < in->size && in->text[in->at] == byte;
}

/* Stops where the number is too long. */
static size_t skip_digits(struct json_inspector *in) {
    size_t start = in->at;
    while (in->at < in->size && is_digit(in->text[in->at]) &&
           in->at - start <= JSON_NUMBER_MAX_BYTES)
        in->at++;
    return in->at - start;
}

/* Scans a number. *integer: it has neither fraction nor exponent. */
static bool scan_number(struct json_inspector *in, bool *integer) {
    *integer = true;
    if (peek_is(in, '-'))
        in->at++;
    if (peek_is(in, '0'))
        in->at++;
    else if (skip_digits(in) == 0)
        return false;
    if (peek_is(in, '.')) {
        *integer = false;
        in->at++;
        if (skip_digits(in) == 0)
            return false;
    }
    if (peek_is(in, 'e') || peek_is(in, 'E')) {
        *integer = false;
        in->at++;
        if (peek_is(in, '+') || peek_is(in, '-'))
            in->at++;
        if (skip_digits(in) == 0)
            return false;
    }
    return true;
}

/* The bytes that may follow a backslash, besides the u of \uXXXX. */
static const bool is_escaped[256] = {['"'] = true, ['\\'] = true, ['/'] = true, ['b'] = true,
                                     ['f'] = true, ['n'] = true,  ['r'] = true, ['t'] = true};

/* TEXT begins with \uXXXX. */
static bool is_unit(const unsigned char *text, size_t size) {
    return size >= 6 && text[0] == '\\' && text[1] == 'u' && is_hex(text[2]) && is_hex(text[3]) &&
           is_hex(text[4]) && is_hex(text[5]);
}

/* Notes what is special about the \uXXXX at TEXT. Returns its length, or that of a pair. */
static size_t note_unit(struct json_inspector *in, const unsigned char *text, size_t size) {
    unsigned unit = json_hex_unit(text + 2);
    in->zero_in_string |= unit == 0;
    if (unit < 0xD800 || unit > 0xDFFF)
        return 6;
    unsigned low = unit < 0xDC00 && is_unit(text + 6, size - 6) ? json_hex_unit(text + 8) : 0;
    if (low >= 0xDC00 && low <= 0xDFFF)
        return 12;
    in->lone_surrogate = true;
    return 6;
}

enum scan { SCAN_BAD, SCAN_GOOD, SCAN_PAUSED };

static void build_part(const struct json_inspector *in, size_t from, size_t to, bool first) {
    if (in->builder)
        json_build_part(in->builder, in->text + from, to - from, first);
}

/* Scans a string, from its opening quote, or from where it paused. */
static enum scan scan_string(struct json_inspector *in) {
    const unsigned char *text = in->text;
    const size_t size = in->size;
    const bool first = !in->resume;
    const size_t from = first ? in->at + 1 : in->resume;
    size_t at = from;
    if (first)
        in->zero_in_string = in->lone_surrogate = false;
    in->resume = 0;
    for (;;) {
        if (at < in->stop && json_is_plain(text[at]))
            at += json_plain_prefix(text + at, in->stop - at);
        while (at < in->stop && size - at >= 2 && text[at] == '\\' && is_escaped[text[at + 1]])
            at += 2;
        if (at < size && json_is_plain(text[at]) && at < in->stop)
            continue;
        if (at < size && at >= in->stop) {
            build_part(in, from, at, first);
            in->resume = at;
            return SCAN_PAUSED;
        }
        if (at < size && text[at] == '"') {
            build_part(in, from, at, first);
            in->at = at + 1;
            return SCAN_GOOD;
        }
        if (!is_unit(text + at, size - at)) {
            in->at = at;
            return SCAN_BAD;
        }
        at += note_unit(in, text + at, size - at);
    }
}

/* Moves from inside a string that was scanned before to its end, or to STOP or a little beyond. */
static size_t find_quote(const unsigned char *text, size_t at, size_t stop, bool *found) {
    while (at < stop && text[at] != '"') {
        at += json_plain_prefix(text + at, stop - at);
        while (at < stop && text[at] == '\\')
            at += text[at + 1] == 'u' ? 6 : 2;
    }
    *found = at < stop;
    return *found ? at + 1 : at;
}

/* Skips a string that was scanned before. */
static void skip_string(struct json_inspector *in) {
    bool found;
    in->at = find_quote(in->text, in->at + 1, in->size, &found);
}

static bool scan_literal(struct json_inspector *in) {
    static const char *const literals[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof literals / sizeof *literals; i++) {
        size_t length = strlen(literals[i]);
        if (in->size - in->at >= length && memcmp(in->text + in->at, literals[i], length) == 0) {
            in->at += length;
            return true;
        }
    }
    return false;
}

static bool strings_equal(struct span left, struct span right) {
    size_t at_left = 1, at_right = 1;
    while (at_left < left.length - 1 && at_right < right.length - 1)
        if (json_next_character(left.bytes, left.length, &at_left) !=
            json_next_character(right.bytes, right.length, &at_right))
            return false;
    return at_left == left.length - 1 && at_right == right.length - 1;
}

static bool name_is(struct span name, const char *quoted) {
    return strings_equal(name, (struct span){(const unsigned char *)quoted, strlen(quoted)});
}

bool json_token_equal(const struct json_token *left, const struct json_token *right) {
    if (left->kind != right->kind)
        return false;
    if (left->kind == JSON_STRING)
        return strings_equal(left->text, right->text);
    return left->text.length == right->text.length &&
           memcmp(left->text.bytes, right->text.bytes, left->text.length) == 0;
}

static bool level_is_object(const struct json_inspector *in) {
    return in->in_object[in->depth / 8] >> in->depth % 8 & 1;
}

static void enter_level(struct json_inspector *in, bool object) {
    in->depth++;
    unsigned char bit = (unsigned char)(1U << in->depth % 8);
    if (object)
        in->in_object[in->depth / 8] |= bit;
    else
        in->in_object[in->depth / 8] &= (unsigned char)~bit;
}

/* Records the value that began at START, if the caller asked for it. */
static void record_value(struct json_inspector *in, size_t start, enum json_kind kind,
                         bool integer) {
    const struct span text = {in->text + start, in->at - start};
    if (in->target)
        *in->target =
            (struct json_token){.text = text,
                                .kind = kind,
                                .is_integer = integer,
                                .has_lone_surrogate = kind == JSON_STRING && in->lone_surrogate};
    in->target = NULL;
}

static enum json_kind kind_of(unsigned char first) {
    switch (first) {
    case '{':
        return JSON_OBJECT;
    case '[':
        return JSON_ARRAY;
    case '"':
        return JSON_STRING;
    case 't':
    case 'f':
    case 'n':
        return JSON_LITERAL;
    default:
        return JSON_NUMBER;
    }
}

/* Scans a scalar, or the opening bracket of a container. */
static enum json_fault scan_value(struct json_inspector *in, enum state *state) {
    enum json_kind kind = kind_of(in->text[in->at]);
    size_t start = in->at;
    bool integer = false, scanned = true;
    if (in->builder && in->text + start == in->builder->omitted.bytes) {
        in->at += in->builder->omitted.length;
        json_build_scalar(in->builder, JSON_LITERAL, string_span("null"));
        *state = in->depth ? EXPECT_COMMA_OR_END : FINISHED;
        return JSON_FINE;
    }
    if (!in->resume && in->limits.values && ++in->values > in->limits.values)
        return JSON_TOO_MANY;
    if (in->depth == 0)
        in->shape->kind = kind;
    in->shape->elements += in->depth == 1 && !in->resume && in->shape->kind == JSON_ARRAY;
    switch (kind) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        if (in->depth >= in->limits.depth)
            return JSON_TOO_DEEP;
        in->at++;
        if (in->target) {
            in->open = in->target;
            in->open_depth = in->depth;
            in->open_values = in->values;
        }
        record_value(in, start, kind, false);
        enter_level(in, kind == JSON_OBJECT);
        if (in->builder)
            json_build_open(in->builder, kind);
        *state = kind == JSON_OBJECT ? EXPECT_NAME_OR_END : EXPECT_VALUE_OR_END;
        return JSON_FINE;
    case JSON_STRING:
        switch (scan_string(in)) {
        case SCAN_PAUSED:
            return JSON_FINE;
        case SCAN_BAD:
            scanned = false;
            break;
        case SCAN_GOOD:
            break;
        }
        break;
    case JSON_NUMBER:
        scanned = scan_number(in, &integer);
        break;
    case JSON_LITERAL:
        scanned = scan_literal(in);
        break;
    }
    if (!scanned)
        return JSON_NOT_JSON;
    if (kind == JSON_NUMBER && in->at - start > JSON_NUMBER_MAX_BYTES)
        return JSON_LONG_NUMBER;
    record_value(in, start, kind, integer);
    if (in->builder)
        json_build_scalar(in->builder, kind, (struct span){in->text + start, in->at - start});
    *state = in->depth ? EXPECT_COMMA_OR_END : FINISHED;
    return JSON_FINE;
}

static void skip_blanks(struct json_inspector *in) {
    while (in->at < in->size && is_blank(in->text[in->at]))
        in->at++;
}

/* Sets the target for the value of the member NAME. A repeated member replaces the earlier one,
 * with all that was inside it. */
static void choose_target(struct json_inspector *in, struct span name) {
    struct json_shape *shape = in->shape;
    in->target = NULL;
    if (in->depth == 1) {
        in->in_params = name_is(name, "\"params\"");
        in->in_meta = false;
        if (name_is(name, "\"id\""))
            in->target = &shape->id;
        shape->has_method |= name_is(name, "\"method\"");
        if (name_is(name, "\"structuredContent\"")) {
            in->target = &shape->structured;
            shape->structured_count++;
        }
        if (in->in_params)
            shape->request_id = shape->progress_token = (struct json_token){0};
    } else if (in->depth == 2 && in->in_params) {
        in->in_meta = name_is(name, "\"_meta\"");
        if (name_is(name, "\"requestId\""))
            in->target = &shape->request_id;
        if (in->in_meta)
            shape->progress_token = (struct json_token){0};
    } else if (in->depth == 3 && in->in_params && in->in_meta) {
        if (name_is(name, "\"progressToken\""))
            in->target = &shape->progress_token;
    }
}

static enum json_fault scan_name(struct json_inspector *in, enum state *state) {
    size_t start = in->at;
    enum scan scan = peek_is(in, '"') ? scan_string(in) : SCAN_BAD;
    if (scan != SCAN_GOOD)
        return scan == SCAN_PAUSED ? JSON_FINE : JSON_NOT_JSON;
    const struct span name = {in->text + start, in->at - start};
    if (in->zero_in_string && !in->zero_at)
        in->zero_at = in->at;
    choose_target(in, name);
    if (in->builder)
        json_build_name(in->builder);
    skip_blanks(in);
    if (!peek_is(in, ':'))
        return JSON_NOT_JSON;
    in->at++;
    *state = EXPECT_VALUE;
    return JSON_FINE;
}

static void leave_level(struct json_inspector *in, enum state *state) {
    in->at++;
    in->depth--;
    if (in->builder)
        json_build_close(in->builder);
    if (in->open && in->depth == in->open_depth) {
        struct span *whole = &in->open->text;
        whole->length = (size_t)(in->text + in->at - whole->bytes);
        if (in->open == &in->shape->structured)
            in->shape->structured_values = in->values - in->open_values;
        in->open = NULL;
    }
    *state = in->depth ? EXPECT_COMMA_OR_END : FINISHED;
}

static enum json_fault inspect_step(struct json_inspector *in, enum state *state) {
    unsigned char byte = in->text[in->at];
    bool closes = byte == '}' || byte == ']';
    bool fits = in->depth && (byte == '}') == level_is_object(in);
    switch (*state) {
    case EXPECT_NAME_OR_END:
    case EXPECT_VALUE_OR_END:
        if (closes && fits) {
            leave_level(in, state);
            return JSON_FINE;
        }
        return *state == EXPECT_NAME_OR_END ? scan_name(in, state) : scan_value(in, state);
    case EXPECT_NAME:
        return scan_name(in, state);
    case EXPECT_VALUE:
        return scan_value(in, state);
    case EXPECT_COMMA_OR_END:
        if (closes && fits) {
            leave_level(in, state);
            return JSON_FINE;
        }
        if (byte != ',')
            return JSON_NOT_JSON;
        in->at++;
        *state = level_is_object(in) ? EXPECT_NAME : EXPECT_VALUE;
        return JSON_FINE;
    case FINISHED:
        break;
    }
    return JSON_NOT_JSON;
}

static const struct {
    const char *line, *file;
} fault_texts[] = {
    [JSON_FINE] = {"", "is fine"},
    [JSON_NOT_UTF8] = {"not well-formed UTF-8", "is not UTF-8"},
    [JSON_NOT_JSON] = {"not JSON", "is not JSON"},
    [JSON_TOO_DEEP] = {"nested deeper than json.max_depth", "is nested too deep"},
    [JSON_TOO_MANY] = {"more values than json.max_values", "has too many values"},
    [JSON_ZERO_IN_NAME] = {"a member name with U+0000 in it", "has U+0000 in the name of a member"},
    [JSON_LONG_NUMBER] = {"a number longer than 65536 bytes",
                          "has a number longer than 65536 bytes"},
};

const char *json_fault_text(enum json_fault fault) {
    return fault_texts[fault].line;
}

const char *json_file_fault_text(enum json_fault fault) {
    return fault_texts[fault].file;
}

size_t json_line_of(struct span text, size_t offset) {
    size_t line = 1;
    for (size_t i = 0; i < offset && i < text.length; i++)
        line += text.bytes[i] == '\n';
    return line;
}

void json_inspector_begin(struct json_inspector *inspector, const unsigned char *text, size_t size,
                          struct json_limits limits, struct json_shape *shape) {
    *shape = (struct json_shape){0};
    *inspector = (struct json_inspector){
        .text = text, .size = size, .limits = limits, .state = EXPECT_VALUE, .shape = shape};
    if (limits.depth > JSON_DEPTH_MAX)
        inspector->limits.depth = JSON_DEPTH_MAX;
}

/* Checks that the next bytes are UTF-8, up to the begin of a character after about SIZE of them. */
static bool check_encoding(struct json_inspector *in, size_t size) {
    size_t end = in->size - in->valid > size ? in->valid + size : in->size;
    while (end < in->size && utf8_is_continuation(in->text[end]))
        end++;
    in->valid += utf8_valid_prefix(in->text + in->valid, end - in->valid);
    return in->valid == end;
}

/* The encoding of the whole text is checked first. Text that is not UTF-8 is not scanned. */
bool json_inspector_step(struct json_inspector *in, size_t size, enum json_fault *fault) {
    enum { FASTER = 8 }; /* than the rest */
    *fault = JSON_FINE;
    if (in->valid < in->size) {
        if (check_encoding(in, size > SIZE_MAX / FASTER ? size : size * FASTER))
            return true;
        in->shape->fault_at = in->valid;
        *fault = JSON_NOT_UTF8;
        return false;
    }
    const size_t from = in->resume ? in->resume : in->at,
                 end = in->size - from > size ? from + size : in->size;
    in->stop = end;
    enum state state = (enum state)in->state;
    bool paused = false;
    for (skip_blanks(in); in->at < end && *fault == JSON_FINE && !paused; skip_blanks(in)) {
        *fault = inspect_step(in, &state);
        paused = in->resume != 0;
    }
    in->state = (int)state;
    if (*fault == JSON_FINE && in->at < in->size)
        return true;
    in->shape->fault_at = in->at;
    in->shape->values = in->values;
    if (*fault == JSON_FINE && state != FINISHED)
        *fault = JSON_NOT_JSON;
    if (*fault == JSON_FINE && in->zero_at) { /* json-c cuts a name there, so two may become one */
        in->shape->fault_at = in->zero_at;
        *fault = JSON_ZERO_IN_NAME;
    }
    return false;
}

enum json_fault json_inspect(const unsigned char *text, size_t size, struct json_limits limits,
                             struct json_shape *shape) {
    struct json_inspector inspector;
    enum json_fault fault;
    json_inspector_begin(&inspector, text, size, limits, shape);
    while (json_inspector_step(&inspector, SIZE_MAX, &fault))
        continue;
    return fault;
}

/* Moves to the next element or member of a valid container. False at its end. */
static bool next_item(struct json_inspector *in) {
    if (in->at == 0) {
        skip_blanks(in);
        in->at++; /* the opening bracket */
    }
    while (in->at < in->size && (is_blank(in->text[in->at]) || in->text[in->at] == ','))
        in->at++;
    return in->at < in->size && in->text[in->at] != ']' && in->text[in->at] != '}';
}

/* Moves to the end of the element or to STOP. */
static bool find_end(const unsigned char *text, struct json_search *search, size_t stop) {
    static const bool is_structural[256] = {
        ['"'] = true, [','] = true, ['['] = true, [']'] = true, ['{'] = true, ['}'] = true};
    size_t at = search->at;
    bool found;
    while (at < stop) {
        unsigned char byte = text[at];
        bool closes = byte == '}' || byte == ']';
        if (search->in_string) {
            at = find_quote(text, at, stop, &found);
            search->in_string = !found;
            continue;
        }
        if (!is_structural[byte]) {
            at++;
            continue;
        }
        if (search->depth == 0 && (byte == ',' || closes)) {
            search->at = at;
            return true;
        }
        search->in_string = byte == '"';
        search->depth += byte == '{' || byte == '[';
        search->depth -= closes;
        at++;
    }
    search->at = at;
    return false;
}

/* Moves past the current element or member. */
static void skip_item(struct json_inspector *in) {
    struct json_search search = {.at = in->at};
    find_end(in->text, &search, in->size);
    in->at = search.at;
}

enum json_found json_find_element(struct span text, struct json_search *search, size_t size,
                                  struct span *element) {
    struct json_inspector in = {.text = text.bytes, .size = text.length, .at = search->offset};
    if (!search->at) {
        if (!next_item(&in))
            return JSON_FOUND_END;
        *search = (struct json_search){.offset = in.at, .at = in.at};
    }
    /* An escape may reach six bytes beyond. */
    const size_t left = text.length - search->at, stop = search->at + (left < size ? left : size);
    if (!find_end(text.bytes, search, stop))
        return JSON_FOUND_NOTHING_YET;
    *element = (struct span){text.bytes + search->offset, search->at - search->offset};
    *search = (struct json_search){.offset = search->at};
    return JSON_FOUND;
}

bool json_next_element(struct span text, size_t *offset, struct span *element) {
    struct json_search search = {.offset = *offset};
    if (json_find_element(text, &search, SIZE_MAX, element) != JSON_FOUND)
        return false;
    *offset = search.offset;
    return true;
}

bool json_next_member(struct span text, size_t *offset, struct json_token *name,
                      struct span *value) {
    struct json_inspector in = {.text = text.bytes, .size = text.length, .at = *offset};
    if (!next_item(&in))
        return false;
    size_t start = in.at;
    skip_string(&in);
    *name = (struct json_token){.text = {text.bytes + start, in.at - start}, .kind = JSON_STRING};
    skip_blanks(&in);
    in.at++; /* the colon */
    skip_blanks(&in);
    start = in.at;
    skip_item(&in);
    *offset = in.at;
    while (is_blank(text.bytes[in.at - 1]))
        in.at--;
    *value = (struct span){text.bytes + start, in.at - start};
    return true;
}
