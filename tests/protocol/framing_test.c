/* From bytes to lines to JSON: a line that is not a message gets one error and does no harm,
 * whatever its length, its depth and its bytes. */
#include "tests/support/eras.h"
#include "tests/support/process.h"
#include <stdio.h>
#include <stdlib.h>

enum { MEBIBYTE = 1 << 20, REQUEST_MAX = 16 * MEBIBYTE };

/* Sent as a line, it ends the line that was begun. */
static const char end_of_line[] = "";

static void send_text(struct client *client, const char *text) {
    client_send(client, text, strlen(text));
}

static void send_repeated(struct client *client, char byte, size_t count) {
    static char piece[MEBIBYTE];
    memset(piece, byte, sizeof piece);
    for (size_t sent = 0; sent < count;) {
        size_t part = count - sent < sizeof piece ? count - sent : sizeof piece;
        client_send(client, piece, part);
        client_flush(client);
        sent += part;
    }
}

/* A ping of LENGTH bytes in all. */
static void send_padded_ping(struct client *client, const char *id, size_t length) {
    static const char shape[] =
        "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\",\"params\":{\"x\":\"";
    char start_of_line[200];
    int used = snprintf(start_of_line, sizeof start_of_line, shape, id);
    client_send(client, start_of_line, (size_t)used);
    send_repeated(client, 'a', length - (size_t)used - 3);
    send_text(client, "\"}}");
}

/* Sends LENGTH bytes and a newline, which must get one parse error that gives REASON. */
static void expect_parse_error(struct client *client, const char *bytes, size_t length,
                               const char *reason) {
    client_send(client, bytes, length);
    send_text(client, "\n");
    const char *answer = client_await(client, "null", NULL);
    cr_assert_eq(client_integer(client, answer, "error", "code", NULL), -32700, "%s gave %s", bytes,
                 answer);
    expect_contains(client_string(client, answer, "error", "data", "reason", NULL), reason);
    client_expect_silence(client);
}

static void send_garbage(struct client *client) {
    static const char *const lines[] = {
        "not-json",
        "garbage",
        "{this is not json",
        "{\"jsonrpc\":\"2.0\", \"method\": \"test\", \"params\": ",
        "{\"jsonrpc\":\"2.0\",\"id\":1,",
        PING("1") PING("2"),
        PING("1") " trailing",
        PING("1") "]",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",}",
        "{'jsonrpc':'2.0','id':1,'method':'ping'}",
        "{\"jsonrpc\":\"2.0\",\"id\":1 \"method\":\"ping\"}",
#define MALFORMED(value) "{\"a\":" value "}",
#define NOT_UTF8(value)
#include "tests/support/malformed_json.def"
        "\xEF\xBB\xBF\xEF\xBB\xBF{\"a\":1}",
        "tools/list",
        "Content-Length: 52",
        "GET / HTTP/1.1",
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        expect_parse_error(client, lines[i], strlen(lines[i]), "JSON");
        client_expect_result(client, PING("\"next\""), "\"next\"");
    }
}

Test(framing, a_line_that_is_not_json_gets_one_parse_error_and_the_next_is_served) {
    era_in_every_state(send_garbage);
}

Test(framing, a_zero_byte_is_not_json_in_any_place) {
    static const char in_string[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\0\"}";
    static const char after[] = PING("1") "\0";
    static const char before[] = "\0" PING("1");
    struct client *client = client_start_ready(NULL, NULL);
    expect_parse_error(client, in_string, sizeof in_string - 1, "JSON");
    expect_parse_error(client, after, sizeof after - 1, "JSON");
    expect_parse_error(client, before, sizeof before - 1, "JSON");
    client_finish(client);
}

Test(framing, a_line_that_is_not_utf_8_gets_one_parse_error_that_says_so) {
    static const char *const lines[] = {
        "\xFF\xFE",
#define MALFORMED(value)
#define NOT_UTF8(value) "{\"x\":" value "}",
#include "tests/support/malformed_json.def"
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xFFng\"}",
        "{\"x\":1}\xE2\x82", /* cut off by the end of the line */
    };
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        expect_parse_error(client, lines[i], strlen(lines[i]), "UTF-8");
    client_finish(client);
}

Test(framing, a_parse_error_says_at_which_byte) {
    struct client *client = client_start_ready(NULL, NULL);
    expect_parse_error(client, "{\"a\":!}", 7, "byte 5");
    expect_parse_error(client, "{\"a\":\"\xFF\"}", 9, "byte 6");
    client_finish(client);
}

Test(framing, a_carriage_return_before_the_newline_is_trimmed) {
    struct client *client = client_start(NULL);
    client_expect_result(client, INITIALIZE("1", "\"2025-11-25\"") "\r", "1");
    client_expect_result(client, PING("2") "\r", "2");
    client_expect_result(client, " \t " PING("3") " \t\r\r", "3");
    client_finish(client);
}

Test(framing, empty_lines_are_ignored) {
    static const char *const lines[] = {
        "", "\r", "  ", "\t", " \r", "\xEF\xBB\xBF", "\xEF\xBB\xBF \r"};
    struct client *client = client_start(NULL);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        client_send_line(client, lines[i]);
    client_expect_silence(client);
    client_finish(client);
}

Test(framing, a_byte_order_mark_is_dropped_at_the_start_of_a_line_and_kept_in_a_string) {
    struct client *client = client_start(NULL);
    client_expect_result(client, "\xEF\xBB\xBF" INITIALIZE("1", "\"2025-11-25\""), "1");
    client_expect_result(client, "\xEF\xBB\xBF" PING("2"), "2");
    client_expect_result(client, PING("\"\xEF\xBB\xBFx\""), "\"\xEF\xBB\xBFx\"");
    client_finish(client);
}

Test(framing, a_message_may_arrive_byte_by_byte) {
    static const char line[] = PING("\"caf\xC3\xA9\"") "\r\n";
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < sizeof line - 1; i++) {
        client_send(client, line + i, 1);
        client_flush(client);
    }
    client_await(client, "\"caf\xC3\xA9\"", NULL);
    client_finish(client);
}

