/* The confined worker, with this process in place of the supervisor. */
#include "tests/support/lines.h"
#include "tests/support/process.h"
#include "tests/worker/cases.h"
#include "tests/worker/driver.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum { ENDLESS_MS = 200 };

TestSuite(worker, .init = driver_begin, .fini = driver_end);
TestSuite(zygote, .init = driver_begin, .fini = driver_end);

/* Evaluates CODE, which must return. */
static const struct result_message *call(const char *code) {
    const struct call_end *end = driver_call(code, NULL, DRIVER_PATIENCE_MS);
    cr_assert_eq(end->kind, END_RESULT, "%.200s", code);
    return &end->result;
}

/* The table. The first mistake of a row is reported. */

/* Does TEXT consist of these lines? */
static bool lines_are(const char *text, const struct span *lines, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strncmp(text, (const char *)lines[i].bytes, lines[i].length) != 0)
            return false;
        text += lines[i].length;
        if (i + 1 < count && *text++ != '\n')
            return false;
    }
    return !*text;
}

static const char *wrong_values(const struct worker_case *row,
                                const struct result_message *result) {
    if (row->value && (!result->value_count || !span_has(result->values[0], row->value)))
        return "value";
    if (!row->values)
        return NULL;
    return lines_are(row->values, result->values, result->value_count) ? NULL : "values";
}

static const char *wrong_condition(const struct worker_case *row,
                                   const struct result_message *result) {
    if (!row->type)
        return result->condition.bytes ? "condition" : NULL;
    if (!result->condition.bytes || !span_is(result->condition, row->type))
        return "type";
    if (row->message && !span_has(result->text, row->message))
        return "message";
    if (row->frame && *row->frame &&
        (!result->frame_count || !span_is(result->frames[0], row->frame)))
        return "frame";
    if (row->frame && !*row->frame && result->frame_count)
        return "no frame";
    if (row->frame1 && (result->frame_count < 2 || !span_is(result->frames[1], row->frame1)))
        return "second frame";
    if (span_has(result->text, "0x"))
        return "message without addresses";
    return NULL;
}

static const char *wrong_result(const struct worker_case *row, const struct call_end *end) {
    const struct result_message *result = &end->result;
    if (end->kind != END_RESULT)
        return "result";
    if (row->warning && !lines_are(row->warning, result->warnings, result->warning_count))
        return "warnings";
    if (row->package && !span_is(result->package, row->package))
        return "package";
    const char *wrong = wrong_condition(row, result);
    return wrong ? wrong : wrong_values(row, result);
}

static const char *wrong_end(const struct worker_case *row, const struct call_end *end) {
    if (row->output && !buffer_is(&end->output, row->output))
        return "output";
    if (row->error && !buffer_is(&end->error, row->error))
        return "standard error";
    if (row->ends)
        return end->kind == END_EXIT && end->number == row->status ? NULL : "exit status";
    if (row->dies)
        return end->kind == END_SIGNAL && end->number == row->dies ? NULL : "signal";
    if (row->violates)
        return end->kind == END_VIOLATION && !strcmp(end->text, row->violates) ? NULL : "violation";
    if (row->endless)
        return end->kind == END_TIMEOUT ? NULL : "endless";
    return wrong_result(row, end);
}

Test(worker, does_what_each_row_says, .timeout = 240) {
    size_t failed = 0;
    for (size_t i = 0; i < worker_case_count; i++) {
        const struct worker_case *row = &worker_cases[i];
        if (!row->same && i)
            driver_renew();
        const struct call_end *end =
            driver_call(row->code, row->argument, row->endless ? ENDLESS_MS : DRIVER_PATIENCE_MS);
        const char *wrong = wrong_end(row, end);
        if (wrong) {
            failed++;
            fprintf(stderr, "row %zu: wrong %s: %s\n", i, wrong, row->code);
            driver_describe(end);
        }
    }
    cr_assert_eq(failed, 0, "%zu of %zu rows failed", failed, worker_case_count);
}

/* Cases that do not fit in a row. */

Test(worker, cuts_a_long_value_and_says_how_much) {
    const struct result_message *result = call("(make-string 60000 :initial-element #\\a)");
    cr_assert_eq(result->value_count, 1);
    const char note[] = "\342\200\246 [10002 more characters]"; /* two quotes beside the letters */
    cr_assert_eq(result->values[0].length, 50000 + sizeof note - 1);
    cr_assert(span_has(result->values[0], note));
}

