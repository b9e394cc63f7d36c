/* A submission: its setup is loaded once, and each test runs in a fork of the process after it. */
#include "common/cleanup.h"
#include "supervisor/batch/batch_internal.h"

#include <stdlib.h>

enum phase { PHASE_SETUP, PHASE_TESTS, PHASE_END, PHASE_DONE };

struct test_run {
    struct submission *submission;
    size_t index;
    struct call *call;   /* while it runs, or its form is checked */
    struct buffer value; /* printed, to be checked */
    bool is_unchecked;   /* the check of its form is yet to start */
};

struct submission {
    struct batch *batch;
    const struct batch_line *line;
    enum phase phase;
    struct session *source; /* the process of the setup; NULL: it has ended, or is not started */
    struct call *call;      /* of the setup, or the last one of its process; NULL: none runs */
    struct test_run *runs;
    struct json_object *setup, *tests; /* record, and array of records; not yet done: null */
    size_t started, running;           /* tests */
    size_t unchecked;                  /* tests that wait for the check of their form */
    bool cannot_fork;
    bool cancelled;
    enum outcome outcome;           /* of the setup; unless it is VALUE, no test counts */
    char failure[ERROR_TEXT_BYTES]; /* why the batch cannot continue */
};

__attribute__((format(printf, 2, 3))) static void fail(struct submission *submission,
                                                       const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(submission->failure, sizeof submission->failure, format, arguments);
    va_end(arguments);
}

struct submission *submission_make(struct batch *batch, const struct batch_line *line) {
    struct submission *submission = calloc(1, sizeof *submission);
    if (!submission)
        return NULL;
    submission->batch = batch;
    submission->line = line;
    submission->runs = calloc(line->test_count, sizeof *submission->runs);
    submission->tests = json_object_new_array();
    if (submission->runs && submission->tests)
        return submission;
    submission_free(submission);
    return NULL;
}

void submission_free(struct submission *submission) {
    if (!submission)
        return;
    json_object_put(submission->setup);
    json_object_put(submission->tests);
    for (size_t i = 0; i < submission->started; i++)
        buffer_free(&submission->runs[i].value);
    free(submission->runs);
    free(submission);
}

void submission_cancel(struct submission *submission) {
    static const char cause[] = "The batch was ended.";
    submission->cancelled = true;
    if (submission->call)
        call_cancel(submission->call, cause);
    for (size_t i = 0; i < submission->started; i++)
        if (submission->runs[i].call)
            call_cancel(submission->runs[i].call, cause);
}

/* --- the setup --- */

/* Replaces the record of the setup. */
static void take_setup(struct submission *submission, const struct evaluation *evaluation) {
    json_object_put(submission->setup);
    submission->outcome = evaluation->outcome;
    submission->setup = record_of_setup(submission->line, evaluation, submission->batch->settings);
    if (!submission->setup)
        fail(submission, "out of memory for the result of a line");
}

static void on_setup(void *context, const struct evaluation *evaluation) {
    struct submission *submission = context;
    submission->call = NULL;
    submission->batch->running--;
    if (evaluation->outcome == OUTCOME_NO_WORKER)
        fail(submission, "%s", evaluation->cause);
    else
        take_setup(submission, evaluation);
    submission->phase = submission->outcome == OUTCOME_VALUE ? PHASE_TESTS : PHASE_END;
}

static void start_setup(struct submission *submission) {
    struct batch *batch = submission->batch;
    const struct call_request request = {.code = submission->line->setup,
                                         .timeout_ms = submission->line->timeout_ms,
                                         .done = on_setup,
                                         .context = submission};
    submission->call = session_submit_source(&batch->one_shot.sessions, &request);
    if (!submission->call) {
        fail(submission, "out of memory");
        return;
    }
    submission->source = call_session(submission->call);
    batch->running++;
    session_step(submission->source);
}

/* --- the tests --- */

/* Takes RECORD, in place of an earlier one; NULL is out of memory. */
static void put_test(struct submission *submission, size_t index, struct json_object *record) {
    if (record && json_object_array_put_idx(submission->tests, index, record) == 0)
        return;
    json_object_put(record);
    fail(submission, "out of memory for the result of a test");
}

/* --- the form of a test: its value is read back and compared in a fresh process --- */

