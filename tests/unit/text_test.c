/* supervisor/session/text: the results of doc/contract.md, byte for byte, and the cuts of long
 * ones. */
#include "common/utf8.h"
#include "supervisor/session/text.h"
#include "tests/support/failure_text.h"
#include "tests/support/random.h"
#include "tests/support/span.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct text_limits limits = {.max_chars = 4000, .value_max_chars = 100};

/* The text of EVALUATION, until the next call. */
static const char *text_of_evaluation(const struct evaluation *evaluation) {
    static struct buffer out;
    buffer_free(&out);
    out = buffer_make(1 << 20);
    text_append_evaluation(&out, evaluation, &limits);
    buffer_append(&out, "", 1);
    cr_assert_not(out.failed);
    return (const char *)out.data;
}

static void expect_text(const struct evaluation *evaluation, const char *expected) {
    cr_expect_str_eq(text_of_evaluation(evaluation), expected);
}

static struct failure_text parts_of(const char *text) {
    struct failure_text parts;
    const char *fault = failure_text_fault(text, &parts);
    cr_assert_null(fault, "%s", fault);
    return parts;
}

Test(text, a_value_is_one_line) {
    struct evaluation evaluation = {.outcome = OUTCOME_VALUE};
    evaluation.result.values[0] = span_of("3");
    evaluation.result.value_count = 1;
    expect_text(&evaluation, "=> 3");
    evaluation.result.values[1] = span_of("NIL");
    evaluation.result.value_count = 2;
    expect_text(&evaluation, "=> 3\n=> NIL");
    evaluation.result.value_count = 0;
    expect_text(&evaluation, "; no values");
}

Test(text, sections_come_before_the_values_in_order) {
    struct evaluation evaluation = {.outcome = OUTCOME_VALUE};
    evaluation.result.values[0] = span_of("42");
    evaluation.result.value_count = 1;
    evaluation.output = span_of("out");
    expect_text(&evaluation, "[stdout]\nout\n=> 42");
    evaluation.error_output = span_of("err");
    expect_text(&evaluation, "[stdout]\nout\n[stderr]\nerr\n=> 42");
    evaluation.result.warnings[0] = span_of("WARNING: w");
    evaluation.result.warning_count = 1;
    expect_text(&evaluation, "[stdout]\nout\n[stderr]\nerr\n[warnings]\nWARNING: w\n\n=> 42");
    evaluation.output = evaluation.error_output = (struct span){0};
    expect_text(&evaluation, "[warnings]\nWARNING: w\n\n=> 42");
}

Test(text, a_condition_has_its_marker_message_and_backtrace) {
    struct evaluation evaluation = {.outcome = OUTCOME_CONDITION};
    evaluation.result.condition = span_of("TYPE-ERROR");
    evaluation.result.text = span_of("The value 1 is not of type LIST.");
    expect_text(&evaluation, "[ERROR] TYPE-ERROR\nThe value 1 is not of type LIST.\n\n"
                             "[Backtrace]\n(no frames)");
    evaluation.result.frames[0] = span_of("(CAR 1)");
    evaluation.result.frames[1] = span_of("(F)");
    evaluation.result.frame_count = 2;
    evaluation.output = span_of("out");
    evaluation.result.warnings[0] = span_of("STYLE-WARNING: s");
    evaluation.result.warning_count = 1;
    const char *text = text_of_evaluation(&evaluation);
    struct failure_text parts = parts_of(text);
    cr_assert_str_eq(parts.type, "TYPE-ERROR");
    cr_assert_str_eq(parts.message, "The value 1 is not of type LIST.");
    cr_assert_eq(parts.frames, 2);
    cr_assert_str_eq(text, "[ERROR] TYPE-ERROR\nThe value 1 is not of type LIST.\n\n[Backtrace]\n"
                           "0: (CAR 1)\n1: (F)\n\n[stdout]\nout\n[warnings]\nSTYLE-WARNING: s");
}

