/* What MCP's types say of annotations, icons and schemas, in all revisions that have them. Never
 * passes a member that they do not know: it is mistyped, and would be lost without a word. */
#include "supervisor/registry/listed.h"
#include "supervisor/base/nearest.h"
#include "supervisor/registry/uri_template.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAME_SHOWN = 60, ICON_MAX_BYTES = 256 * 1024 };

/* --- values --- */

static bool is_text(struct json_object *value) {
    return json_object_is_type(value, json_type_string);
}

static bool is_truth(struct json_object *value) {
    return json_object_is_type(value, json_type_boolean);
}

static bool is_fraction(struct json_object *value) {
    bool number =
        json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double);
    return number && json_object_get_double(value) >= 0 && json_object_get_double(value) <= 1;
}

static bool is_one_of(struct json_object *value, const char *one, const char *other) {
    const char *text = is_text(value) ? json_object_get_string(value) : "";
    return strcmp(text, one) == 0 || strcmp(text, other) == 0;
}

static bool is_role(struct json_object *value) {
    return is_one_of(value, "user", "assistant");
}

static bool is_theme(struct json_object *value) {
    return is_one_of(value, "light", "dark");
}

static bool is_array_of(struct json_object *value, bool (*is_right)(struct json_object *)) {
    if (!json_object_is_type(value, json_type_array))
        return false;
    for (size_t i = 0; i < json_object_array_length(value); i++)
        if (!is_right(json_object_array_get_idx(value, i)))
            return false;
    return true;
}

static bool is_audience(struct json_object *value) {
    return is_array_of(value, is_role);
}

static bool are_texts(struct json_object *value) {
    return is_array_of(value, is_text);
}

/* Other schemes would run code in a client or read its files. */
static bool is_icon_source(struct json_object *value) {
    static const char *const schemes[] = {"https:", "http:", "data:"};
    const char *text = is_text(value) ? json_object_get_string(value) : "";
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (strncasecmp(text, schemes[i], strlen(schemes[i])) == 0)
            return uri_check_strictly(text, ICON_MAX_BYTES, NULL);
    return false;
}

/* --- times --- */

/* Does TEXT begin as SHAPE, in which 0 stands for a digit? */
static bool has_shape(const char *text, const char *shape) {
    for (; *shape; shape++, text++)
        if (*shape == '0' ? *text < '0' || *text > '9' : *text != *shape)
            return false;
    return true;
}

static int number_at(const char *text, size_t at, size_t digits) {
    int number = 0;
    for (size_t i = 0; i < digits; i++)
        number = number * 10 + (text[at + i] - '0');
    return number;
}

static bool is_day(int year, int month, int day) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leaps = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month >= 1 && month <= 12 && day >= 1 &&
           day <= days[month - 1] + (month == 2 && leaps ? 1 : 0);
}

static bool is_zone(const char *text) {
    if (strcmp(text, "Z") == 0)
        return true;
    return (has_shape(text, "+00:00") || has_shape(text, "-00:00")) && strlen(text) == 6 &&
           number_at(text, 1, 2) < 24 && number_at(text, 4, 2) < 60;
}

/* A time of ISO 8601 as RFC 3339 has it. */
static bool is_time(struct json_object *value) {
    static const char shape[] = "0000-00-00T00:00:00";
    const char *text = is_text(value) ? json_object_get_string(value) : "";
    if (!has_shape(text, shape))
        return false;
    const char *rest = text + sizeof shape - 1;
    if (*rest == '.' && has_shape(rest, ".0"))
        rest += 1 + strspn(rest + 1, "0123456789");
    return is_day(number_at(text, 0, 4), number_at(text, 5, 2), number_at(text, 8, 2)) &&
           number_at(text, 11, 2) < 24 && number_at(text, 14, 2) < 60 &&
           number_at(text, 17, 2) < 60 && is_zone(rest);
}

/* --- objects of known members --- */

