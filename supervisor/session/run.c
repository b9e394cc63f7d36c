/* Checks the JSON of a run against tables of shapes. Accepts a text as a whole or not at all, and
 * only members that a shape names. */
#include "supervisor/session/run.h"
#include "common/frame.h"
#include "supervisor/base/log.h"
#include "supervisor/content/content_check.h"
#include "supervisor/json/json_inspect.h"

#include <string.h>

enum { COMPLETIONS_MAX = 100 };

const char *run_kind_word(enum run_kind kind) {
    static const char *const words[RUN_KIND_COUNT] = {"tool", "prompt", "resource", "completion",
                                                      "load"};
    return words[kind];
}

/* --- results --- */

static bool are_completions(struct json_object *value, struct error *error) {
    return shape_strings(value, error) &&
           (json_object_array_length(value) <= COMPLETIONS_MAX ||
            error_set(error, 0, "must have at most %d elements", COMPLETIONS_MAX));
}

static bool is_level(struct json_object *value, struct error *error) {
    return shape_word(value, log_level_names, LOG_LEVEL_COUNT, error);
}

static const struct shape results[RUN_KIND_COUNT] = {
    [RUN_TOOL] = {.members = {{"content", content_check_blocks, true},
                              {"isError", shape_boolean, false},
                              {"structuredContent", shape_anything, false}}},
    [RUN_PROMPT] = {.members = {{"messages", content_check_messages, true}}},
    [RUN_RESOURCE] = {.members = {{"contents", content_check_resources, true}}},
    [RUN_COMPLETION] = {.members = {{"values", are_completions, true},
                                    {"total", shape_count, true},
                                    {"hasMore", shape_boolean, true}}},
    [RUN_LOAD] = {.members = {{0}}},
};

/* TEXT is a JSON object within the limits. */
static bool is_object_text(struct span text, size_t size_max, size_t values_max) {
    const struct json_limits limits = {.depth = RUN_DEPTH_MAX, .values = values_max};
    struct json_shape shape;
    return text.length > 0 && text.length <= size_max &&
           json_inspect(text.bytes, text.length, limits, &shape) == JSON_FINE &&
           shape.kind == JSON_OBJECT;
}

/* Parses TEXT, which was inspected, with null in place of the value WITHOUT (a part of TEXT; bytes
 * NULL: none). */
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
    if (json_tokener_get_error(tokener) == json_tokener_continue) /* after a number */
        json = json_tokener_parse_ex(tokener, " ", 1);
    json_tokener_free(tokener);
    return json;
}

/* TEXT as an object; NULL if it is not one, or exceeds a limit. */
static struct json_object *parse(struct span text, size_t size_max, size_t values_max) {
    return is_object_text(text, size_max, values_max) ? parse_without(text, (struct span){0})
                                                      : NULL;
}

/* Finds the text of the value of member NAME of the object TEXT; bytes NULL: no such member. False
 * if a name is escaped, which this does not decode, or if NAME occurs twice. */
static bool find_raw(struct span text, const char *name, struct span *raw) {
    size_t offset = 0;
    struct json_token member;
    struct span value;
    *raw = (struct span){0};
    while (json_next_member(text, &offset, &member, &value)) {
        struct span quoted = member.text;
        if (memchr(quoted.bytes, '\\', quoted.length))
            return false;
        if (quoted.length != strlen(name) + 2 ||
            memcmp(quoted.bytes + 1, name, quoted.length - 2) != 0)
            continue;
        if (raw->bytes)
            return false;
        *raw = value;
    }
    return true;
}

