/* See shape.h. The checks of scalars, and of objects by table. */
#include "supervisor/content/shape.h"
#include "supervisor/content/uri.h"

#include <math.h>
#include <string.h>

enum { NAME_SHOWN = 60, WHY_SHOWN = 150 };

/* --- objects and arrays --- */

static const struct shape_member *member_of(const struct shape *shape, const char *name) {
    for (size_t i = 0; i < SHAPE_MEMBERS_MAX && shape->members[i].name; i++)
        if (strcmp(shape->members[i].name, name) == 0)
            return &shape->members[i];
    return NULL;
}

static bool has_member(struct json_object *object, const char *name) {
    return json_object_object_get_ex(object, name, NULL);
}

/* WHAT is wrong: "must be …", or with something inside it, which needs a colon. */
static bool refuse(struct error *error, const char *what, const struct error *why) {
    return error_set(error, 0, "%s%s%.*s", what, strncmp(why->text, "must ", 5) == 0 ? " " : ": ",
                     WHY_SHOWN, why->text);
}

static bool check_member(const struct shape *shape, const char *name, struct json_object *value,
                         struct error *error) {
    const struct shape_member *member = member_of(shape, name);
    struct error why;
    char quoted[NAME_SHOWN + 3];
    if (!member)
        return error_set(error, 0, "has the unknown member \"%.*s\"", NAME_SHOWN, name);
    if (member->check(value, error ? &why : NULL))
        return true;
    if (!error)
        return false;
    snprintf(quoted, sizeof quoted, "\"%s\"", name);
    return refuse(error, quoted, &why);
}

static bool check_presence(struct json_object *value, const struct shape *shape,
                           struct error *error) {
    for (size_t i = 0; i < SHAPE_MEMBERS_MAX && shape->members[i].name; i++)
        if (shape->members[i].required && !has_member(value, shape->members[i].name))
            return error_set(error, 0, "lacks the member \"%s\"", shape->members[i].name);
    return !shape->one_of[0] ||
           has_member(value, shape->one_of[0]) != has_member(value, shape->one_of[1]) ||
           error_set(error, 0, "must have either \"%s\" or \"%s\"", shape->one_of[0],
                     shape->one_of[1]);
}

bool shape_fits(struct json_object *value, const struct shape *shape, struct error *error) {
    if (!shape_object(value, error))
        return false;
    json_object_object_foreach(value, name, item) {
        if (!check_member(shape, name, item, error))
            return false;
    }
    return check_presence(value, shape, error);
}

bool shape_all(struct json_object *value, shape_check *check, struct error *error) {
    struct error why;
    char place[32];
    if (!json_object_is_type(value, json_type_array))
        return error_set(error, 0, "must be an array");
    for (size_t i = 0; i < json_object_array_length(value); i++) {
        if (check(json_object_array_get_idx(value, i), error ? &why : NULL))
            continue;
        snprintf(place, sizeof place, "element %zu", i + 1);
        return error ? refuse(error, place, &why) : false;
    }
    return true;
}

/* --- scalars --- */

bool shape_anything(struct json_object *value, struct error *error) {
    (void)value, (void)error;
    return true;
}

bool shape_string(struct json_object *value, struct error *error) {
    return json_object_is_type(value, json_type_string) || error_set(error, 0, "must be a text");
}

bool shape_strings(struct json_object *value, struct error *error) {
    return shape_all(value, shape_string, error);
}

bool shape_object(struct json_object *value, struct error *error) {
    return json_object_is_type(value, json_type_object) || error_set(error, 0, "must be an object");
}

bool shape_boolean(struct json_object *value, struct error *error) {
    return json_object_is_type(value, json_type_boolean) ||
           error_set(error, 0, "must be true or false");
}

bool shape_number(struct json_object *value, struct error *error) {
    return json_object_is_type(value, json_type_int) ||
           (json_object_is_type(value, json_type_double) &&
            isfinite(json_object_get_double(value))) ||
           error_set(error, 0, "must be a number");
}

bool shape_count(struct json_object *value, struct error *error) {
    return (json_object_is_type(value, json_type_int) && json_object_get_int64(value) >= 0) ||
           error_set(error, 0, "must be a whole number, 0 or more");
}

bool shape_is_word(struct json_object *value, const char *const *words, size_t count) {
    if (!shape_string(value, NULL))
        return false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(json_object_get_string(value), words[i]) == 0 &&
            (size_t)json_object_get_string_len(value) == strlen(words[i]))
            return true;
    return false;
}

/* A string whose bytes are all from LOW to '~'. */
static bool is_printable(struct json_object *value, char low) {
    if (!shape_string(value, NULL))
        return false;
    const char *text = json_object_get_string(value);
    for (int i = 0; i < json_object_get_string_len(value); i++)
        if (text[i] < low || text[i] > '~')
            return false;
    return true;
}

bool shape_uri(struct json_object *value, struct error *error) {
    struct error why;
    const char *text = is_printable(value, '!') ? json_object_get_string(value) : "";
    return uri_check_syntax(text, &why) || error_set(error, 0, "must be a URI: %s", why.text);
}

bool shape_mime_type(struct json_object *value, struct error *error) {
    const char *text = is_printable(value, ' ') ? json_object_get_string(value) : "";
    const char *slash = strchr(text, '/');
    return (slash && slash > text && slash[1]) ||
           error_set(error, 0, "must be a MIME type, as text/plain is one");
}

static bool is_base64(const char *text, size_t length) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static bool is_digit[256];
    for (size_t i = 0; !is_digit['/'] && i < sizeof digits - 1; i++)
        is_digit[(unsigned char)digits[i]] = true;
    size_t padding = 0;
    while (padding < 2 && padding < length && text[length - 1 - padding] == '=')
        padding++;
    for (size_t i = 0; i < length - padding; i++)
        if (!is_digit[(unsigned char)text[i]])
            return false;
    return length % 4 == 0;
}

bool shape_base64(struct json_object *value, struct error *error) {
    return (shape_string(value, NULL) &&
            is_base64(json_object_get_string(value), (size_t)json_object_get_string_len(value))) ||
           error_set(error, 0, "must be bytes in base64");
}
