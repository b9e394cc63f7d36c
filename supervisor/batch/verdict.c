/* Expected against actual results. They are compared in full, also where the output shows a
 * shortened string. */
#include "supervisor/base/letter_case.h"
#include "supervisor/batch/batch_internal.h"
#include "supervisor/json/json_tree.h"

enum { ENDING_MAX_BYTES = 1 << 30 };

bool batch_line_has_expectations(const struct batch_line *line) {
    return line->expect.bytes || line->expect_stdout.bytes || line->expect_condition.bytes ||
           line->expect_form.bytes;
}

static bool is_blank(unsigned char byte) {
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r' || byte == '\f';
}

static struct span trimmed(struct span text) {
    while (text.length && is_blank(text.bytes[text.length - 1]))
        text.length--;
    while (text.length && is_blank(*text.bytes)) {
        text.bytes++;
        text.length--;
    }
    return text;
}

/* Cuts the first word off TEXT, which has no blanks at its ends. */
static struct span cut_word(struct span *text) {
    struct span word = {text->bytes, 0};
    while (word.length < text->length && !is_blank(text->bytes[word.length]))
        word.length++;
    *text = trimmed((struct span){text->bytes + word.length, text->length - word.length});
    return word;
}

static bool same_words(struct span left, struct span right) {
    left = trimmed(left);
    right = trimmed(right);
    while (left.length && right.length)
        if (!span_equal(cut_word(&left), cut_word(&right)))
            return false;
    return left.length == right.length;
}

static bool matches(enum match match, struct span came, struct span wanted) {
    switch (match) {
    case MATCH_TRIM:
        return span_equal(trimmed(came), trimmed(wanted));
    case MATCH_WORDS:
    case MATCH_NUMBER: /* other numbers are compared in check.c */
        return same_words(came, wanted);
    case MATCH_REGEX:
        return false; /* likewise */
    case MATCH_EXACT:
        break;
    }
    return span_equal(came, wanted);
}

/* The word after [ERROR] in the text of a failure; bytes NULL for a value. */
static struct span error_type(const struct evaluation *evaluation) {
    const char *type = outcome_table[evaluation->outcome].type;
    return type ? string_span(type) : evaluation->result.condition;
}

struct span verdict_value(const struct evaluation *evaluation) {
    const struct result_message *result = &evaluation->result;
    return evaluation->outcome == OUTCOME_VALUE && result->value_count ? result->values[0]
                                                                       : (struct span){0};
}

/* As the Lisp reader does, ignores the case of letters. */
static bool is_type(struct span type, struct span wanted) {
    return type.bytes && letter_case_equal(type, wanted);
}

/* WORD is one that only the supervisor may give. */
static bool is_outcome_type(struct span word) {
    for (int outcome = 0; outcome < OUTCOME_COUNT; outcome++)
        if (outcome_table[outcome].type && is_type(string_span(outcome_table[outcome].type), word))
            return true;
    return false;
}

/* WANTED names the condition of the code. One that is called as an outcome needs its package, since
 * code can define a condition of any name. */
static bool is_condition(struct span condition, struct span wanted) {
    static const char package[] = "CL-USER::";
    const size_t length = sizeof package - 1;
    if (!is_outcome_type(condition))
        return is_type(condition, wanted) && !is_outcome_type(wanted);
    return wanted.length > length &&
           is_type(string_span(package), (struct span){wanted.bytes, length}) &&
           is_type(condition, (struct span){wanted.bytes + length, wanted.length - length});
}

static bool meets_condition(const struct evaluation *evaluation, struct span wanted) {
    return evaluation->outcome == OUTCOME_CONDITION
               ? is_condition(evaluation->result.condition, wanted)
               : is_type(error_type(evaluation), wanted);
}

static bool add_string(struct json_object *object, const char *name, struct span string) {
    struct json_object *value =
        json_object_new_string_len((const char *)string.bytes, (int)string.length);
    if (value && json_object_object_add(object, name, value) == 0)
        return true;
    json_object_put(value);
    return false;
}

