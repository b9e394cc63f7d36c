/* Checks of scalars, arrays, and objects described by tables. */
#include "supervisor/content/shape.h"
#include "supervisor/base/nearest.h"
#include "supervisor/content/uri.h"
#include "supervisor/json/json_number.h"
#include "supervisor/json/json_tree.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <time.h>

enum { NAME_SHOWN = 60, WHY_SHOWN = 150, WORDS_SHOWN = 160 };

/* --- objects and arrays --- */

/* PLACE is the name of a member or the number of an element; WHY is a phrase about it, or about
 * something inside it, which then begins with a place of its own. */
static bool refuse(struct error *error, const char *place, const struct error *why) {
    bool inside = why->text[0] == '"' || strncmp(why->text, "element ", 8) == 0;
    return error_set(error, 0, "%s%s%.*s", place, inside ? ": " : " ", WHY_SHOWN, why->text);
}

static bool check_named(const char *name, struct json_object *value, shape_check *check,
                        struct error *error) {
    struct error why;
    char place[NAME_SHOWN + 3];
    if (check(value, error ? &why : NULL))
        return true;
    snprintf(place, sizeof place, "\"%.*s\"", NAME_SHOWN, name);
    return error ? refuse(error, place, &why) : false;
}

static bool refuse_unknown(const struct shape *shape, const char *name, struct error *error) {
    if (!error)
        return false;
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; i < SHAPE_MEMBERS_MAX && shape->members[i].name; i++)
        nearest_offer(&nearest, shape->members[i].name);
    return error_set(error, 0, "has the unknown member \"%.*s\"%s", NAME_SHOWN, name,
                     nearest_hint(&nearest, "\"").text);
}

static bool check_member(const struct shape *shape, const char *name, struct json_object *value,
                         struct error *error) {
    for (size_t i = 0; i < SHAPE_MEMBERS_MAX && shape->members[i].name; i++)
        if (strcmp(shape->members[i].name, name) == 0)
            return check_named(name, value, shape->members[i].check, error);
    return shape->open || refuse_unknown(shape, name, error);
}

static bool check_presence(struct json_object *value, const struct shape *shape,
                           struct error *error) {
    const char *const *either = shape->one_of;
    for (size_t i = 0; i < SHAPE_MEMBERS_MAX && shape->members[i].name; i++)
        if (shape->members[i].required &&
            !json_object_object_get_ex(value, shape->members[i].name, NULL))
            return error_set(error, 0, "lacks the member \"%s\"", shape->members[i].name);
    return !either[0] ||
           json_object_object_get_ex(value, either[0], NULL) !=
               json_object_object_get_ex(value, either[1], NULL) ||
           error_set(error, 0, "must have either \"%s\" or \"%s\"", either[0], either[1]);
}

bool shape_fits(struct json_object *value, const struct shape *shape, struct error *error) {
    if (!shape_object(value, error))
        return false;
    json_object_object_foreach(value, name, member) {
        if (!check_member(shape, name, member, error))
            return false;
    }
    return check_presence(value, shape, error);
}

bool shape_map(struct json_object *value, shape_check *check, struct error *error) {
    if (!shape_object(value, error))
        return false;
    json_object_object_foreach(value, name, member) {
        if (!check_named(name, member, check, error))
            return false;
    }
    return true;
}

bool shape_all(struct json_object *value, shape_check *check, struct error *error) {
    struct error why;
    char place[32];
    if (!shape_array(value, error))
        return false;
    for (size_t i = 0; i < json_object_array_length(value); i++) {
        if (check(json_object_array_get_idx(value, i), error ? &why : NULL))
            continue;
        snprintf(place, sizeof place, "element %zu", i + 1);
        return error ? refuse(error, place, &why) : false;
    }
    return true;
}

bool shape_object(struct json_object *value, struct error *error) {
    return json_object_is_type(value, json_type_object) || error_set(error, 0, "must be an object");
}

bool shape_array(struct json_object *value, struct error *error) {
    return json_object_is_type(value, json_type_array) || error_set(error, 0, "must be an array");
}

bool shape_anything(struct json_object *value, struct error *error) {
    (void)value, (void)error;
    return true;
}

/* --- numbers and booleans --- */

bool shape_boolean(struct json_object *value, struct error *error) {
    return json_object_is_type(value, json_type_boolean) ||
           error_set(error, 0, "must be true or false");
}

bool shape_number(struct json_object *value, struct error *error) {
    return (json_is_number(value) && isfinite(json_object_get_double(value))) ||
           error_set(error, 0, "must be a number");
}

bool shape_fraction(struct json_object *value, struct error *error) {
    return (shape_number(value, NULL) && json_object_get_double(value) >= 0 &&
            json_object_get_double(value) <= 1) ||
           error_set(error, 0, "must be a number from 0 to 1");
}

bool shape_count(struct json_object *value, struct error *error) {
    return (json_number_is_integer(value) && json_object_get_double(value) >= 0) ||
           error_set(error, 0, "must be an integer, 0 or more");
}

/* --- strings --- */