/* The code that the submission ran in has no part in it. */
static bool append_check(struct buffer *code, struct span form) {
    return buffer_append_text(code,
                              "(cl:let* ((cl:*read-eval* cl:nil) (%end (cl:list cl:nil)) "
                              "(%came (cl:read cl:*standard-input*))) "
                              "(cl:and (cl:eq (cl:read cl:*standard-input* cl:nil %end) %end) "
                              "(cl:equalp %came (cl:progn\n") &&
           buffer_append(code, form.bytes, form.length) && buffer_append_text(code, "\n))))");
}

static void on_checked(void *context, const struct evaluation *evaluation) {
    struct test_run *run = context;
    struct submission *submission = run->submission;
    const struct batch_line *test = &submission->line->tests[run->index];
    struct json_object *record = json_object_array_get_idx(submission->tests, run->index);
    const struct span value = verdict_value(evaluation);
    run->call = NULL;
    submission->running--;
    submission->batch->running--;
    if (evaluation->outcome == OUTCOME_NO_WORKER) {
        fail(submission, "%s", evaluation->cause);
        return;
    }
    bool met = value.bytes && span_equal(value, string_span("T"));
    const char *came = value.bytes && span_equal(value, string_span("NIL"))
                           ? "another value"
                           : "a value that cannot be compared";
    if (!met && !record_fail_form(record, test, came))
        fail(submission, "out of memory for the result of a test");
    buffer_free(&run->value);
}

static void start_check(struct submission *submission, struct test_run *run) {
    enum { CHECK_BYTES = 400 };
    struct batch *batch = submission->batch;
    const struct batch_line *test = &submission->line->tests[run->index];
    cleanup_buffer struct buffer code = buffer_make(test->expect_form.length + CHECK_BYTES);
    bool good = append_check(&code, test->expect_form);
    const struct call_request request = {
        .code = {code.data, code.length},
        .input =
            run->value.length ? (struct span){run->value.data, run->value.length} : string_span(""),
        .timeout_ms = test->timeout_ms,
        .done = on_checked,
        .context = run};
    run->is_unchecked = false;
    submission->unchecked--;
    run->call = good ? session_submit_once(&batch->one_shot.sessions, &request) : NULL;
    if (!run->call) {
        fail(submission, "out of memory");
        return;
    }
    submission->running++;
    batch->running++;
    session_step(call_session(run->call));
}

static void start_checks(struct submission *submission) {
    const struct batch *batch = submission->batch;
    for (size_t i = 0; submission->unchecked && !submission->failure[0] && i < submission->started;
         i++) {
        if (batch->running >= (size_t)batch->options->jobs)
            return;
        if (submission->runs[i].is_unchecked)
            start_check(submission, &submission->runs[i]);
    }
}

/* Keeps the value of a test that has a form. */
static void keep_value(struct submission *submission, struct test_run *run,
                       const struct evaluation *evaluation) {
    const struct batch_line *test = &submission->line->tests[run->index];
    const struct span value = verdict_value(evaluation);
    if (!test->expect_form.bytes || !value.bytes)
        return;
    run->value = buffer_make(value.length);
    run->is_unchecked = buffer_append(&run->value, value.bytes, value.length);
    if (run->is_unchecked)
        submission->unchecked++;
    else
        fail(submission, "out of memory for the result of a test");
}

static void on_test(void *context, const struct evaluation *evaluation) {
    struct test_run *run = context;
    struct submission *submission = run->submission;
    struct evaluation seen = *evaluation;
    run->call = NULL;
    submission->running--;
    submission->batch->running--;
    if (evaluation->outcome == OUTCOME_NO_WORKER) {
        fail(submission, "%s", evaluation->cause);
        return;
    }
    if (evaluation->outcome == OUTCOME_REFUSED) {
        submission->cannot_fork = true;
        snprintf(seen.cause, sizeof seen.cause, "The process after the setup could not be forked.");
    }
    keep_value(submission, run, evaluation);
    put_test(submission, run->index,
             record_of_test(&submission->line->tests[run->index], run->index + 1, &seen,
                            OUTCOME_VALUE, submission->batch->settings));
}

static void start_test(struct submission *submission) {
    const size_t index = submission->started++;
    const struct batch_line *test = &submission->line->tests[index];
    struct test_run *run = &submission->runs[index];
    *run = (struct test_run){.submission = submission, .index = index};
    const struct call_request request = {.code = test->code,
                                         .input = test->input,
                                         .timeout_ms = test->timeout_ms,
                                         .done = on_test,
                                         .context = run};
    run->call = session_submit_fork(submission->source, &request);
    if (!run->call) {
        fail(submission, "out of memory");
        return;
    }
    submission->running++;
    submission->batch->running++;
    session_step(submission->source);
}