/* Every outcome with a type of its own has a text of the same form. */
Test(text, every_failing_outcome_follows_the_format) {
    for (int outcome = 0; outcome < OUTCOME_COUNT; outcome++) {
        if (!outcome_table[outcome].type)
            continue;
        struct evaluation evaluation = {.outcome = (enum outcome)outcome,
                                        .output = span_of("before")};
        snprintf(evaluation.cause, sizeof evaluation.cause, "It ended.");
        struct failure_text parts = parts_of(text_of_evaluation(&evaluation));
        cr_assert_str_eq(parts.type, outcome_table[outcome].type);
        cr_assert_str_eq(parts.message, "It ended.");
    }
}

Test(text, an_argument_error_follows_the_format) {
    cleanup_buffer struct buffer out = buffer_make(1000);
    text_append_error(&out, "TYPE-ERROR", "The argument timeout must be a number.");
    buffer_append(&out, "", 1);
    struct failure_text parts = parts_of((const char *)out.data);
    cr_assert_str_eq(parts.type, "TYPE-ERROR");
    cr_assert_eq(parts.frames, 0);
}

/* A random part of BYTES, most often a short one; of whole characters, unless it may be ANY. */
static struct span random_part(struct random *random, const unsigned char *bytes, size_t size,
                               bool any) {
    size_t most = random_percent(random, 70) ? 40 : random_percent(random, 70) ? 3000 : size - 16;
    size_t from = random_below(random, 11), length = random_below(random, most);
    if (!any) {
        from = 0;
        length -= length % 11;
    }
    return (struct span){bytes + from, length};
}

static void fill(struct random *random, struct span *parts, size_t count,
                 const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < count; i++)
        parts[i] = random_part(random, bytes, size, false);
}

/* Cutting captured output. */

/* COUNT characters, each of WIDTH bytes. */
static char *characters(size_t count, size_t width) {
    static const char *const letters[] = {"", "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x90\x8d"};
    char *text = malloc(count * width + 1);
    cr_assert_not_null(text);
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * width, letters[width], width);
    text[count * width] = '\0';
    return text;
}

Test(text, output_up_to_the_limit_is_shown_in_full) {
    for (size_t width = 1; width <= 4; width++) {
        char *text = characters(50, width);
        cleanup_buffer struct buffer out = buffer_make(10000);
        text_append_captured(&out, span_of(text), 50);
        cr_assert_eq(out.length, 50 * width);
        cr_assert_eq(memcmp(out.data, text, out.length), 0);
        free(text);
    }
}

Test(text, longer_output_keeps_head_and_tail_and_counts_what_is_left_out) {
    for (size_t width = 1; width <= 4; width++)
        for (size_t count = 51; count <= 200; count += 37) {
            char *text = characters(count, width), number[24];
            cleanup_buffer struct buffer out = buffer_make(10000);
            text_append_captured(&out, span_of(text), 50);
            cr_assert(utf8_is_valid(out.data, out.length));
            buffer_append(&out, "", 1);
            const char *line = strchr((const char *)out.data, '\n');
            cr_assert_not_null(line);
            cr_assert_eq((size_t)(line - (const char *)out.data), 25 * width);
            snprintf(number, sizeof number, " %zu ", count - 50);
            cr_assert_not_null(strstr(line, number), "%s in %s", number, line);
            const char *tail = strchr(line + 1, '\n');
            cr_assert_not_null(tail);
            cr_assert_eq(strlen(tail + 1), 25 * width);
            free(text);
        }
}

Test(text, captured_bytes_are_repaired_and_never_cut_inside_a_character) {
    struct random random = random_for("captured_bytes");
    for (size_t trial = 0; trial < random_trials(2000, 50000); trial++) {
        unsigned char bytes[120];
        size_t size = random_below(&random, sizeof bytes), shown = 1 + random_below(&random, 40);
        for (size_t i = 0; i < size; i++)
            bytes[i] = random_percent(&random, 60) ? (unsigned char)random_below(&random, 256)
                                                   : (unsigned char)"a\xc3\xa9\xf0\x9f"[i % 5];
        cleanup_buffer struct buffer out = buffer_make(10000);
        text_append_captured(&out, (struct span){bytes, size}, shown);
        cr_assert_not(out.failed);
        cr_assert(utf8_is_valid(out.data, out.length));
        cr_assert_leq(utf8_count(out.data, out.length), shown + 60);
    }
}

