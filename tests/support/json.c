/* See json.h. A recursive reader with a limit of depth. */
#include "tests/support/json.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct text text_of(const char *string) {
    return (struct text){string, strlen(string)};
}

bool text_is(struct text text, const char *string) {
    return text.length == strlen(string) && memcmp(text.bytes, string, text.length) == 0;
}

/* UTF-8. Decodes each character and checks its code point, unlike the product, which uses a table
 * of byte ranges. */
bool json_utf8_valid(struct text text) {
    const unsigned char *bytes = (const unsigned char *)text.bytes;
    for (size_t at = 0; at < text.length;) {
        unsigned char lead = bytes[at];
        size_t more = lead < 0x80             ? 0
                      : (lead & 0xe0) == 0xc0 ? 1
                      : (lead & 0xf0) == 0xe0 ? 2
                      : (lead & 0xf8) == 0xf0 ? 3
                                              : 4;
        if (more == 4 || text.length - at <= more)
            return false;
        uint32_t code = more == 0 ? lead : lead & (0x3fU >> more);
        for (size_t index = 1; index <= more; index++) {
            if ((bytes[at + index] & 0xc0) != 0x80)
                return false;
            code = code << 6 | (bytes[at + index] & 0x3fU);
        }
        static const uint32_t smallest[] = {0, 0x80, 0x800, 0x10000};
        if (code < smallest[more] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
            return false;
        at += more + 1;
    }
    return true;
}

/* The reader: a position in the text and the first fault. */
struct reader {
    const char *at;
    const char *end;
    size_t depth_left;
    const char *fault;
};

static bool refuse(struct reader *reader, const char *why) {
    if (!reader->fault)
        reader->fault = why;
    return false;
}

static bool next_is(const struct reader *reader, char byte) {
    return reader->at < reader->end && *reader->at == byte;
}

static bool take(struct reader *reader, char byte) {
    if (!next_is(reader, byte))
        return false;
    reader->at++;
    return true;
}

static void skip_blanks(struct reader *reader) {
    while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) && *reader->at != '\0')
        reader->at++;
}

static bool take_digits(struct reader *reader) {
    const char *start = reader->at;
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9')
        reader->at++;
    return reader->at > start;
}

static bool read_number(struct reader *reader) {
    take(reader, '-');
    if (!take(reader, '0') && !take_digits(reader))
        return refuse(reader, "a number without digits");
    if (take(reader, '.') && !take_digits(reader))
        return refuse(reader, "a fraction without digits");
    if (take(reader, 'e') || take(reader, 'E')) {
        if (!take(reader, '+'))
            take(reader, '-');
        if (!take_digits(reader))
            return refuse(reader, "an exponent without digits");
    }
    return true;
}

static int hexadecimal(char byte) {
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F')
        return byte - 'A' + 10;
    return -1;
}