Test(worker, shows_at_most_twenty_frames) {
    const struct result_message *result =
        call("(defun f (n) (if (= n 0) (error \"x\") (f (- n 1)))) (f 30)");
    cr_assert_eq(result->frame_count, RESULT_FRAMES_MAX);
    cr_assert(span_is(result->frames[19], "(F 19)"));
}

Test(worker, counts_warnings_beyond_the_limit) {
    const struct result_message *result = call("(dotimes (i 1000) (warn \"w~d\" i))");
    cr_assert_eq(result->warning_count, RESULT_WARNINGS_MAX);
    cr_assert(span_is(result->warnings[98], "WARNING: w98"));
    cr_assert(span_is(result->warnings[99], "WARNING: 901 more warnings"));
}

Test(worker, passes_a_large_output_whole) {
    const struct call_end *end = driver_call(
        "(dotimes (i 300000) (format t \"~36r~%\" (+ i 1000000)))", NULL, DRIVER_PATIENCE_MS);
    cr_assert_eq(end->kind, END_RESULT);
    cr_assert_eq(end->output.length, 300000UL * 5);
    cr_assert_eq(memcmp(end->output.data, "LFLS\nLFLT\n", 10), 0);
    end = driver_call("(progn (write-string (make-string 10000000 :initial-element #\\a)) nil)",
                      NULL, DRIVER_PATIENCE_MS);
    cr_assert_eq(end->kind, END_RESULT);
    cr_assert_eq(end->output.length, 10000000);
}

Test(worker, writes_each_character_once_at_a_time_out) {
    for (size_t trial = 0; trial < 10; trial++, driver_renew()) {
        const struct call_end *end =
            driver_call("(let ((i 0)) (loop (format t \"~9,'0d~%\" (incf i))))", NULL, 50);
        cr_assert_eq(end->kind, END_TIMEOUT);
        for (size_t line = 0; line < end->output.length / 10; line++)
            cr_assert_eq(strtol((char *)end->output.data + 10 * line, NULL, 10), (long)line + 1);
    }
}