static bool append_mismatch(struct json_object *mismatches, const char *expectation,
                            struct span wanted, struct span came) {
    struct json_object *mismatch = json_object_new_object();
    if (mismatch && add_string(mismatch, "expectation", string_span(expectation)) &&
        add_string(mismatch, "wanted", wanted) && add_string(mismatch, "came", came) &&
        json_object_array_add(mismatches, mismatch) == 0)
        return true;
    json_object_put(mismatch);
    return false;
}

static bool add_mismatch(struct json_object *mismatches, const char *expectation,
                         struct span wanted, const struct buffer *came) {
    struct span actual = came->length ? (struct span){came->data, came->length} : string_span("");
    return !came->failed && append_mismatch(mismatches, expectation, wanted, actual);
}

/* A mismatch with how the evaluation ended. */
static bool add_ending(struct json_object *mismatches, const char *expectation, struct span wanted,
                       const struct evaluation *evaluation, const struct text_limits *limits) {
    cleanup_buffer struct buffer ending = buffer_make(ENDING_MAX_BYTES);
    struct span type = error_type(evaluation), value = verdict_value(evaluation);
    if (type.bytes) {
        bool is_ambiguous = evaluation->outcome == OUTCOME_CONDITION && is_outcome_type(type);
        buffer_append_text(&ending, is_ambiguous ? "[ERROR] CL-USER::" : "[ERROR] ");
        buffer_append(&ending, type.bytes, type.length);
    } else if (value.bytes) {
        text_append_value(&ending, value, limits->value_max_chars);
    } else {
        buffer_append_text(&ending, "no value");
    }
    return add_mismatch(mismatches, expectation, wanted, &ending);
}

static bool add_stdout(struct json_object *mismatches, struct span wanted,
                       const struct evaluation *evaluation, const struct text_limits *limits) {
    cleanup_buffer struct buffer came = buffer_make(ENDING_MAX_BYTES);
    text_append_captured(&came, evaluation->output, limits->max_chars);
    return add_mismatch(mismatches, "expectStdout", wanted, &came);
}

bool verdict_compare(const struct batch_line *line, const struct evaluation *evaluation,
                     const struct text_limits *limits, struct json_object *mismatches) {
    struct span value = verdict_value(evaluation);
    if (line->expect.bytes && !(value.bytes && matches(line->match, value, line->expect)) &&
        !add_ending(mismatches, "expect", line->expect, evaluation, limits))
        return false;
    if (line->expect_condition.bytes && !meets_condition(evaluation, line->expect_condition) &&
        !add_ending(mismatches, "expectCondition", line->expect_condition, evaluation, limits))
        return false;
    if (line->expect_stdout.bytes &&
        !matches(line->match, evaluation->output, line->expect_stdout) &&
        !add_stdout(mismatches, line->expect_stdout, evaluation, limits))
        return false;
    if (line->expect_form.bytes &&
        !add_ending(mismatches, "expectForm", line->expect_form, evaluation, limits))
        return false;
    /* Code that printed the expected output and then crashed has not met the expectation. */
    return line->expect.bytes || line->expect_condition.bytes || line->expect_form.bytes ||
           evaluation->outcome == OUTCOME_VALUE ||
           add_ending(mismatches, "outcome", string_span("value"), evaluation, limits);
}

const char *const checked_members[CHECKS] = {
    [CHECK_VALUE] = "expect", [CHECK_STDOUT] = "expectStdout", [CHECK_FORM] = "expectForm"};

static bool leaves_open(const struct batch_line *line, struct span came, struct span wanted) {
    bool is_checked = line->match == MATCH_NUMBER || line->match == MATCH_REGEX;
    return is_checked && came.bytes && wanted.bytes && !matches(line->match, came, wanted);
}

unsigned verdict_unchecked(const struct batch_line *line, const struct evaluation *evaluation) {
    const struct span value = verdict_value(evaluation);
    const struct span output = evaluation->output.bytes ? evaluation->output : string_span("");
    unsigned unchecked = 0;
    if (leaves_open(line, value, line->expect))
        unchecked |= 1U << CHECK_VALUE;
    if (leaves_open(line, output, line->expect_stdout))
        unchecked |= 1U << CHECK_STDOUT;
    if (line->expect_form.bytes && value.bytes)
        unchecked |= 1U << CHECK_FORM;
    return unchecked;
}
