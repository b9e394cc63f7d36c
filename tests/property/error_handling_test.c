/* spec/003, the error handling guidelines: each statement and each row of its table of codes that
 * can be seen from outside. */
#include "tests/support/client.h"
#include "tests/support/generate.h"
#include "tests/support/play.h"
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static struct client *start_with(const char *option, const char *value) {
    const char *arguments[] = {"serve", option, value, NULL};
    return client_start_ready(&(struct client_options){.arguments = arguments}, NULL);
}

static void expect_working(struct client *client) {
    struct evaluation evaluation = client_evaluate(client, "(+ 1 2)");
    cr_assert_str_eq(evaluation.text, "=> 3", "%s", evaluation.line);
}

/* "Tool failures return isError=true with _meta.exitCode and captured stderr." */
Test(error_handling, a_tool_failure_has_an_exit_code_and_its_stderr) {
    struct client *client = client_start_ready(NULL, NULL);
    struct evaluation evaluation =
        client_evaluate(client, "(format *error-output* \"warned\") (/ 1 0)");
    cr_assert(evaluation.is_error);
    cr_assert_eq(evaluation.exit_code, 1);
    cr_assert_not_null(evaluation.stderr_text);
    cr_assert_not_null(strstr(evaluation.stderr_text, "warned"));
    evaluation = client_evaluate(client, "(ext:quit 7)");
    cr_assert(evaluation.is_error);
    cr_assert_eq(evaluation.exit_code, 7);
    cr_assert_not_null(strstr(evaluation.text, "[ERROR] PROCESS-EXIT"));
    expect_working(client);
    client_finish(client);
}

/* -32603: output and stderr over their limits, and a response over its own. */
Test(error_handling, output_over_its_limit_is_an_internal_error) {
    static const struct {
        const char *option, *name, *value, *code, *stream;
    } limits[] = {
        {"--output-max-bytes", NULL, "1000", "(dotimes (i 1001) (write-char #\\a))", "stdout"},
        {"--stderr-max-bytes", NULL, "1000", "(dotimes (i 1001) (write-char #\\a *error-output*))",
         "stderr"},
        {NULL, "MCPBASH_MAX_TOOL_OUTPUT_SIZE=1000", NULL, "(dotimes (i 1001) (write-char #\\a))",
         "stdout"},
        {NULL, "MCPBASH_MAX_TOOL_STDERR_SIZE=1000", NULL,
         "(dotimes (i 1001) (write-char #\\a *error-output*))", "stderr"},
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        const char *arguments[] = {"serve", limits[i].option, limits[i].value, NULL};
        const char *environment[] = {limits[i].name, NULL};
        struct client *client = client_start_ready(
            &(struct client_options){.arguments = arguments, .environment = environment}, NULL);
        struct evaluation evaluation = client_evaluate(client, limits[i].code);
        cr_assert_eq(evaluation.error_code, -32603, "%s", evaluation.line);
        cr_assert_str_eq(client_string(client, evaluation.line, "error", "data", "stream", NULL),
                         limits[i].stream);
        cr_assert_eq(client_integer(client, evaluation.line, "error", "data", "limit", NULL), 1000);
        expect_working(client);
        client_finish(client);
    }
}

Test(error_handling, output_of_exactly_the_limit_is_a_success) {
    struct client *client = start_with("--output-max-bytes", "1000");
    struct evaluation evaluation = client_evaluate(client, "(dotimes (i 1000) (write-char #\\a))");
    cr_assert_eq(evaluation.error_code, 0, "%s", evaluation.line);
    cr_assert_not(evaluation.is_error);
    client_finish(client);
}

/* "Size guardrails: rejects oversized responses with -32603 and does not return partial content."
 */
Test(error_handling, a_response_over_the_guard_is_an_internal_error_without_content) {
    struct client *client = start_with("--response-max-bytes", "4096");
    struct evaluation evaluation =
        client_evaluate(client, "(make-string 5000 :initial-element #\\z)");
    cr_assert_eq(evaluation.error_code, -32603, "%s", evaluation.line);
    cr_assert_null(strstr(evaluation.line, "zzz"));
    /* Escaping makes it too big, not its characters. */
    evaluation = client_evaluate(client, "(make-string 1000 :initial-element (code-char 1))");
    cr_assert_eq(evaluation.error_code, -32603, "%s", evaluation.line);
    expect_working(client);
    client_finish(client);
}