struct field {
    const char *name;
    bool (*is_right)(struct json_object *value);
    const char *wanted;
};

static bool refuse_unknown(const struct field *fields, size_t count, const char *name,
                           struct error *error) {
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; i < count; i++)
        nearest_offer(&nearest, fields[i].name);
    bool hint = nearest.name[0];
    return error_set(error, 0, "has the unknown member \"%.*s\"%s%s%s", NAME_SHOWN, name,
                     hint ? "; did you mean \"" : "", nearest.name, hint ? "\"?" : "");
}

static bool check_fields(struct json_object *object, const struct field *fields, size_t count,
                         struct error *error) {
    json_object_object_foreach(object, name, value) {
        size_t i = 0;
        while (i < count && strcmp(fields[i].name, name) != 0)
            i++;
        if (i == count)
            return refuse_unknown(fields, count, name, error);
        if (!fields[i].is_right(value))
            return error_set(error, 0, "\"%s\" must be %s", name, fields[i].wanted);
    }
    return true;
}

static bool check_object(struct json_object *value, const struct field *fields, size_t count,
                         struct error *error) {
    if (!json_object_is_type(value, json_type_object))
        return error_set(error, 0, "must be an object");
    return check_fields(value, fields, count, error);
}

bool listed_check_tool_annotations(struct json_object *value, struct error *error) {
    static const struct field fields[] = {
        {"title", is_text, "a text"},
        {"readOnlyHint", is_truth, "true or false"},
        {"destructiveHint", is_truth, "true or false"},
        {"idempotentHint", is_truth, "true or false"},
        {"openWorldHint", is_truth, "true or false"},
    };
    return check_object(value, fields, sizeof fields / sizeof *fields, error);
}

bool listed_check_resource_annotations(struct json_object *value, struct error *error) {
    static const struct field fields[] = {
        {"audience", is_audience, "an array of \"user\" and \"assistant\""},
        {"priority", is_fraction, "a number from 0 to 1"},
        {"lastModified", is_time, "a time such as \"2026-01-31T12:00:00Z\""},
    };
    return check_object(value, fields, sizeof fields / sizeof *fields, error);
}

bool listed_check_icons(struct json_object *value, struct error *error) {
    static const struct field fields[] = {
        {"src", is_icon_source, "a URI that begins with https:, http: or data:"},
        {"mimeType", is_text, "a text"},
        {"sizes", are_texts, "an array of texts such as \"48x48\" or \"any\""},
        {"theme", is_theme, "\"light\" or \"dark\""},
    };
    if (!json_object_is_type(value, json_type_array))
        return error_set(error, 0, "must be an array");
    for (size_t i = 0; i < json_object_array_length(value); i++) {
        struct json_object *icon = json_object_array_get_idx(value, i);
        struct error why = {0};
        if (!json_object_is_type(icon, json_type_object))
            return error_set(error, 0, "must hold objects alone");
        if (!json_object_object_get_ex(icon, "src", NULL))
            return error_set(error, 0, "has an icon without \"src\"");
        if (!check_fields(icon, fields, sizeof fields / sizeof *fields, &why))
            return error_set(error, 0, "icon %zu: %s", i + 1, why.text);
    }
    return true;
}

bool listed_check_schema(struct json_object *value, struct error *error) {
    struct json_object *properties, *required;
    if (json_object_object_get_ex(value, "required", &required) && !are_texts(required))
        return error_set(error, 0, "\"required\" must be an array of texts");
    if (!json_object_object_get_ex(value, "properties", &properties))
        return true;
    if (!json_object_is_type(properties, json_type_object))
        return error_set(error, 0, "\"properties\" must be an object");
    json_object_object_foreach(properties, name, property) {
        if (!json_object_is_type(property, json_type_object))
            return error_set(error, 0,
                             "\"properties\": \"%.*s\" must be an object (MCP, tools); {} stands "
                             "for true, {\"not\": {}} for false",
                             NAME_SHOWN, name);
    }
    return true;
}
