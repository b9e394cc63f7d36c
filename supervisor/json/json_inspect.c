/* The strict JSON inspector. Never reads past SIZE, never recurses, never allocates. */
#include "supervisor/json/json_inspect.h"
#include "common/utf8.h"
#include "supervisor/json/json_plain.h"

#include <string.h>

/* What may come next. */
enum state {
    WANT_VALUE,
    WANT_KEY,
    WANT_KEY_OR_END,
    WANT_VALUE_OR_END,
    WANT_COMMA_OR_END,
    FINISHED
};

struct inspector {
    const unsigned char *text;
    size_t size, at;
    struct json_limits limits;
    size_t depth, values;
    unsigned char in_object[JSON_DEPTH_MAX / 8 + 1]; /* a bit a level: object or array */
    bool in_params;            /* the top-level member being read is "params" */
    bool in_meta;              /* and its member being read is "_meta" */
    struct json_token *wanted; /* where the value to come is noted, or NULL */
    struct json_token *open;   /* a noted container that is not read to its end, or NULL */
    size_t open_depth;         /* outside it */
    struct json_shape *shape;
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

static bool peek_is(const struct inspector *in, unsigned char byte) {
    return in->at < in->size && in->text[in->at] == byte;
}

static size_t skip_digits(struct inspector *in) {
    size_t start = in->at;
    while (in->at < in->size && is_digit(in->text[in->at]))
        in->at++;
    return in->at - start;
}

/* A number at the present place; *integer says whether it has neither fraction nor exponent. */
static bool scan_number(struct inspector *in, bool *integer) {
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

static bool scan_escape(struct inspector *in) {
    if (in->at >= in->size)
        return false;
    unsigned char byte = in->text[in->at++];
    if (byte != 'u')
        return byte && strchr("\"\\/bfnrt", byte) != NULL;
    for (int i = 0; i < 4; i++, in->at++)
        if (in->at >= in->size || !is_hex(in->text[in->at]))
            return false;
    return true;
}

/* A string whose opening quote is at the present place. */
static bool scan_string(struct inspector *in) {
    in->at++;
    for (;;) {
        if (in->at < in->size && json_is_plain(in->text[in->at]))
            in->at += json_plain_prefix(in->text + in->at, in->size - in->at);
        if (in->at == in->size || in->text[in->at] < 0x20)
            return false;
        unsigned char byte = in->text[in->at++];
        if (byte == '"')
            return true;
        if (!scan_escape(in))
            return false;
    }
}

static bool scan_literal(struct inspector *in) {
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

static unsigned hex_value(unsigned char byte) {
    return (unsigned)(is_digit(byte) ? byte - '0' : (byte | 0x20) - 'a' + 10);
}

static unsigned four_hex(const unsigned char *digits) {
    unsigned unit = 0;
    for (int i = 0; i < 4; i++)
        unit = unit * 16 + hex_value(digits[i]);
    return unit;
}

/* The character at *at inside a scanned string (quotes included, SIZE bytes), with escapes taken
 * for what they stand for; moves *at behind it. Half a surrogate pair stands for itself. */
static uint32_t next_character(struct span string, size_t *at) {
    static const char names[] = "b\bf\fn\nr\rt\t";
    const unsigned char *bytes = string.bytes + *at;
    if (bytes[0] != '\\') {
        *at += utf8_sequence_length(bytes, string.length - *at);
        return utf8_decode(bytes);
    }
    if (bytes[1] == 'u') {
        uint32_t unit = four_hex(bytes + 2);
        *at += 6;
        bool high = unit >= 0xD800 && unit <= 0xDBFF;
        uint32_t low = high && bytes[6] == '\\' && bytes[7] == 'u' ? four_hex(bytes + 8) : 0;
        if (low < 0xDC00 || low > 0xDFFF)
            return unit;
        *at += 6;
        return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    }
    *at += 2;
    for (size_t i = 0; i + 1 < sizeof names; i += 2)
        if ((unsigned char)names[i] == bytes[1])
            return (unsigned char)names[i + 1];
    return bytes[1];
}

/* Compares two scanned strings, quotes included, character by character. */
static bool strings_equal(struct span left, struct span right) {
    size_t at_left = 1, at_right = 1;
    while (at_left < left.length - 1 && at_right < right.length - 1)
        if (next_character(left, &at_left) != next_character(right, &at_right))
            return false;
    return at_left == left.length - 1 && at_right == right.length - 1;
}

static bool has_lone_surrogate(struct span string) {
    for (size_t at = 1; at < string.length - 1;) {
        uint32_t code = next_character(string, &at);
        if (code >= 0xD800 && code <= 0xDFFF)
            return true;
    }
    return false;
}

/* json-c ends a name at a zero byte, and would take one name for another. */
static bool holds_zero(struct span string) {
    if (!memchr(string.bytes, '\\', string.length))
        return false;
    for (size_t at = 1; at < string.length - 1;)
        if (next_character(string, &at) == 0)
            return true;
    return false;
}

static bool key_is(struct span key, const char *quoted_name) {
    return strings_equal(key,
                         (struct span){(const unsigned char *)quoted_name, strlen(quoted_name)});
}

bool json_token_equal(const struct json_token *left, const struct json_token *right) {
    if (left->kind != right->kind)
        return false;
    if (left->kind == JSON_STRING)
        return strings_equal(left->text, right->text);
    return left->text.length == right->text.length &&
           memcmp(left->text.bytes, right->text.bytes, left->text.length) == 0;
}

static bool level_is_object(const struct inspector *in) {
    return in->in_object[in->depth / 8] >> in->depth % 8 & 1;
}

static void enter_level(struct inspector *in, bool object) {
    in->depth++;
    unsigned char bit = (unsigned char)(1U << in->depth % 8);
    if (object)
        in->in_object[in->depth / 8] |= bit;
    else
        in->in_object[in->depth / 8] &= (unsigned char)~bit;
}

/* Notes the value that began at START, if it is one that the caller wants. */
static void note_value(struct inspector *in, size_t start, enum json_kind kind, bool integer) {
    const struct span text = {in->text + start, in->at - start};
    if (in->wanted)
        *in->wanted = (struct json_token){.text = text,
                                          .kind = kind,
                                          .is_integer = integer,
                                          .has_lone_surrogate =
                                              kind == JSON_STRING && has_lone_surrogate(text)};
    in->wanted = NULL;
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

/* One value, or the opening of one, at the present place. */
static enum json_fault scan_value(struct inspector *in, enum state *state) {
    enum json_kind kind = kind_of(in->text[in->at]);
    size_t start = in->at;
    bool integer = false, scanned = true;
    if (in->limits.values && ++in->values > in->limits.values)
        return JSON_TOO_MANY;
    if (in->depth == 0)
        in->shape->kind = kind;
    switch (kind) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        if (in->depth >= in->limits.depth)
            return JSON_TOO_DEEP;
        in->at++;
        if (in->wanted) {
            in->open = in->wanted;
            in->open_depth = in->depth;
        }
        note_value(in, start, kind, false);
        enter_level(in, kind == JSON_OBJECT);
        *state = kind == JSON_OBJECT ? WANT_KEY_OR_END : WANT_VALUE_OR_END;
        return JSON_FINE;
    case JSON_STRING:
        scanned = scan_string(in);
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
    note_value(in, start, kind, integer);
    *state = in->depth ? WANT_COMMA_OR_END : FINISHED;
    return JSON_FINE;
}

static void skip_blanks(struct inspector *in) {
    while (in->at < in->size && is_blank(in->text[in->at]))
        in->at++;
}

/* Is the value of KEY, at this depth, one of those that the caller wants? */
static void note_wanted(struct inspector *in, struct span key) {
    struct json_shape *shape = in->shape;
    in->wanted = NULL;
    if (in->depth == 1) {
        in->in_params = key_is(key, "\"params\"");
        in->in_meta = false;
        if (key_is(key, "\"id\""))
            in->wanted = &shape->id;
        if (in->in_params) /* repeated: the last one counts, and all of it */
            shape->request_id = shape->progress_token = (struct json_token){0};
    } else if (in->depth == 2 && in->in_params) {
        in->in_meta = key_is(key, "\"_meta\"");
        if (key_is(key, "\"requestId\""))
            in->wanted = &shape->request_id;
        if (in->in_meta)
            shape->progress_token = (struct json_token){0};
    } else if (in->depth == 3 && in->in_params && in->in_meta) {
        if (key_is(key, "\"progressToken\""))
            in->wanted = &shape->progress_token;
    }
}

static enum json_fault scan_key(struct inspector *in, enum state *state) {
    size_t start = in->at;
    if (!peek_is(in, '"') || !scan_string(in))
        return JSON_NOT_JSON;
    const struct span key = {in->text + start, in->at - start};
    if (holds_zero(key))
        return JSON_ZERO_IN_NAME;
    note_wanted(in, key);
    skip_blanks(in);
    if (!peek_is(in, ':'))
        return JSON_NOT_JSON;
    in->at++;
    *state = WANT_VALUE;
    return JSON_FINE;
}

static void leave_level(struct inspector *in, enum state *state) {
    in->at++;
    in->depth--;
    if (in->open && in->depth == in->open_depth) {
        struct span *whole = &in->open->text;
        whole->length = (size_t)(in->text + in->at - whole->bytes);
        in->open = NULL;
    }
    *state = in->depth ? WANT_COMMA_OR_END : FINISHED;
}

static enum json_fault inspect_step(struct inspector *in, enum state *state) {
    unsigned char byte = in->text[in->at];
    bool closes = byte == '}' || byte == ']';
    bool fits = in->depth && (byte == '}') == level_is_object(in);
    switch (*state) {
    case WANT_KEY_OR_END:
    case WANT_VALUE_OR_END:
        if (closes && fits) {
            leave_level(in, state);
            return JSON_FINE;
        }
        return *state == WANT_KEY_OR_END ? scan_key(in, state) : scan_value(in, state);
    case WANT_KEY:
        return scan_key(in, state);
    case WANT_VALUE:
        return scan_value(in, state);
    case WANT_COMMA_OR_END:
        if (closes && fits) {
            leave_level(in, state);
            return JSON_FINE;
        }
        if (byte != ',')
            return JSON_NOT_JSON;
        in->at++;
        *state = level_is_object(in) ? WANT_KEY : WANT_VALUE;
        return JSON_FINE;
    case FINISHED:
        break;
    }
    return JSON_NOT_JSON;
}

const char *json_fault_text(enum json_fault fault) {
    static const char *const texts[] = {[JSON_FINE] = "",
                                        [JSON_NOT_UTF8] = "not well-formed UTF-8",
                                        [JSON_NOT_JSON] = "not JSON",
                                        [JSON_TOO_DEEP] = "nested deeper than json.max_depth",
                                        [JSON_TOO_MANY] = "more values than json.max_values",
                                        [JSON_ZERO_IN_NAME] = "a name with a zero byte in it"};
    return texts[fault];
}

const char *json_file_fault_text(enum json_fault fault) {
    static const char *const texts[] = {
        [JSON_FINE] = "is fine",
        [JSON_NOT_UTF8] = "is not UTF-8",
        [JSON_NOT_JSON] = "is not JSON",
        [JSON_TOO_DEEP] = "is nested too deep",
        [JSON_TOO_MANY] = "holds too many values",
        [JSON_ZERO_IN_NAME] = "has U+0000 in the name of a member",
    };
    return texts[fault];
}

size_t json_line_of(struct span text, size_t offset) {
    size_t line = 1;
    for (size_t i = 0; i < offset && i < text.length; i++)
        line += text.bytes[i] == '\n';
    return line;
}

enum json_fault json_inspect(const unsigned char *text, size_t size, struct json_limits limits,
                             struct json_shape *shape) {
    *shape = (struct json_shape){0};
    size_t valid = utf8_valid_prefix(text, size);
    if (valid < size) {
        shape->fault_at = valid;
        return JSON_NOT_UTF8;
    }
    struct inspector in = {.text = text, .size = size, .limits = limits, .shape = shape};
    if (in.limits.depth > JSON_DEPTH_MAX)
        in.limits.depth = JSON_DEPTH_MAX;
    enum state state = WANT_VALUE;
    enum json_fault fault = JSON_FINE;
    for (skip_blanks(&in); in.at < size && fault == JSON_FINE; skip_blanks(&in))
        fault = inspect_step(&in, &state);
    shape->fault_at = in.at;
    if (fault == JSON_FINE && state != FINISHED)
        fault = JSON_NOT_JSON;
    return fault;
}

/* Moves to the next part of the list that TEXT is, from behind the one before. False at its end. */
static bool next_part(struct inspector *in) {
    if (in->at == 0) {
        skip_blanks(in);
        in->at++; /* the opening bracket */
    }
    while (in->at < in->size && (is_blank(in->text[in->at]) || in->text[in->at] == ','))
        in->at++;
    return in->at < in->size && in->text[in->at] != ']' && in->text[in->at] != '}';
}

/* Moves behind the present part, to a comma or the closing bracket of the list. */
static void skip_part(struct inspector *in) {
    size_t depth = 0;
    while (in->at < in->size) {
        unsigned char byte = in->text[in->at];
        bool closes = byte == '}' || byte == ']';
        if (depth == 0 && (byte == ',' || closes))
            break;
        if (byte == '"') {
            scan_string(in);
            continue;
        }
        depth += byte == '{' || byte == '[';
        depth -= closes;
        in->at++;
    }
}

bool json_next_element(struct span text, size_t *offset, struct span *element) {
    struct inspector in = {.text = text.bytes, .size = text.length, .at = *offset};
    if (!next_part(&in))
        return false;
    size_t start = in.at;
    skip_part(&in);
    *element = (struct span){text.bytes + start, in.at - start};
    *offset = in.at;
    return true;
}

bool json_next_member(struct span text, size_t *offset, struct json_token *name) {
    struct inspector in = {.text = text.bytes, .size = text.length, .at = *offset};
    if (!next_part(&in))
        return false;
    size_t start = in.at;
    scan_string(&in);
    *name = (struct json_token){.text = {text.bytes + start, in.at - start}, .kind = JSON_STRING};
    skip_part(&in);
    *offset = in.at;
    return true;
}

static bool is_around_value(unsigned char byte) {
    return is_blank(byte) || byte == ':';
}

struct span json_member_value(struct span text, const struct json_token *name, size_t offset) {
    const unsigned char *start = name->text.bytes + name->text.length;
    const unsigned char *end = text.bytes + offset;
    while (start < end && is_around_value(*start))
        start++;
    while (end > start && is_around_value(end[-1]))
        end--;
    return (struct span){start, (size_t)(end - start)};
}
