/* common/message: a payload is decoded whole or refused. */
#include "common/message.h"
#include "common/utf8.h"
#include "tests/support/random.h"
#include "tests/support/span.h"
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAYLOAD_MAX = 1 << 16 };

struct section {
    uint32_t tag;
    const char *text;
};

/* Sections of results, evaluations and runs. */
// clang-format off
#define PACKAGE   {SECTION_PACKAGE, "P"}
#define CONDITION {SECTION_CONDITION, "E"}
#define MESSAGE   {SECTION_MESSAGE, "m"}
#define VALUE     {SECTION_VALUE, "1"}
#define CODE      {SECTION_CODE, "1"}
#define JSON      {SECTION_JSON, "{}"}
#define KIND      {SECTION_KIND, "tool"}
#define NAME      {SECTION_NAME, "n"}
#define ARGUMENTS {SECTION_ARGUMENTS, "{}"}
// clang-format on

enum { SECTIONS_MAX = 5 };

/* Up to the first section without a text. */
static struct buffer payload_of(const struct section sections[SECTIONS_MAX]) {
    struct buffer payload = buffer_make(PAYLOAD_MAX);
    for (size_t i = 0; i < SECTIONS_MAX && sections[i].text; i++)
        cr_assert(message_put(&payload, (enum section_tag)sections[i].tag, sections[i].text,
                              strlen(sections[i].text)));
    return payload;
}

static bool decodes_result(const struct buffer *payload) {
    struct result_message message;
    return result_message_decode(payload->data, payload->length, &message);
}

static bool decodes_evaluate(const struct buffer *payload) {
    struct evaluate_message message;
    return evaluate_message_decode(payload->data, payload->length, &message);
}

Test(message, sections_are_read_as_written) {
    cleanup_buffer struct buffer payload = buffer_make(PAYLOAD_MAX);
    cr_assert(message_put(&payload, SECTION_CODE, "(+ 1 2)", 7));
    cr_assert(message_put(&payload, SECTION_VALUE, "", 0));
    cr_assert(message_put(&payload, SECTION_FRAME, "\0x", 2));
    size_t offset = 0;
    uint32_t tag;
    struct span bytes;
    cr_assert_eq(message_get(payload.data, payload.length, &offset, &tag, &bytes), 1);
    cr_assert_eq(tag, SECTION_CODE);
    cr_assert(span_is(bytes, "(+ 1 2)"));
    cr_assert_eq(message_get(payload.data, payload.length, &offset, &tag, &bytes), 1);
    cr_assert_eq(tag, SECTION_VALUE);
    cr_assert_eq(bytes.length, 0);
    cr_assert_eq(message_get(payload.data, payload.length, &offset, &tag, &bytes), 1);
    cr_assert_eq(bytes.length, 2);
    cr_assert_eq(message_get(payload.data, payload.length, &offset, &tag, &bytes), 0);
    cr_assert_eq(offset, payload.length);
}

Test(message, a_truncated_section_is_detected_at_every_byte) {
    cleanup_buffer struct buffer payload = buffer_make(PAYLOAD_MAX);
    message_put(&payload, SECTION_CODE, "abcdef", 6);
    for (size_t length = 1; length < payload.length; length++) {
        size_t offset = 0;
        uint32_t tag;
        struct span bytes;
        cr_assert_eq(message_get(payload.data, length, &offset, &tag, &bytes), -1, "%zu", length);
    }
}

Test(message, a_length_beyond_the_payload_is_refused) {
    static const uint32_t lengths[] = {1, 9, INT32_MAX, UINT32_MAX, UINT32_MAX - 7, UINT32_MAX - 8};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        uint32_t payload[] = {SECTION_CODE, lengths[i]};
        size_t offset = 0;
        uint32_t tag;
        struct span bytes;
        cr_assert_eq(
            message_get((const unsigned char *)payload, sizeof payload, &offset, &tag, &bytes), -1);
    }
}

