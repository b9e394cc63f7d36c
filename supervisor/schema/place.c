/* JSON pointers, and messages that begin with one. A message has at most a few characters of
 * untrusted text, on one line. */
#include "common/utf8.h"
#include "supervisor/json/json_number.h"
#include "supervisor/schema/schema_internal.h"

#include <stdarg.h>

enum { POINTER_BYTES = 96, NAME_SHOWN_BYTES = 40, NUMBER_SHOWN_BYTES = 32 };

/* A pointer, written from its end to its start. */
struct pointer {
    char text[POINTER_BYTES];
    size_t start;
};

static const char ellipsis[] = "\xe2\x80\xa6";

static bool prepend(struct pointer *pointer, const char *text, size_t size) {
    if (pointer->start < size + sizeof ellipsis - 1)
        return false;
    pointer->start -= size;
    memcpy(pointer->text + pointer->start, text, size);
    return true;
}

static bool prepend_name(struct pointer *pointer, const char *name) {
    size_t size = strnlen(name, NAME_SHOWN_BYTES + 1);
    bool cut = size > NAME_SHOWN_BYTES;
    if (cut)
        size = utf8_valid_prefix((const unsigned char *)name, NAME_SHOWN_BYTES);
    if (cut && !prepend(pointer, ellipsis, sizeof ellipsis - 1))
        return false;
    for (; size; size--) {
        char byte = name[size - 1];
        bool fits = byte == '~'   ? prepend(pointer, "~0", 2)
                    : byte == '/' ? prepend(pointer, "~1", 2)
                                  : prepend(pointer, &byte, 1);
        if (!fits)
            return false;
    }
    return true;
}

static bool prepend_token(struct pointer *pointer, const struct schema_place *place) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%zu", place->index);
    return (place->name ? prepend_name(pointer, place->name)
                        : prepend(pointer, digits, (size_t)length)) &&
           prepend(pointer, "/", 1);
}

/* Leaves out at the start what does not fit. */
static const char *write_pointer(struct pointer *pointer, const struct schema_place *place) {
    pointer->start = sizeof pointer->text - 1;
    pointer->text[pointer->start] = 0;
    for (; place && place->parent; place = place->parent)
        if (!prepend_token(pointer, place)) {
            while (utf8_is_continuation((unsigned char)pointer->text[pointer->start]))
                pointer->start++; /* skip the rest of a character that was cut */
            pointer->start -= sizeof ellipsis - 1;
            memcpy(pointer->text + pointer->start, ellipsis, sizeof ellipsis - 1);
            break;
        }
    return pointer->text + pointer->start;
}

/* Replaces ill-formed bytes and controls. */
static void clean(char *text) {
    unsigned char *bytes = (unsigned char *)text;
    size_t size = strlen(text);
    for (size_t fine = 0; fine < size;) {
        fine += utf8_valid_prefix(bytes + fine, size - fine);
        if (fine < size)
            bytes[fine++] = '?';
    }
    for (size_t i = 0; i < size; i++)
        if (bytes[i] < ' ' || bytes[i] == 0x7F)
            bytes[i] = '?';
}

bool schema_fail(struct error *error, const char *root, const struct schema_place *place,
                 const char *format, ...) {
    if (!error)
        return false;
    struct pointer pointer;
    const char *where = write_pointer(&pointer, place);
    char what[sizeof error->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (!where[0])
        where = root;
    error_set(error, 0, "%s%s%s", where, where[0] ? ": " : "", what);
    clean(error->text);
    return false;
}

static void quote(struct schema_brief *brief, struct json_object *string) {
    enum { SHOWN_BYTES = SCHEMA_BRIEF_BYTES - 8 };
    const char *text = json_object_get_string(string);
    size_t size = (size_t)json_object_get_string_len(string);
    bool cut = size > SHOWN_BYTES;
    if (cut)
        size = utf8_valid_prefix((const unsigned char *)text, SHOWN_BYTES);
    snprintf(brief->text, sizeof brief->text, "\"%.*s%s\"", (int)size, text, cut ? ellipsis : "");
}

struct schema_brief schema_brief(struct json_object *value) {
    struct schema_brief brief = {""};
    switch (json_object_get_type(value)) {
    case json_type_string:
        quote(&brief, value);
        break;
    case json_type_array:
        snprintf(brief.text, sizeof brief.text, "an array of %zu", json_object_array_length(value));
        break;
    case json_type_object:
        snprintf(brief.text, sizeof brief.text, "an object of %d",
                 json_object_object_length(value));
        break;
    case json_type_null:
        snprintf(brief.text, sizeof brief.text, "null");
        break;
    case json_type_double: {
        const struct span text = json_number_text(value);
        snprintf(brief.text, sizeof brief.text, "%.*s%s", NUMBER_SHOWN_BYTES,
                 (const char *)text.bytes, text.length > NUMBER_SHOWN_BYTES ? ellipsis : "");
        break;
    }
    default:
        snprintf(brief.text, sizeof brief.text, "%s", json_object_get_string(value));
        break;
    }
    return brief;
}
