/* A block that a revision does not have would break its clients: it is replaced by a text. */
#include "supervisor/mcp/blocks.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"

#include <string.h>

/* The kinds of content that later revisions added. */
static const struct {
    const char *type;
    enum since since;
} added[] = {{"audio", SINCE_2025_03}, {"resource_link", SINCE_2025_06}};

static const char *text_of(struct json_object *block, const char *name) {
    struct json_object *value = json_tree_member(block, name);
    return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

static bool is_known(const struct revision *revision, const char *type) {
    for (size_t i = 0; i < sizeof added / sizeof *added; i++)
        if (strcmp(added[i].type, type) == 0)
            return revision->since >= added[i].since;
    return true;
}

static void append_if(struct buffer *text, const char *before, const char *part) {
    if (part) {
        buffer_append_text(text, before);
        buffer_append_text(text, part);
    }
}

static void append_as_text(struct buffer *out, const char *type, struct json_object *block) {
    cleanup_buffer struct buffer text = buffer_make(out->maximum);
    if (strcmp(type, "audio") == 0) {
        buffer_append_format(&text, "[audio left out: %zu characters of base64",
                             json_tree_string(json_tree_member(block, "data")).length);
        append_if(&text, ", ", text_of(block, "mimeType"));
        buffer_append_text(&text, "]");
    } else {
        buffer_append_text(&text, "[resource");
        append_if(&text, " ", text_of(block, "name"));
        append_if(&text, ": ", text_of(block, "uri"));
        append_if(&text, ", ", text_of(block, "mimeType"));
        buffer_append_text(&text, "]");
        append_if(&text, "\n", text_of(block, "description"));
    }
    buffer_append_text(out, "{\"type\":\"text\",\"text\":");
    json_write_bytes(out, text.data, text.length);
    buffer_append_text(out, "}");
    out->failed |= text.failed;
}

void blocks_append(struct buffer *out, const struct revision *revision, struct json_object *block) {
    const char *type = text_of(block, "type");
    if (type && !is_known(revision, type))
        append_as_text(out, type, block);
    else
        json_write_tree(out, block);
}

void blocks_append_all(struct buffer *out, const struct revision *revision,
                       struct json_object *blocks) {
    buffer_append_text(out, "[");
    for (size_t i = 0; i < json_object_array_length(blocks); i++) {
        if (i)
            buffer_append_text(out, ",");
        blocks_append(out, revision, json_object_array_get_idx(blocks, i));
    }
}

void blocks_append_messages(struct buffer *out, const struct revision *revision,
                            struct json_object *messages) {
    buffer_append_text(out, "[");
    for (size_t i = 0; i < json_object_array_length(messages); i++) {
        struct json_object *message = json_object_array_get_idx(messages, i);
        buffer_append_text(out, i ? ",{\"role\":" : "{\"role\":");
        json_write_tree(out, json_tree_member(message, "role"));
        buffer_append_text(out, ",\"content\":");
        blocks_append(out, revision, json_tree_member(message, "content"));
        buffer_append_text(out, "}");
    }
    buffer_append_text(out, "]");
}
