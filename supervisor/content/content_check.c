/* The shapes of contents. A block of an unknown type is refused. */
#include "supervisor/content/shape.h"

bool content_check_role(struct json_object *value, struct error *error) {
    static const char *const words[] = {"user", "assistant"};
    return shape_word(value, words, sizeof words / sizeof *words, error);
}

bool content_check_audience(struct json_object *value, struct error *error) {
    return shape_all(value, content_check_role, error);
}

static bool is_annotations(struct json_object *value, struct error *error) {
    static const struct shape shape = {.members = {{"audience", content_check_audience, false},
                                                   {"priority", shape_fraction, false}}};
    return shape_fits(value, &shape, error);
}

static bool is_resource(struct json_object *value, struct error *error) {
    static const struct shape shape = {.members = {{"uri", shape_uri, true},
                                                   {"mimeType", shape_mime_type, false},
                                                   {"text", shape_string, false},
                                                   {"blob", shape_base64, false}},
                                       .one_of = {"text", "blob"}};
    return shape_fits(value, &shape, error);
}

static const struct {
    const char *type;
    struct shape shape;
} blocks[] = {
    {"text",
     {.members = {{"type", shape_string, true},
                  {"text", shape_string, true},
                  {"annotations", is_annotations, false}}}},
    {"image",
     {.members = {{"type", shape_string, true},
                  {"data", shape_base64, true},
                  {"mimeType", shape_mime_type, true},
                  {"annotations", is_annotations, false}}}},
    {"audio",
     {.members = {{"type", shape_string, true},
                  {"data", shape_base64, true},
                  {"mimeType", shape_mime_type, true},
                  {"annotations", is_annotations, false}}}},
    {"resource",
     {.members = {{"type", shape_string, true},
                  {"resource", is_resource, true},
                  {"annotations", is_annotations, false}}}},
    {"resource_link",
     {.members = {{"type", shape_string, true},
                  {"uri", shape_uri, true},
                  {"name", shape_string, true},
                  {"title", shape_string, false},
                  {"description", shape_string, false},
                  {"mimeType", shape_mime_type, false},
                  {"size", shape_count, false},
                  {"annotations", is_annotations, false}}}},
};

static bool is_block(struct json_object *value, struct error *error) {
    struct json_object *type = NULL;
    if (!shape_object(value, error))
        return false;
    json_object_object_get_ex(value, "type", &type);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (shape_is_word(type, blocks[i].type))
            return shape_fits(value, &blocks[i].shape, error);
    return error_set(error, 0, "\"type\" must be text, image, audio, resource or resource_link");
}

static bool is_message(struct json_object *value, struct error *error) {
    static const struct shape shape = {
        .members = {{"role", content_check_role, true}, {"content", is_block, true}}};
    return shape_fits(value, &shape, error);
}

bool content_check_blocks(struct json_object *value, struct error *error) {
    return shape_all(value, is_block, error);
}

bool content_check_messages(struct json_object *value, struct error *error) {
    return shape_all(value, is_message, error);
}

bool content_check_resources(struct json_object *value, struct error *error) {
    return shape_all(value, is_resource, error);
}