static void step_tests(struct submission *submission) {
    const struct batch *batch = submission->batch;
    start_checks(submission);
    while (!submission->failure[0] && !submission->cannot_fork &&
           submission->started < submission->line->test_count &&
           batch->running < (size_t)batch->options->jobs)
        start_test(submission);
    bool all_started =
        submission->started == submission->line->test_count || submission->cannot_fork;
    if (all_started && submission->running == 0 && submission->unchecked == 0)
        submission->phase = PHASE_END;
}

/* --- the end --- */

/* What the process did after its setup counts in place of its answer. */
static void on_end(void *context, const struct evaluation *evaluation) {
    struct submission *submission = context;
    const enum outcome outcome = evaluation->outcome;
    submission->call = NULL;
    submission->batch->running--;
    submission->phase = PHASE_DONE;
    if (submission->cancelled)
        return;
    if (outcome == OUTCOME_NO_WORKER)
        fail(submission, "%s", evaluation->cause);
    else if (outcome != OUTCOME_VALUE && outcome != OUTCOME_CONDITION)
        take_setup(submission, evaluation);
    else if (!record_set_usage(submission->setup, evaluation->usage))
        fail(submission, "out of memory");
}

/* Ends the process of the setup by an empty call, after which its usage is known. */
static void end_source(struct submission *submission) {
    static const unsigned char nothing[] = "";
    struct session *source = submission->source;
    const struct call_request request = {.code = {nothing, 0},
                                         .timeout_ms = submission->line->timeout_ms,
                                         .done = on_end,
                                         .context = submission};
    bool ended_in_setup = !session_has_process(source) && submission->started == 0;
    bool asks = !submission->cancelled && !submission->failure[0] && !ended_in_setup;
    submission->source = NULL;
    submission->call = session_finish(source, asks ? &request : NULL);
    if (submission->call) {
        submission->batch->running++;
        session_step(source);
        return;
    }
    if (asks)
        fail(submission, "out of memory");
    submission->phase = PHASE_DONE;
}

/* Gives each test that did not run the outcome of the setup, and, if that failed after all, every
 * test. */
static void complete_tests(struct submission *submission) {
    const struct batch_line *line = submission->line;
    bool failed = submission->outcome != OUTCOME_VALUE;
    const enum outcome outcome =
        record_outcome(failed ? submission->outcome : OUTCOME_REFUSED); /* REFUSED: no fork */
    for (size_t i = 0; i < line->test_count; i++) {
        bool ran = json_object_array_get_idx(submission->tests, i) != NULL;
        if (failed || !ran)
            put_test(
                submission, i,
                record_of_test(&line->tests[i], i + 1, NULL, outcome, submission->batch->settings));
    }
}

static void join(struct submission *submission, struct record *record) {
    complete_tests(submission);
    if (submission->failure[0])
        return;
    bool joined = record_join(record, submission->line, submission->setup, submission->tests,
                              submission->batch->options->for_student);
    submission->setup = submission->tests = NULL;
    if (!joined)
        fail(submission, "out of memory for the result of a line");
}

/* --- the step --- */

static bool has_calls(const struct submission *submission) {
    return submission->call || submission->running;
}

static void start_phase(struct submission *submission) {
    const struct batch *batch = submission->batch;
    bool given_up = submission->cancelled || submission->failure[0];
    if (given_up && has_calls(submission))
        return;
    if (given_up)
        submission->phase = submission->source ? PHASE_END : PHASE_DONE;
    if (submission->phase == PHASE_SETUP && !submission->call &&
        batch->running < (size_t)batch->options->jobs)
        start_setup(submission);
    if (submission->phase == PHASE_TESTS)
        step_tests(submission);
    if (submission->phase == PHASE_END && !submission->call && submission->source)
        end_source(submission);
}

bool submission_step(struct submission *submission, struct record *record, const char **failure) {
    struct batch *batch = submission->batch;
    start_phase(submission);
    if (submission->phase != PHASE_DONE || has_calls(submission))
        return false;
    if (!submission->cancelled && !submission->failure[0])
        join(submission, record);
    if (submission->failure[0]) {
        snprintf(batch->submission_failure, sizeof batch->submission_failure, "%s",
                 submission->failure);
        *failure = batch->submission_failure;
    }
    submission_free(submission);
    return true;
}
