/* Output lines: made from an evaluation, written, and read back for --skip-done. */
#include "common/utf8.h"
#include "supervisor/base/clock.h"
#include "supervisor/batch/batch_internal.h"
#include "supervisor/json/json_inspect.h"
#include "supervisor/json/json_number.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX_BYTES = 1 << 30 };

static const char invalid_word[] = "invalid";

/* The constant of an outcome word, or NULL. */
static const char *known_outcome(struct span word) {
    if (span_equal(word, string_span(invalid_word)))
        return invalid_word;
    for (int outcome = 0; outcome < OUTCOME_COUNT; outcome++)
        if (span_equal(word, string_span(outcome_table[outcome].word)))
            return outcome_table[outcome].word;
    return NULL;
}

/* Sets what follows from the members. False if they are not those of an output line. */
static bool classify(struct record *record) {
    struct span word = json_tree_string(json_tree_member(record->root, "outcome"));
    struct json_object *pass = json_tree_member(record->root, "pass");
    record->outcome = word.bytes ? known_outcome(word) : NULL;
    if (!record->outcome)
        return false;
    record->verdict = !pass                           ? VERDICT_NONE
                      : json_object_get_boolean(pass) ? VERDICT_MET
                                                      : VERDICT_UNMET;
    bool has_value = strcmp(record->outcome, outcome_table[OUTCOME_VALUE].word) == 0;
    record->standing = record->verdict == VERDICT_UNMET              ? STANDING_FAILED
                       : record->verdict == VERDICT_MET || has_value ? STANDING_PASSED
                                                                     : STANDING_BROKEN;
    return true;
}

/* --- making --- */

/* These take ownership of VALUE. False if it is NULL, which is out of memory. */
static bool add(struct json_object *root, const char *name, struct json_object *value) {
    if (value && json_object_object_add(root, name, value) == 0)
        return true;
    json_object_put(value);
    return false;
}

static bool append(struct json_object *array, struct json_object *value) {
    if (value && json_object_array_add(array, value) == 0)
        return true;
    json_object_put(value);
    return false;
}

static struct json_object *string_of(const struct buffer *text) {
    const char *bytes = text->data ? (const char *)text->data : "";
    return text->failed ? NULL : json_object_new_string_len(bytes, (int)text->length);
}

static struct span string_or_empty(struct json_object *value) {
    struct span string = json_tree_string(value);
    return string.bytes ? string : string_span("");
}

/* A number of milliseconds with three decimals. */
static struct json_object *milliseconds(int64_t us) {
    char text[32];
    snprintf(text, sizeof text, "%.3f", (double)us / CLOCK_US_PER_MS);
    return json_number_make(string_span(text));
}

static bool add_text(struct json_object *root, const struct evaluation *evaluation,
                     const struct text_limits *limits) {
    cleanup_buffer struct buffer text = buffer_make(TEXT_MAX_BYTES);
    text_append_evaluation(&text, evaluation, limits);
    return add(root, "text", string_of(&text));
}

static bool add_values(struct json_object *root, const struct result_message *result,
                       const struct text_limits *limits) {
    struct json_object *values = json_object_new_array();
    bool good = add(root, "values", values);
    for (size_t i = 0; good && i < result->value_count; i++) {
        cleanup_buffer struct buffer text = buffer_make(TEXT_MAX_BYTES);
        text_append_value(&text, result->values[i], limits->value_max_chars);
        good = append(values, string_of(&text));
    }
    return good;
}

static bool add_captured(struct json_object *root, const char *name, struct span captured,
                         const struct text_limits *limits) {
    cleanup_buffer struct buffer text = buffer_make(TEXT_MAX_BYTES);
    text_append_captured(&text, captured, limits->max_chars);
    return add(root, name, string_of(&text));
}

static bool add_verdict(struct json_object *root, const struct batch_line *line,
                        const struct evaluation *evaluation, const struct text_limits *limits) {
    if (!batch_line_has_expectations(line))
        return true;
    cleanup_json struct json_object *mismatches = json_object_new_array();
    if (!mismatches || !verdict_compare(line, evaluation, limits, mismatches))
        return false;
    bool met = json_object_array_length(mismatches) == 0;
    return add(root, "pass", json_object_new_boolean(met)) &&
           (met || add(root, "mismatches", json_object_get(mismatches)));
}

enum outcome record_outcome(enum outcome outcome) {
    return outcome == OUTCOME_CANCELLED || outcome == OUTCOME_REFUSED ? OUTCOME_CRASH : outcome;
}

