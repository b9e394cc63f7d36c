/* supervisor/process/pipes: captured output changes hands without a copy, within its limit. */
#include "supervisor/process/pipes.h"
#include <criterion/criterion.h>
#include <unistd.h>

enum { LIMIT = 20000, WRITTEN = 30000 };

static struct pipes *pipes_with_output(struct loop *loop, const struct settings *settings) {
    static const char output[WRITTEN] = {[0] = 'a', [LIMIT - 1] = 'z', [LIMIT] = '!'};
    int ends[2];
    struct pipes *pipes = pipes_open(loop, settings, ends, NULL);
    cr_assert_not_null(pipes);
    pipes_begin(pipes, NULL, NULL);
    cr_assert_eq(write(ends[0], output, sizeof output), (ssize_t)sizeof output);
    pipes_drain(pipes);
    close(ends[0]);
    close(ends[1]);
    return pipes;
}

Test(pipes, what_is_taken_is_the_captured_output_and_outlives_the_pipes) {
    struct loop loop;
    const struct settings settings = {.output_max_bytes = LIMIT, .stderr_max_bytes = LIMIT};
    cr_assert(loop_open(&loop, NULL));
    struct pipes *pipes = pipes_with_output(&loop, &settings);
    cleanup_buffer struct buffer taken = pipes_take(&pipes->output);
    cleanup_buffer struct buffer none = pipes_take(&pipes->error_output);
    cr_assert_eq(pipes_captured(&pipes->output).length, 0);
    cr_assert_eq(none.length, 0);
    pipes_end(pipes);
    pipes_close(pipes);
    cr_assert_eq(taken.length, LIMIT);
    cr_assert_eq(taken.data[0], 'a');
    cr_assert_eq(taken.data[LIMIT - 1], 'z');
    loop_close(&loop);
}