Test(message, a_section_that_does_not_fit_is_not_written) {
    cleanup_buffer struct buffer payload = buffer_make(20);
    cr_assert(message_put(&payload, SECTION_CODE, "ab", 2));
    cr_assert_not(message_put(&payload, SECTION_CODE, "abc", 3));
    cr_assert_eq(payload.length, 10);
    cr_assert(message_put(&payload, SECTION_CODE, "ab", 2));
}

/* run */

Test(message, a_run_message_is_decoded_as_it_was_encoded) {
    cleanup_buffer struct buffer payload = buffer_make(PAYLOAD_MAX);
    struct run_message sent = {.kind = span_of("tool"),
                               .name = span_of("n"),
                               .code = span_of(""),
                               .arguments = span_of("{}")},
                       got;
    cr_assert(run_message_encode(&payload, &sent));
    cr_assert(run_message_decode(payload.data, payload.length, &got));
    cr_assert(span_is(got.kind, "tool"));
    cr_assert(span_is(got.name, "n"));
    cr_assert(span_is(got.code, ""));
    cr_assert(span_is(got.arguments, "{}"));
    for (size_t length = 0; length < payload.length; length++)
        cr_assert_not(run_message_decode(payload.data, length, &got), "%zu", length);
}

Test(message, invalid_run_messages_are_refused) {
    static const struct section rows[][SECTIONS_MAX] = {
        {KIND, NAME, CODE},
        {KIND, {SECTION_NAME, ""}, CODE, ARGUMENTS},
        {KIND, NAME, {SECTION_CODE, "\xC0"}, ARGUMENTS},
        {KIND, NAME, CODE, ARGUMENTS, NAME},
        {KIND, NAME, CODE, ARGUMENTS, PACKAGE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cleanup_buffer struct buffer payload = payload_of(rows[i]);
        struct run_message message;
        cr_expect_not(run_message_decode(payload.data, payload.length, &message), "row %zu", i);
    }
}

Test(message, json_excludes_a_condition_and_comes_once) {
    static const struct {
        bool good;
        struct section sections[SECTIONS_MAX];
    } rows[] = {
        {true, {PACKAGE, JSON}},
        {false, {PACKAGE, {SECTION_JSON, ""}}},
        {false, {JSON}},
        {false, {PACKAGE, JSON, JSON}},
        {true, {PACKAGE, JSON, VALUE}},
        {false, {CONDITION, MESSAGE, JSON}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cleanup_buffer struct buffer payload = payload_of(rows[i].sections);
        cr_expect_eq(decodes_result(&payload), rows[i].good, "row %zu", i);
    }
}

/* evaluate */

Test(message, an_evaluate_message_is_decoded_as_it_was_encoded) {
    cleanup_buffer struct buffer payload = buffer_make(PAYLOAD_MAX);
    struct evaluate_message sent = {.code = span_of("(list 1)"), .package = span_of("CL-USER")};
    cr_assert(evaluate_message_encode(&payload, &sent));
    struct evaluate_message got;
    cr_assert(evaluate_message_decode(payload.data, payload.length, &got));
    cr_assert(span_is(got.code, "(list 1)"));
    cr_assert(span_is(got.package, "CL-USER"));
}

Test(message, the_package_may_be_absent_and_the_code_empty) {
    cleanup_buffer struct buffer payload = buffer_make(PAYLOAD_MAX);
    struct evaluate_message sent = {.code = span_of("")}, got;
    cr_assert(evaluate_message_encode(&payload, &sent));
    cr_assert(evaluate_message_decode(payload.data, payload.length, &got));
    cr_assert(span_is(got.code, ""));
    cr_assert_null(got.package.bytes);
}

Test(message, an_evaluate_message_can_name_the_files_of_its_code) {
    cleanup_buffer struct buffer payload = buffer_make(PAYLOAD_MAX);
    struct evaluate_message sent = {.code = span_of("1"), .files = span_of("1 a\n")}, got;
    cr_assert(evaluate_message_encode(&payload, &sent));
    cr_assert(evaluate_message_decode(payload.data, payload.length, &got));
    cr_assert(span_is(got.files, "1 a\n"));
    cr_assert(evaluate_message_encode(&payload, &sent));
    cr_assert_not(evaluate_message_decode(payload.data, payload.length, &got), "twice");
}

Test(message, an_evaluate_message_can_carry_an_inspection) {
    cleanup_buffer struct buffer payload = buffer_make(PAYLOAD_MAX);
    struct evaluate_message sent = {.code = span_of(""), .inspection = span_of("{\"a\":1}")}, got;
    cr_assert(evaluate_message_encode(&payload, &sent));
    cr_assert(evaluate_message_decode(payload.data, payload.length, &got));
    cr_assert(span_is(got.inspection, "{\"a\":1}"));
    cr_assert(span_is(got.code, ""));
    cr_assert_null(got.package.bytes);
    cr_assert(evaluate_message_encode(&payload, &sent));
    cr_assert_not(evaluate_message_decode(payload.data, payload.length, &got), "everything twice");
}

Test(message, an_evaluate_message_can_carry_standard_input) {
    cleanup_buffer struct buffer payload = buffer_make(PAYLOAD_MAX);
    struct evaluate_message sent = {.code = span_of("(read)"), .input = span_of("1")}, got;
    cr_assert(evaluate_message_encode(&payload, &sent));
    cr_assert(evaluate_message_decode(payload.data, payload.length, &got));
    cr_assert(span_is(got.input, "1"));
    cr_assert(span_is(got.code, "(read)"));
    message_put(&payload, SECTION_INPUT, "2", 1);
    cr_assert_not(evaluate_message_decode(payload.data, payload.length, &got), "twice");
}

struct invalid {
    const char *what;
    struct section sections[SECTIONS_MAX];
};

Test(message, invalid_evaluate_messages_are_refused) {
    static const struct invalid cases[] = {
        {"nothing", {{0, NULL}}},
        {"no code", {PACKAGE}},
        {"two codes", {CODE, CODE}},
        {"two codes, the first empty", {{SECTION_CODE, ""}, CODE}},
        {"two packages", {PACKAGE, PACKAGE, CODE}},
        {"a section of a result", {CODE, VALUE}},
        {"tag 0", {CODE, {0, "x"}}},
        {"an unknown tag", {CODE, {SECTION_TAG_END, "x"}}},
        {"the largest tag", {CODE, {UINT32_MAX, "x"}}},
        {"code that is not UTF-8", {{SECTION_CODE, "\xff"}}},
        {"a package that is not UTF-8", {CODE, {SECTION_PACKAGE, "\xc3"}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cleanup_buffer struct buffer payload = payload_of(cases[i].sections);
        cr_expect_not(decodes_evaluate(&payload), "%s", cases[i].what);
    }
}

/* result */

Test(message, a_result_is_decoded_as_it_was_encoded) {
    cleanup_buffer struct buffer payload = buffer_make(PAYLOAD_MAX);
    struct result_message sent = {
        .package = span_of("CL-USER"), .value_count = 2, .warning_count = 1};
    sent.values[0] = span_of("1");
    sent.values[1] = span_of("");
    sent.warnings[0] = span_of("WARNING: w");
    cr_assert(result_message_encode(&payload, &sent));
    struct result_message got;
    cr_assert(result_message_decode(payload.data, payload.length, &got));
    cr_assert_null(got.condition.bytes);
    cr_assert_eq(got.value_count, 2);
    cr_assert(span_is(got.values[0], "1") && span_is(got.values[1], ""));
    cr_assert(got.warning_count == 1 && span_is(got.warnings[0], "WARNING: w"));
    cr_assert_eq(got.frame_count, 0);
    cr_assert(span_is(got.package, "CL-USER"));
    cr_assert(!got.settles && !got.refines);
}

Test(message, a_result_says_what_its_worker_would_do) {
    for (unsigned wishes = 0; wishes < 4; wishes++) {
        cleanup_buffer struct buffer payload = buffer_make(PAYLOAD_MAX);
        const struct result_message sent = {
            .package = span_of("P"), .settles = wishes & 1, .refines = wishes & 2};
        struct result_message got;
        cr_assert(result_message_encode(&payload, &sent));
        cr_assert(result_message_decode(payload.data, payload.length, &got));
        cr_assert(got.settles == sent.settles && got.refines == sent.refines);
    }
}

Test(message, a_condition_is_decoded_as_it_was_encoded) {
    cleanup_buffer struct buffer payload = buffer_make(PAYLOAD_MAX);
    struct result_message sent = {.package = span_of("P"),
                                  .condition = span_of("TYPE-ERROR"),
                                  .text = span_of("The value"),
                                  .frame_count = RESULT_FRAMES_MAX,
                                  .warning_count = RESULT_WARNINGS_MAX};
    for (size_t i = 0; i < RESULT_FRAMES_MAX; i++)
        sent.frames[i] = span_of("(F)");
    for (size_t i = 0; i < RESULT_WARNINGS_MAX; i++)
        sent.warnings[i] = span_of("W: w");
    cr_assert(result_message_encode(&payload, &sent));
    struct result_message got;
    cr_assert(result_message_decode(payload.data, payload.length, &got));
    cr_assert(span_is(got.condition, "TYPE-ERROR") && span_is(got.text, "The value"));
    cr_assert_eq(got.frame_count, RESULT_FRAMES_MAX);
    cr_assert_eq(got.warning_count, RESULT_WARNINGS_MAX);
}

Test(message, a_result_may_have_no_values) {
    const struct section sections[SECTIONS_MAX] = {PACKAGE};
    cleanup_buffer struct buffer payload = payload_of(sections);
    cr_assert(decodes_result(&payload));
}

Test(message, invalid_results_are_refused) {
    static const struct invalid cases[] = {
        {"nothing", {{0, NULL}}},
        {"no package", {VALUE}},
        {"two packages", {PACKAGE, PACKAGE}},
        {"a section of an evaluation", {PACKAGE, CODE}},
        {"a condition without a message", {PACKAGE, CONDITION}},
        {"a message without a condition", {PACKAGE, MESSAGE}},
        {"a condition without a type", {PACKAGE, {SECTION_CONDITION, ""}, MESSAGE}},
        {"an empty message", {PACKAGE, CONDITION, {SECTION_MESSAGE, ""}}},
        {"a condition and a value", {PACKAGE, CONDITION, MESSAGE, VALUE}},
        {"a value and a condition", {PACKAGE, VALUE, CONDITION, MESSAGE}},
        {"two conditions", {PACKAGE, CONDITION, CONDITION, MESSAGE}},
        {"two messages", {PACKAGE, CONDITION, MESSAGE, MESSAGE}},
        {"a frame without a condition", {PACKAGE, {SECTION_FRAME, "(F)"}}},
        {"an unknown tag", {PACKAGE, {SECTION_TAG_END, ""}}},
        {"tag 0", {PACKAGE, {0, ""}}},
        {"a package that is not UTF-8", {{SECTION_PACKAGE, "\xed\xa0\x80"}}},
        {"a value that is not UTF-8", {PACKAGE, {SECTION_VALUE, "\xc0\x80"}}},
        {"a wish with bytes", {PACKAGE, {SECTION_SETTLES, "1"}}},
        {"another one", {PACKAGE, {SECTION_REFINES, "1"}}},
        {"a warning cut off", {PACKAGE, {SECTION_WARNING, "\xe2\x82"}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cleanup_buffer struct buffer payload = payload_of(cases[i].sections);
        cr_expect_not(decodes_result(&payload), "%s", cases[i].what);
    }
}

Test(message, more_sections_than_the_limit_are_refused) {
    static const struct {
        enum section_tag tag;
        size_t maximum;
        bool condition;
    } kinds[] = {{SECTION_VALUE, RESULT_VALUES_MAX, false},
                 {SECTION_FRAME, RESULT_FRAMES_MAX, true},
                 {SECTION_WARNING, RESULT_WARNINGS_MAX, false}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        cleanup_buffer struct buffer payload = buffer_make(PAYLOAD_MAX);
        message_put(&payload, SECTION_PACKAGE, "P", 1);
        if (kinds[i].condition) {
            message_put(&payload, SECTION_CONDITION, "E", 1);
            message_put(&payload, SECTION_MESSAGE, "m", 1);
        }
        for (size_t count = 0; count < kinds[i].maximum; count++)
            message_put(&payload, kinds[i].tag, "x", 1);
        cr_assert(decodes_result(&payload), "kind %zu", i);
        message_put(&payload, kinds[i].tag, "x", 1);
        cr_assert_not(decodes_result(&payload), "kind %zu", i);
    }
}

/* Mutated payloads. Accepted ones have all spans inside the payload, valid UTF-8, and counts within
 * the limits. */

static void expect_inside(struct span span, const struct buffer *payload) {
    cr_assert_geq(span.bytes, payload->data);
    cr_assert_leq(span.bytes + span.length, payload->data + payload->length);
    cr_assert(utf8_is_valid(span.bytes, span.length));
}

static void expect_all_inside(const struct span *spans, size_t count, size_t maximum,
                              const struct buffer *payload) {
    cr_assert_leq(count, maximum);
    for (size_t i = 0; i < count; i++)
        expect_inside(spans[i], payload);
}

static void expect_sound(const struct buffer *payload) {
    struct result_message result;
    if (result_message_decode(payload->data, payload->length, &result)) {
        expect_inside(result.package, payload);
        cr_assert_eq(result.condition.bytes != NULL, result.text.bytes != NULL);
        if (result.condition.bytes) {
            expect_inside(result.condition, payload);
            expect_inside(result.text, payload);
            cr_assert_eq(result.value_count, 0);
            cr_assert_gt(result.text.length, 0);
        }
        expect_all_inside(result.values, result.value_count, RESULT_VALUES_MAX, payload);
        expect_all_inside(result.frames, result.frame_count, RESULT_FRAMES_MAX, payload);
        expect_all_inside(result.warnings, result.warning_count, RESULT_WARNINGS_MAX, payload);
    }
    struct evaluate_message evaluate;
    if (evaluate_message_decode(payload->data, payload->length, &evaluate)) {
        expect_inside(evaluate.code, payload);
        if (evaluate.package.bytes)
            expect_inside(evaluate.package, payload);
    }
}

static void put_random_sections(struct random *random, struct buffer *payload) {
    static const char *const texts[] = {"",           "x",     "CL-USER", "\xc3\xa9",
                                        "TYPE-ERROR", "(F 1)", "\xff",    "W: w"};
    for (size_t count = random_below(random, 8); count > 0; count--) {
        const char *text = random_pick(random, texts);
        message_put(payload, (enum section_tag)random_below(random, SECTION_TAG_END + 2), text,
                    strlen(text));
    }
}

static void mutate(struct random *random, struct buffer *payload) {
    for (size_t count = random_below(random, 4); count > 0 && payload->length; count--) {
        size_t at = random_below(random, payload->length);
        if (random_percent(random, 30))
            payload->length = at;
        else
            payload->data[at] = (unsigned char)random_below(random, 256);
    }
}

Test(message, mutated_payloads_are_valid_or_refused) {
    struct random random = random_for("mutated_payloads");
    size_t accepted = 0;
    for (size_t trial = 0; trial < random_trials(20000, 500000); trial++) {
        cleanup_buffer struct buffer payload = buffer_make(PAYLOAD_MAX);
        put_random_sections(&random, &payload);
        mutate(&random, &payload);
        /* An exact copy, so that the sanitizer sees a read beyond the end. */
        struct buffer exact = {.data = malloc(payload.length + 1), .length = payload.length};
        cr_assert_not_null(exact.data);
        if (payload.length)
            memcpy(exact.data, payload.data, payload.length);
        exact.data = realloc(exact.data, payload.length ? payload.length : 1);
        struct result_message result;
        accepted += result_message_decode(exact.data, exact.length, &result);
        expect_sound(&exact);
        free(exact.data);
    }
    cr_assert_gt(accepted, 0, "the generator makes no good payload any more");
}
