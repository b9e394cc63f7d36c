/* A submission: its setup is loaded once, and each test runs in a fork of the process after it. */
#include "common/cleanup.h"
#include "supervisor/base/clock.h"
#include "supervisor/batch/batch_internal.h"

#include <stdlib.h>

enum phase { PHASE_SETUP, PHASE_TESTS, PHASE_END, PHASE_DONE };

struct test_run {
    struct submission *submission;
    size_t index;
    struct call *call; /* while it runs */
    int64_t begun_ns;
    struct check check;
    TAILQ_ENTRY(test_run) entry; /* in unchecked */
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
    TAILQ_HEAD(, test_run) unchecked;  /* whose check is not done, in the order of their ends */
    bool cannot_fork;
    const char *used_up; /* why no further test is started; NULL: there is time */
    int64_t begun_ns;
    int64_t taken_us;   /* by its setup, tests and comparisons, one after the other */
    struct usage usage; /* of its processes that have ended */
    size_t output_bytes;
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
    TAILQ_INIT(&submission->unchecked);
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
        check_free(&submission->runs[i].check);
    free(submission->runs);
    free(submission);
}

void submission_cancel(struct submission *submission) {
    static const char cause[] = "The batch was ended.";
    submission->cancelled = true;
    if (submission->call)
        call_cancel(submission->call, cause);
    for (size_t i = 0; i < submission->started; i++) {
        struct test_run *run = &submission->runs[i];
        run->check.left = 0;
        if (run->call)
            call_cancel(run->call, cause);
        if (run->check.call)
            call_cancel(run->check.call, cause);
    }
}

/* --- costs --- */

static void count_end(struct submission *submission, const struct evaluation *evaluation) {
    batch_count_end(submission->batch, evaluation);
    usage_add(&submission->usage, evaluation->usage);
    submission->output_bytes += evaluation->output.length + evaluation->error_output.length;
}

/* What is left of --submission-cpu-s, in microseconds. */
static int64_t cpu_left_us(const struct submission *submission) {
    const int64_t most_us =
        submission->batch->options->submission_cpu_s * CLOCK_MS_PER_S * CLOCK_US_PER_MS;
    const int64_t source_us = submission->source ? session_cpu_us(submission->source) : 0;
    return most_us - submission->usage.cpu_us - source_us;
}

/* What is left of --submission-timeout-s, in microseconds. */
static int64_t time_left_us(const struct submission *submission) {
    const int64_t most_us =
        submission->batch->options->submission_timeout_s * CLOCK_MS_PER_S * CLOCK_US_PER_MS;
    return most_us - submission->taken_us;
}

static const char *what_is_used_up(const struct submission *submission) {
    const struct batch_options *options = submission->batch->options;
    if (options->submission_cpu_s && cpu_left_us(submission) <= 0)
        return "the processor time of the submission was used up";
    if (options->submission_timeout_s && time_left_us(submission) <= 0)
        return "the time of the submission was used up";
    return NULL;
}

/* The smaller of OWN_MS, unless it is 0, and LEFT_US. */
static int64_t least_ms(int64_t own_ms, int64_t left_us) {
    const int64_t left_ms = (left_us + CLOCK_US_PER_MS - 1) / CLOCK_US_PER_MS;
    return own_ms && own_ms < left_ms ? own_ms : left_ms;
}

/* The limits for LINE, which is the submission or one of its tests. */
static int64_t cpu_limit_ms(const struct submission *submission, const struct batch_line *line) {
    const int64_t own_ms = batch_cpu_ms(submission->batch, line);
    const bool is_bounded = submission->batch->options->submission_cpu_s;
    return is_bounded ? least_ms(own_ms, cpu_left_us(submission)) : own_ms;
}

static int64_t timeout_ms(const struct submission *submission, const struct batch_line *line) {
    const bool is_bounded = submission->batch->options->submission_timeout_s;
    return is_bounded ? least_ms(line->timeout_ms, time_left_us(submission)) : line->timeout_ms;
}

/* --- the setup --- */

/* Replaces the record of the setup. */
static void take_setup(struct submission *submission, const struct evaluation *evaluation) {
    const struct evaluation seen = batch_reported(submission->batch, evaluation);
    json_object_put(submission->setup);
    submission->outcome = evaluation->outcome;
    submission->setup = record_of_setup(submission->line, &seen, submission->batch->settings);
    if (!submission->setup)
        fail(submission, "out of memory for the result of a line");
}

static void on_setup(void *context, const struct evaluation *evaluation) {
    struct submission *submission = context;
    submission->call = NULL;
    count_end(submission, evaluation);
    submission->taken_us += evaluation->elapsed_us;
    if (evaluation->outcome == OUTCOME_NO_WORKER)
        fail(submission, "%s", evaluation->cause);
    else
        take_setup(submission, evaluation);
    submission->phase = submission->outcome == OUTCOME_VALUE ? PHASE_TESTS : PHASE_END;
}