Test(worker, refuses_source_that_nests_too_deeply) {
    static const char *const kinds[][2] = {{"(", ")"}, {"'", ""},   {"`(", ")"},
                                           {"#'", ""}, {"#(", ")"}, {"('", ")"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (size_t depth = 20000; depth <= 1000000; depth *= 50) {
            char *code = nested(kinds[i][0], depth, "", kinds[i][1]);
            const struct result_message *result = call(code);
            cr_assert(span_is(result->condition, "READER-ERROR"));
            cr_assert(span_has(result->text, "10000 levels"));
            free(code);
        }
}

Test(worker, accepts_source_that_nests_deeply) {
    char *code = nested("(list ", 9900, "", ")");
    cr_assert(span_is(call(code)->values[0], "((((((((((#))))))))))"));
    free(code);
    /* Parentheses that open no list do not count. */
    code = nested("\"((((\" #\\( |((| ; ((((\n", 20000, "", "");
    cr_assert(span_is(call(code)->condition, "UNBOUND-VARIABLE"));
    free(code);
}

// clang-format off
static const char *const garbage_tokens[] = {
    "(", ")", "'", "`", ",", ",@", "#'", "#(", "#.", "#:", "#+", "#|", "|#", "|", "\"", "\\", ";",
    "\n", "1", "-0.5", "nil", "t", "x", ":k", "car", "list", "defun", "lambda", "let", "error",
    "warn", "print", "block", "return", "handler-case", "loop for", "quote", "(list 1", "(error",
    "#1=", "#1#", "#\\", "\303\251", "throw", "catch", "progn", "setq", "*package*", "(car",
    "values", "(format t", "~a", "unwind-protect", "*", "funcall", "apply",
};
// clang-format on

/* A string that is almost Lisp, the same for the same seed. */
static void make_garbage(unsigned seed, char *code, size_t size) {
    size_t used = 0;
    for (unsigned state = seed * 2654435761U + 1; used + 20 < size;
         state = state * 1664525U + 1013904223U) {
        const char *token =
            garbage_tokens[(state >> 16) % (sizeof garbage_tokens / sizeof *garbage_tokens)];
        used += (size_t)snprintf(code + used, size - used, "%s%s", token, state >> 30 ? " " : "");
        if ((state >> 8) % 24 == 0)
            break;
    }
}

Test(worker, answers_garbage, .timeout = 240) {
    for (unsigned seed = 0; seed < 3000; seed++) {
        char code[400] = "";
        make_garbage(seed, code, sizeof code);
        const struct call_end *end = driver_call(code, NULL, 2000);
        cr_assert(end->kind == END_RESULT || end->kind == END_TIMEOUT, "end %d %d of seed %u: %s",
                  end->kind, end->number, seed, code);
        if (end->kind == END_TIMEOUT)
            driver_renew();
    }
}

#define C_NUMBER(function)                                                                         \
    "(si:call-cfun (si:find-foreign-symbol \"" function                                            \
    "\" :default :pointer-void 0) :long '() '())"

/* Of Lisp and of each generator of the C library. */
Test(worker, has_its_own_random_numbers) {
    static const char *const codes[] = {
        "(random (expt 2 100))", "(random (expt 2 100) (make-random-state t))",
        C_NUMBER("rand"),        C_NUMBER("random"),
        C_NUMBER("lrand48"),     C_NUMBER("mrand48")};
    enum { COUNT = sizeof codes / sizeof *codes };
    char first[COUNT][64] = {""};
    for (size_t i = 0; i < 2; i++, driver_renew())
        for (size_t j = 0; j < COUNT; j++) {
            struct span value = call(codes[j])->values[0];
            cr_assert(value.length > 0 && value.length < sizeof first[j], "%s", codes[j]);
            cr_assert_neq(strncmp(first[j], (const char *)value.bytes, value.length), 0, "%s",
                          codes[j]);
            memcpy(first[j], value.bytes, value.length);
        }
}

Test(worker, ends_with_its_channel_and_dies_from_a_signal) {
    static const int signals[] = {SIGTERM, SIGSEGV};
    int status = driver_close();
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        driver_renew();
        cr_assert_gt(worker.pid, 1);
        kill(worker.pid, signals[i]);
        status = driver_close();
        cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
    }
    status = driver_stop();
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static bool has_no_populate(void) {
    char *page = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const bool refused = madvise(page, 1, MADV_POPULATE_WRITE) != 0;
    munmap(page, 1);
    return refused;
}

/* Waits until the worker waits for a frame, and does nothing else. Returns its page faults. */
static long faults_when_quiet(void) {
    long before = -1, now = process_faults(worker.pid);
    while (now != before || !process_sleeps(worker.pid)) {
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        before = now;
        now = process_faults(worker.pid);
    }
    return now;
}

/* A call that is the first to write a page waits until the kernel has copied it. Without an image
 * no page of a file is counted: the first call of a worker then has 23 faults, and 52 if the worker
 * has copied nothing before. */
Test(worker, has_its_own_copies_of_what_every_call_writes_before_the_call) {
    enum { FAULTS_MAX = 38 };
    if (has_no_populate())
        cr_skip_test("this kernel cannot copy pages in advance");
    driver_end();
    unsetenv("WORKER_IMAGES");
    driver_begin();
    const long before = faults_when_quiet();
    call("(+ 1 2)");
    cr_assert_leq(faults_when_quiet() - before, FAULTS_MAX);
}

Test(zygote, leaks_nothing_over_many_spawns) {
    driver_close();
    int before = process_descriptors(zygote.pid);
    for (size_t i = 0; i < 200; i++) {
        driver_renew();
        driver_close();
    }
    cr_assert_eq(process_descriptors(zygote.pid), before);
}

Test(zygote, passes_its_workers_four_descriptors_only) {
    cr_assert(span_is(call("(loop for fd from 0 below 64"
                           " count (zerop (si:call-cfun (si:find-foreign-symbol \"close\" :default"
                           " :pointer-void 0) :int '(:int) (list (+ fd 4)))))")
                          ->values[0],
                      "0"));
}

Test(zygote, reports_why_it_cannot_be_configured) {
    struct error error = {0};
    struct worker_configuration configuration = driver_configuration();
    configuration.memory_bytes = 1 << 20; /* less than the image */
    driver_end();
    cr_assert_not(driver_start(&zygote, &configuration, &error));
    cr_assert_neq(error.text[0], '\0');
}
