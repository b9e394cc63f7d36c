/* The controls of the cheating suite: a naive grader, in an unconfined ECL, lets each cheat
 * succeed. */
#include "common/buffer.h"
#include "common/cleanup.h"
#include "common/frame.h"
#include "tests/cheats/cheats.h"
#include "tests/support/lines.h"
#include "tests/support/lisp_file.h"
#include "tests/support/unconfined.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* A control that does not hang ends long before; one that does is given up early. */
enum { SECONDS = 50, SECONDS_OF_FORGING = 15, SECONDS_OF_HANGING = 4 };
/* More lines than the stream of the grader reads at once. */
enum { INPUTS = 2000 };

/* Whether a person or a script that looks through the lines of the output finds LINE. */
static bool shows_line(const char *text, size_t length, const char *line) {
    const size_t size = strlen(line);
    for (size_t start = 0, end; start < length; start = end + 1) {
        for (end = start; end < length && text[end] != '\n' && text[end] != '\r';)
            end++;
        if (end - start == size && memcmp(text + start, line, size) == 0)
            return true;
    }
    return false;
}

/* The number of tests for which WHO is credited; only those worth something if WORTH. */
static size_t credited(const struct command_result *result, const char *who, bool worth) {
    size_t found = 0;
    for (size_t i = 0; i < exercise_count; i++) {
        const char *line = formatted("ok - %s: %s", who, exercise[i].name);
        found += (!worth || exercise[i].points > 0) &&
                 (shows_line(result->output, result->output_length, line) ||
                  shows_line(result->error, strlen(result->error), line));
    }
    return found;
}

/* The comparison of TEST, as a keyword. */
static const char *match_of(const struct exercise_test *test) {
    return strstr(test->more, "\"number\"")  ? "number"
           : strstr(test->more, "\"regex\"") ? "regex"
                                             : "exact";
}

static void append_tests(struct buffer *script) {
    buffer_append_text(script, "(defparameter *tests* (copy-tree '(");
    for (size_t i = 0; i < exercise_count; i++) {
        buffer_append_format(script, "(\"%s\" :%s :%s ", exercise[i].name, exercise[i].kind,
                             match_of(&exercise[i]));
        lisp_file_append_string(script, exercise[i].code);
        buffer_append_text(script, " ");
        lisp_file_append_string(script, exercise[i].wanted);
        buffer_append_text(script, ")");
    }
    buffer_append_text(script, ")))\n");
}

static void append_submission(struct buffer *script, const char *who, const char *source) {
    buffer_append_format(script, "(\"%s\" ", who);
    lisp_file_append_string(script, source);
    buffer_append_text(script, ")");
}

/* Grades SOURCE as `cheat`, after a neighbour if PRECEDED, and another after it. */
static struct command_result grade(const char *source, bool preceded, unsigned seconds) {
    cleanup_buffer struct buffer script = buffer_make(LISP_FILE_MAX);
    lisp_file_append(&script, "cheats/naive.lisp");
    append_tests(&script);
    buffer_append_text(&script, "(grade '(");
    if (preceded)
        append_submission(&script, "predecessor", neighbour);
    append_submission(&script, "cheat", source);
    append_submission(&script, "neighbour", neighbour);
    buffer_append_text(&script, "))\n");
    for (int i = 0; i < INPUTS; i++)
        buffer_append_text(&script, "pear-2846\n");
    const char *const environment[] = {answer_in_environment, NULL};
    return unconfined_load_within_limits(&script, seconds, environment);
}

/* Whether a frame, as of an answer or an event, arrives on the channel. */
static bool shows_frame(const struct command_result *result) {
    const char *bytes = result->output;
    struct frame_header header;
    for (size_t at = 0; at + sizeof header < result->output_length; at++) {
        memcpy(&header, bytes + at, sizeof header);
        const size_t rest = result->output_length - at - sizeof header;
        if ((header.type == FRAME_RESULT || header.type == FRAME_EVENT) && header.flags == 0 &&
            header.call > 0 && header.length > 0 && header.length <= rest)
            return true;
    }
    return false;
}

static unsigned seconds_for(const struct control *control) {
    return control->kind == CONTROL_HANGS    ? SECONDS_OF_HANGING
           : control->kind == CONTROL_FORGES ? SECONDS_OF_FORGING
                                             : SECONDS;
}

/* Grades SOURCE in processes that fork for each test. */
static struct command_result grade_by_forks(const char *source) {
    cleanup_buffer struct buffer script = buffer_make(LISP_FILE_MAX);
    cheats_append_functions(&script);
    lisp_file_append(&script, "cheats/naive-forks.lisp");
    append_tests(&script);
    buffer_append_text(&script, "(grade-by-forks \"cheat\" ");
    lisp_file_append_string(&script, source);
    buffer_append_text(&script, ")\n");
    return unconfined_load_within_limits(&script, SECONDS, NULL);
}

static bool succeeds(const struct control *control, const struct command_result *result) {
    switch (control->kind) {
    case CONTROL_EARNS:
    case CONTROL_INHERITS:
    case CONTROL_FORKS:
        return credited(result, "cheat", true) > 0;
    case CONTROL_EXITS:
        return result->status == control->status; /* 1 if it were judged */
    case CONTROL_DISTURBS:
        return credited(result, "neighbour", false) < exercise_count;
    case CONTROL_HANGS:
        return result->status == UNCONFINED_HUNG;
    case CONTROL_FORGES:
        return shows_frame(result);
    }
    return false;
}

static void check(const struct cheat *cheat) {
    const struct control *control = &cheat->control;
    char *source = cheat_source(cheat);
    struct command_result result =
        control->kind == CONTROL_FORKS
            ? grade_by_forks(source)
            : grade(source, control->kind == CONTROL_INHERITS, seconds_for(control));
    cr_expect(
        succeeds(control, &result),
        "CONTROL %s/%s does not succeed, so the cheat proves nothing: status %d: %.3000s%.1000s",
        cheat->class, cheat->name, result.status, result.output, result.error);
    command_result_free(&result);
    free(source);
}

Test(control, a_neighbour_gets_all_points_and_nothing_none) {
    unconfined_or_skip();
    struct command_result result = grade("", false, SECONDS);
    cr_expect_eq(credited(&result, "neighbour", false), exercise_count, "%s%s", result.output,
                 result.error);
    cr_expect_eq(credited(&result, "cheat", false), 0, "%s%s", result.output, result.error);
    command_result_free(&result);
}

Test(control, forks_that_answer_as_they_are_asked_get_nothing) {
    static const struct cheat honest = {
        .code = "(serve-forks (lambda (n channel all) (answers channel)))"};
    unconfined_or_skip();
    char *source = cheat_source(&honest);
    struct command_result result = grade_by_forks(source);
    cr_expect_eq(credited(&result, "cheat", false), 0, "%s%s", result.output, result.error);
    cr_expect_eq(result.status, 1, "%s%s", result.output, result.error);
    command_result_free(&result);
    free(source);
}

static void check_controls(const char *class) {
    size_t size;
    const struct cheat *first = cheats_of(class, &size);
    unconfined_or_skip();
    for (size_t i = 0; i < size; i++)
        check(&first[i]);
}

#define CLASS(class)                                                                               \
    Test(control, class) {                                                                         \
        check_controls(#class);                                                                    \
    }
CLASS(frames)
#include "tests/cheats/classes.def"
