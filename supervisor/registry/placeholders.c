/* Finds and fills {{placeholders}}, in one pass from left to right. */
#include "supervisor/registry/placeholders.h"
#include "supervisor/content/shape.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/registry/metadata.h"

#include <string.h>

/* So that a search takes no longer than about a millisecond. */
enum { PLACEHOLDERS_MAX = 10000 };

/* Does the member of this name hold text? The others hold base64 and words of MCP. */
static bool is_text(const char *member) {
    return strcmp(member, "data") != 0 && strcmp(member, "blob") != 0 &&
           strcmp(member, "type") != 0;
}

/* The last "{{" in the run of braces at OPEN, of pairs from the left: a name has no brace, so only
 * that one can begin a placeholder. */
static const char *last_pair(const char *open, const char *end) {
    size_t run = 2;
    while (open + run < end && open[run] == '{')
        run++;
    return open + ((run - 2) & ~(size_t)1);
}

/* Takes the name of the placeholder that begins at OPEN, before END; returns its length, 0 when it
 * is no placeholder. Looks no farther than a name may reach: otherwise many "{{" would take time
 * quadratic in their number. */
static size_t name_at(const char *open, const char *end, char name[SHAPE_NAME_MAX + 1]) {
    const char *start = open + 2;
    size_t left = (size_t)(end - start), reach = SHAPE_NAME_MAX + 2;
    const char *close = memmem(start, left < reach ? left : reach, "}}", 2);
    size_t length = close ? (size_t)(close - start) : 0;
    memcpy(name, start, length);
    name[length] = 0;
    return length;
}

/* --- declaring arguments --- */

struct search {
    struct json_object *arguments; /* found so far */
    size_t count;                  /* of placeholders, repeated ones included */
    struct error *error;
};

static bool has_argument(struct json_object *arguments, const char *name) {
    for (size_t i = 0; i < json_object_array_length(arguments); i++)
        if (shape_is_word(json_tree_member(json_object_array_get_idx(arguments, i), "name"), name))
            return true;
    return false;
}

static bool add_argument(struct search *search, const char *name) {
    if (has_argument(search->arguments, name))
        return true;
    if (json_object_array_length(search->arguments) == METADATA_ARGUMENTS_MAX)
        return error_set(search->error, 0,
                         "has more than %d different {{placeholders}}; list in \"arguments\" those "
                         "that are arguments",
                         METADATA_ARGUMENTS_MAX);
    struct json_object *argument = json_object_new_object();
    bool fine = argument &&
                json_object_object_add(argument, "name", json_object_new_string(name)) == 0 &&
                json_object_object_add(argument, "required", json_object_new_boolean(true)) == 0 &&
                json_object_array_add(search->arguments, argument) == 0;
    if (!fine)
        json_object_put(argument);
    return fine || error_set(search->error, ENOMEM, "cannot be loaded");
}

static bool search_text(struct search *search, struct span span) {
    const char *text = (const char *)span.bytes, *end = span.length ? text + span.length : text;
    const char *open;
    char name[SHAPE_NAME_MAX + 1];
    while (text < end && (open = memmem(text, (size_t)(end - text), "{{", 2))) {
        if (++search->count > PLACEHOLDERS_MAX)
            return error_set(search->error, 0,
                             "has more than %d {{placeholders}}, which needs \"arguments\"",
                             PLACEHOLDERS_MAX);
        size_t length = name_at(open, end, name);
        if (length && strlen(name) == length && shape_is_name(name, NULL) &&
            !add_argument(search, name))
            return false;
        text = open + 2;
    }
    return true;
}

/* NOLINTNEXTLINE(misc-no-recursion): JSON_FILE_DEPTH_MAX deep at most */
static bool search_value(struct search *search, struct json_object *value) {
    if (json_object_is_type(value, json_type_string))
        return search_text(search, json_tree_string(value));
    if (json_object_is_type(value, json_type_array))
        for (size_t i = 0; i < json_object_array_length(value); i++)
            if (!search_value(search, json_object_array_get_idx(value, i)))
                return false;
    if (!json_object_is_type(value, json_type_object))
        return true;
    json_object_object_foreach(value, name, member) {
        if (is_text(name) && !search_value(search, member))
            return false;
    }
    return true;
}

bool placeholders_declare(struct json_object *metadata, struct span text, struct error *error) {
    struct json_object *messages = json_tree_member(metadata, "messages");
    if (json_object_object_get_ex(metadata, "arguments", NULL))
        return true;
    struct search search = {.arguments = json_object_new_array(), .error = error};
    if (!search.arguments)
        return error_set(error, ENOMEM, "cannot be loaded");
    bool fine = search_text(&search, text);
    for (size_t i = 0; fine && messages && i < json_object_array_length(messages); i++)
        fine = search_value(&search,
                            json_tree_member(json_object_array_get_idx(messages, i), "content"));
    if (!fine || !json_object_array_length(search.arguments))
        json_object_put(search.arguments);
    else if (json_object_object_add(metadata, "arguments", search.arguments) != 0)
        fine = error_set(error, ENOMEM, "cannot be loaded");
    return fine;
}

/* --- filling --- */

static void fill(struct buffer *out, const struct filling *filling, struct span span) {
    char name[SHAPE_NAME_MAX + 1];
    const char *text = (const char *)span.bytes, *end = text + span.length, *open;
    while (text < end && (open = memmem(text, (size_t)(end - text), "{{", 2))) {
        open = last_pair(open, end);
        buffer_append(out, text, (size_t)(open - text));
        size_t length = name_at(open, end, name);
        text = open + 2;
        if (length && filling->append(filling, name, out))
            text += length + 2;
        else
            buffer_append_text(out, "{{");
    }
    buffer_append(out, text, (size_t)(end - text));
}

struct json_object *placeholders_fill(struct filling *filling, struct span text) {
    cleanup_buffer struct buffer filled = buffer_make(filling->room);
    fill(&filled, filling, text);
    filling->full = filling->full || filled.failed;
    filling->room -= filled.length;
    return json_object_new_string_len(filled.data ? (const char *)filled.data : "",
                                      (int)filled.length);
}

/* NOLINTNEXTLINE(misc-no-recursion): JSON_FILE_DEPTH_MAX deep at most */
struct json_object *placeholders_fill_all(struct filling *filling, struct json_object *value) {
    if (json_object_is_type(value, json_type_string))
        return placeholders_fill(filling, json_tree_string(value));
    if (json_object_is_type(value, json_type_array)) {
        struct json_object *copy = json_object_new_array();
        for (size_t i = 0; i < json_object_array_length(value); i++)
            json_object_array_add(
                copy, placeholders_fill_all(filling, json_object_array_get_idx(value, i)));
        return copy;
    }
    if (!json_object_is_type(value, json_type_object))
        return json_object_get(value);
    struct json_object *copy = json_object_new_object();
    json_object_object_foreach(value, name, member) {
        json_object_object_add(copy, name,
                               is_text(name) ? placeholders_fill_all(filling, member)
                                             : json_object_get(member));
    }
    return copy;
}

static bool append_sample(const struct filling *filling, const char *name, struct buffer *out) {
    (void)filling, (void)name;
    return buffer_append_text(out, "a:a/a");
}

struct filling placeholders_sample(size_t room) {
    return (struct filling){.append = append_sample, .room = room};
}
