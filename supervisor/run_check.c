/* The shapes of what a run gives, as tables. Takes a text whole or not at all, and nothing that it
 * does not know by name. */
#include "common/frame.h"
#include "supervisor/json_inspect.h"
#include "supervisor/run.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { COMPLETIONS_MAX = 100 };

const char *run_kind_word(enum run_kind kind) {
    static const char *const words[RUN_KIND_COUNT] = {"tool", "prompt", "resource", "completion"};
    return words[kind];
}

/* --- shapes --- */

typedef bool check(struct json_object *value);

struct member {
    const char *name;
    check *is;
    bool required;
};

enum { MEMBERS_MAX = 8 };

struct shape {
    struct member members[MEMBERS_MAX]; /* up to one without a name */
    const char *one_of[2];              /* exactly one of these is there, when they are given */
};

static const struct member *member_of(const struct shape *shape, const char *name) {
    for (size_t i = 0; i < MEMBERS_MAX && shape->members[i].name; i++)
        if (strcmp(shape->members[i].name, name) == 0)
            return &shape->members[i];
    return NULL;
}

static bool has_member(struct json_object *object, const char *name) {
    return json_object_object_get_ex(object, name, NULL);
}

static bool has_shape(struct json_object *value, const struct shape *shape) {
    if (!json_object_is_type(value, json_type_object))
        return false;
    json_object_object_foreach(value, name, item) {
        const struct member *member = member_of(shape, name);
        if (!member || !member->is(item))
            return false;
    }
    for (size_t i = 0; i < MEMBERS_MAX && shape->members[i].name; i++)
        if (shape->members[i].required && !has_member(value, shape->members[i].name))
            return false;
    return !shape->one_of[0] ||
           has_member(value, shape->one_of[0]) != has_member(value, shape->one_of[1]);
}

static bool all_are(struct json_object *value, check *is) {
    if (!json_object_is_type(value, json_type_array))
        return false;
    for (size_t i = 0; i < json_object_array_length(value); i++)
        if (!is(json_object_array_get_idx(value, i)))
            return false;
    return true;
}

/* --- scalars --- */

static bool is_anything(struct json_object *value) {
    (void)value;
    return true;
}

static bool is_string(struct json_object *value) {
    return json_object_is_type(value, json_type_string);
}

static bool is_object(struct json_object *value) {
    return json_object_is_type(value, json_type_object);
}

static bool is_boolean(struct json_object *value) {
    return json_object_is_type(value, json_type_boolean);
}

static bool is_number(struct json_object *value) {
    return json_object_is_type(value, json_type_int) ||
           (json_object_is_type(value, json_type_double) &&
            isfinite(json_object_get_double(value)));
}

static bool is_count(struct json_object *value) {
    return json_object_is_type(value, json_type_int) && json_object_get_int64(value) >= 0;
}

static bool is_priority(struct json_object *value) {
    return is_number(value) && json_object_get_double(value) >= 0 &&
           json_object_get_double(value) <= 1;
}

static bool is_one_of(struct json_object *value, const char *const *words, size_t count) {
    if (!is_string(value))
        return false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(json_object_get_string(value), words[i]) == 0 &&
            (size_t)json_object_get_string_len(value) == strlen(words[i]))
            return true;
    return false;
}

static bool is_role(struct json_object *value) {
    static const char *const words[] = {"user", "assistant"};
    return is_one_of(value, words, 2);
}

static bool is_level(struct json_object *value) {
    static const char *const words[] = {"debug", "info",     "notice", "warning",
                                        "error", "critical", "alert",  "emergency"};
    return is_one_of(value, words, sizeof words / sizeof *words);
}

/* A string whose bytes are all from LOW to '~'. */
static bool is_printable(struct json_object *value, char low) {
    if (!is_string(value))
        return false;
    const char *text = json_object_get_string(value);
    for (int i = 0; i < json_object_get_string_len(value); i++)
        if (text[i] < low || text[i] > '~')
            return false;
    return true;
}

