/* See places.h. What stands in a place is looked at once, from left to right. */
#include "supervisor/registry/places.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/registry/metadata.h"

#include <string.h>

/* The name in the place that begins at OPEN, before END; its length, 0 when it is no place. It is
 * looked for no farther than a name may reach, or a text of many "{{" would cost its square. */
static size_t name_at(const char *open, const char *end, char name[METADATA_NAME_MAX + 1]) {
    const char *start = open + 2;
    size_t left = (size_t)(end - start), reach = METADATA_NAME_MAX + 2;
    const char *close = memmem(start, left < reach ? left : reach, "}}", 2);
    size_t length = close ? (size_t)(close - start) : 0;
    memcpy(name, start, length);
    name[length] = 0;
    return length;
}

static void fill(struct buffer *out, const struct filling *filling, const char *text,
                 size_t length) {
    char name[METADATA_NAME_MAX + 1];
    const char *end = text + length, *open;
    while (text < end && (open = memmem(text, (size_t)(end - text), "{{", 2))) {
        buffer_append(out, text, (size_t)(open - text));
        size_t size = name_at(open, end, name);
        text = open + 2;
        if (size && filling->append(filling, name, out))
            text += size + 2;
        else
            buffer_append_text(out, "{{");
    }
    buffer_append(out, text, (size_t)(end - text));
}

struct json_object *places_fill(struct filling *filling, struct span text) {
    cleanup_buffer struct buffer filled = buffer_make(filling->room);
    fill(&filled, filling, (const char *)text.bytes, text.length);
    filling->full = filling->full || filled.failed;
    filling->room -= filled.length;
    return json_object_new_string_len(filled.data ? (const char *)filled.data : "",
                                      (int)filled.length);
}

static bool is_text(const char *member) {
    return strcmp(member, "data") != 0 && strcmp(member, "blob") != 0 &&
           strcmp(member, "type") != 0;
}

/* NOLINTBEGIN(misc-no-recursion): JSON_FILE_DEPTH_MAX deep at most */
static struct json_object *filled_object(struct filling *filling, struct json_object *value) {
    struct json_object *copy = json_object_new_object();
    json_object_object_foreach(value, name, inner) {
        json_object_object_add(
            copy, name, is_text(name) ? places_filled(filling, inner) : json_object_get(inner));
    }
    return copy;
}

struct json_object *places_filled(struct filling *filling, struct json_object *value) {
    if (json_object_is_type(value, json_type_object))
        return filled_object(filling, value);
    if (json_object_is_type(value, json_type_string))
        return places_fill(filling, json_tree_string(value));
    if (!json_object_is_type(value, json_type_array))
        return json_object_get(value);
    struct json_object *copy = json_object_new_array();
    for (size_t i = 0; i < json_object_array_length(value); i++)
        json_object_array_add(copy, places_filled(filling, json_object_array_get_idx(value, i)));
    return copy;
}
/* NOLINTEND(misc-no-recursion) */

static bool append_sample(const struct filling *filling, const char *name, struct buffer *out) {
    (void)filling, (void)name;
    return buffer_append_text(out, "a:a/a");
}

struct filling places_sample(size_t room) {
    return (struct filling){.append = append_sample, .room = room};
}