Test(framing, messages_that_arrive_at_once_are_answered_in_their_order) {
    static const char *const expected[] = {"\"id\":1,", "\"id\":2,", "\"id\":null,", "\"id\":3,"};
    struct client *client = client_start_ready(NULL, NULL);
    client_send_line(client, PING("1") "\n" PING("2") "\n\nbad\n" PING("3"));
    for (size_t i = 0; i < COUNT_OF(expected); i++)
        expect_contains(client_read_line(client, NULL), expected[i]);
    client_finish(client);
}

Test(framing, headers_of_another_framing_are_parse_errors_and_the_json_after_them_is_served) {
    struct client *client = client_start(NULL);
    client_expect_error(client, "Content-Length: 52\r", -32700, "null");
    client_send_line(client, "\r");
    client_expect_result(client, INITIALIZE("1", "\"2025-11-25\""), "1");
    client_expect_silence(client);
    client_finish(client);
}

Test(framing, the_last_of_repeated_members_counts) {
    struct client *client = client_start_ready(NULL, NULL);
    client_expect_result(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}",
                         "2");
    client_expect_error(client,
                        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\",\"method\":\"no\"}",
                        -32601, "3");
    client_expect_result(
        client, "{\"jsonrpc\":\"1.0\",\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}", "4");
    client_expect_silence(client);
    client_finish(client);
}

Test(framing, escapes_in_member_names_and_methods_are_decoded) {
    struct client *client = client_start_ready(NULL, NULL);
    client_expect_result(
        client, "{\"j\\u0073onrpc\":\"2.0\",\"\\u0069d\":7,\"m\\u0065thod\":\"p\\u0069ng\"}", "7");
    client_finish(client);
}

Test(framing, a_lone_surrogate_escape_is_harmless) {
    struct client *client = client_start_ready(NULL, NULL);
    client_expect_result(client, REQUEST_WITH("1", "ping", "{\"x\":\"\\ud800\"}"), "1");
    const char *answer = client_expect_error(client, REQUEST("2", "\\ud800"), -32601, "2");
    cr_assert_str_eq(client_string(client, answer, "error", "data", "method", NULL),
                     "\xEF\xBF\xBD");
    client_finish(client);
}