static bool is_uri(struct json_object *value) {
    if (!is_printable(value, '!'))
        return false;
    const char *text = json_object_get_string(value);
    size_t scheme =
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
    return isalpha((unsigned char)text[0]) && text[scheme] == ':';
}

static bool is_mime_type(struct json_object *value) {
    if (!is_printable(value, ' '))
        return false;
    const char *text = json_object_get_string(value), *slash = strchr(text, '/');
    return slash && slash > text && slash[1];
}

static bool is_base64(struct json_object *value) {
    if (!is_string(value))
        return false;
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static bool is_digit[256];
    for (size_t i = 0; !is_digit['/'] && i < sizeof digits - 1; i++)
        is_digit[(unsigned char)digits[i]] = true;
    const char *text = json_object_get_string(value);
    size_t length = (size_t)json_object_get_string_len(value), padding = 0;
    while (padding < 2 && padding < length && text[length - 1 - padding] == '=')
        padding++;
    for (size_t i = 0; i < length - padding; i++)
        if (!is_digit[(unsigned char)text[i]])
            return false;
    return length % 4 == 0;
}

/* --- contents --- */

static bool is_audience(struct json_object *value) {
    return all_are(value, is_role);
}

static bool is_annotations(struct json_object *value) {
    static const struct shape shape = {
        .members = {{"audience", is_audience, false}, {"priority", is_priority, false}}};
    return has_shape(value, &shape);
}

static bool is_resource(struct json_object *value) {
    static const struct shape shape = {.members = {{"uri", is_uri, true},
                                                   {"mimeType", is_mime_type, false},
                                                   {"text", is_string, false},
                                                   {"blob", is_base64, false}},
                                       .one_of = {"text", "blob"}};
    return has_shape(value, &shape);
}

static const struct {
    const char *type;
    struct shape shape;
} blocks[] = {
    {"text",
     {.members = {{"type", is_string, true},
                  {"text", is_string, true},
                  {"annotations", is_annotations, false}}}},
    {"image",
     {.members = {{"type", is_string, true},
                  {"data", is_base64, true},
                  {"mimeType", is_mime_type, true},
                  {"annotations", is_annotations, false}}}},
    {"audio",
     {.members = {{"type", is_string, true},
                  {"data", is_base64, true},
                  {"mimeType", is_mime_type, true},
                  {"annotations", is_annotations, false}}}},
    {"resource",
     {.members = {{"type", is_string, true},
                  {"resource", is_resource, true},
                  {"annotations", is_annotations, false}}}},
    {"resource_link",
     {.members = {{"type", is_string, true},
                  {"uri", is_uri, true},
                  {"name", is_string, true},
                  {"title", is_string, false},
                  {"description", is_string, false},
                  {"mimeType", is_mime_type, false},
                  {"size", is_count, false},
                  {"annotations", is_annotations, false}}}},
};

static bool is_block(struct json_object *value) {
    struct json_object *type;
    if (!is_object(value) || !json_object_object_get_ex(value, "type", &type))
        return false;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (is_one_of(type, &blocks[i].type, 1))
            return has_shape(value, &blocks[i].shape);
    return false;
}

static bool are_blocks(struct json_object *value) {
    return all_are(value, is_block);
}

static bool is_message(struct json_object *value) {
    static const struct shape shape = {
        .members = {{"role", is_role, true}, {"content", is_block, true}}};
    return has_shape(value, &shape);
}

static bool are_messages(struct json_object *value) {
    return all_are(value, is_message);
}

static bool are_resources(struct json_object *value) {
    return all_are(value, is_resource);
}

static bool are_strings(struct json_object *value) {
    return all_are(value, is_string);
}

static bool are_completions(struct json_object *value) {
    return are_strings(value) && json_object_array_length(value) <= COMPLETIONS_MAX;
}

