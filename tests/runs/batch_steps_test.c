/* How often a batch looks at what it has in hand: in proportion to the work, whatever the time is.
 * The linker puts the counting functions below in place of check_step and submission_step
 * (tests/CMakeLists.txt). */
#include "supervisor/batch/batch_internal.h"
#include "tests/support/user.h"
#include "tests/unit/read_settings.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { FEW = 40, MANY = 160, JOBS = 2 };

struct counts {
    size_t checks, submissions;
};

static struct counts *counts; /* shared with the child that runs the batch */

/* The names that --wrap gives them. */
void counted_check_step(struct check *check, struct json_object *root) __asm__("__wrap_check_step");
void real_check_step(struct check *check, struct json_object *root) __asm__("__real_check_step");
bool counted_submission_step(struct submission *submission, struct record *record,
                             const char **failure) __asm__("__wrap_submission_step");
bool real_submission_step(struct submission *submission, struct record *record,
                          const char **failure) __asm__("__real_submission_step");

void counted_check_step(struct check *check, struct json_object *root) {
    counts->checks++;
    real_check_step(check, root);
}

bool counted_submission_step(struct submission *submission, struct record *record,
                             const char **failure) {
    counts->submissions++;
    return real_submission_step(submission, record, failure);
}

static const char test[] = "{\"code\":\"42\",\"expect\":\"^4\",\"match\":\"regex\"}";

/* A submission with COUNT tests, or COUNT lines without any. */
static void write_input(FILE *in, size_t count, bool is_submission) {
    if (is_submission)
        fputs("{\"setup\":\"\",\"tests\":[", in);
    for (size_t i = 0; i < count; i++)
        fprintf(in, "%s%s", test, !is_submission ? "\n" : i + 1 < count ? "," : "]}\n");
}

static _Noreturn void run_batch(const char *path) {
    struct settings settings;
    const struct batch_options options = {.jobs = JOBS};
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    READ_FINE(&settings, "--log-level", "critical");
    if (null < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0)
        _exit(99);
    _exit(batch_command(&settings, &options, path));
}

static struct counts count_steps(size_t count, bool is_submission) {
    char path[] = "/tmp/eclave-steps-XXXXXX";
    int fd = mkstemp(path), status = 0;
    FILE *in = fd >= 0 ? fdopen(fd, "w") : NULL;
    cr_assert_not_null(in);
    write_input(in, count, is_submission);
    cr_assert(fchmod(fileno(in), 0644) == 0 && fclose(in) == 0);
    *counts = (struct counts){0};
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        run_batch(path);
    cr_assert(pid > 0 && waitpid(pid, &status, 0) == pid);
    unlink(path);
    cr_assert_eq(status, 0);
    return *counts;
}

static void begin(void) {
    const bool nobody = user_nobody_wanted(false);
    cr_assert(!nobody || user_become_nobody());
    counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(counts, MAP_FAILED);
}

TestSuite(runs_batch_steps, .init = begin);

/* Four times the work is less than eight times the steps; sixteen if each step looked at all. */
static void expect_linear(size_t few, size_t many) {
    cr_assert_geq(few, (size_t)FEW);
    cr_assert_lt(many, 8 * few, "%zu and %zu", few, many);
}

Test(runs_batch_steps, comparisons_of_a_submission_take_steps_in_proportion) {
    const struct counts few = count_steps(FEW, true), many = count_steps(MANY, true);
    expect_linear(few.checks, many.checks);
    expect_linear(few.submissions, many.submissions);
}

Test(runs_batch_steps, comparisons_of_lines_take_steps_in_proportion) {
    expect_linear(count_steps(FEW, false).checks, count_steps(MANY, false).checks);
}
