/* Finds what prompts/get would fill. Never looks at more places than it can in a millisecond. */
#include "supervisor/registry/place_arguments.h"
#include "supervisor/registry/metadata.h"

#include <string.h>

enum { PLACES_MAX = 10000 };

struct places {
    struct json_object *arguments;
    size_t count; /* of places, also of one name */
    struct error *error;
};

static bool has_argument(struct json_object *arguments, const char *name) {
    for (size_t i = 0; i < json_object_array_length(arguments); i++)
        if (strcmp(metadata_text(json_object_array_get_idx(arguments, i), "name"), name) == 0)
            return true;
    return false;
}

static bool add_argument(struct places *places, const char *name) {
    if (has_argument(places->arguments, name))
        return true;
    if (json_object_array_length(places->arguments) == METADATA_ARGUMENTS_MAX)
        return error_set(places->error, 0,
                         "has more than %d different {{places}}; \"arguments\" can say which of "
                         "them are arguments",
                         METADATA_ARGUMENTS_MAX);
    struct json_object *argument = json_object_new_object();
    bool fine = argument &&
                json_object_object_add(argument, "name", json_object_new_string(name)) == 0 &&
                json_object_object_add(argument, "required", json_object_new_boolean(true)) == 0 &&
                json_object_array_add(places->arguments, argument) == 0;
    if (!fine)
        json_object_put(argument);
    return fine || error_set(places->error, ENOMEM, "cannot be held");
}

/* Is there "name}}" at TEXT? Then NAME is it. */
static bool take_name(const char *text, const char *end, char name[METADATA_NAME_MAX + 1]) {
    size_t length = 0, left = (size_t)(end - text);
    while (length < left && length <= METADATA_NAME_MAX && text[length] != '}')
        length++;
    if (length > METADATA_NAME_MAX || left - length < 2 || text[length + 1] != '}')
        return false;
    memcpy(name, text, length);
    name[length] = 0;
    return strlen(name) == length && metadata_check_name(name, NULL);
}

static bool search_text(struct places *places, const char *text, size_t size) {
    const char *end = size ? text + size : text;
    char name[METADATA_NAME_MAX + 1];
    for (;;) {
        const char *open = text < end ? memmem(text, (size_t)(end - text), "{{", 2) : NULL;
        if (!open)
            return true;
        if (++places->count > PLACES_MAX)
            return error_set(places->error, 0,
                             "has more than %d {{places}}; with \"arguments\" it may have them",
                             PLACES_MAX);
        text = open + 2;
        if (take_name(text, end, name) && !add_argument(places, name))
            return false;
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): JSON_FILE_DEPTH_MAX deep at most */
static bool search_value(struct places *places, struct json_object *value) {
    static const char *const no_texts[] = {"data", "blob", "type"};
    if (json_object_is_type(value, json_type_string))
        return search_text(places, json_object_get_string(value),
                           (size_t)json_object_get_string_len(value));
    if (json_object_is_type(value, json_type_array))
        for (size_t i = 0; i < json_object_array_length(value); i++)
            if (!search_value(places, json_object_array_get_idx(value, i)))
                return false;
    if (!json_object_is_type(value, json_type_object))
        return true;
    json_object_object_foreach(value, name, member) {
        bool is_text = true;
        for (size_t i = 0; i < sizeof no_texts / sizeof *no_texts; i++)
            is_text = is_text && strcmp(name, no_texts[i]) != 0;
        bool is_nested = !json_object_is_type(member, json_type_string);
        if ((is_text || is_nested) && !search_value(places, member))
            return false;
    }
    return true;
}

static bool search_messages(struct places *places, struct json_object *messages) {
    for (size_t i = 0; messages && i < json_object_array_length(messages); i++)
        if (!search_value(
                places, json_object_object_get(json_object_array_get_idx(messages, i), "content")))
            return false;
    return true;
}

bool places_declare(struct json_object *metadata, struct span text, struct error *error) {
    if (json_object_object_get_ex(metadata, "arguments", NULL))
        return true;
    struct places places = {.arguments = json_object_new_array(), .error = error};
    if (!places.arguments)
        return error_set(error, ENOMEM, "cannot be held");
    bool fine = search_text(&places, (const char *)text.bytes, text.length) &&
                search_messages(&places, json_object_object_get(metadata, "messages"));
    if (!fine || !json_object_array_length(places.arguments))
        json_object_put(places.arguments);
    else if (json_object_object_add(metadata, "arguments", places.arguments) != 0)
        fine = error_set(error, ENOMEM, "cannot be held");
    return fine;
}