static const struct shape results[RUN_KIND_COUNT] = {
    [RUN_TOOL] = {.members = {{"content", are_blocks, true},
                              {"isError", is_boolean, false},
                              {"structuredContent", is_anything, false}}},
    [RUN_PROMPT] = {.members = {{"messages", are_messages, true}}},
    [RUN_RESOURCE] = {.members = {{"contents", are_resources, true}}},
    [RUN_COMPLETION] = {.members = {{"values", are_completions, true},
                                    {"total", is_count, true},
                                    {"hasMore", is_boolean, true}}},
};

/* --- texts --- */

/* Is TEXT an object, and not too much? */
static bool is_object_text(struct span text, size_t size_max) {
    static const struct json_limits limits = {.depth = RUN_DEPTH_MAX, .values = RUN_VALUES_MAX};
    struct json_shape shape;
    return text.length > 0 && text.length <= size_max &&
           json_inspect(text.bytes, text.length, limits, &shape) == JSON_FINE &&
           shape.kind == JSON_OBJECT;
}

/* The value of TEXT, which was inspected, with a null in the place of the value at WITHOUT (a part
 * of TEXT; bytes NULL: none). */
static struct json_object *parse_without(struct span text, struct span without) {
    struct json_tokener *tokener = json_tokener_new_ex(RUN_DEPTH_MAX + 1);
    const unsigned char *rest = without.bytes ? without.bytes + without.length : text.bytes;
    if (!tokener)
        return NULL;
    if (without.bytes) {
        json_tokener_parse_ex(tokener, (const char *)text.bytes, (int)(without.bytes - text.bytes));
        json_tokener_parse_ex(tokener, "null", 4);
    }
    struct json_object *json =
        json_tokener_parse_ex(tokener, (const char *)rest, (int)(text.bytes + text.length - rest));
    if (json_tokener_get_error(tokener) == json_tokener_continue) /* a number that might go on */
        json = json_tokener_parse_ex(tokener, " ", 1);
    json_tokener_free(tokener);
    return json;
}

/* TEXT as an object; NULL when it is none, or is too much. */
static struct json_object *parse(struct span text, size_t size_max) {
    return is_object_text(text, size_max) ? parse_without(text, (struct span){0}) : NULL;
}

static bool is_separator(unsigned char byte) {
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r' || byte == ':';
}

/* The text of the value of member NAME of the object TEXT, if there is one. False when the names of
 * its members cannot be told apart without a parser: one is escaped, or there is one twice. */
static bool find_raw(struct span text, const char *name, struct span *raw) {
    size_t offset = 0;
    struct json_token member;
    *raw = (struct span){0};
    while (json_next_member(text, &offset, &member)) {
        struct span quoted = member.text;
        if (memchr(quoted.bytes, '\\', quoted.length))
            return false;
        if (quoted.length != strlen(name) + 2 ||
            memcmp(quoted.bytes + 1, name, quoted.length - 2) != 0)
            continue;
        if (raw->bytes)
            return false;
        const unsigned char *start = quoted.bytes + quoted.length, *end = text.bytes + offset;
        while (is_separator(*start))
            start++;
        while (is_separator(end[-1]))
            end--;
        *raw = (struct span){start, (size_t)(end - start)};
    }
    return true;
}

bool run_result_decode(enum run_kind kind, struct span text, struct run_result *result) {
    struct json_object *member;
    *result = (struct run_result){.kind = kind};
    if (!is_object_text(text, RUN_RESULT_MAX_BYTES) ||
        !find_raw(text, "structuredContent", &result->structured))
        return false;
    result->json = parse_without(text, result->structured);
    if (result->json && has_shape(result->json, &results[kind])) {
        result->is_error = json_object_object_get_ex(result->json, "isError", &member) &&
                           json_object_get_boolean(member);
        return true;
    }
    run_result_free(result);
    return false;
}

struct json_object *run_result_structured(const struct run_result *result) {
    return parse_without(result->structured, (struct span){0});
}

void run_result_free(struct run_result *result) {
    json_object_put(result->json);
    *result = (struct run_result){.kind = result->kind};
}