static bool add_evaluation(struct json_object *root, const struct batch_line *line,
                           const struct evaluation *evaluation, const struct text_limits *limits) {
    const enum outcome outcome = record_outcome(evaluation->outcome);
    return add(root, "outcome", json_object_new_string(outcome_table[outcome].word)) &&
           add_text(root, evaluation, limits) && add_values(root, &evaluation->result, limits) &&
           add_captured(root, "stdout", evaluation->output, limits) &&
           add_captured(root, "stderr", evaluation->error_output, limits) &&
           add(root, "exitCode", json_object_new_int(evaluation->exit_code)) &&
           add(root, "wallMs", milliseconds(evaluation->elapsed_us)) &&
           add(root, "cpuMs", milliseconds(evaluation->usage.cpu_us)) &&
           add(root, "maxRssKb", json_object_new_int64(evaluation->usage.peak_kb)) &&
           add_verdict(root, line, evaluation, limits);
}

/* Of a setup or a test, whose outputs the record may have in part. */
static bool add_output_bytes(struct json_object *root, const struct evaluation *evaluation) {
    const size_t bytes = evaluation->output.length + evaluation->error_output.length;
    return add(root, "outputBytes", json_object_new_uint64(bytes));
}

static struct json_object *points(double value) {
    char text[32];
    snprintf(text, sizeof text, "%.10g", value);
    return json_number_make(string_span(text));
}

/* Of a submission that could not be read. */
static bool add_lost_points(struct json_object *root, const struct batch_line *line) {
    double most = 0;
    for (size_t i = 0; i < line->test_count; i++)
        most += line->tests[i].points;
    return add(root, "points", points(0)) && add(root, "pointsMax", points(most)) &&
           add(root, "pass", json_object_new_boolean(false));
}

static bool add_members(struct json_object *root, const struct batch_line *line,
                        const struct evaluation *evaluation, const struct settings *settings) {
    struct json_object *id = json_object_get(json_tree_member(line->root, "id")); /* may be null */
    if (json_object_object_add(root, "id", id) != 0) {
        json_object_put(id);
        return false;
    }
    if (!line->has_id && line->number && !add(root, "line", json_object_new_uint64(line->number)))
        return false;
    const struct text_limits limits = text_limits_of(settings);
    if (evaluation)
        return add_evaluation(root, line, evaluation, &limits);
    return add(root, "outcome", json_object_new_string(invalid_word)) &&
           add(root, "reason", json_object_new_string(line->fault)) &&
           (!line->unreadable.bytes || add_lost_points(root, line));
}

/* --- submissions --- */

struct json_object *record_of_setup(const struct batch_line *line,
                                    const struct evaluation *evaluation,
                                    const struct settings *settings) {
    struct json_object *root = json_object_new_object();
    if (root && add_members(root, line, evaluation, settings) && add_output_bytes(root, evaluation))
        return root;
    json_object_put(root);
    return NULL;
}

bool record_set_usage(struct json_object *root, struct usage usage) {
    return add(root, "cpuMs", milliseconds(usage.cpu_us)) &&
           add(root, "maxRssKb", json_object_new_int64(usage.peak_kb));
}

bool record_add_total(struct record *record, const struct batch_costs *costs) {
    struct json_object *total = json_object_new_object();
    return add(record->root, "total", total) &&
           add(total, "wallMs", milliseconds(costs->wall_us)) &&
           add(total, "cpuMs", milliseconds(costs->cpu_us)) &&
           add(total, "maxRssKb", json_object_new_int64(costs->peak_kb)) &&
           add(total, "outputBytes", json_object_new_uint64(costs->output_bytes));
}

static bool add_test_name(struct json_object *root, const struct batch_line *test, size_t number) {
    char text[32];
    snprintf(text, sizeof text, "test %zu", number);
    struct span name = test->name.bytes ? test->name : string_span(text);
    return add(root, "name",
               json_object_new_string_len((const char *)name.bytes, (int)name.length));
}

static bool add_code(struct json_object *root, const struct batch_line *test) {
    return add(root, "code",
               json_object_new_string_len((const char *)test->code.bytes,
                                          (int)test->code.length)) &&
           (!test->task || add(root, "task", json_object_new_int64(test->task)));
}

/* A test passes if it meets its expectations, or has none and a value. */
static bool has_passed(struct json_object *root, enum outcome outcome) {
    struct json_object *pass = json_tree_member(root, "pass");
    return pass ? json_object_get_boolean(pass) : outcome == OUTCOME_VALUE;
}

