/* Checks the JSON of a run against tables of shapes. Accepts a text as a whole or not at all, and
 * only members that a shape names. */
#include "supervisor/session/run.h"
#include "common/frame.h"
#include "supervisor/base/log.h"
#include "supervisor/content/shape.h"
#include "supervisor/json/json_inspect.h"
#include "supervisor/json/json_tree.h"

#include <string.h>

enum { COMPLETIONS_MAX = 100 };

const char *run_kind_word(enum run_kind kind) {
    static const char *const words[RUN_KIND_COUNT] = {"tool",       "prompt", "resource",
                                                      "completion", "load",   "content"};
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
    [RUN_CONTENT] = {.members = {{"content", content_check_blocks, true}}},
};

/* TEXT is a JSON object within the limits. */
static bool is_object_text(struct span text, size_t size_max, size_t values_max) {
    const struct json_limits limits = {.depth = RUN_DEPTH_MAX, .values = values_max};
    struct json_shape shape;
    return text.length > 0 && text.length <= size_max &&
           json_inspect(text.bytes, text.length, limits, &shape) == JSON_FINE &&
           shape.kind == JSON_OBJECT;
}

/* TEXT as an object; NULL if it is not one, or exceeds a limit. */
static struct json_object *parse(struct span text, size_t size_max, size_t values_max) {
    return is_object_text(text, size_max, values_max) ? json_tree_parse(text) : NULL;
}

void run_decode_begin(struct run_decoder *decoder, enum run_kind kind, struct span text,
                      bool wants_value, struct run_result *result) {
    const struct json_limits limits = {.depth = RUN_DEPTH_MAX, .values = RUN_VALUES_MAX};
    *result = (struct run_result){.kind = kind};
    decoder->kind = kind;
    decoder->text = text;
    decoder->wants_value = wants_value;
    decoder->stage = RUN_CHECK;
    decoder->result = result;
    json_reader_begin(&decoder->reader, text, limits);
}

void run_decode_cancel(struct run_decoder *decoder) {
    json_reader_free(&decoder->reader);
    run_result_free(decoder->result);
}

static enum run_step decode_failed(struct run_decoder *decoder, enum run_step step) {
    run_decode_cancel(decoder);
    return step;
}

static enum run_step over_limit(struct run_decoder *decoder, const char *name, size_t limit) {
    decoder->limit_name = name;
    decoder->limit = limit;
    return decode_failed(decoder, RUN_STEP_LIMIT);
}

static enum run_step end_check(struct run_decoder *decoder) {
    struct json_reader *reader = &decoder->reader;
    const struct json_shape *shape = &reader->shape;
    if (reader->fault != JSON_FINE || shape->kind != JSON_OBJECT || shape->structured_count > 1)
        return decode_failed(decoder, RUN_STEP_MALFORMED);
    if (shape->values - shape->structured_values > RUN_PARSED_VALUES_MAX ||
        (decoder->wants_value && shape->structured_values > RUN_PARSED_VALUES_MAX))
        return over_limit(decoder, "run.values", RUN_PARSED_VALUES_MAX);
    decoder->result->structured = shape->structured.text;
    decoder->stage = RUN_PARSE;
    json_reader_parse(reader, shape->structured.text);
    return RUN_STEP_MORE;
}

/* Content blocks, messages or contents. */
static size_t block_count(struct json_object *json) {
    static const char *const names[] = {"content", "messages", "contents"};
    size_t count = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct json_object *blocks = json_tree_member(json, names[i]);
        if (json_object_is_type(blocks, json_type_array))
            count += json_object_array_length(blocks);
    }
    return count;
}

static enum run_step check_shape(struct run_decoder *decoder) {
    struct run_result *result = decoder->result;
    if (block_count(result->json) > RUN_BLOCKS_MAX)
        return over_limit(decoder, "run.blocks", RUN_BLOCKS_MAX);
    if (!result->json || !shape_fits(result->json, &results[decoder->kind], NULL))
        return decode_failed(decoder, RUN_STEP_MALFORMED);
    result->is_error = json_object_get_boolean(json_tree_member(result->json, "isError"));
    if (!decoder->wants_value || !result->structured.bytes)
        return RUN_STEP_DONE;
    json_reader_begin(&decoder->reader, result->structured, (struct json_limits){0});
    json_reader_parse(&decoder->reader, (struct span){0});
    decoder->stage = RUN_PARSE_VALUE;
    return RUN_STEP_MORE;
}

enum run_step run_decode_step(struct run_decoder *decoder) {
    struct json_reader *reader = &decoder->reader;
    struct run_result *result = decoder->result;
    switch (decoder->stage) {
    case RUN_CHECK:
        if (decoder->text.length == 0 || decoder->text.length > RUN_RESULT_MAX_BYTES)
            return decode_failed(decoder, RUN_STEP_MALFORMED);
        return json_reader_check(reader) ? RUN_STEP_MORE : end_check(decoder);
    case RUN_PARSE:
        if (json_reader_step(reader))
            return RUN_STEP_MORE;
        result->json = reader->root;
        reader->root = NULL;
        decoder->stage = RUN_SHAPE;
        return RUN_STEP_MORE;
    case RUN_SHAPE:
        return check_shape(decoder);
    case RUN_PARSE_VALUE:
        if (json_reader_step(reader))
            return RUN_STEP_MORE;
        result->value = reader->root;
        reader->root = NULL;
        decoder->stage = RUN_COMPARE_VALUE;
        return RUN_STEP_MORE;
    case RUN_COMPARE_VALUE:
        result->is_whole = json_tree_is_whole(result->value, result->structured);
        break;
    }
    return RUN_STEP_DONE;
}

bool run_result_decode(enum run_kind kind, struct span text, struct run_result *result) {
    struct run_decoder decoder;
    enum run_step step;
    run_decode_begin(&decoder, kind, text, true, result);
    while ((step = run_decode_step(&decoder)) == RUN_STEP_MORE)
        continue;
    return step == RUN_STEP_DONE;
}

void run_result_free(struct run_result *result) {
    json_object_put(result->json);
    json_object_put(result->value);
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