static void start_setup(struct submission *submission) {
    struct batch *batch = submission->batch;
    const struct span files = submission->line->files;
    const struct call_request request = {.code = submission->line->setup,
                                         .files = files.bytes ? files : string_span("1 the setup"),
                                         .timeout_ms = timeout_ms(submission, submission->line),
                                         .cpu_ms = cpu_limit_ms(submission, submission->line),
                                         .done = on_setup,
                                         .context = submission};
    submission->call = session_submit_source(&batch->one_shot.sessions, &request);
    if (!submission->call) {
        fail(submission, "out of memory");
        return;
    }
    submission->source = call_session(submission->call);
    submission->begun_ns = clock_now_ns();
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

/* Looks at those that have begun, which are at most options.jobs, and as many more as can begin. */
static void step_checks(struct submission *submission) {
    const struct batch *batch = submission->batch;
    struct test_run *run = TAILQ_FIRST(&submission->unchecked);
    while (run) {
        struct test_run *next = TAILQ_NEXT(run, entry);
        struct check *check = &run->check;
        if (submission->failure[0])
            check->left = 0;
        bool waits = !check->call && check->left && batch->running >= (size_t)batch->options->jobs;
        if (!waits)
            check_step(check, json_object_array_get_idx(submission->tests, run->index));
        if (check->failure)
            fail(submission, "%s", check->failure);
        if (check_is_done(check)) {
            TAILQ_REMOVE(&submission->unchecked, run, entry);
            usage_add(&submission->usage, check->usage);
            submission->taken_us += check->taken_us;
        } else if (waits) {
            return; /* and so do those after it */
        }
        run = next;
    }
}

static void on_test(void *context, const struct evaluation *evaluation) {
    struct test_run *run = context;
    struct submission *submission = run->submission;
    struct evaluation seen = batch_reported(submission->batch, evaluation);
    run->call = NULL;
    submission->running--;
    count_end(submission, evaluation);
    submission->taken_us += (clock_now_ns() - run->begun_ns) / CLOCK_NS_PER_US; /* with its fork */
    if (evaluation->outcome == OUTCOME_NO_WORKER) {
        fail(submission, "%s", evaluation->cause);
        return;
    }
    if (evaluation->outcome == OUTCOME_REFUSED) {
        submission->cannot_fork = true;
        snprintf(seen.cause, sizeof seen.cause, "The process after the setup could not be forked.");
    }
    if (!check_begin(&run->check, submission->batch, &submission->line->tests[run->index],
                     evaluation))
        fail(submission, "out of memory for the result of a test");
    if (run->check.left)
        TAILQ_INSERT_TAIL(&submission->unchecked, run, entry);
    put_test(submission, run->index,
             record_of_test(submission->line, run->index, &seen, submission->batch->settings));
}

static void start_test(struct submission *submission) {
    const size_t index = submission->started++;
    const struct batch_line *test = &submission->line->tests[index];
    struct test_run *run = &submission->runs[index];
    *run = (struct test_run){.submission = submission, .index = index, .begun_ns = clock_now_ns()};
    const struct call_request request = {.code = test->code,
                                         .input = test->input,
                                         .timeout_ms = timeout_ms(submission, test),
                                         .cpu_ms = cpu_limit_ms(submission, test),
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
    if (!submission->used_up)
        submission->used_up = what_is_used_up(submission);
    const bool ends_early = submission->cannot_fork || submission->used_up;
    while (!submission->failure[0] && !ends_early &&
           submission->started < submission->line->test_count &&
           batch->running < (size_t)batch->options->jobs)
        start_test(submission);
    bool all_started = submission->started == submission->line->test_count || ends_early;
    if (all_started && submission->running == 0 && TAILQ_EMPTY(&submission->unchecked))
        submission->phase = PHASE_END;
}

/* --- the end --- */

/* What the process did after its setup counts in place of its answer. */
static void on_end(void *context, const struct evaluation *evaluation) {
    struct submission *submission = context;
    const enum outcome outcome = evaluation->outcome;
    submission->call = NULL;
    count_end(submission, evaluation);
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
    static const char no_process[] = "the process of the setup ended so, or could not be forked";
    const struct batch_line *line = submission->line;
    bool failed = submission->outcome != OUTCOME_VALUE;
    bool is_late = !failed && !submission->cannot_fork && submission->used_up;
    const enum outcome outcome = record_outcome(failed    ? submission->outcome
                                                : is_late ? OUTCOME_TIMEOUT
                                                          : OUTCOME_REFUSED); /* no fork */
    for (size_t i = 0; i < line->test_count; i++) {
        bool ran = json_object_array_get_idx(submission->tests, i) != NULL;
        if (failed || !ran)
            put_test(
                submission, i,
                record_of_unrun_test(line, i, outcome, is_late ? submission->used_up : no_process));
    }
}

/* Costs tell of hidden tests, too. */
static bool hides_costs(const struct submission *submission) {
    bool hides = false;
    for (size_t i = 0; i < submission->line->test_count; i++)
        hides |= submission->line->tests[i].hidden;
    return hides && submission->batch->options->for_student;
}

static bool add_total(const struct submission *submission, struct record *record) {
    const struct batch_costs costs = {.wall_us =
                                          (clock_now_ns() - submission->begun_ns) / CLOCK_NS_PER_US,
                                      .cpu_us = submission->usage.cpu_us,
                                      .peak_kb = submission->usage.peak_kb,
                                      .output_bytes = submission->output_bytes};
    if (hides_costs(submission) || record_add_total(record, &costs))
        return true;
    record_free(record);
    return false;
}

static void join(struct submission *submission, struct record *record) {
    complete_tests(submission);
    if (submission->failure[0])
        return;
    bool joined = record_join(record, submission->line, submission->setup, submission->tests,
                              submission->batch->options->for_student) &&
                  add_total(submission, record);
    submission->setup = submission->tests = NULL;
    if (!joined)
        fail(submission, "out of memory for the result of a line");
}

/* --- the step --- */

static bool has_calls(const struct submission *submission) {
    return submission->call || submission->running || !TAILQ_EMPTY(&submission->unchecked);
}

static void start_phase(struct submission *submission) {
    const struct batch *batch = submission->batch;
    step_checks(submission);
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
