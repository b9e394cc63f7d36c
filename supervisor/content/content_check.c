/* The shapes of contents. Takes no kind of content that it does not know by name. */
#include "supervisor/content/content_check.h"

static bool is_priority(struct json_object *value, struct error *error) {
    return (shape_number(value, NULL) && json_object_get_double(value) >= 0 &&
            json_object_get_double(value) <= 1) ||
           error_set(error, 0, "must be a number from 0 to 1");
}

static bool is_role(struct json_object *value, struct error *error) {
    static const char *const words[] = {"user", "assistant"};
    return shape_is_word(value, words, 2) ||
           error_set(error, 0, "must be \"user\" or \"assistant\"");
}

static bool is_audience(struct json_object *value, struct error *error) {
    return shape_all(value, is_role, error);
}

static bool is_annotations(struct json_object *value, struct error *error) {
    static const struct shape shape = {
        .members = {{"audience", is_audience, false}, {"priority", is_priority, false}}};
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
        if (shape_is_word(type, &blocks[i].type, 1))
            return shape_fits(value, &blocks[i].shape, error);
    return error_set(error, 0, "\"type\" must be text, image, audio, resource or resource_link");
}

static bool is_message(struct json_object *value, struct error *error) {
    static const struct shape shape = {
        .members = {{"role", is_role, true}, {"content", is_block, true}}};
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
