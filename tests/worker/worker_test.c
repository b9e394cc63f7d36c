/* The confined worker against its contract, with this process in the place of the supervisor. */
#include "tests/worker/cases.h"
#include "tests/worker/driver.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ENDLESS_MS = 200 };

static struct call_end call(struct worker_end *worker, const char *code) {
    struct call_end end;
    driver_call(worker, code, strlen(code), NULL, DRIVER_PATIENCE_MS, &end);
    return end;
}

static bool span_is(struct span span, const char *text) {
    return span.length == strlen(text) && memcmp(span.bytes, text, span.length) == 0;
}

static bool span_has(struct span span, const char *text) {
    return memmem(span.bytes, span.length, text, strlen(text)) != NULL;
}

static bool buffer_is(const struct buffer *buffer, const char *text) {
    return buffer->length == strlen(text) &&
           (!buffer->length || memcmp(buffer->data, text, buffer->length) == 0);
}

/* The table. The first thing that is wrong with a row is told, with the row. */

static const char *wrong_values(const struct worker_case *row,
                                const struct result_message *result) {
    if (row->value && (!result->value_count || !span_has(result->values[0], row->value)))
        return "value";
    if (!row->values)
        return NULL;
    const char *at = row->values;
    for (size_t i = 0; i < result->value_count; i++) {
        struct span value = result->values[i];
        if (strncmp(at, (const char *)value.bytes, value.length) != 0)
            return "values";
        at += value.length;
        if (i + 1 < result->value_count && *at++ != '\n')
            return "number of values";
    }
    return *at ? "number of values" : NULL;
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
    if (row->warning && *row->warning &&
        (!result->warning_count || !span_is(result->warnings[0], row->warning)))
        return "warning";
    if (row->warning && !*row->warning && result->warning_count)
        return "no warning";
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

static void describe(const struct call_end *end) {
    fprintf(stderr, "  end %d %d %s\n", end->kind, end->number, end->text);
    const struct result_message *result = &end->result;
    if (end->kind == END_RESULT && result->condition.bytes)
        fprintf(stderr, "  [%.*s] %.*s\n", (int)result->condition.length, result->condition.bytes,
                (int)result->text.length, result->text.bytes);
    for (size_t i = 0; end->kind == END_RESULT && i < result->frame_count && i < 3; i++)
        fprintf(stderr, "  %zu: %.*s\n", i, (int)result->frames[i].length, result->frames[i].bytes);
    for (size_t i = 0; end->kind == END_RESULT && i < result->value_count; i++)
        fprintf(stderr, "  => %.*s\n", (int)result->values[i].length, result->values[i].bytes);
    for (size_t i = 0; end->kind == END_RESULT && i < result->warning_count && i < 3; i++)
        fprintf(stderr, "  ! %.*s\n", (int)result->warnings[i].length, result->warnings[i].bytes);
    fprintf(stderr, "  out: %.*s\n  err: %.*s\n", (int)end->output.length, (char *)end->output.data,
            (int)end->error.length, (char *)end->error.data);
}

Test(worker, does_what_each_row_says, .timeout = 240) {
    struct zygote_end zygote = driver_zygote();
    struct worker_end worker = {.channel = -1};
    size_t failed = 0;
    for (size_t i = 0; i < worker_case_count; i++) {
        const struct worker_case *row = &worker_cases[i];
        if (!row->same) {
            if (worker.channel >= 0)
                driver_close(&worker);
            worker = driver_worker(&zygote);
        }
        struct call_end end;
        driver_call(&worker, row->code, strlen(row->code), row->argument,
                    row->endless ? ENDLESS_MS : DRIVER_PATIENCE_MS, &end);
        const char *wrong = wrong_end(row, &end);
        if (wrong) {
            failed++;
            fprintf(stderr, "row %zu: wrong %s: %s\n", i, wrong, row->code);
            describe(&end);
        }
        call_end_free(&end);
    }
    driver_close(&worker);
    driver_stop(&zygote);
    cr_assert_eq(failed, 0, "%zu of %zu rows failed", failed, worker_case_count);
}

/* What does not fit in a row. */

Test(worker, cuts_a_long_value_and_says_how_much) {
    struct zygote_end zygote = driver_zygote();
    struct worker_end worker = driver_worker(&zygote);
    struct call_end end = call(&worker, "(make-string 60000 :initial-element #\\a)");
    cr_assert_eq(end.kind, END_RESULT);
    cr_assert_eq(end.result.value_count, 1);
    const char note[] = "\342\200\246 [10002 more characters]"; /* two quotes beside the letters */
    struct span value = end.result.values[0];
    cr_assert_eq(value.length, 50000 + sizeof note - 1);
    cr_assert(span_has(value, note));
    call_end_free(&end);
    driver_close(&worker);
    driver_stop(&zygote);
}

Test(worker, shows_at_most_twenty_frames) {
    struct zygote_end zygote = driver_zygote();
    struct worker_end worker = driver_worker(&zygote);
    struct call_end end =
        call(&worker, "(defun f (n) (if (= n 0) (error \"x\") (f (- n 1)))) (f 30)");
    cr_assert_eq(end.kind, END_RESULT);
    cr_assert_eq(end.result.frame_count, RESULT_FRAMES_MAX);
    cr_assert(span_is(end.result.frames[19], "(F 19)"));
    call_end_free(&end);
    driver_close(&worker);
    driver_stop(&zygote);
}

Test(worker, sums_up_warnings_beyond_the_limit) {
    struct zygote_end zygote = driver_zygote();
    struct worker_end worker = driver_worker(&zygote);
    struct call_end end = call(&worker, "(dotimes (i 1000) (warn \"w~d\" i))");
    cr_assert_eq(end.kind, END_RESULT);
    cr_assert_eq(end.result.warning_count, RESULT_WARNINGS_MAX);
    cr_assert(span_is(end.result.warnings[98], "WARNING: w98"));
    cr_assert(span_is(end.result.warnings[99], "WARNING: 901 more warnings"));
    call_end_free(&end);
    driver_close(&worker);
    driver_stop(&zygote);
}

Test(worker, passes_on_all_of_a_large_output) {
    struct zygote_end zygote = driver_zygote();
    struct worker_end worker = driver_worker(&zygote);
    struct call_end end = call(&worker, "(dotimes (i 300000) (format t \"~36r~%\" (+ i 1000000)))");
    cr_assert_eq(end.kind, END_RESULT);
    cr_assert_eq(end.output.length, 300000UL * 5);
    cr_assert_eq(memcmp(end.output.data, "LFLS\nLFLT\n", 10), 0);
    call_end_free(&end);
    end = call(&worker, "(progn (write-string (make-string 10000000 :initial-element #\\a)) nil)");
    cr_assert_eq(end.kind, END_RESULT);
    cr_assert_eq(end.output.length, 10000000);
    call_end_free(&end);
    driver_close(&worker);
    driver_stop(&zygote);
}

Test(worker, writes_each_character_once_when_its_time_is_over) {
    struct zygote_end zygote = driver_zygote();
    for (size_t trial = 0; trial < 10; trial++) {
        struct worker_end worker = driver_worker(&zygote);
        struct call_end end;
        const char *code = "(let ((i 0)) (loop (format t \"~9,'0d~%\" (incf i))))";
        driver_call(&worker, code, strlen(code), NULL, 50, &end);
        cr_assert_eq(end.kind, END_TIMEOUT);
        for (size_t line = 0; line < end.output.length / 10; line++)
            cr_assert_eq(strtol((char *)end.output.data + 10 * line, NULL, 10), (long)line + 1);
        call_end_free(&end);
        driver_close(&worker);
    }
    driver_stop(&zygote);
}

static char *nested(const char *open, const char *close, size_t depth) {
    size_t length = strlen(open) + strlen(close);
    char *code = calloc(depth + 1, length + 1);
    cr_assert(code);
    for (size_t i = 0; i < depth; i++)
        memcpy(code + i * strlen(open), open, strlen(open));
    for (size_t i = 0; i < depth; i++)
        memcpy(code + depth * strlen(open) + i * strlen(close), close, strlen(close));
    return code;
}

Test(worker, refuses_source_that_nests_too_deeply) {
    static const struct {
        const char *open, *close;
    } kinds[] = {{"(", ")"}, {"'", ""}, {"`(", ")"}, {"#'", ""}, {"#(", ")"}, {"('", ")"}};
    struct zygote_end zygote = driver_zygote();
    struct worker_end worker = driver_worker(&zygote);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (size_t depth = 20000; depth <= 1000000; depth *= 50) {
            char *code = nested(kinds[i].open, kinds[i].close, depth);
            struct call_end end = call(&worker, code);
            cr_assert_eq(end.kind, END_RESULT, "%zu times %s", depth, kinds[i].open);
            cr_assert(span_is(end.result.condition, "READER-ERROR"));
            cr_assert(span_has(end.result.text, "10000 levels"));
            call_end_free(&end);
            free(code);
        }
    driver_close(&worker);
    driver_stop(&zygote);
}

Test(worker, takes_source_that_nests_deeply) {
    struct zygote_end zygote = driver_zygote();
    struct worker_end worker = driver_worker(&zygote);
    char *code = nested("(list ", ")", 9900);
    struct call_end end = call(&worker, code);
    cr_assert_eq(end.kind, END_RESULT);
    cr_assert(span_is(end.result.values[0], "((((((((((#))))))))))"));
    call_end_free(&end);
    free(code);
    /* Brackets that open nothing do not count. */
    code = nested("\"((((\" #\\( |((| ; ((((\n", "", 20000);
    end = call(&worker, code);
    cr_assert_eq(end.kind, END_RESULT);
    cr_assert(span_is(end.result.condition, "UNBOUND-VARIABLE"));
    call_end_free(&end);
    free(code);
    driver_close(&worker);
    driver_stop(&zygote);
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

/* A piece of text that is nearly Lisp; the same for the same seed. */
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
    struct zygote_end zygote = driver_zygote();
    struct worker_end worker = driver_worker(&zygote);
    for (unsigned seed = 0; seed < 3000; seed++) {
        char code[400] = "";
        make_garbage(seed, code, sizeof code);
        struct call_end end;
        driver_call(&worker, code, strlen(code), NULL, 2000, &end);
        bool endless = end.kind == END_TIMEOUT;
        cr_assert(end.kind == END_RESULT || endless, "end %d %d of seed %u: %s", end.kind,
                  end.number, seed, code);
        call_end_free(&end);
        if (endless) {
            driver_close(&worker);
            worker = driver_worker(&zygote);
        }
    }
    driver_close(&worker);
    driver_stop(&zygote);
}

Test(worker, has_random_numbers_of_its_own) {
    struct zygote_end zygote = driver_zygote();
    char first[64] = "";
    for (size_t i = 0; i < 2; i++) {
        struct worker_end worker = driver_worker(&zygote);
        struct call_end end = call(&worker, "(random (expt 2 100))");
        cr_assert_eq(end.kind, END_RESULT);
        struct span value = end.result.values[0];
        cr_assert_lt(value.length, sizeof first);
        cr_assert_neq(strncmp(first, (const char *)value.bytes, value.length), 0);
        memcpy(first, value.bytes, value.length);
        call_end_free(&end);
        driver_close(&worker);
    }
    driver_stop(&zygote);
}

Test(worker, ends_with_its_channel_and_dies_of_a_signal) {
    struct zygote_end zygote = driver_zygote();
    struct worker_end worker = driver_worker(&zygote);
    int status = driver_close(&worker);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    worker = driver_worker(&zygote);
    cr_assert_gt(worker.pid, 1);
    kill(worker.pid, SIGTERM);
    status = driver_close(&worker);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    worker = driver_worker(&zygote);
    cr_assert_gt(worker.pid, 1);
    kill(worker.pid, SIGSEGV);
    status = driver_close(&worker);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    status = driver_stop(&zygote);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static size_t descriptors_of(pid_t pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *directory = opendir(path);
    cr_assert(directory);
    size_t count = 0;
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

Test(zygote, leaks_nothing_over_many_spawns) {
    struct zygote_end zygote = driver_zygote();
    struct worker_end worker = driver_worker(&zygote);
    driver_close(&worker);
    size_t before = descriptors_of(zygote.pid);
    for (size_t i = 0; i < 200; i++) {
        worker = driver_worker(&zygote);
        driver_close(&worker);
    }
    cr_assert_eq(descriptors_of(zygote.pid), before);
    driver_stop(&zygote);
}

Test(zygote, gives_its_workers_nothing_but_four_descriptors) {
    struct zygote_end zygote = driver_zygote();
    struct worker_end worker = driver_worker(&zygote);
    struct call_end end =
        call(&worker, "(loop for fd from 0 below 64"
                      " count (zerop (si:call-cfun (si:find-foreign-symbol \"close\" :default"
                      " :pointer-void 0) :int '(:int) (list (+ fd 4)))))");
    cr_assert_eq(end.kind, END_RESULT);
    cr_assert(span_is(end.result.values[0], "0"));
    call_end_free(&end);
    driver_close(&worker);
    driver_stop(&zygote);
}

Test(zygote, says_why_it_cannot_be_configured) {
    struct zygote_end zygote;
    struct error error = {0};
    struct worker_configuration configuration = driver_configuration();
    int ends[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    configuration.memory_bytes = 1 << 20; /* not even the image fits */
    bool started = driver_start(&zygote, ECLAVE_WORKER, &configuration, &error);
    cr_assert_not(started);
    cr_assert_neq(error.text[0], '\0');
    driver_stop(&zygote);
}
