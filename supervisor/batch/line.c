/* Input lines. An unknown member is a fault: a misspelt expectation must not be ignored. */
#include "common/utf8.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/nearest.h"
#include "supervisor/batch/batch_internal.h"
#include "supervisor/json/json_number.h"
#include "supervisor/json/json_reader.h"
#include "supervisor/json/json_tree.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

enum place { IN_LINE = 1, IN_TEST = 2 };

static const struct member {
    const char *name;
    bool is_string;
    unsigned places;
    size_t offset; /* of the span in struct batch_line */
} members[] = {
#define STRING(field, name, places) {(name), true, (places), offsetof(struct batch_line, field)},
#define OTHER(name, places)         {(name), false, (places), 0},
#include "supervisor/batch/line.def"
#undef STRING
#undef OTHER
};

enum {
    MEMBER_COUNT = sizeof members / sizeof *members,
    NAME_SHOWN_BYTES = 40,
    TESTS_MAX = 10000,
    TOLERANCE_BYTES = 40
};

static const double points_max = 1e6, tolerance_max = 1e300;

__attribute__((format(printf, 2, 3))) static bool fault(struct batch_line *line, const char *format,
                                                        ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line->fault, sizeof line->fault, format, arguments);
    va_end(arguments);
    return false;
}

static bool is_member(const char *name, enum place place) {
    for (size_t i = 0; i < MEMBER_COUNT; i++)
        if (members[i].places & place && strcmp(members[i].name, name) == 0)
            return true;
    return false;
}

static bool refuse_member(struct batch_line *line, const char *name, enum place place) {
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; i < MEMBER_COUNT; i++)
        if (members[i].places & place)
            nearest_offer(&nearest, members[i].name);
    return fault(line, "unknown member \"%.*s\"%s", NAME_SHOWN_BYTES, name,
                 nearest_hint(&nearest, "").text);
}

static bool knows_every_member(struct batch_line *line, enum place place) {
    json_object_object_foreach(line->root, name, value) {
        (void)value;
        if (!is_member(name, place))
            return refuse_member(line, name, place);
    }
    return true;
}

static bool read_strings(struct batch_line *line, enum place place) {
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        const struct member *member = &members[i];
        struct json_object *value = json_tree_member(line->root, member->name);
        if (!value || !member->is_string || !(member->places & place))
            continue;
        struct span *slot = (struct span *)(void *)((char *)line + member->offset);
        *slot = json_tree_string(value);
        if (!slot->bytes)
            return fault(line, "the member %s must be a string", member->name);
    }
    return true;
}

/* Sets *LIMIT_MS, unless there is no member NAME. */
static bool read_limit(struct batch_line *line, const char *name, int64_t *limit_ms,
                       const struct settings *settings) {
    struct json_object *value = json_tree_member(line->root, name);
    if (!value)
        return true;
    double seconds = json_object_get_double(value);
    if (!json_is_number(value) || !(seconds > 0 && seconds <= (double)settings->call_timeout_max_s))
        return fault(line, "the member %s must be a number of seconds above 0 and at most %lld",
                     name, (long long)settings->call_timeout_max_s);
    *limit_ms = (int64_t)ceil(seconds * CLOCK_MS_PER_S);
    return true;
}

/* What has no limit of its own has that of OUTER: a test that of its line. */
static bool read_limits(struct batch_line *line, const struct batch_line *outer,
                        const struct settings *settings) {
    line->timeout_ms = outer->timeout_ms;
    line->cpu_ms = outer->cpu_ms;
    return read_limit(line, "timeout", &line->timeout_ms, settings) &&
           read_limit(line, "cpuTimeout", &line->cpu_ms, settings);
}

static bool read_match(struct batch_line *line) {
    static const char *const words[] = {[MATCH_EXACT] = "exact",
                                        [MATCH_TRIM] = "trim",
                                        [MATCH_WORDS] = "words",
                                        [MATCH_NUMBER] = "number",
                                        [MATCH_REGEX] = "regex"};
    if (!line->match_word.bytes)
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (span_equal(line->match_word, string_span(words[i]))) {
            line->match = (enum match)i;
            return true;
        }
    return fault(line, "the member match must be exact, trim, words, number or regex");
}

/* As it is written, since a double may be less. */
static bool read_tolerance(struct batch_line *line) {
    struct json_object *value = json_tree_member(line->root, "tolerance");
    line->tolerance = string_span("0");
    if (!value)
        return true;
    if (line->match != MATCH_NUMBER)
        return fault(line, "the member tolerance needs \"match\":\"number\"");
    double tolerance = json_object_get_double(value);
    line->tolerance = string_span(json_object_to_json_string(value));
    return (json_is_number(value) && tolerance >= 0 && tolerance <= tolerance_max &&
            line->tolerance.length <= TOLERANCE_BYTES) ||
           fault(line, "the member tolerance must be a number of at most %d digits, 0 or more",
                 TOLERANCE_BYTES);
}

/* --- tests --- */

static bool read_points(struct batch_line *test) {
    struct json_object *value = json_tree_member(test->root, "points");
    test->points = value ? json_object_get_double(value) : 1;
    return !value || (json_is_number(value) && test->points >= 0 && test->points <= points_max) ||
           fault(test, "the member points must be a number from 0 to %.0f", points_max);
}

static bool read_hidden(struct batch_line *test) {
    struct json_object *value = json_tree_member(test->root, "hidden");
    test->hidden = value && json_object_get_boolean(value);
    return !value || json_object_is_type(value, json_type_boolean) ||
           fault(test, "the member hidden must be true or false");
}

