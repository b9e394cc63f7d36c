/* Output lines, writing beside reading. Never asks the worker what something cost. */
#include "supervisor/batch/record.h"
#include "supervisor/base/clock.h"
#include "supervisor/json/json_inspect.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/session/text.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX_BYTES = 1 << 30 };

static const char invalid_word[] = "invalid";

/* A call that something outside ended has no outcome of its own in a batch. */
static const char *word_of(enum outcome outcome) {
    return outcome_table[outcome == OUTCOME_CANCELLED ? OUTCOME_CRASH : outcome].word;
}

static void begin(struct buffer *out, const struct batch_line *line, const char *outcome) {
    buffer_append_text(out, "{\"id\":");
    if (line->has_id)
        buffer_append(out, line->key.data, line->key.length);
    else
        buffer_append_format(out, "null,\"line\":%llu", (unsigned long long)line->number);
    buffer_append_format(out, ",\"outcome\":\"%s\"", outcome);
}

static void begin_member(struct buffer *out, const char *name) {
    buffer_append_text(out, ",");
    json_write_name(out, name);
}

static void write_text(struct buffer *out, const struct evaluation *evaluation,
                       const struct text_limits *limits) {
    cleanup_buffer struct buffer text = buffer_make(TEXT_MAX_BYTES);
    text_append_evaluation(&text, evaluation, limits);
    begin_member(out, "text");
    json_write_bytes(out, text.data, text.length);
    out->failed |= text.failed;
}

static void write_values(struct buffer *out, const struct result_message *result,
                         const struct text_limits *limits) {
    begin_member(out, "values");
    buffer_append_text(out, "[");
    for (size_t i = 0; i < result->value_count; i++) {
        cleanup_buffer struct buffer value = buffer_make(TEXT_MAX_BYTES);
        text_append_value(&value, result->values[i], limits->value_max_chars);
        buffer_append_text(out, i ? "," : "");
        json_write_bytes(out, value.data, value.length);
        out->failed |= value.failed;
    }
    buffer_append_text(out, "]");
}

static void write_costs(struct buffer *out, const struct evaluation *evaluation) {
    buffer_append_format(out, ",\"exitCode\":%d,\"wallMs\":%.3f,\"cpuMs\":%.3f,\"maxRssKb\":%lld",
                         evaluation->exit_code, (double)evaluation->elapsed_us / CLOCK_US_PER_MS,
                         (double)evaluation->usage.cpu_us / CLOCK_US_PER_MS,
                         (long long)evaluation->usage.peak_kb);
}

static enum standing standing_of(enum verdict verdict, const char *outcome) {
    if (verdict != VERDICT_NONE)
        return verdict == VERDICT_MET ? STANDING_PASSED : STANDING_FAILED;
    return strcmp(outcome, word_of(OUTCOME_VALUE)) == 0 ? STANDING_PASSED : STANDING_BROKEN;
}

enum standing record_write(struct buffer *out, const struct batch_line *line,
                           const struct evaluation *evaluation, const struct settings *settings) {
    const struct text_limits limits = text_limits_of(settings);
    const char *outcome = word_of(evaluation->outcome);
    begin(out, line, outcome);
    write_text(out, evaluation, &limits);
    write_values(out, &evaluation->result, &limits);
    begin_member(out, "stdout");
    text_write_captured(out, evaluation->output, limits.shown_chars);
    begin_member(out, "stderr");
    text_write_captured(out, evaluation->error_output, limits.shown_chars);
    write_costs(out, evaluation);
    cleanup_buffer struct buffer mismatches = buffer_make(TEXT_MAX_BYTES);
    enum verdict verdict = verdict_of(line, evaluation, &limits, &mismatches);
    if (verdict != VERDICT_NONE) {
        begin_member(out, "pass");
        buffer_append_text(out, verdict == VERDICT_MET ? "true" : "false");
    }
    if (verdict == VERDICT_UNMET) {
        begin_member(out, "mismatches");
        buffer_append_text(out, "[");
        buffer_append(out, mismatches.data, mismatches.length);
        buffer_append_text(out, "]");
        out->failed |= mismatches.failed;
    }
    buffer_append_text(out, "}");
    return standing_of(verdict, outcome);
}

enum standing record_write_invalid(struct buffer *out, const struct batch_line *line) {
    begin(out, line, invalid_word);
    begin_member(out, "reason");
    json_write_string(out, line->fault);
    buffer_append_text(out, "}");
    return STANDING_BROKEN;
}

/* The constant of that word, or NULL. */
static const char *known_outcome(struct span word) {
    for (int outcome = 0; outcome < OUTCOME_COUNT; outcome++)
        if (strlen(outcome_table[outcome].word) == word.length &&
            memcmp(outcome_table[outcome].word, word.bytes, word.length) == 0)
            return outcome_table[outcome].word;
    return word.length == strlen(invalid_word) && memcmp(invalid_word, word.bytes, word.length) == 0
               ? invalid_word
               : NULL;
}

/* A line without an id is known by its number. */
static void take_number(struct record *record) {
    struct json_object *number = json_tree_member(record->root, "line");
    if (!number)
        return;
    int used = snprintf(record->number_key, sizeof record->number_key, "line %llu",
                        (unsigned long long)json_object_get_uint64(number));
    record->key = (struct span){(const unsigned char *)record->number_key, (size_t)used};
}

bool record_read(struct record *record, struct span text) {
    static const struct json_limits limits = {.depth = JSON_DEPTH_MAX};
    struct json_shape shape;
    *record = (struct record){0};
    if (json_inspect(text.bytes, text.length, limits, &shape) != JSON_FINE ||
        shape.kind != JSON_OBJECT || !shape.id.text.bytes)
        return false;
    record->root = json_tree_parse(text);
    record->key = shape.id.text;
    take_number(record);
    struct span word = json_tree_string(json_tree_member(record->root, "outcome"));
    record->outcome = word.bytes ? known_outcome(word) : NULL;
    if (!record->outcome) {
        record_free(record);
        return false;
    }
    struct json_object *pass = json_tree_member(record->root, "pass");
    record->verdict = !pass                           ? VERDICT_NONE
                      : json_object_get_boolean(pass) ? VERDICT_MET
                                                      : VERDICT_UNMET;
    record->standing = standing_of(record->verdict, record->outcome);
    return true;
}

void record_free(struct record *record) {
    json_object_put(record->root);
    record->root = NULL;
}

static struct span string_or_empty(struct json_object *value) {
    struct span string = json_tree_string(value);
    return string.bytes ? string : (struct span){(const unsigned char *)"", 0};
}

struct span record_string(const struct record *record, const char *name) {
    return string_or_empty(json_tree_member(record->root, name));
}

double record_number(const struct record *record, const char *name) {
    return json_object_get_double(json_tree_member(record->root, name));
}

struct span record_name(const struct record *record) {
    struct span string = json_tree_string(json_tree_member(record->root, "id"));
    return string.bytes ? string : record->key;
}

size_t record_mismatches(const struct record *record) {
    struct json_object *mismatches = json_tree_member(record->root, "mismatches");
    return json_object_is_type(mismatches, json_type_array) ? json_object_array_length(mismatches)
                                                            : 0;
}

struct mismatch record_mismatch(const struct record *record, size_t index) {
    struct json_object *mismatch =
        json_object_array_get_idx(json_tree_member(record->root, "mismatches"), index);
    return (struct mismatch){string_or_empty(json_tree_member(mismatch, "expectation")),
                             string_or_empty(json_tree_member(mismatch, "wanted")),
                             string_or_empty(json_tree_member(mismatch, "came"))};
}
