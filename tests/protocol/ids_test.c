/* Ids come back as they were written: the same type, the same digits, the same escapes. */
#include "tests/support/client.h"
#include "tests/support/lines.h"
#include <stdio.h>
#include <stdlib.h>

static void expect_raw_id(const char *id, const char *line) {
    size_t size = strlen(id) + 8;
    char *member = malloc(size);
    cr_assert_not_null(member);
    snprintf(member, size, "\"id\":%s,", id);
    expect_contains(line, member);
    free(member);
}

static const char *const good_ids[] = {
    "0",
    "1",
    "-1",
    "-0",
    "2147483648",
    "9007199254740993",
    "9223372036854775808",
    "12345678901234567890",
    "-99999999999999999999999999999999",
    "\"\"",
    "\"0\"",
    "\"1\"",
    "\"null\"",
    "\"caf\\u00e9 \\\" \\\\ \\n x\"",
    "\"caf\xC3\xA9\"",
    "\"\\ud83d\\ude00\"",
    "\"\xF0\x9F\x98\x80\"",
    "\"\\/\\b\\f\\r\\t\"",
    "\"\\u0000\"",
    "\"\xE2\x80\xA8\"",
    "\"{\\\"id\\\":1}\"",
};

Test(ids, come_back_to_the_digit_and_to_the_escape) {
    struct client *client = client_start(NULL);
    for (size_t i = 0; i < COUNT_OF(good_ids); i++)
        expect_raw_id(good_ids[i], client_request(client, good_ids[i], "ping", NULL));
    client_finish(client);
}

Test(ids, come_back_to_the_digit_in_errors_too) {
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(good_ids); i++) {
        expect_raw_id(good_ids[i], client_request(client, good_ids[i], "no/such", NULL));
        expect_raw_id(good_ids[i],
                      client_request(client, good_ids[i], "tools/call", "{\"name\":5}"));
    }
    client_finish(client);
}

Test(ids, come_back_to_the_digit_from_evaluations_too) {
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(good_ids); i++) {
        client_evaluate_send(client, good_ids[i], "1");
        struct evaluation evaluation = client_evaluate_await(client, good_ids[i]);
        cr_assert_str_eq(evaluation.text, "=> 1");
        expect_raw_id(good_ids[i], evaluation.line);
    }
    client_finish(client);
}

static char *long_id(char byte, size_t length, bool quoted) {
    char *id = malloc(length + 3);
    cr_assert_not_null(id);
    memset(id, byte, length + 2);
    id[quoted ? length + 2 : length] = '\0';
    if (quoted)
        id[0] = id[length + 1] = '"';
    return id;
}

Test(ids, may_be_long) {
    struct client *client = client_start(NULL);
    char *ids[] = {long_id('7', 5000, false), long_id('x', 100000, true)};
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        client_send_format(client, PING("%s"), ids[i]);
        expect_raw_id(ids[i], client_await(client, ids[i], NULL));
        free(ids[i]);
    }
    client_finish(client);
}

Test(ids, that_are_numbers_but_no_integers_are_refused_and_echoed) {
    static const char *const ids[] = {"1.5", "1.0", "-0.0", "1e3", "1E3", "10e-1", "1e400"};
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        const char *answer = client_request(client, ids[i], "ping", NULL);
        cr_assert_eq(client_integer(client, answer, "error", "code", NULL), -32600);
        expect_raw_id(ids[i], answer);
        client_expect_silence(client);
    }
    client_finish(client);
}

Test(ids, of_other_types_are_refused_with_null) {
    static const char *const lines[] = {
        PING("null"), PING("true"), PING("false"),      PING("{}"),
        PING("[]"),   PING("[1]"),  PING("{\"id\":1}"),
    };
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        client_expect_error(client, lines[i], -32600, "null");
        client_expect_silence(client);
    }
    client_finish(client);
}

Test(ids, a_big_number_elsewhere_is_harmless) {
    struct client *client = client_start(NULL);
    char *digits = long_id('1', 5000, false);
    client_send_format(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":%s}",
                       digits);
    client_await(client, "1", NULL);
    free(digits);
    client_finish(client);
}

Test(ids, may_be_used_again_after_the_answer) {
    struct client *client = client_start_ready(NULL, NULL);
    for (int i = 0; i < 100; i++)
        client_expect_result(client, PING("1"), "1");
    for (int i = 0; i < 20; i++) {
        client_evaluate_send(client, "1", "(+ 1 2)");
        cr_assert_str_eq(client_evaluate_await(client, "1").text, "=> 3");
    }
    client_finish(client);
}

Test(ids, in_flight_already_are_refused_and_the_first_request_goes_on) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate_send(client, "7", ENDLESS);
    client_expect_error(client, PING("7"), -32600, "7");
    client_expect_error(client, EVALUATE("7", "1"), -32600, "7");
    client_expect_error(client, REQUEST("7", "no/such"), -32600, "7");
    client_expect_silence(client);
    client_send_line(client, CANCEL("7"));
    cr_assert_eq(client_evaluate_await(client, "7").error_code, -32001);
    client_expect_result(client, PING("7"), "7");
    client_finish(client);
}

Test(ids, of_different_types_are_different) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate_send(client, "1", "(list 1 2)");
    client_evaluate_send(client, "\"1\"", "(list 3 4)");
    cr_assert_str_eq(client_evaluate_await(client, "\"1\"").text, "=> (3 4)");
    cr_assert_str_eq(client_evaluate_await(client, "1").text, "=> (1 2)");
    client_finish(client);
}

Test(ids, written_with_other_escapes_are_the_same) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate_send(client, "\"a/b\"", ENDLESS);
    client_evaluate_send(client, "\"\xF0\x9F\x98\x80\"", ENDLESS);
    client_expect_error(client, PING("\"\\u0061\\/b\""), -32600, "\"\\u0061\\/b\"");
    client_expect_error(client, PING("\"\\ud83d\\ude00\""), -32600, "\"\\ud83d\\ude00\"");
    client_send_line(client, CANCEL("\"\\ud83d\\uDE00\""));
    cr_assert_eq(client_evaluate_await(client, "\"\xF0\x9F\x98\x80\"").error_code, -32001);
    client_send_line(client, CANCEL("\"\\u0061\\/\\u0062\""));
    cr_assert_eq(client_evaluate_await(client, "\"a/b\"").error_code, -32001);
    client_finish(client);
}
