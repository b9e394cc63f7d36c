/* Each limit: the answer names it, and holds nothing of the data over it. */
#include "tests/support/client.h"
#include "tests/support/lines.h"
#include "tests/support/process.h"
#include <stdio.h>
#include <stdlib.h>

enum { SMALL_LIMIT = 20000 };

/* Evaluates code that writes COUNT characters to STREAM. */
static struct evaluation evaluate_writer(struct client *client, const char *stream, size_t count) {
    return client_evaluate(
        client, formatted("(progn (write-string (make-string %zu :initial-element #\\w) %s) 1)",
                          count, stream));
}

static void expect_stream_limit(const char *option, const char *stream, const char *name,
                                const char *setting) {
    struct client *client = client_start_with(option, formatted("%d", SMALL_LIMIT));
    struct evaluation evaluation = evaluate_writer(client, stream, SMALL_LIMIT);
    cr_assert_eq(evaluation.error_code, 0, "%s", evaluation.line);
    cr_assert_not(evaluation.is_error);
    evaluation = evaluate_writer(client, stream, SMALL_LIMIT + 1);
    cr_assert_eq(evaluation.error_code, -32603, "%s", evaluation.line);
    cr_assert_eq(client_integer(client, evaluation.line, "error", "data", "limit", NULL),
                 SMALL_LIMIT);
    cr_assert_str_eq(client_string(client, evaluation.line, "error", "data", "stream", NULL), name);
    cr_assert_str_eq(client_string(client, evaluation.line, "error", "data", "name", NULL),
                     setting);
    cr_assert_lt(strlen(evaluation.line), 4000 + 500, "more than the end of it is shown");
    const char *event = client_await_notification(client, "notifications/message", NULL);
    cr_assert_str_eq(client_string(client, event, "params", "level", NULL), "error");
    client_expect_works(client);
    client_finish(client);
}

Test(limits, output_up_to_its_limit_is_a_result_and_one_byte_more_is_an_error) {
    expect_stream_limit("--output-max-bytes", "*standard-output*", "stdout", "output.max_bytes");
}

Test(limits, error_output_up_to_its_limit_is_a_result_and_one_byte_more_is_an_error) {
    expect_stream_limit("--stderr-max-bytes", "*error-output*", "stderr", "stderr.max_bytes");
}

Test(limits, endless_output_is_stopped_at_the_limit_in_bounded_memory) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client, "1");
    long before = process_status(client_pid(client), "VmHWM");
    struct evaluation evaluation = client_evaluate(client, "(loop (print \"endless\"))");
    cr_assert_eq(evaluation.error_code, -32603);
    long grown_kb = process_status(client_pid(client), "VmHWM") - before;
    cr_assert_lt(grown_kb, 64 << 10, "the peak grew by %ld kB", grown_kb);
    client_expect_works(client);
    client_finish(client);
}

Test(limits, output_counts_for_one_call_alone) {
    struct client *client = client_start_with("--output-max-bytes", "1000");
    for (int i = 0; i < 10; i++)
        cr_assert_eq(evaluate_writer(client, "*standard-output*", 900).error_code, 0);
    client_finish(client);
}

Test(limits, the_middle_of_long_output_is_left_out_and_its_length_shown) {
    struct client *client = client_start_with("--text-max-chars", "4000");
    struct evaluation evaluation = client_evaluate(
        client, "(progn (write-char #\\() (dotimes (i 9998) (write-char (code-char 9731))) "
                "(write-char #\\)) 1)");
    expect_contains(evaluation.text, "[stdout]\n(\xE2\x98\x83");
    expect_contains(evaluation.text, " characters left out; to read them: read-output {\"call\":1,"
                                     "\"session\":\"main\",\"stream\":\"stdout\",\"from\":");
    expect_contains(evaluation.text, "\xE2\x98\x83)\n=> 1");
    size_t characters = 0;
    for (const char *byte = evaluation.text; *byte; byte++)
        characters += (*byte & 0xC0) != 0x80;
    cr_assert_leq(characters, 4000);
    cr_assert_geq(characters, 3850);
    client_finish(client);
}

Test(limits, a_long_value_is_cut_with_a_visible_count) {
    struct client *client = client_start_with("--value-max-chars", "100");
    struct evaluation evaluation =
        client_evaluate(client, "(make-string 1000 :initial-element #\\v)");
    cr_assert_not(evaluation.is_error);
    cr_assert_lt(strlen(evaluation.text), 200);
    expect_contains(evaluation.text, "90"); /* a thousand and two quotes, less a hundred */
    client_finish(client);
}