bool run_result_decode(enum run_kind kind, struct span text, struct run_result *result) {
    struct json_object *member;
    *result = (struct run_result){.kind = kind};
    if (!is_object_text(text, RUN_RESULT_MAX_BYTES, RUN_VALUES_MAX) ||
        !find_raw(text, "structuredContent", &result->structured))
        return false;
    result->json = parse_without(text, result->structured);
    if (result->json && shape_fits(result->json, &results[kind], NULL)) {
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

/* --- events --- */

static bool is_change(struct json_object *value, struct error *error) {
    static const char *const words[] = {"tools", "prompts", "resources", "resource"};
    return shape_word(value, words, sizeof words / sizeof *words, error);
}

static const struct {
    const char *type;
    struct shape shape;
} events[] = {
    [RUN_PROGRESS] = {"progress",
                      {.members = {{"type", shape_string, true},
                                   {"progress", shape_number, true},
                                   {"total", shape_number, false},
                                   {"message", shape_string, false}}}},
    [RUN_LOG] = {"log",
                 {.members = {{"type", shape_string, true},
                              {"level", is_level, true},
                              {"data", shape_anything, true},
                              {"logger", shape_string, false}}}},
    [RUN_CHANGE] = {"change",
                    {.members = {{"type", shape_string, true},
                                 {"kind", is_change, true},
                                 {"uri", shape_uri, false}}}},
};

/* Reads the progress; checks that `uri` is there with "resource" only, which no table states. */
static bool finish_event(struct run_event *event) {
    struct json_object *member;
    if (event->kind == RUN_PROGRESS && json_object_object_get_ex(event->json, "progress", &member))
        event->progress = json_object_get_double(member);
    return event->kind != RUN_CHANGE || (json_object_object_get_ex(event->json, "kind", &member) &&
                                         shape_is_word(member, "resource") ==
                                             json_object_object_get_ex(event->json, "uri", NULL));
}

bool run_event_decode(struct span text, struct run_event *event) {
    struct json_object *type;
    *event = (struct run_event){.json = parse(text, FRAME_EVENT_MAX, RUN_VALUES_MAX)};
    if (json_object_object_get_ex(event->json, "type", &type))
        for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
            event->kind = (enum run_event_kind)i;
            if (shape_is_word(type, events[i].type) &&
                shape_fits(event->json, &events[i].shape, NULL) && finish_event(event))
                return true;
        }
    run_event_free(event);
    return false;
}

void run_event_free(struct run_event *event) {
    json_object_put(event->json);
    event->json = NULL;
}

/* --- questions --- */

static const struct {
    const char *method;
    struct shape shape; /* of `params` */
} questions[] = {
    {"elicitation/create",
     {.members = {{"message", shape_string, true},
                  {"requestedSchema", shape_object, false},
                  {"mode", shape_string, false},
                  {"url", shape_uri, false},
                  {"elicitationId", shape_string, false}},
      .one_of = {"requestedSchema", "url"}}},
    {"sampling/createMessage",
     {.members = {{"messages", content_check_messages, true},
                  {"maxTokens", shape_count, true},
                  {"systemPrompt", shape_string, false},
                  {"temperature", shape_number, false},
                  {"stopSequences", shape_strings, false},
                  {"modelPreferences", shape_object, false}}}},
    {"roots/list", {.members = {{0}}}},
};

static bool is_question(struct json_object *value) {
    static const struct shape shape = {
        .members = {{"method", shape_string, true}, {"params", shape_object, true}}};
    struct json_object *method, *params;
    if (!shape_fits(value, &shape, NULL))
        return false;
    json_object_object_get_ex(value, "method", &method);
    json_object_object_get_ex(value, "params", &params);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        if (shape_is_word(method, questions[i].method))
            return shape_fits(params, &questions[i].shape, NULL);
    return false;
}

static bool are_questions(struct json_object *value, struct error *error) {
    (void)error;
    if (!shape_object(value, NULL) || json_object_object_length(value) < 1 ||
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
    struct json_object *json = parse(text, FRAME_ASK_MAX, RUN_ASK_VALUES_MAX), *requests = NULL;
    if (json && shape_fits(json, &shape, NULL) &&
        json_object_object_get_ex(json, "requests", &requests))
        json_object_get(requests);
    json_object_put(json);
    return requests;
}