bool shape_string(struct json_object *value, struct error *error) {
    return json_object_is_type(value, json_type_string) || error_set(error, 0, "must be a string");
}

bool shape_plain_string(struct json_object *value, struct error *error) {
    return shape_string(value, error) &&
           (json_plain_string(value) || error_set(error, 0, "must not contain U+0000"));
}

bool shape_nonempty_string(struct json_object *value, struct error *error) {
    return shape_plain_string(value, error) &&
           (json_object_get_string_len(value) > 0 || error_set(error, 0, "must not be empty"));
}

bool shape_is_name(const char *name, struct error *error) {
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("_.-", name[i]))
            length = 0;
    return (length > 0 && length <= SHAPE_NAME_MAX) ||
           error_set(error, 0, "must be 1 to %d of A-Z a-z 0-9 _ . -", SHAPE_NAME_MAX);
}

bool shape_name(struct json_object *value, struct error *error) {
    return shape_nonempty_string(value, error) &&
           shape_is_name(json_object_get_string(value), error);
}

bool shape_strings(struct json_object *value, struct error *error) {
    return shape_all(value, shape_string, error);
}

bool shape_is_word(struct json_object *value, const char *word) {
    const char *string = json_plain_string(value);
    return string && strcmp(string, word) == 0;
}

bool shape_word(struct json_object *value, const char *const *words, size_t count,
                struct error *error) {
    char list[WORDS_SHOWN] = "";
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (shape_is_word(value, words[i]))
            return true;
    for (size_t i = 0; error && i < count && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s\"%s\"",
                                 i == 0          ? ""
                                 : i < count - 1 ? ", "
                                                 : " or ",
                                 words[i]);
    return error_set(error, 0, "must be %s", list);
}

/* True if STRING begins as FORM, in which 0 means any digit. */
static bool has_form(const char *string, const char *form) {
    for (; *form; form++, string++)
        if (*form == '0' ? *string < '0' || *string > '9' : *string != *form)
            return false;
    return true;
}

static bool is_zone(const char *string) {
    if (strcmp(string, "Z") == 0)
        return true;
    return (has_form(string, "+00:00") || has_form(string, "-00:00")) && strlen(string) == 6 &&
           strncmp(string + 1, "24", 2) < 0 && strncmp(string + 4, "60", 2) < 0;
}

/* True for a time that exists, which timegm leaves unchanged. Leap seconds are refused. */
static bool is_time(const char *string) {
    struct tm read = {0};
    if (!has_form(string, "0000-00-00T00:00:00"))
        return false;
    const char *rest = strptime(string, "%Y-%m-%dT%H:%M:%S", &read);
    if (!rest)
        return false;
    struct tm corrected = read;
    timegm(&corrected);
    if (*rest == '.' && has_form(rest, ".0"))
        rest += 1 + strspn(rest + 1, "0123456789");
    return corrected.tm_mday == read.tm_mday && corrected.tm_sec == read.tm_sec && is_zone(rest);
}

bool shape_time(struct json_object *value, struct error *error) {
    const char *string = json_plain_string(value);
    return (string && is_time(string)) ||
           error_set(error, 0, "must be a time such as \"2026-01-31T12:00:00Z\"");
}

/* The characters of a string whose bytes are all from LOW to '~'; "" for any other value. */
static const char *printable(struct json_object *value, char low) {
    const char *string = json_plain_string(value);
    if (string && json_object_get_string_len(value) > SHAPE_URI_MAX_BYTES)
        return "";
    for (const char *byte = string; byte && *byte; byte++)
        if (*byte < low || *byte > '~')
            return "";
    return string ? string : "";
}

bool shape_uri(struct json_object *value, struct error *error) {
    struct error why;
    if (json_object_is_type(value, json_type_string) &&
        json_object_get_string_len(value) > SHAPE_URI_MAX_BYTES)
        return error_set(error, 0, "must be a URI of at most %d bytes", SHAPE_URI_MAX_BYTES);
    return uri_check_characters(printable(value, '!'), SIZE_MAX - 1, false, &why) ||
           error_set(error, 0, "must be a URI: %s", why.text);
}

bool shape_mime_type(struct json_object *value, struct error *error) {
    const char *type = printable(value, ' '), *slash = strchr(type, '/');
    return (slash && slash > type && slash[1]) ||
           error_set(error, 0, "must be a MIME type such as text/plain");
}

static bool is_base64(const char *text, size_t length) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static bool is_digit[256];
    for (size_t i = 0; !is_digit['/'] && i < sizeof digits - 1; i++)
        is_digit[(unsigned char)digits[i]] = true;
    size_t padding = 0;
    while (padding < 2 && padding < length && text[length - 1 - padding] == '=')
        padding++;
    bool fine = length % 4 == 0;
    for (size_t i = 0; i < length - padding; i++)
        fine &= is_digit[(unsigned char)text[i]];
    return fine;
}

bool shape_base64(struct json_object *value, struct error *error) {
    return (shape_string(value, NULL) &&
            is_base64(json_object_get_string(value), (size_t)json_object_get_string_len(value))) ||
           error_set(error, 0, "must be base64");
}