/* -32601: `notifications/message` from a client. */
Test(error_handling, notifications_message_is_disallowed_from_a_client) {
    struct client *client = client_start_ready(NULL, NULL);
    client_expect_error(client,
                        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"notifications/message\","
                        "\"params\":{\"level\":\"info\",\"data\":\"x\"}}",
                        -32601, "3");
    client_send_line(client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\","
                             "\"params\":{\"level\":\"info\",\"data\":\"x\"}}");
    client_expect_silence(client);
    client_finish(client);
}

/* -32602: unsupported protocol version, and a later good one works. */
Test(error_handling, an_unsupported_version_is_refused_and_a_supported_one_served_after_it) {
    static const char *const refused[] = {
        "\"1999-01-01\"", "\"2024-10-07\"", "\"\"", "\"latest\"", "\"1.0.0\"", "5", "[]", "true"};
    struct client *client = client_start(NULL);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        char line[200];
        snprintf(line, sizeof line,
                 "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"initialize\",\"params\":"
                 "{\"protocolVersion\":%s,\"capabilities\":{}}}",
                 i, refused[i]);
        char id[24];
        snprintf(id, sizeof id, "%zu", i);
        const char *answer = client_expect_error(client, line, -32602, id);
        struct text value;
        cr_assert(json_at(text_of(answer), &value, "error", "data", "supported", NULL) &&
                  json_kind(value) == VALUE_ARRAY);
        cr_assert(json_at(text_of(answer), &value, "error", "data", "requested", NULL));
        cr_assert(json_same_id(value, text_of(refused[i])), "requested is %.*s", (int)value.length,
                  value.bytes);
    }
    client_initialize(client, NULL);
    client_finish(client);
}

/* -32002, -32003, -32005 and the orderly way out. */
Test(error_handling, the_lifecycle_has_its_codes) {
    struct client *client = client_start(NULL);
    client_expect_error(client, "{\"jsonrpc\":\"2.0\",\"id\":\"pre\",\"method\":\"tools/list\"}",
                        -32002, "\"pre\"");
    client_expect_error(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"exit\"}", -32005, "1");
    client_initialize(client, NULL);
    client_expect_error(client, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\"}", -32600,
                        "2");
    client_expect_error(client, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"exit\"}", -32005, "3");
    client_expect_result(client, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"shutdown\"}", "4");
    client_expect_error(client, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/list\"}", -32003,
                        "5");
    client_expect_error(client, "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"ping\"}", -32003, "6");
    client_expect_error(client, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"foo\"}", -32601, "7");
    client_expect_result(client, "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"shutdown\"}", "8");
    client_expect_result(client, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"exit\"}", "9");
    cr_assert_eq(client_wait(client), 0); /* without closing its stdin */
    client_finish(client);
}

/* -32004: a tool that times out. */
Test(error_handling, a_tool_that_times_out_has_its_code) {
    struct client *client = client_start_ready(NULL, NULL);
    expect_working(client); /* the worker is up: what is printed is printed within the second */
    struct evaluation evaluation =
        client_evaluate_with(client, "{\"code\":\"(princ \\\"before\\\") (loop)\",\"timeout\":1}");
    cr_assert_eq(evaluation.error_code, -32004, "%s", evaluation.line);
    cr_assert_eq(
        client_integer(client, evaluation.line, "error", "data", "_meta", "exitCode", NULL), 124);
    cr_assert_str_eq(client_string(client, evaluation.line, "error", "data", "stdout", NULL),
                     "before");
    expect_working(client);
    client_finish(client);
}

/* -32001: a tool cancelled by TERM or INT from outside. */
Test(error_handling, a_tool_ended_by_a_signal_from_outside_is_cancelled) {
    static const int signals[] = {SIGTERM, SIGINT};
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        client_evaluate_send(client, "1", "(loop)");
        pid_t worker = client_busy_worker(client);
        cr_assert_gt(worker, 1);
        kill(worker, signals[i]);
        struct evaluation evaluation = client_evaluate_await(client, "1");
        cr_assert_eq(evaluation.error_code, -32001, "%s", evaluation.line);
        expect_working(client);
    }
    client_finish(client);
}