/* Sends a ping whose line is DEPTH levels deep. */
static void send_nested_ping(struct client *client, const char *id, size_t depth) {
    send_text(client, "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":{\"x\":");
    send_repeated(client, '[', depth - 2);
    send_repeated(client, ']', depth - 2);
    send_text(client, "},\"id\":");
    send_text(client, id);
    send_text(client, "}\n");
}

Test(framing, nesting_up_to_the_limit_is_served_and_one_more_is_a_parse_error) {
    struct client *client = client_start_with("--json-max-depth", "20");
    send_nested_ping(client, "1", 20);
    client_await(client, "1", NULL);
    send_nested_ping(client, "2", 21);
    const char *answer = client_await(client, "null", NULL);
    cr_assert_eq(client_integer(client, answer, "error", "code", NULL), -32700);
    expect_contains(client_string(client, answer, "error", "data", "reason", NULL),
                    "json.max_depth");
    client_finish(client);
}

Test(framing, the_limit_on_nesting_is_128_by_default) {
    struct client *client = client_start_ready(NULL, NULL);
    send_nested_ping(client, "1", 128);
    client_await(client, "1", NULL);
    send_nested_ping(client, "2", 129);
    client_await(client, "null", NULL);
    client_expect_silence(client);
    client_finish(client);
}

static void send_deep(struct client *client) {
    send_repeated(client, '[', 100000);
    client_expect_error(client, end_of_line, -32700, "null");
    send_text(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":");
    for (int i = 0; i < 10000; i++)
        send_text(client, "{\"a\":");
    client_expect_error(client, end_of_line, -32700, "null");
}

Test(framing, a_hundred_thousand_brackets_are_one_parse_error) {
    era_in_every_state(send_deep);
}

Test(framing, more_values_than_the_limit_are_a_parse_error) {
    struct client *client = client_start_with("--json-max-values", "64");
    send_text(client, "[");
    for (int i = 0; i < 100; i++)
        send_text(client, "1,");
    const char *answer = client_expect_error(client, "1]", -32700, "null");
    expect_contains(client_string(client, answer, "error", "data", "reason", NULL),
                    "json.max_values");
    client_finish(client);
}

Test(framing, a_line_of_exactly_the_limit_is_served_and_one_byte_more_is_not) {
    struct client *client = client_start_with("--request-max-bytes", "2000");
    send_padded_ping(client, "1", 2000);
    client_expect_result(client, end_of_line, "1");
    send_padded_ping(client, "2", 2001);
    const char *answer = client_expect_error(client, end_of_line, -32700, "null");
    expect_contains(client_string(client, answer, "error", "data", "reason", NULL), "2000");
    client_expect_silence(client);
    client_finish(client);
}

Test(framing, lines_after_an_overlong_one_in_the_same_write_are_served) {
    struct client *client = client_start_with("--request-max-bytes", "1024");
    send_text(client, PING("1") "\n");
    send_padded_ping(client, "2", 1500);
    client_send_line(client, "\n" PING("3"));
    client_await(client, "1", NULL);
    client_await(client, "null", NULL);
    client_await(client, "3", NULL);
    client_expect_silence(client);
    client_finish(client);
}

Test(framing, a_line_of_sixteen_mebibytes_is_served_in_bounded_memory) {
    struct client *client = client_start_ready(NULL, NULL);
    long before = process_status(client_pid(client), "VmHWM");
    send_padded_ping(client, "1", REQUEST_MAX);
    client_expect_result(client, end_of_line, "1");
    long grown_kb = process_status(client_pid(client), "VmHWM") - before;
    cr_assert_lt(grown_kb, 128 << 10, "the peak grew by %ld kB", grown_kb);
    client_finish(client);
}

Test(framing, a_line_that_never_ends_is_answered_at_the_limit_and_costs_no_memory) {
    struct client *client = client_start_ready(NULL, NULL);
    long before = process_status(client_pid(client), "VmHWM");
    send_repeated(client, 'a', REQUEST_MAX + MEBIBYTE);
    const char *answer = client_await(client, "null", NULL); /* before its newline */
    cr_assert_eq(client_integer(client, answer, "error", "code", NULL), -32700);
    send_repeated(client, 'a', 100 * MEBIBYTE - REQUEST_MAX);
    client_send_line(client, end_of_line);
    client_expect_silence(client);
    long grown_kb = process_status(client_pid(client), "VmHWM") - before;
    cr_assert_lt(grown_kb, 64 << 10, "the peak grew by %ld kB", grown_kb);
    client_finish(client);
}

Test(framing, the_memory_of_a_long_line_is_given_back) {
    struct client *client = client_start_ready(NULL, NULL);
    client_barrier(client);
    long before = process_status(client_pid(client), "VmRSS");
    for (int i = 0; i < 3; i++) {
        send_padded_ping(client, "1", REQUEST_MAX);
        client_expect_result(client, end_of_line, "1");
    }
    client_barrier(client);
    long kept_kb = process_status(client_pid(client), "VmRSS") - before;
    cr_assert_lt(kept_kb, 24 << 10, "%ld kB stay in use", kept_kb);
    client_finish(client);
}

Test(framing, an_overlong_line_at_the_end_of_input_is_answered_once) {
    struct client *client = client_start_with("--request-max-bytes", "1024");
    send_repeated(client, 'a', 200000);
    client_close_stdin(client);
    client_await(client, "null", NULL);
    cr_assert_null(client_read_line_or_end(client, NULL));
    client_finish(client);
}

Test(framing, an_unterminated_last_line_is_served_or_gets_its_parse_error) {
    static const char *const rows[][2] = {{PING("\"last\""), "\"last\""},
                                          {"{\"jsonrpc\":", "null"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct client *client = client_start_ready(NULL, NULL);
        send_text(client, rows[i][0]);
        client_close_stdin(client);
        client_await(client, rows[i][1], NULL);
        client_finish(client);
    }
}
