/* supervisor/base/log: one line for each event, at a limited rate, without blocking. */
#include "supervisor/base/log.h"
#include "tests/support/json.h"
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 1 << 20 };

static char text[TEXT_MAX];

/* The log under test, on a pipe. */
static struct log the_log = {.out.fd = -1};
static int reader = -1; /* does not block */

static void open_log(enum log_level least, enum log_format format) {
    int ends[2], saved_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    log_open(&the_log, least, format);
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    reader = ends[0];
}

static void close_log(void) {
    log_close(&the_log);
    close(reader);
    reader = -1;
}

TestSuite(log, .fini = close_log);

static const char *read_log(void) {
    size_t length = 0;
    ssize_t got;
    while (length < sizeof text - 1 &&
           (got = read(reader, text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
    return text;
}

static size_t count_lines(const char *lines) {
    size_t count = 0;
    for (; (lines = strchr(lines, '\n')) != NULL; lines++)
        count++;
    return count;
}

Test(log, levels_have_the_names_and_the_order_of_the_protocol) {
    static const char *const names[] = {"debug", "info",     "notice", "warning",
                                        "error", "critical", "alert",  "emergency"};
    for (int level = 0; level < LOG_LEVEL_COUNT; level++) {
        cr_assert_str_eq(log_level_names[level], names[level]);
        cr_assert_eq(log_level_of(names[level]), level);
    }
    cr_assert_eq(log_level_of("Warning"), LOG_WARNING_LEVEL);
    cr_assert_eq(log_level_of("WARNING"), LOG_WARNING_LEVEL);
    cr_assert_eq(log_level_of(""), -1);
    cr_assert_eq(log_level_of("warn"), -1);
    cr_assert_eq(log_level_of("warnings"), -1);
}

Test(log, an_event_is_one_line_with_level_name_session_call_and_cause) {
    open_log(LOG_INFO_LEVEL, LOG_FORMAT_TEXT);
    const struct log_event whole = {
        .level = LOG_WARNING_LEVEL, .name = "crash", .session = "main", .call = 7};
    const struct log_event bare = {.level = LOG_INFO_LEVEL, .name = "hello"};
    log_write(&the_log, &whole, "signal %d", 11);
    log_write(&the_log, &bare, "%s", "");
    cr_assert_str_eq(read_log(), "eclave: warning: crash session=main call=7: signal 11\n"
                                 "eclave: info: hello\n");
}

Test(log, an_event_below_the_minimum_level_is_not_written) {
    open_log(LOG_ERROR_LEVEL, LOG_FORMAT_TEXT);
    const struct log_event low = {.level = LOG_WARNING_LEVEL, .name = "low"};
    const struct log_event high = {.level = LOG_ERROR_LEVEL, .name = "high"};
    log_write(&the_log, &low, "x");
    log_write(&the_log, &high, "x");
    cr_assert_str_eq(read_log(), "eclave: error: high: x\n");
}

Test(log, a_cause_cannot_make_a_second_line) {
    open_log(LOG_INFO_LEVEL, LOG_FORMAT_TEXT);
    const struct log_event event = {.level = LOG_INFO_LEVEL, .name = "zygote"};
    log_write(&the_log, &event, "%s", "one\ntwo\rthree\x1b[31m\a");
    cr_assert_str_eq(read_log(), "eclave: info: zygote: one two three [31m \n");
}

Test(log, a_json_line_is_one_object_whatever_the_cause_holds) {
    open_log(LOG_INFO_LEVEL, LOG_FORMAT_JSON);
    const struct log_event event = {
        .level = LOG_NOTICE_LEVEL, .name = "exit", .session = "a\"b", .call = 4000000000U};
    log_write(&the_log, &event, "%s", "quote \" backslash \\ newline \n bad \xFF end");
    const char *line = read_log();
    struct text object = {line, strlen(line) - 1}, value;
    cr_assert_null(json_fault(object, 5), "%s", line);
    cr_assert(json_member(object, "level", &value) && text_is(value, "\"notice\""));
    cr_assert(json_member(object, "event", &value) && text_is(value, "\"exit\""));
    cr_assert(json_member(object, "session", &value) && text_is(value, "\"a\\\"b\""));
    cr_assert(json_member(object, "call", &value) && text_is(value, "4000000000"));
    cr_assert(json_member(object, "cause", &value) &&
              text_is(value, "\"quote \\\" backslash \\\\ newline   bad \xEF\xBF\xBD end\""));
    cr_assert(json_member(object, "time", &value) &&
              value.length == strlen("\"2000-01-01T00:00:00.000Z\""));
}

/* NOLINTBEGIN(misc-misleading-bidirectional): that is what is tested */
Test(log, terminal_controls_in_a_cause_are_escaped) {
    static const char cause[] = "a\302\233b\342\200\256c\363\240\200\201d\303\251";
    for (int json = 0; json < 2; json++) {
        open_log(LOG_INFO_LEVEL, json);
        const struct log_event event = {.level = LOG_INFO_LEVEL, .name = "x"};
        log_write(&the_log, &event, "%s", cause);
        const char *line = read_log();
        cr_expect_not_null(strstr(line, "a\\u009Bb\\u202Ec\\uDB40\\uDC01d\303\251"), "%s", line);
        if (json) {
            struct text object = {line, strlen(line) - 1};
            cr_expect_null(json_fault(object, 5), "%s", line);
        }
        close_log();
    }
}

Test(log, a_cause_is_cut_between_characters) {
    static const char *const characters[] = {"\303\251",     "\342\202\254", "\360\237\230\200",
                                             "\342\200\256", "\033",         "\""};
    for (size_t i = 0; i < 2 * sizeof characters / sizeof *characters; i++) {
        char cause[2000] = "";
        const char *one = characters[i / 2];
        for (size_t at = 0; at < sizeof cause - 8; at += strlen(one))
            memcpy(cause + at, one, strlen(one) + 1);
        open_log(LOG_INFO_LEVEL, i % 2);
        const struct log_event event = {.level = LOG_INFO_LEVEL, .name = "x"};
        log_write(&the_log, &event, "%s", cause);
        const char *line = read_log();
        cr_expect_eq(count_lines(line), 1, "%s", line);
        cr_expect_null(strstr(line, "\\x"), "%s", line);
        cr_expect_null(strstr(line, "\357\277\275"), "%s", line);
        close_log();
    }
}
/* NOLINTEND(misc-misleading-bidirectional) */

Test(log, a_long_cause_is_cut_and_stays_one_line) {
    static char cause[5000];
    memset(cause, 'c', sizeof cause - 1);
    open_log(LOG_INFO_LEVEL, LOG_FORMAT_TEXT);
    const struct log_event event = {.level = LOG_INFO_LEVEL, .name = "long"};
    log_write(&the_log, &event, "%s", cause);
    cr_assert_eq(count_lines(read_log()), 1);
    cr_assert_lt(strlen(text), 1000);
}

Test(log, beyond_the_rate_lines_are_dropped_and_counted) {
    enum { EVENTS = 2000 };
    open_log(LOG_INFO_LEVEL, LOG_FORMAT_TEXT);
    const struct log_event event = {.level = LOG_INFO_LEVEL, .name = "burst"};
    for (int i = 0; i < EVENTS; i++)
        log_write(&the_log, &event, "x");
    size_t written = count_lines(read_log());
    cr_assert_gt(written, 100);
    cr_assert_lt(written, EVENTS);
    cr_assert_gt(the_log.dropped, 0);
    the_log.rate.credit_ns = the_log.rate.cost_ns; /* as if the window had passed */
    log_write(&the_log, &event, "y");
    const char *line = read_log();
    cr_assert_not_null(strstr(line, "lines dropped)"), "%s", line);
    cr_assert_eq(the_log.dropped, 0);
}

Test(log, a_full_stderr_loses_lines_without_blocking) {
    open_log(LOG_INFO_LEVEL, LOG_FORMAT_TEXT);
    const struct log_event event = {.level = LOG_INFO_LEVEL, .name = "flood"};
    for (int i = 0; i < 20000; i++) {
        the_log.rate.credit_ns = the_log.rate.burst_ns;
        log_write(&the_log, &event, "0123456789");
    }
    cr_assert_gt(the_log.dropped, 0);
    const char *lines = read_log();
    cr_assert_eq(lines[strlen(lines) - 1], '\n', "only whole lines are written");
}

static void count_hook(void *context, const struct log_event *event, const char *cause) {
    size_t *count = context;
    cr_assert_str_eq(event->name, "hooked");
    cr_assert_str_eq(cause, "cause 1");
    ++*count;
}

Test(log, the_hook_sees_every_event_whatever_the_level_and_the_rate) {
    size_t count = 0;
    open_log(LOG_EMERGENCY_LEVEL, LOG_FORMAT_TEXT);
    the_log.hook = count_hook;
    the_log.hook_context = &count;
    const struct log_event event = {.level = LOG_DEBUG_LEVEL, .name = "hooked"};
    for (int i = 0; i < 1000; i++)
        log_write(&the_log, &event, "cause %d", 1);
    cr_assert_eq(count, 1000);
    cr_assert_str_eq(read_log(), "");
}

Test(log, a_log_that_could_not_be_opened_writes_nothing) {
    close(STDERR_FILENO);
    log_open(&the_log, LOG_INFO_LEVEL, LOG_FORMAT_TEXT);
    const struct log_event event = {.level = LOG_INFO_LEVEL, .name = "lost"};
    log_write(&the_log, &event, "x");
}
