/* Expectations. Never takes part of a text for the whole: what is shown may be cut, what is
 * compared is not. */
#include "supervisor/batch/verdict.h"
#include "supervisor/json/json_write.h"

#include <string.h>
#include <strings.h>

static const struct span no_span;

static struct span text_span(const char *text) {
    return (struct span){(const unsigned char *)text, strlen(text)};
}

static bool is_equal(struct span left, struct span right) {
    return left.length == right.length &&
           (left.length == 0 || memcmp(left.bytes, right.bytes, left.length) == 0);
}

/* What stands behind [ERROR] in the text of a failure; bytes NULL for a value. */
static struct span type_of(const struct evaluation *evaluation) {
    const char *type = outcome_table[evaluation->outcome].type;
    return type ? text_span(type) : evaluation->result.condition;
}

/* The printed primary value; bytes NULL when there is none. */
static struct span primary_value(const struct evaluation *evaluation) {
    const struct result_message *result = &evaluation->result;
    return evaluation->outcome == OUTCOME_VALUE && result->value_count ? result->values[0]
                                                                       : no_span;
}

/* Appends how the evaluation ended, in a few words. */
static void append_ending(struct buffer *out, const struct evaluation *evaluation,
                          const struct text_limits *limits) {
    struct span type = type_of(evaluation), value = primary_value(evaluation);
    if (type.bytes) {
        buffer_append_text(out, "[ERROR] ");
        buffer_append(out, type.bytes, type.length);
    } else if (value.bytes) {
        text_append_value(out, value, limits->value_max_chars);
    } else {
        buffer_append_text(out, "no value");
    }
}

static void append_mismatch(struct buffer *out, const char *expectation, struct span wanted) {
    buffer_append_format(out, "%s{\"expectation\":\"%s\",\"wanted\":", out->length ? "," : "",
                         expectation);
    json_write_bytes(out, wanted.bytes, wanted.length);
    buffer_append_text(out, ",\"came\":");
}

static void append_mismatch_ending(struct buffer *out, const char *expectation, struct span wanted,
                                   const struct evaluation *evaluation,
                                   const struct text_limits *limits) {
    cleanup_buffer struct buffer ending = buffer_make(out->maximum);
    append_mismatch(out, expectation, wanted);
    append_ending(&ending, evaluation, limits);
    json_write_bytes(out, ending.data, ending.length);
    buffer_append_text(out, "}");
}

static void check_value(const struct batch_line *line, const struct evaluation *evaluation,
                        const struct text_limits *limits, struct buffer *out) {
    struct span value = primary_value(evaluation);
    if (!value.bytes || !is_equal(value, line->expect))
        append_mismatch_ending(out, "expect", line->expect, evaluation, limits);
}

/* Names of types are compared as the Lisp reader would: letter case does not count. */
static void check_condition(const struct batch_line *line, const struct evaluation *evaluation,
                            const struct text_limits *limits, struct buffer *out) {
    struct span type = type_of(evaluation), wanted = line->expect_condition;
    if (!type.bytes || type.length != wanted.length ||
        strncasecmp((const char *)type.bytes, (const char *)wanted.bytes, wanted.length) != 0)
        append_mismatch_ending(out, "expectCondition", wanted, evaluation, limits);
}

static void check_stdout(const struct batch_line *line, const struct evaluation *evaluation,
                         const struct text_limits *limits, struct buffer *out) {
    if (is_equal(evaluation->output, line->expect_stdout))
        return;
    append_mismatch(out, "expectStdout", line->expect_stdout);
    text_write_captured(out, evaluation->output, limits->shown_chars);
    buffer_append_text(out, "}");
}

enum verdict verdict_of(const struct batch_line *line, const struct evaluation *evaluation,
                        const struct text_limits *limits, struct buffer *mismatches) {
    bool of_ending = line->expect.bytes || line->expect_condition.bytes;
    if (!of_ending && !line->expect_stdout.bytes)
        return VERDICT_NONE;
    if (line->expect.bytes)
        check_value(line, evaluation, limits, mismatches);
    if (line->expect_condition.bytes)
        check_condition(line, evaluation, limits, mismatches);
    if (line->expect_stdout.bytes)
        check_stdout(line, evaluation, limits, mismatches);
    /* Right output from code that then crashed is not what anybody expects. */
    if (!of_ending && evaluation->outcome != OUTCOME_VALUE)
        append_mismatch_ending(mismatches, "outcome", text_span("value"), evaluation, limits);
    return mismatches->length ? VERDICT_UNMET : VERDICT_MET;
}