Test(text, a_value_over_its_limit_is_cut_with_a_visible_count) {
    struct evaluation evaluation = {.outcome = OUTCOME_VALUE};
    char *text = characters(1000, 3);
    evaluation.result.values[0] = span_of(text);
    evaluation.result.value_count = 1;
    const char *cut = text_of_evaluation(&evaluation);
    cr_assert(utf8_is_valid((const unsigned char *)cut, strlen(cut)));
    cr_assert_not_null(strstr(cut, "900"), "%s", cut);
    free(text);
}

/* Captured output is cut before values, and keeps its place in the text. */
Test(text, output_is_cut_before_values) {
    struct evaluation evaluation = {
        .outcome = OUTCOME_VALUE, .is_kept = true, .call = 12, .session = "main"};
    char *output = characters(5000, 1), *value = characters(90, 2);
    evaluation.output = span_of(output);
    for (size_t i = 0; i < 5; i++)
        evaluation.result.values[i] = span_of(value);
    evaluation.result.value_count = 5;
    const char *text = text_of_evaluation(&evaluation);
    size_t chars = utf8_count((const unsigned char *)text, strlen(text));
    cr_assert_leq(chars, 4000);
    cr_assert_geq(chars, 3850);
    const char *line = strstr(text, "a\n[\xe2\x80\xa6 ");
    cr_assert_not_null(line);
    cr_assert_not_null(strstr(line,
                              " characters left out; to read them: read-output "
                              "{\"call\":12,\"session\":\"main\",\"stream\":\"stdout\",\"from\":"));
    const char *values = strstr(text, "\n=> ");
    for (size_t i = 0; i < 5; i++, values += 4 + strlen(value)) {
        cr_assert_eq(memcmp(values, "\n=> ", 4), 0);
        cr_assert_eq(memcmp(values + 4, value, strlen(value)), 0);
    }
    cr_assert_eq(*(values), 0);
    cr_assert(text_is_cut(&evaluation, &limits));
    free(output);
    free(value);
}

Test(text, the_numbers_of_a_cut_line_are_exact) {
    struct evaluation evaluation = {
        .outcome = OUTCOME_VALUE, .is_kept = true, .call = 1, .session = "main"};
    for (size_t width = 1; width <= 4; width++) {
        char *output = characters(30000, width);
        evaluation.error_output = span_of(output);
        const char *text = text_of_evaluation(&evaluation);
        const char *line = strstr(text, "\n[\xe2\x80\xa6 "), *from = strstr(line, "\"from\":");
        size_t left_out = strtoul(line + 6, NULL, 10), head = strtoul(from + 7, NULL, 10);
        const char *end = strstr(line, "\xe2\x80\xa6]\n") + 5, *tail = strstr(end, "\n; no");
        cr_assert_eq((size_t)(line - strlen("[stderr]\n") - text), head * width);
        cr_assert_eq(head + left_out + (size_t)(tail - end) / width, 30000);
        free(output);
    }
}

/* The worker has cut each value, and the text has room for a part of what it sent only. */
Test(text, the_number_of_a_value_that_was_cut_twice_is_exact) {
    struct evaluation evaluation = {.outcome = OUTCOME_VALUE};
    struct text_limits some = {.max_chars = 4000, .value_max_chars = 3000};
    char value[3100];
    memset(value, 'v', 3000);
    snprintf(value + 3000, 100, "\xe2\x80\xa6 [1234567 more characters]");
    evaluation.result.values[0] = evaluation.result.values[1] = span_of(value);
    evaluation.result.value_count = 2;
    cleanup_buffer struct buffer out = buffer_make(1 << 20);
    text_append_evaluation(&out, &evaluation, &some);
    buffer_append(&out, "", 1);
    const char *text = (const char *)out.data;
    size_t shown = strspn(text + 3, "v");
    cr_assert_eq(strtoul(text + 3 + shown + strlen("\xe2\x80\xa6 ["), NULL, 10),
                 1234567 + 3000 - shown, "%s", text);
}

