/* supervisor/base/input: bytes become lines however they are split; a line that is too long is
 * reported once and takes no memory. */
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/input.h"
#include "tests/support/random.h"
#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 100, SEEN_MAX = 1 << 20 };

/* What the input has reported: each line in brackets, "!" for one that was too long, "." for the
 * end. */
struct seen {
    struct loop loop;
    struct input input;
    struct buffer text;
    size_t lines;
    size_t pause_at; /* pauses after so many lines; 0: never */
    size_t stop_at;  /* stops after so many lines; 0: never */
    int64_t spin_ns; /* the duration of each line */
    struct loop_timer resume;
    int ends[2]; /* of its pipe */
};

static void on_resume(void *context) {
    struct seen *seen = context;
    seen->pause_at = 0;
    input_pause(&seen->input, false);
}

static void on_line(void *context, const unsigned char *bytes, size_t size) {
    struct seen *seen = context;
    buffer_append_text(&seen->text, "[");
    buffer_append(&seen->text, bytes, size);
    buffer_append_text(&seen->text, "]");
    seen->lines++;
    for (int64_t start_ns = clock_now_ns(); clock_now_ns() - start_ns < seen->spin_ns;)
        continue;
    if (seen->lines == seen->stop_at) {
        input_stop(&seen->input);
        loop_timer_start(&seen->loop, &seen->resume, 1, (loop_timer_callback)loop_stop,
                         &seen->loop);
    }
    if (seen->lines == seen->pause_at) {
        input_pause(&seen->input, true);
        buffer_append_text(&seen->text, "|");
        loop_timer_start(&seen->loop, &seen->resume, 1, on_resume, seen);
    }
}

static void on_too_long(void *context) {
    struct seen *seen = context;
    buffer_append_text(&seen->text, "!");
}

static void on_end(void *context) {
    struct seen *seen = context;
    buffer_append_text(&seen->text, ".");
    loop_stop(&seen->loop);
}

static void open_input(struct seen *seen, int fd) {
    const struct input_handler handler = {
        .line = on_line, .too_long = on_too_long, .end = on_end, .context = seen};
    struct error error;
    seen->text = buffer_make(SEEN_MAX);
    cr_assert_geq(dup2(fd, STDIN_FILENO), 0);
    cr_assert(loop_open(&seen->loop, &error));
    cr_assert(input_open(&seen->input, &seen->loop, LINE_MAX_BYTES, &handler, &error), "%s",
              error.text);
}

static void open_pipe(struct seen *seen) {
    cr_assert_eq(pipe(seen->ends), 0);
    open_input(seen, seen->ends[0]);
}

static void read_some(struct seen *seen) {
    seen->input.watch.callback(seen->input.watch.context, EPOLLIN);
}

static void give(struct seen *seen, const char *bytes, size_t size) {
    cr_assert(write_all(seen->ends[1], bytes, size));
    read_some(seen);
}

/* A pipe that ends after BYTES. */
static void open_whole(struct seen *seen, const char *bytes, size_t size) {
    open_pipe(seen);
    cr_assert(write_all(seen->ends[1], bytes, size));
    close(seen->ends[1]);
}

static void close_input(struct seen *seen) {
    loop_timer_stop(&seen->loop, &seen->resume);
    input_close(&seen->input);
    loop_close(&seen->loop);
    buffer_free(&seen->text);
    if (seen->ends[0])
        close(seen->ends[0]);
}

static void expect_seen(struct seen *seen, const char *expected) {
    buffer_append(&seen->text, "", 1);
    cr_expect_str_eq((const char *)seen->text.data, expected);
    seen->text.length--;
}

static void run(struct seen *seen) {
    struct error error;
    cr_assert(loop_run(&seen->loop, &error), "%s", error.text);
}

/* All at once, from a pipe that is then closed. */
static void expect_lines(const char *bytes, size_t size, const char *expected) {
    struct seen seen = {.lines = 0};
    open_whole(&seen, bytes, size);
    run(&seen);
    expect_seen(&seen, expected);
    close_input(&seen);
}