Test(limits, an_answer_over_the_limit_through_its_escapes_is_an_error_without_content) {
    struct client *client = client_start_with("--response-max-bytes", "1000000", "--text-max-chars",
                                              "1000000", "--output-max-bytes", "400000");
    static const char code[] = "(progn (dotimes (i 300000) (write-char (code-char %d))) (values))";
    cr_assert_not(client_evaluate(client, formatted(code, 'e')).is_error);
    struct evaluation evaluation = client_evaluate(client, formatted(code, 1));
    cr_assert_eq(evaluation.error_code, -32603);
    cr_assert_eq(client_integer(client, evaluation.line, "error", "data", "limit", NULL), 1000000);
    cr_assert_str_eq(client_string(client, evaluation.line, "error", "data", "name", NULL),
                     "response.max_bytes");
    expect_lacks(evaluation.line, "\\u0001");
    cr_assert_lt(strlen(evaluation.line), 1000);
    client_expect_works(client);
    client_finish(client);
}

Test(limits, an_answer_that_is_too_long_through_its_id_is_an_error_without_it) {
    struct client *client = client_start_with("--response-max-bytes", "4000");
    char id[5003];
    memset(id, 'i', sizeof id);
    id[0] = id[sizeof id - 2] = '"';
    id[sizeof id - 1] = '\0';
    client_send_format(client, PING("%s"), id);
    const char *answer = client_await(client, "null", NULL);
    cr_assert_eq(client_integer(client, answer, "error", "code", NULL), -32603);
    id[3000] = '"';
    id[3001] = '\0';
    client_send_format(client, REQUEST("%s", "no/such"), id);
    client_await(client, id, NULL);
    client_finish(client);
}

Test(limits, a_response_over_the_limit_is_not_counted_as_corruption) {
    const char *arguments[] = {"--response-max-bytes", "2500", "--corruption-threshold", "1", NULL};
    struct client *client = client_start(&(struct client_options){.arguments = arguments});
    client_initialize(client, NULL);
    for (int i = 0; i < 5; i++)
        client_expect_error(client, REQUEST("1", "tools/list"), -32603, "1");
    client_ping(client);
    client_finish(client);
}

Test(limits, calls_beyond_the_queue_are_refused_and_the_queue_goes_on) {
    struct client *client = client_start_with("--session-queue", "3");
    client_evaluate_send(client, "\"running\"", ENDLESS);
    client_busy_worker(client);
    for (int i = 1; i <= 3; i++)
        client_send_format(client, EVALUATE("%d", "(* 2 %d)"), i, i);
    const char *answer = client_expect_error(client, EVALUATE("4", "4"), -32603, "4");
    cr_assert_eq(client_integer(client, answer, "error", "data", "limit", NULL), 3);
    cr_assert_str_eq(client_string(client, answer, "error", "data", "name", NULL), "session.queue");
    client_send_line(client, CANCEL("2"));
    client_evaluate_await(client, "2");
    client_evaluate_send(client, "5", "(* 2 5)");
    client_send_line(client, CANCEL("\"running\""));
    client_evaluate_await(client, "\"running\"");
    cr_assert_str_eq(client_evaluate_await(client, "1").text, "=> 2");
    cr_assert_str_eq(client_evaluate_await(client, "3").text, "=> 6");
    cr_assert_str_eq(client_evaluate_await(client, "5").text, "=> 10");
    client_finish(client);
}

Test(limits, the_time_limit_is_the_argument_or_the_setting) {
    struct client *client = client_start_with("--call-timeout-s", "1");
    client_send_line(client, EVALUATE("1", ENDLESS));
    struct evaluation evaluation = client_evaluate_await(client, "1");
    cr_assert_eq(evaluation.error_code, -32004);
    cr_assert_eq(client_integer(client, evaluation.line, "error", "data", "timeoutSecs", NULL), 1);
    client_send_line(client, CALL("2", "{\"code\":\"(progn (sleep 1.2) 42)\",\"timeout\":20}"));
    cr_assert_str_eq(client_evaluate_await(client, "2").text, "=> 42");
    client_finish(client);
}

Test(limits, the_time_of_a_call_begins_when_it_starts_to_run) {
    struct client *client = client_start_with("--call-timeout-s", "4");
    for (int i = 1; i <= 3; i++)
        client_send_format(client, EVALUATE("%d", "(progn (sleep 1.5) %d)"), i, i);
    cr_assert_str_eq(client_evaluate_await(client, "3").text, "=> 3");
    cr_assert_str_eq(client_evaluate_await(client, "1").text, "=> 1");
    cr_assert_str_eq(client_evaluate_await(client, "2").text, "=> 2");
    client_finish(client);
}

Test(limits, a_limit_may_be_set_in_the_environment_by_its_own_name_and_by_its_alias) {
    static const char *const settings[][2] = {
        {"ECLAVE_OUTPUT_MAX_BYTES=1000", "*standard-output*"},
        {"MCPBASH_MAX_TOOL_OUTPUT_SIZE=1000", "*standard-output*"},
        {"MCPBASH_MAX_TOOL_STDERR_SIZE=1000", "*error-output*"}};
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        const char *environment[] = {settings[i][0], NULL};
        struct client *client =
            client_start_ready(&(struct client_options){.environment = environment}, NULL);
        cr_assert_eq(evaluate_writer(client, settings[i][1], 1001).error_code, -32603);
        client_finish(client);
    }
}