Test(error_handling, a_cancelled_tool_answers_once) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate_send(client, "\"s1\"", "(loop)");
    client_send_line(client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                             "\"params\":{\"requestId\":\"s1\",\"reason\":\"user\"}}");
    struct evaluation evaluation = client_evaluate_await(client, "\"s1\"");
    cr_assert_eq(evaluation.error_code, -32001, "%s", evaluation.line);
    expect_working(client);
    client_expect_silence(client);
    client_finish(client);
}

/* "Stdout corruption is counted; exceeding the threshold within the window triggers an exit." */
Test(error_handling, corruption_below_the_threshold_is_survived) {
    static const char *const faults[] = {"newline", "utf8", "json"};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        const char *arguments[] = {
            "serve", "--inject-fault", faults[i], "--inject-fault-count", "2", NULL};
        struct client *client =
            client_start_ready(&(struct client_options){.arguments = arguments}, NULL);
        for (int count = 0; count < 2; count++)
            client_expect_error(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
                                -32603, "1");
        client_ping(client);
        client_finish(client);
    }
}

Test(error_handling, corruption_at_the_threshold_ends_the_server_with_status_2) {
    static const struct {
        const char *threshold; /* NULL: the default of 3 */
        int count;
    } cases[] = {{NULL, 3}, {"MCPBASH_CORRUPTION_THRESHOLD=1", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *arguments[] = {
            "serve", "--inject-fault", "newline", "--inject-fault-count", "100", NULL};
        const char *environment[] = {cases[i].threshold, NULL};
        struct client *client = client_start_ready(
            &(struct client_options){.arguments = arguments, .environment = environment}, NULL);
        for (int count = 0; count < cases[i].count; count++)
            client_expect_error(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
                                -32603, "1");
        cr_assert_eq(client_wait(client), 2);
        client_free(client);
    }
}

/* "Minimal mode accepts lifecycle, ping, and logging; other methods return -32601." */
static void expect_minimal(const struct client_options *options) {
    struct client *client = client_start(options);
    const char *line = client_initialize(client, NULL);
    struct text capabilities;
    cr_assert(json_at(text_of(line), &capabilities, "result", "capabilities", NULL));
    cr_assert(text_is(capabilities, "{\"logging\":{}}"), "%s", line);
    cr_assert_not_null(client_string(client, line, "result", "instructions", NULL));
    client_ping(client);
    client_expect_result(client,
                         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\","
                         "\"params\":{\"level\":\"debug\"}}",
                         "1");
    static const char *const refused[] = {"tools/list",   "tools/call",  "resources/list",
                                          "prompts/list", "prompts/get", "completion/complete"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        char request[128];
        snprintf(request, sizeof request, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"%s\"}",
                 refused[i]);
        client_expect_error(client, request, -32601, "2");
    }
    client_expect_result(client, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"shutdown\"}", "3");
    client_expect_result(client, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"exit\"}", "4");
    cr_assert_eq(client_wait(client), 0);
    client_finish(client);
}

Test(error_handling, minimal_mode_serves_lifecycle_ping_and_logging_alone) {
    const char *arguments[] = {"serve", "--minimal", NULL};
    const char *environment[] = {"MCPBASH_FORCE_MINIMAL=true", NULL};
    expect_minimal(&(struct client_options){.arguments = arguments});
    expect_minimal(&(struct client_options){.environment = environment});
}

Test(error_handling, minimal_mode_answers_random_messages_as_foreseen) {
    const char *arguments[] = {"serve", "--minimal", NULL};
    struct generator generator = generate_for("minimal_mode");
    struct script script = {0};
    generate_lines(&generator, GENERATE_VALID | GENERATE_REFUSED, 50, &script);
    generate_handshake(NULL, &script);
    generate_lines(&generator,
                   GENERATE_VALID | GENERATE_REFUSED | GENERATE_ILL_FORMED | GENERATE_UNREADABLE | GENERATE_MUTATED |
                       GENERATE_SILENT | GENERATE_EVALUATIONS,
                   random_trials(200, 1000), &script);
    play_expect(&(struct play){.arguments = arguments, .minimal = true}, &script);
    script_free(&script);
}