#define EXPECT_LINES(bytes, expected) expect_lines((bytes), sizeof(bytes) - 1, (expected))

Test(input, each_line_is_delivered_without_its_newline) {
    EXPECT_LINES("one\ntwo\nthree\n", "[one][two][three].");
}

Test(input, the_last_line_needs_no_newline) {
    EXPECT_LINES("one\ntwo", "[one][two].");
    EXPECT_LINES("", ".");
}

Test(input, blanks_and_carriage_returns_around_a_line_are_trimmed) {
    EXPECT_LINES(" \tone \r\r\n", "[one].");
    EXPECT_LINES("a b\r\n\rc\n", "[a b][c].");
    EXPECT_LINES(" one ", "[one].");
}

Test(input, empty_lines_are_dropped) {
    EXPECT_LINES("\n\r\n \t\n\none\n\n \n", "[one].");
}

Test(input, one_byte_order_mark_is_removed_from_each_line) {
    EXPECT_LINES("\xEF\xBB\xBFone\n\xEF\xBB\xBF\n\xEF\xBB\xBF two\n", "[one][two].");
    EXPECT_LINES("\xEF\xBB\xBF\xEF\xBB\xBFone\n", "[\xEF\xBB\xBFone].");
    EXPECT_LINES("one\xEF\xBB\xBF\n \xEF\xBB\xBFtwo\n", "[one\xEF\xBB\xBF][\xEF\xBB\xBFtwo].");
    EXPECT_LINES("\xEF\xBB\n", "[\xEF\xBB].");
}

Test(input, other_control_bytes_are_kept) {
    expect_lines("a\0b\n", 4, "[a"); /* compared up to the zero byte */
    EXPECT_LINES("\va\f\n", "[\va\f].");
}

/* A line of LENGTH bytes, with or without a newline, then "x" on a line of its own. */
static void expect_limit(size_t length, const char *ending, const char *expected) {
    char text[1000];
    memset(text, 'a', length);
    size_t rest = strlen(ending);
    memcpy(text + length, ending, rest);
    expect_lines(text, length + rest, expected);
}

Test(input, a_line_of_the_limit_is_delivered_and_a_longer_one_is_reported) {
    char longest[LINE_MAX_BYTES + 8] = "[";
    memset(longest + 1, 'a', LINE_MAX_BYTES);
    memcpy(longest + 1 + LINE_MAX_BYTES, "][x].", 6);
    expect_limit(LINE_MAX_BYTES, "\nx\n", longest);
    expect_limit(LINE_MAX_BYTES + 1, "\nx\n", "![x].");
    expect_limit(900, "\nx\n", "![x].");
    expect_limit(900, "", "!.");
    expect_limit(900, "\n", "!.");
}

Test(input, a_line_is_reported_as_too_long_before_it_ends_and_only_once) {
    enum { PIECES = 200 };
    char piece[4096];
    memset(piece, 'a', sizeof piece);
    struct seen seen = {.lines = 0};
    open_pipe(&seen);
    for (int i = 0; i < PIECES; i++) {
        give(&seen, piece, sizeof piece);
        cr_assert_leq(seen.input.pending.capacity, 1 << 18);
    }
    expect_seen(&seen, "!");
    cr_assert(write_all(seen.ends[1], "\nnext\n", 6));
    close(seen.ends[1]);
    run(&seen);
    expect_seen(&seen, "![next].");
    close_input(&seen);
}

Test(input, bytes_may_come_one_by_one) {
    static const char text[] = "\xEF\xBB\xBFone\r\n\ntwo\n";
    struct seen seen = {.lines = 0};
    open_pipe(&seen);
    for (size_t i = 0; i < sizeof text - 1; i++) {
        give(&seen, text + i, 1);
    }
    expect_seen(&seen, "[one][two]");
    close(seen.ends[1]);
    run(&seen);
    close_input(&seen);
}