static bool read_task(struct batch_line *test) {
    enum { TASK_MAX = 1000000 };
    struct json_object *value = json_tree_member(test->root, "task");
    return !value ||
           (json_get_integer(value, &test->task) && test->task >= 1 && test->task <= TASK_MAX) ||
           fault(test, "the member task must be a whole number from 1 to %d", TASK_MAX);
}

static bool read_test(struct batch_line *test, struct json_object *root,
                      const struct batch_line *line, const struct settings *settings) {
    test->root = root;
    if (!json_object_is_type(root, json_type_object))
        return fault(test, "it must be a JSON object");
    return knows_every_member(test, IN_TEST) && read_strings(test, IN_TEST) &&
           (test->code.bytes || fault(test, "the member code is missing")) && read_match(test) &&
           read_tolerance(test) && read_points(test) && read_task(test) && read_hidden(test) &&
           read_limits(test, line, settings);
}

static bool read_array(struct batch_line *line, struct json_object *array,
                       const struct settings *settings) {
    size_t count = json_object_array_length(array);
    if (count == 0 || count > TESTS_MAX)
        return fault(line, "the member tests must have 1 to %d tests", TESTS_MAX);
    line->tests = calloc(count, sizeof *line->tests);
    if (!line->tests)
        return fault(line, "out of memory");
    for (line->test_count = 0; line->test_count < count; line->test_count++) {
        struct batch_line *test = &line->tests[line->test_count];
        if (!read_test(test, json_object_array_get_idx(array, line->test_count), line, settings))
            return fault(line, "test %zu: %.120s", line->test_count + 1, test->fault);
    }
    return true;
}

/* Either code with its expectations, or a setup with its tests. */
static bool read_tests(struct batch_line *line, const struct settings *settings) {
    struct json_object *array = json_tree_member(line->root, "tests");
    if (!array && (line->setup.bytes || line->files.bytes))
        return fault(line, "the member tests is missing");
    if (!array)
        return line->code.bytes || fault(line, "the member code is missing");
    if (!line->setup.bytes)
        return fault(line, "the member setup is missing");
    if (line->code.bytes || batch_line_has_expectations(line) || line->match_word.bytes ||
        line->input.bytes)
        return fault(line, "with tests, code, stdin and expectations are members of each test");
    if (!json_object_is_type(array, json_type_array))
        return fault(line, "the member tests must be an array");
    return read_array(line, array, settings);
}

/* A submission that what wrote the line could not read; its tests count. */
static bool refuse_unreadable(struct batch_line *line, const struct settings *settings) {
    struct json_object *array = json_tree_member(line->root, "tests");
    const struct span why = line->unreadable;
    const size_t most = sizeof line->fault - 1;
    if (json_object_is_type(array, json_type_array) && !read_array(line, array, settings))
        return false;
    return fault(line, "%.*s",
                 (int)utf8_valid_prefix(why.bytes, why.length < most ? why.length : most),
                 (const char *)why.bytes);
}

static bool read_rules(struct batch_line *line, const struct settings *settings) {
    const struct batch_line none = {.timeout_ms = settings->call_timeout_s * CLOCK_MS_PER_S};
    return knows_every_member(line, IN_LINE) && read_strings(line, IN_LINE) && read_match(line) &&
           read_tolerance(line) && read_limits(line, &none, settings) &&
           (line->unreadable.bytes ? refuse_unreadable(line, settings)
                                   : read_tests(line, settings));
}

/* --- lines --- */

/* Makes the id the key of the line, in place of the number. */
static bool take_id(struct batch_line *line, const struct json_token *id) {
    if (!id->text.bytes)
        return true;
    if (id->has_lone_surrogate)
        return fault(line, "the id must be well-formed Unicode");
    line->key.length = 0;
    line->has_id = true;
    return buffer_append(&line->key, id->text.bytes, id->text.length);
}

/* Takes the root of READER. */
static void read_members(struct batch_line *line, struct json_reader *reader,
                         const struct settings *settings) {
    const struct json_shape *shape = &reader->shape;
    if (reader->fault != JSON_FINE) {
        fault(line, "%s, at byte %zu", json_fault_text(reader->fault), shape->fault_at);
    } else if (shape->kind != JSON_OBJECT) {
        fault(line, "a line must be a JSON object");
    } else if (take_id(line, &shape->id)) {
        line->root = reader->root;
        reader->root = NULL;
        if (!line->root)
            fault(line, "out of memory");
        else
            read_rules(line, settings);
    }
}

static bool begin(struct batch_line *line, uint64_t number, size_t size) {
    enum { NUMBER_BYTES = 32 };
    *line = (struct batch_line){
        .key = buffer_make(size + NUMBER_BYTES), .number = number, .size = size};
    return buffer_append_format(&line->key, "line %llu", (unsigned long long)number);
}

bool batch_line_from(struct batch_line *line, struct json_reader *reader, size_t size,
                     uint64_t number, const struct settings *settings) {
    bool begun = begin(line, number, size);
    if (begun)
        read_members(line, reader, settings);
    return begun && !line->key.failed;
}

bool batch_line_read(struct batch_line *line, struct span text, uint64_t number,
                     const struct settings *settings) {
    struct json_reader reader;
    json_reader_begin(&reader, text, settings_json_limits(settings));
    while (json_reader_read_object(&reader))
        continue;
    bool good = batch_line_from(line, &reader, text.length, number, settings);
    json_reader_free(&reader);
    return good;
}

bool batch_line_too_long(struct batch_line *line, uint64_t number,
                         const struct settings *settings) {
    bool begun = begin(line, number, 0);
    fault(line, "longer than request.max_bytes (%lld)", (long long)settings->request_max_bytes);
    return begun;
}

void batch_line_free(struct batch_line *line) {
    buffer_free(&line->key);
    json_object_put(line->root);
    line->root = NULL;
    free(line->tests); /* whose roots are part of the line's */
    line->tests = NULL;
}
