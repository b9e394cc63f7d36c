/* json-c's values. Its own parser is not used: it rounds integers beyond 64 bits. */
#include "supervisor/json/json_build_internal.h"
#include "supervisor/json/json_number.h"
#include "supervisor/json/json_string_internal.h"

#include <limits.h>

void json_builder_begin(struct json_builder *builder, struct json_inspector *inspector,
                        struct span text, struct json_shape *shape) {
    const struct json_limits limits = {.depth = JSON_DEPTH_MAX};
    *builder = (struct json_builder){.string = buffer_make(text.length + 1),
                                     .name = buffer_make(text.length + 1)};
    json_inspector_begin(inspector, text.bytes, text.length, limits, shape);
    inspector->valid = text.length;
    inspector->builder = builder;
}

bool json_builder_step(struct json_builder *builder, struct json_inspector *inspector,
                       size_t size) {
    enum json_fault fault;
    bool more = json_inspector_step(inspector, size, &fault);
    builder->failed |= fault != JSON_FINE;
    return more && !builder->failed;
}

struct json_object *json_builder_take(struct json_builder *builder) {
    struct json_object *root = builder->root;
    buffer_free(&builder->string);
    buffer_free(&builder->name);
    builder->root = NULL;
    if (!builder->failed)
        return root;
    json_object_put(root);
    return NULL;
}

void json_build_part(struct json_builder *builder, const unsigned char *bytes, size_t size,
                     bool first) {
    struct buffer *out = &builder->string;
    if (first)
        out->length = 0;
    unsigned char *const start = buffer_reserve(out, size), *to = start; /* decoding shortens */
    for (size_t at = 0; to && at < size;) {
        size_t plain = json_plain_prefix(bytes + at, size - at);
        memcpy(to, bytes + at, plain);
        at += plain;
        to += plain;
        if (at < size)
            to += utf8_encode(json_next_character(bytes, size, &at), to);
    }
    out->length += (size_t)(to - start);
}

void json_build_name(struct json_builder *builder) {
    const struct buffer name = builder->string;
    builder->string = builder->name;
    builder->name = name;
    buffer_append(&builder->name, "", 1);
}

/* Gives VALUE (NULL: null) its place. */
static void place(struct json_builder *builder, struct json_object *value) {
    struct json_object *parent = builder->depth ? builder->open[builder->depth - 1] : NULL;
    int result = builder->string.failed || builder->name.failed ? -1 : 0;
    if (!parent)
        builder->root = value;
    else if (result == 0 && json_object_is_type(parent, json_type_array))
        result = json_object_array_add(parent, value);
    else if (result == 0)
        result = json_object_object_add(parent, (const char *)builder->name.data, value);
    builder->failed |= result != 0;
    if (result != 0 && parent)
        json_object_put(value);
}

static struct json_object *make_string(const struct buffer *string) {
    const char *text = string->length ? (const char *)string->data : "";
    return string->length <= INT_MAX ? json_object_new_string_len(text, (int)string->length) : NULL;
}

void json_build_scalar(struct json_builder *builder, enum json_kind kind, struct span text) {
    struct json_object *value = NULL;
    if (builder->failed)
        return;
    if (kind == JSON_STRING)
        value = make_string(&builder->string);
    else if (kind == JSON_NUMBER)
        value = json_number_make(text);
    else if (text.bytes[0] != 'n')
        value = json_object_new_boolean(text.bytes[0] == 't');
    builder->failed = !value && text.bytes[0] != 'n';
    if (!builder->failed)
        place(builder, value);
}

void json_build_open(struct json_builder *builder, enum json_kind kind) {
    enum { SLOTS = 4 };
    if (builder->failed)
        return;
    struct json_object *value =
        kind == JSON_OBJECT ? json_object_new_object() : json_object_new_array_ext(SLOTS);
    builder->failed = !value;
    if (value)
        place(builder, value);
    builder->open[builder->depth++] = value;
}

void json_build_close(struct json_builder *builder) {
    if (builder->failed)
        return;
    struct json_object *value = builder->open[--builder->depth];
    if (json_object_is_type(value, json_type_array))
        json_object_array_shrink(value, 0);
}