Test(input, a_pause_delays_lines_already_read) {
    struct seen seen = {.pause_at = 2};
    open_whole(&seen, "one\ntwo\nthree\nfour", 18);
    read_some(&seen);
    expect_seen(&seen, "[one][two]|");
    run(&seen);
    expect_seen(&seen, "[one][two]|[three][four].");
    close_input(&seen);
}

Test(input, a_pause_delays_the_end_after_a_last_line_without_newline) {
    struct seen seen = {.pause_at = 2};
    open_whole(&seen, "one\ntwo", 7);
    read_some(&seen);
    read_some(&seen);
    expect_seen(&seen, "[one][two]|");
    run(&seen);
    expect_seen(&seen, "[one][two]|.");
    close_input(&seen);
}

Test(input, nothing_is_delivered_after_a_stop) {
    struct seen seen = {.stop_at = 2};
    open_whole(&seen, "one\ntwo\nthree", 13);
    read_some(&seen);
    expect_seen(&seen, "[one][two]");
    cr_assert_not(seen.input.watch.active);
    close_input(&seen);
}

Test(input, a_regular_file_is_read_to_its_end) {
    cleanup_fd int file = memfd_create("input", MFD_CLOEXEC);
    cr_assert(write_all(file, "one\ntwo", 7) && lseek(file, 0, SEEK_SET) == 0);
    struct seen seen = {.lines = 0};
    open_input(&seen, file);
    run(&seen);
    expect_seen(&seen, "[one][two].");
    close_input(&seen);
}

Test(input, a_descriptor_that_cannot_be_read_has_ended) {
    cleanup_fd int directory = open("/", O_RDONLY | O_CLOEXEC);
    struct seen seen = {.lines = 0};
    open_input(&seen, directory);
    run(&seen);
    expect_seen(&seen, ".");
    close_input(&seen);
}

Test(input, the_lines_do_not_depend_on_the_reads) {
    static const char *const parts[] = {
        "one",          "\n",        "\r\n", " ",
        "\xEF\xBB\xBF", "two three", "\n\n", "0123456789012345678901234567890123456789"};
    struct random random = random_for("the_pieces");
    for (size_t trial = random_trials(100, 2000); trial > 0; trial--) {
        char text[2000];
        size_t length = 0;
        while (length < 1000) {
            const char *part = random_pick(&random, parts);
            memcpy(text + length, part, strlen(part));
            length += strlen(part);
        }
        struct seen pieces = {.lines = 0};
        open_pipe(&pieces);
        for (size_t sent = 0; sent < length;) {
            size_t rest = length - sent, piece = 1 + random_below(&random, rest < 50 ? rest : 50);
            give(&pieces, text + sent, piece);
            sent += piece;
        }
        close(pieces.ends[1]);
        run(&pieces);
        buffer_append(&pieces.text, "", 1);
        expect_lines(text, length, (const char *)pieces.text.data);
        close_input(&pieces);
    }
}

/* The loop is about to wait: "-". */
static void on_round(void *context) {
    struct seen *seen = context;
    buffer_append_text(&seen->text, "-");
}

static void expect_turns(size_t pause_at, size_t stop_at, const char *expected) {
    static const char lines[] = "a\nb\nc\nd\ne";
    struct seen seen = {
        .pause_at = pause_at, .stop_at = stop_at, .spin_ns = INT64_C(2) * CLOCK_NS_PER_MS};
    open_whole(&seen, lines, sizeof lines - 1);
    seen.loop.before_wait = on_round;
    seen.loop.before_wait_context = &seen;
    run(&seen);
    expect_seen(&seen, expected);
    close_input(&seen);
}

Test(input, the_loop_runs_after_a_line_that_takes_long) {
    expect_turns(0, 0, "-[a]-[b]-[c]-[d]--[e].");
}

Test(input, a_pause_or_a_stop_between_turns_is_effective) {
    expect_turns(2, 0, "-[a]-[b]|-[c]-[d]--[e].");
    expect_turns(0, 2, "-[a]-[b]-");
}