/* The four hexadecimal digits at AT as a number, or -1. */
static int code_unit(const char *at, const char *end) {
    if (end - at < 4)
        return -1;
    int unit = 0;
    for (int index = 0; index < 4; index++) {
        int digit = hexadecimal(at[index]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static bool read_string(struct reader *reader) {
    reader->at++;
    while (reader->at < reader->end) {
        char byte = *reader->at++;
        if (byte == '"')
            return true;
        if ((unsigned char)byte < 0x20)
            return refuse(reader, "a raw control character in a string");
        if (byte != '\\')
            continue;
        if (reader->at == reader->end)
            break;
        char escape = *reader->at++;
        if (escape == 'u') {
            if (code_unit(reader->at, reader->end) < 0)
                return refuse(reader, "an escape without four hexadecimal digits");
            reader->at += 4;
        } else if (escape == '\0' || !strchr("\"\\/bfnrt", escape)) {
            return refuse(reader, "an unknown escape");
        }
    }
    return refuse(reader, "a string without end");
}

static bool read_word(struct reader *reader, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0)
        return refuse(reader, "no JSON value");
    reader->at += length;
    return true;
}

static bool read_value(struct reader *reader);

static bool read_member(struct reader *reader, bool named) {
    skip_blanks(reader);
    if (named) {
        if (!next_is(reader, '"'))
            return refuse(reader, "a member without a name");
        if (!read_string(reader))
            return false;
        skip_blanks(reader);
        if (!take(reader, ':'))
            return refuse(reader, "a member without a colon");
        skip_blanks(reader);
    }
    if (!read_value(reader))
        return false;
    skip_blanks(reader);
    return true;
}

static bool read_container(struct reader *reader, char close) {
    if (reader->depth_left == 0)
        return refuse(reader, "nested too deep");
    reader->depth_left--;
    reader->at++;
    skip_blanks(reader);
    if (!take(reader, close)) {
        do {
            if (!read_member(reader, close == '}'))
                return false;
        } while (take(reader, ','));
        if (!take(reader, close))
            return refuse(reader, "a container without end");
    }
    reader->depth_left++;
    return true;
}

static bool read_value(struct reader *reader) {
    if (reader->at == reader->end)
        return refuse(reader, "no JSON value");
    switch (*reader->at) {
    case '{':
        return read_container(reader, '}');
    case '[':
        return read_container(reader, ']');
    case '"':
        return read_string(reader);
    case 't':
        return read_word(reader, "true");
    case 'f':
        return read_word(reader, "false");
    case 'n':
        return read_word(reader, "null");
    default:
        return read_number(reader);
    }
}

static struct reader reader_on(struct text text) {
    return (struct reader){text.bytes, text.bytes + text.length, SIZE_MAX, NULL};
}

const char *json_fault(struct text text, size_t depth) {
    if (!json_utf8_valid(text))
        return "not UTF-8";
    struct reader reader = reader_on(text);
    reader.depth_left = depth;
    skip_blanks(&reader);
    if (!read_value(&reader))
        return reader.fault;
    skip_blanks(&reader);
    return reader.at == reader.end ? NULL : "text behind the value";
}

struct text json_without_blanks(struct text text) {
    struct reader reader = reader_on(text);
    skip_blanks(&reader);
    while (reader.end > reader.at && strchr(" \t\r\n", reader.end[-1]))
        reader.end--;
    return (struct text){reader.at, (size_t)(reader.end - reader.at)};
}

enum value_kind json_kind(struct text value) {
    value = json_without_blanks(value);
    switch (value.length ? value.bytes[0] : 'n') {
    case '{':
        return VALUE_OBJECT;
    case '[':
        return VALUE_ARRAY;
    case '"':
        return VALUE_STRING;
    case 't':
    case 'f':
        return VALUE_BOOLEAN;
    case 'n':
        return VALUE_NULL;
    default:
        return VALUE_NUMBER;
    }
}

bool json_is_integer(struct text value) {
    if (json_kind(value) != VALUE_NUMBER)
        return false;
    for (size_t index = 0; index < value.length; index++)
        if (strchr(".eE", value.bytes[index]))
            return false;
    return true;
}

void json_walk(struct text container, json_visit *visit, void *context) {
    container = json_without_blanks(container);
    enum value_kind kind = json_kind(container);
    if (kind != VALUE_OBJECT && kind != VALUE_ARRAY)
        return;
    struct reader reader = reader_on(container);
    reader.at++;
    skip_blanks(&reader);
    while (!next_is(&reader, '}') && !next_is(&reader, ']')) {
        const char *start = reader.at;
        struct text name = {start, 0};
        if (kind == VALUE_OBJECT) {
            read_string(&reader);
            name.length = (size_t)(reader.at - start);
            skip_blanks(&reader);
            take(&reader, ':');
            skip_blanks(&reader);
        }
        struct text value = {reader.at, 0};
        if (!read_value(&reader))
            return;
        value.length = (size_t)(reader.at - value.bytes);
        struct text whole = {start, (size_t)(reader.at - start)};
        if (!visit(whole, name, value, context))
            return;
        skip_blanks(&reader);
        take(&reader, ',');
        skip_blanks(&reader);
    }
}

struct search {
    const char *name;
    size_t count;
    size_t wanted; /* index to stop at */
    struct text *value;
};

static bool visit_named(struct text whole, struct text name, struct text value, void *context) {
    (void)whole;
    struct search *search = context;
    size_t length;
    char *decoded = json_decode(name, &length);
    if (text_is((struct text){decoded, length}, search->name)) {
        search->count++;
        *search->value = value;
    }
    free(decoded);
    return true;
}

size_t json_members_named(struct text object, const char *name, struct text *value) {
    struct search search = {.name = name, .value = value};
    if (json_kind(object) == VALUE_OBJECT)
        json_walk(object, visit_named, &search);
    return search.count;
}

bool json_member(struct text object, const char *name, struct text *value) {
    return json_members_named(object, name, value) > 0;
}

bool json_at(struct text object, struct text *value, ...) {
    va_list path;
    va_start(path, value);
    *value = object;
    bool found = true;
    for (const char *name; found && (name = va_arg(path, const char *)) != NULL;)
        found = json_member(*value, name, value);
    va_end(path);
    return found;
}

static bool visit_twin(struct text whole, struct text name, struct text value, void *context) {
    (void)whole, (void)value;
    struct search *search = context;
    char *decoded = json_decode(name, NULL);
    struct text ignored;
    if (json_members_named(*search->value, decoded, &ignored) > 1)
        search->count++;
    free(decoded);
    return search->count == 0;
}

bool json_has_twins(struct text object) {
    struct search search = {.value = &object};
    if (json_kind(object) == VALUE_OBJECT)
        json_walk(object, visit_twin, &search);
    return search.count > 0;
}

static bool visit_count(struct text whole, struct text name, struct text value, void *context) {
    (void)whole, (void)name;
    struct search *search = context;
    if (search->value)
        *search->value = value;
    return search->count++ < search->wanted;
}

size_t json_count(struct text container) {
    struct search search = {.wanted = SIZE_MAX};
    json_walk(container, visit_count, &search);
    return search.count;
}

bool json_element(struct text array, size_t index, struct text *value) {
    struct search search = {.wanted = index, .value = value};
    json_walk(array, visit_count, &search);
    return search.count > index;
}

static size_t put_character(uint32_t code, char *out) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    static const unsigned leads[] = {0, 0xc0, 0xe0, 0xf0};
    size_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    out[0] = (char)(leads[more] | code >> (6 * more));
    for (size_t index = 1; index <= more; index++)
        out[index] = (char)(0x80 | (code >> (6 * (more - index)) & 0x3fU));
    return more + 1;
}

/* The character of the escape whose digits begin at *at; moves *at after it. A surrogate without
 * its partner is U+FFFD and sets *lone. */
static uint32_t escaped_character(const char **at, const char *end, bool *lone) {
    int unit = code_unit(*at, end);
    *at += 4;
    if (unit < 0xd800 || unit > 0xdfff)
        return (uint32_t)unit;
    int low = -1;
    if (unit <= 0xdbff && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u')
        low = code_unit(*at + 2, end);
    if (low < 0xdc00 || low > 0xdfff) {
        *lone = true;
        return 0xfffd;
    }
    *at += 6;
    return 0x10000U + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
}

static size_t decode(struct text string, char *out, bool *lone) {
    static const char names[] = "bfnrt", bytes[] = "\b\f\n\r\t";
    const char *at = string.bytes + 1, *end = string.bytes + string.length - 1;
    size_t length = 0;
    while (at < end) {
        if (*at != '\\') {
            out[length++] = *at++;
        } else if (at[1] == 'u') {
            at += 2;
            length += put_character(escaped_character(&at, end, lone), out + length);
        } else {
            const char *name = strchr(names, at[1]);
            out[length++] = name ? bytes[name - names] : at[1];
            at += 2;
        }
    }
    return length;
}

char *json_decode(struct text string, size_t *length) {
    char *out = malloc(string.length + 1); /* decoding never makes a string longer */
    if (!out)
        abort();
    bool lone = false;
    size_t used = string.length >= 2 ? decode(string, out, &lone) : 0;
    out[used] = '\0';
    if (length)
        *length = used;
    return out;
}

static bool visit_lone(struct text whole, struct text name, struct text value, void *context) {
    (void)whole;
    bool *lone = context;
    *lone = *lone || json_has_lone_surrogate(name) || json_has_lone_surrogate(value);
    return !*lone;
}

bool json_has_lone_surrogate(struct text value) {
    bool lone = false;
    if (value.length >= 2 && json_kind(value) == VALUE_STRING) {
        char *out = malloc(value.length);
        if (!out)
            abort();
        decode(json_without_blanks(value), out, &lone);
        free(out);
    } else {
        json_walk(value, visit_lone, &lone);
    }
    return lone;
}

static bool visit_zero(struct text whole, struct text name, struct text value, void *context) {
    (void)whole;
    bool *zero = context;
    size_t length;
    char *decoded = json_decode(name, &length);
    *zero = *zero || memchr(decoded, 0, length) || json_has_zero_name(value);
    free(decoded);
    return !*zero;
}

bool json_has_zero_name(struct text value) {
    bool zero = false;
    json_walk(value, visit_zero, &zero);
    return zero;
}

bool json_same_id(struct text one, struct text other) {
    one = json_without_blanks(one);
    other = json_without_blanks(other);
    if (json_kind(one) != VALUE_STRING || json_kind(other) != VALUE_STRING)
        return one.length == other.length && memcmp(one.bytes, other.bytes, one.length) == 0;
    size_t one_length, other_length;
    char *first = json_decode(one, &one_length), *second = json_decode(other, &other_length);
    bool same = one_length == other_length && memcmp(first, second, one_length) == 0;
    free(first);
    free(second);
    return same;
}

char *json_quote(const char *bytes, size_t length) {
    static const char digits[] = "0123456789abcdef";
    char *out = malloc(length * 6 + 3);
    if (!out)
        abort();
    size_t used = 0;
    out[used++] = '"';
    for (size_t index = 0; index < length; index++) {
        unsigned char byte = (unsigned char)bytes[index];
        if (byte == '"' || byte == '\\') {
            out[used++] = '\\';
            out[used++] = (char)byte;
        } else if (byte < 0x20) {
            memcpy(out + used, "\\u00", 4);
            out[used + 4] = digits[byte >> 4];
            out[used + 5] = digits[byte & 15];
            used += 6;
        } else {
            out[used++] = (char)byte;
        }
    }
    out[used++] = '"';
    out[used] = '\0';
    return out;
}