static bool is_change(struct json_object *value) {
    static const char *const words[] = {"tools", "prompts", "resources", "resource"};
    return is_one_of(value, words, sizeof words / sizeof *words);
}

static const struct {
    const char *type;
    struct shape shape;
} events[] = {
    [RUN_PROGRESS] = {"progress",
                      {.members = {{"type", is_string, true},
                                   {"progress", is_number, true},
                                   {"total", is_number, false},
                                   {"message", is_string, false}}}},
    [RUN_LOG] = {"log",
                 {.members = {{"type", is_string, true},
                              {"level", is_level, true},
                              {"data", is_anything, true},
                              {"logger", is_string, false}}}},
    [RUN_CHANGE] = {"change",
                    {.members = {{"type", is_string, true},
                                 {"kind", is_change, true},
                                 {"uri", is_uri, false}}}},
};

/* What the tables do not say. */
static bool finish_event(struct run_event *event) {
    struct json_object *member;
    static const char *const resource = "resource";
    if (event->kind == RUN_PROGRESS && json_object_object_get_ex(event->json, "progress", &member))
        event->progress = json_object_get_double(member);
    return event->kind != RUN_CHANGE ||
           (json_object_object_get_ex(event->json, "kind", &member) &&
            is_one_of(member, &resource, 1) == has_member(event->json, "uri"));
}

bool run_event_decode(struct span text, struct run_event *event) {
    struct json_object *type;
    *event = (struct run_event){.json = parse(text, FRAME_EVENT_MAX)};
    if (json_object_object_get_ex(event->json, "type", &type))
        for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
            event->kind = (enum run_event_kind)i;
            if (is_one_of(type, &events[i].type, 1) && has_shape(event->json, &events[i].shape) &&
                finish_event(event))
                return true;
        }
    run_event_free(event);
    return false;
}

void run_event_free(struct run_event *event) {
    json_object_put(event->json);
    event->json = NULL;
}

static const struct {
    const char *method;
    struct shape shape; /* of its parameters */
} questions[] = {
    {"elicitation/create",
     {.members = {{"message", is_string, true},
                  {"requestedSchema", is_object, false},
                  {"mode", is_string, false},
                  {"url", is_uri, false},
                  {"elicitationId", is_string, false}},
      .one_of = {"requestedSchema", "url"}}},
    {"sampling/createMessage",
     {.members = {{"messages", are_messages, true},
                  {"maxTokens", is_count, true},
                  {"systemPrompt", is_string, false},
                  {"temperature", is_number, false},
                  {"stopSequences", are_strings, false},
                  {"modelPreferences", is_object, false}}}},
    {"roots/list", {.members = {{0}}}},
};

static bool is_question(struct json_object *value) {
    static const struct shape shape = {
        .members = {{"method", is_string, true}, {"params", is_object, true}}};
    struct json_object *method, *params;
    if (!has_shape(value, &shape))
        return false;
    json_object_object_get_ex(value, "method", &method);
    json_object_object_get_ex(value, "params", &params);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        if (is_one_of(method, &questions[i].method, 1))
            return has_shape(params, &questions[i].shape);
    return false;
}

static bool are_questions(struct json_object *value) {
    if (!is_object(value) || json_object_object_length(value) < 1 ||
        json_object_object_length(value) > RUN_QUESTIONS_MAX)
        return false;
    json_object_object_foreach(value, key, question) {
        if (!*key || strlen(key) > RUN_KEY_MAX_BYTES || !is_question(question))
            return false;
    }
    return true;
}

struct json_object *run_ask_decode(struct span text) {
    static const struct shape shape = {.members = {{"requests", are_questions, true}}};
    struct json_object *json = parse(text, FRAME_ASK_MAX), *requests = NULL;
    if (json && has_shape(json, &shape) && json_object_object_get_ex(json, "requests", &requests))
        json_object_get(requests);
    json_object_put(json);
    return requests;
}