static void drop_costs(struct json_object *root) {
    static const char *const costs[] = {"wallMs", "cpuMs", "maxRssKb", "outputBytes", "total"};
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        json_object_object_del(root, costs[i]);
}

void record_drop_costs(struct record *record) {
    const size_t tests = record_test_count(record);
    drop_costs(record->root);
    for (size_t i = 0; i < tests; i++)
        drop_costs(json_object_array_get_idx(json_tree_member(record->root, "tests"), i));
}

/* What a student must not see of a hidden test: the text names what was called, too. */
static void hide(struct json_object *root) {
    static const char *const hidden[] = {"code",   "text",       "values",  "stdout",
                                         "stderr", "mismatches", "exitCode"};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        json_object_object_del(root, hidden[i]);
    drop_costs(root);
}

/* The record of TEST as far as it is GOOD, with its verdict; NULL if it is not. Takes ROOT. */
static struct json_object *finish_test(struct json_object *root, const struct batch_line *test,
                                       bool good, bool passed) {
    good = good && add(root, "pass", json_object_new_boolean(passed)) &&
           add(root, "points", points(passed ? test->points : 0)) &&
           add(root, "pointsMax", points(test->points));
    if (good && test->hidden)
        good = add(root, "hidden", json_object_new_boolean(true));
    if (good)
        return root;
    json_object_put(root);
    return NULL;
}

/* So that the record of a submission with very many tests has its limit, too, whatever each of them
 * prints. */
static struct text_limits limits_of_each(size_t tests, const struct settings *settings) {
    enum { CHARS_OF_ALL = 4000000, CHARS_LEAST = 4000 };
    struct text_limits limits = text_limits_of(settings);
    const size_t share = CHARS_OF_ALL / tests, most = share < CHARS_LEAST ? CHARS_LEAST : share;
    limits.max_chars = limits.max_chars < most ? limits.max_chars : most;
    limits.value_max_chars = limits.value_max_chars < most ? limits.value_max_chars : most;
    return limits;
}

struct json_object *record_of_test(const struct batch_line *line, size_t index,
                                   const struct evaluation *evaluation,
                                   const struct settings *settings) {
    const struct batch_line *test = &line->tests[index];
    const struct text_limits limits = limits_of_each(line->test_count, settings);
    struct json_object *root = json_object_new_object();
    bool good = root && add_test_name(root, test, index + 1) && add_code(root, test) &&
                add_evaluation(root, test, evaluation, &limits) &&
                add_output_bytes(root, evaluation);
    return finish_test(root, test, good, good && has_passed(root, evaluation->outcome));
}

struct json_object *record_of_unrun_test(const struct batch_line *line, size_t index,
                                         enum outcome outcome, const char *reason) {
    const struct batch_line *test = &line->tests[index];
    struct json_object *root = json_object_new_object();
    bool good = root && add_test_name(root, test, index + 1) && add_code(root, test) &&
                add(root, "outcome", json_object_new_string(outcome_table[outcome].word)) &&
                add(root, "reason", json_object_new_string(reason));
    return finish_test(root, test, good, false);
}

/* Where the mismatch of EXPECTATION is; the length of MISMATCHES: nowhere. */
static size_t find_mismatch(struct json_object *mismatches, const char *expectation) {
    size_t count = mismatches ? json_object_array_length(mismatches) : 0, i = 0;
    for (; i < count; i++) {
        struct json_object *mismatch = json_object_array_get_idx(mismatches, i);
        if (span_equal(json_tree_string(json_tree_member(mismatch, "expectation")),
                       string_span(expectation)))
            break;
    }
    return i;
}

bool record_meet(struct json_object *root, const struct batch_line *line, const char *expectation) {
    struct json_object *mismatches = json_tree_member(root, "mismatches");
    json_object_array_del_idx(mismatches, find_mismatch(mismatches, expectation), 1);
    if (json_object_array_length(mismatches))
        return true;
    json_object_object_del(root, "mismatches");
    bool is_test = json_tree_member(root, "points") != NULL;
    return add(root, "pass", json_object_new_boolean(true)) &&
           (!is_test || add(root, "points", points(line->points)));
}

bool record_explain(struct json_object *root, const char *expectation, struct span why) {
    enum { WHY_BYTES = 300 };
    struct json_object *mismatches = json_tree_member(root, "mismatches");
    struct json_object *mismatch =
        json_object_array_get_idx(mismatches, find_mismatch(mismatches, expectation));
    struct span came = string_or_empty(json_tree_member(mismatch, "came"));
    cleanup_buffer struct buffer text = buffer_make(TEXT_MAX_BYTES);
    buffer_append(&text, came.bytes, came.length);
    buffer_append_text(&text, " (which cannot be compared: ");
    buffer_append(&text, why.bytes,
                  utf8_valid_prefix(why.bytes, why.length < WHY_BYTES ? why.length : WHY_BYTES));
    buffer_append_text(&text, ")");
    return add(mismatch, "came", string_of(&text));
}