Test(text, values_are_cut_where_output_is_not_enough) {
    struct evaluation evaluation = {.outcome = OUTCOME_VALUE};
    char *value = characters(90, 1), *output = characters(3000, 1);
    evaluation.output = span_of(output);
    for (size_t i = 0; i < RESULT_VALUES_MAX; i++)
        evaluation.result.values[i] = i % 2 ? span_of(value) : span_of("T");
    evaluation.result.value_count = RESULT_VALUES_MAX;
    const char *text = text_of_evaluation(&evaluation);
    cr_assert_leq(utf8_count((const unsigned char *)text, strlen(text)), 4000);
    cr_assert_not_null(strstr(text, " characters left out \xe2\x80\xa6]\n"));
    cr_assert_not_null(strstr(text, "more values"), "%s", text);
    free(value);
    free(output);
}

/* A text of random parts of random sizes, some of them those of a hostile worker. */
Test(text, a_text_is_never_longer_than_its_limit) {
    struct random random = random_for("text_limit");
    static const char name[] = "a-name-of-sixty-four-characters-0123456789012345678901234567890";
    static unsigned char bytes[60000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)"a\xc3\xa9\xe2\x82\xac\n\xf0\x9f\x90\x8d"[i % 11];
    for (size_t trial = 0; trial < random_trials(3000, 100000); trial++) {
        struct evaluation evaluation = {.outcome = random_below(&random, OUTCOME_COUNT),
                                        .is_kept = random_percent(&random, 50),
                                        .session = name,
                                        .call = UINT32_MAX};
        struct text_limits some = {.max_chars = 4000 + random_below(&random, 8000),
                                   .value_max_chars = 16 + random_below(&random, 20000),
                                   .reserved_chars = random_below(&random, TEXT_RESERVED_MAX)};
        struct result_message *result = &evaluation.result;
        char cause[600];
        result->condition = random_part(&random, bytes, sizeof bytes, false);
        result->text = random_part(&random, bytes, sizeof bytes, false);
        evaluation.output = random_part(&random, bytes, sizeof bytes, true);
        evaluation.error_output = random_part(&random, bytes, sizeof bytes, true);
        const bool is_value = evaluation.outcome == OUTCOME_VALUE;
        result->value_count = is_value ? random_below(&random, RESULT_VALUES_MAX + 1) : 0;
        result->frame_count = is_value ? 0 : random_below(&random, RESULT_FRAMES_MAX + 1);
        result->warning_count = random_below(&random, RESULT_WARNINGS_MAX + 1);
        fill(&random, result->values, result->value_count, bytes, sizeof bytes);
        fill(&random, result->frames, result->frame_count, bytes, sizeof bytes);
        fill(&random, result->warnings, result->warning_count, bytes, sizeof bytes);
        memset(cause, 'c', sizeof cause);
        cause[random_below(&random, sizeof cause)] = 0;
        snprintf(evaluation.cause, sizeof evaluation.cause, "%s", cause);
        cleanup_buffer struct buffer out = buffer_make(1 << 20);
        text_append_evaluation(&out, &evaluation, &some);
        cr_assert_not(out.failed);
        cr_assert(utf8_is_valid(out.data, out.length));
        cr_assert_leq(utf8_count(out.data, out.length), some.max_chars - some.reserved_chars,
                      "outcome %d", (int)evaluation.outcome);
    }
}

Test(text, a_full_buffer_is_reported) {
    struct evaluation evaluation = {.outcome = OUTCOME_CONDITION, .output = span_of("output")};
    evaluation.result.condition = span_of("TYPE-ERROR");
    evaluation.result.text = span_of("message");
    cleanup_buffer struct buffer whole = buffer_make(10000);
    text_append_evaluation(&whole, &evaluation, &limits);
    for (size_t room = 0; room < whole.length; room++) {
        cleanup_buffer struct buffer out = buffer_make(room);
        text_append_evaluation(&out, &evaluation, &limits);
        cr_assert(out.failed, "room %zu", room);
    }
}