void record_settle(struct record *record) {
    classify(record);
}

/* Takes TESTS, and sums them up. */
static bool add_tests(struct json_object *root, const struct batch_line *line,
                      struct json_object *tests, bool for_student) {
    double earned = 0, most = 0;
    bool passed = true, good = add(root, "tests", tests);
    for (size_t i = 0; good && i < line->test_count; i++) {
        struct json_object *test = json_object_array_get_idx(tests, i);
        bool test_passed = json_object_get_boolean(json_tree_member(test, "pass"));
        earned += test_passed ? line->tests[i].points : 0;
        most += line->tests[i].points;
        passed &= test_passed;
        if (for_student && line->tests[i].hidden)
            hide(test);
    }
    return good && add(root, "points", points(earned)) && add(root, "pointsMax", points(most)) &&
           add(root, "pass", json_object_new_boolean(passed));
}

/* A record of LINE that has its members yet to come. */
static struct record record_for(const struct batch_line *line, struct json_object *root) {
    struct span key = {line->key.data, line->key.length};
    return (struct record){
        .root = root, .key = key, .id = line->has_id ? key : string_span("null")};
}

bool record_join(struct record *record, const struct batch_line *line, struct json_object *setup,
                 struct json_object *tests, bool for_student) {
    *record = record_for(line, setup);
    bool good = setup && add_tests(setup, line, tests, for_student) && classify(record);
    if (!good)
        record_free(record);
    return good;
}

size_t record_test_count(const struct record *record) {
    struct json_object *tests = json_tree_member(record->root, "tests");
    return json_object_is_type(tests, json_type_array) ? json_object_array_length(tests) : 0;
}

bool record_test(const struct record *record, size_t index, struct record *test) {
    if (index >= record_test_count(record))
        return false;
    struct json_object *tests = json_tree_member(record->root, "tests");
    *test =
        (struct record){.root = json_object_array_get_idx(tests, index), .id = string_span("null")};
    test->key = json_tree_string(json_tree_member(test->root, "name"));
    return test->key.bytes && classify(test);
}

bool record_make(struct record *record, const struct batch_line *line,
                 const struct evaluation *evaluation, const struct settings *settings) {
    *record = record_for(line, json_object_new_object());
    if (record->root && add_members(record->root, line, evaluation, settings) && classify(record))
        return true;
    record_free(record);
    return false;
}

void record_write(struct buffer *out, const struct record *record) {
    buffer_append_text(out, "{\"id\":");
    buffer_append(out, record->id.bytes, record->id.length); /* with all digits of a number */
    json_object_object_foreach(record->root, name, value) {
        if (strcmp(name, "id") == 0)
            continue;
        buffer_append_text(out, ",");
        json_write_name(out, name);
        json_write_tree(out, value);
    }
    buffer_append_text(out, "}");
}

bool batch_append_record(struct buffer *out, const struct evaluation *evaluation,
                         const struct settings *settings) {
    const struct batch_line none = {.number = 0};
    struct record record;
    if (!record_make(&record, &none, evaluation, settings)) {
        out->failed = true;
        return false;
    }
    record_write(out, &record);
    record_free(&record);
    return !out->failed;
}

/* --- reading --- */

bool record_read(struct record *record, struct span text) {
    static const struct json_limits limits = {.depth = JSON_DEPTH_MAX};
    struct json_shape shape;
    *record = (struct record){0};
    if (json_inspect(text.bytes, text.length, limits, &shape) != JSON_FINE ||
        shape.kind != JSON_OBJECT || !shape.id.text.bytes)
        return false;
    record->root = json_tree_parse(text);
    record->id = record->key = shape.id.text;
    struct json_object *number = json_tree_member(record->root, "line");
    if (number) {
        snprintf(record->line_key, sizeof record->line_key, "line %llu",
                 (unsigned long long)json_object_get_uint64(number));
        record->key = string_span(record->line_key);
    }
    if (classify(record))
        return true;
    record_free(record);
    return false;
}

void record_free(struct record *record) {
    json_object_put(record->root);
    record->root = NULL;
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

size_t record_mismatch_count(const struct record *record) {
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
