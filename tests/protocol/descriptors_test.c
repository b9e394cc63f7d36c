/* The wire itself: pipes, files and sockets in every state, and code that tries to write to it or
 * to read from it. Each line on stdout is checked by the client as it comes. */
#include "tests/support/client.h"
#include "tests/support/command.h"
#include "tests/support/family.h"
#include "tests/support/lines.h"
#include "tests/support/skip.h"
#include <signal.h>
#include <stdio.h>

static struct client *start_under_shell(const char *script, bool unprivileged) {
    const char *arguments[] = {"-c", script, "sh", ECLAVE_BINARY, NULL};
    return client_start(&(struct client_options){
        .program = "/bin/sh", .arguments = arguments, .unprivileged = unprivileged});
}

static void expect_conversation(struct client *client) {
    client_initialize(client, NULL);
    cr_assert_str_eq(client_evaluate(client, "(+ 1 2)").text, "=> 3");
    struct evaluation evaluation = client_evaluate(
        client,
        "(progn (dotimes (i 2000) (write-string (make-string 40 :initial-element #\\z))) 1)");
    cr_assert_gt(strlen(evaluation.text), 80000);
    client_expect_silence(client);
}

Test(descriptors, code_cannot_put_a_byte_on_the_wire) {
    static const char *const codes[] = {
        "(progn (format *terminal-io* \"junk~%\") (finish-output *terminal-io*) 1)",
        "(progn (format *query-io* \"junk~%\") (finish-output *query-io*) 1)",
        "(progn (format *debug-io* \"junk~%\") (finish-output *debug-io*) 1)",
        "(progn (format *trace-output* \"junk~%\") 1)",
        "(progn (format *error-output* \"junk~%\") 1)",
        "(progn (format t \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":1,\\\"result\\\":{}}~%\") 1)",
        "(progn (ignore-errors (ext:system \"echo junk\")) 1)",
        "(progn (ignore-errors (ext:run-program \"/bin/echo\" '(\"junk\") :output t)) 1)",
        "(progn (loop for fd from 1 to 40 do (ignore-errors (let ((s (ext:make-stream-from-fd fd "
        ":output))) (write-line \"junk\" s) (finish-output s)))) 1)",
        "(progn (ignore-errors (with-open-file (s \"/dev/stdout\" :direction :output :if-exists "
        ":append) (write-line \"junk\" s))) 1)",
        "(progn (ignore-errors (with-open-file (s \"/proc/self/fd/1\" :direction :output "
        ":if-exists :append) (write-line \"junk\" s))) 1)",
    };
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        client_evaluate(client, codes[i]);
        client_expect_silence(client);
    }
    client_finish(client);
}

Test(descriptors, code_reads_the_end_of_its_input_and_never_the_next_message) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate_send(client, "1",
                         "(list (read-line *standard-input* nil :eof) (read-line *terminal-io* nil "
                         ":eof) (read-line *query-io* nil :eof) (read-char *debug-io* nil :eof) "
                         "(read *standard-input* nil :eof) (listen *standard-input*))");
    client_send_line(client, PING("2"));
    cr_assert_str_eq(client_evaluate_await(client, "1").text, "=> (:EOF :EOF :EOF :EOF :EOF NIL)");
    client_await(client, "2", NULL);
    client_finish(client);
}

Test(descriptors, the_null_device_as_stdin_is_the_end_of_input) {
    struct client *client = client_start(&(struct client_options){.stdin_null = true});
    cr_assert_null(client_read_line_or_end(client, NULL));
    family_expect_end(client, 0);
}

Test(descriptors, a_socket_pair_serves_as_stdin_and_stdout) {
    struct client *client = client_start(&(struct client_options){.socket = true});
    expect_conversation(client);
    client_finish(client);
}

Test(descriptors, a_socket_whose_peer_is_gone_ends_the_server) {
    struct client *client = client_start_ready(&(struct client_options){.socket = true}, NULL);
    client_evaluate_send(client, "1", ENDLESS);
    client_close_stdin(client);
    client_close_stdout(client);
    client_free(client);
}

Test(descriptors, a_conversation_may_come_from_a_file_and_go_to_a_file) {
    static const char conversation[] =
        "\xEF\xBB\xBF" INITIALIZE("1", "\"2025-11-25\"") "\r\n" NOTIFICATION(
            "notifications/initialized") "\n\n" EVALUATE("2",
                                                         "(+ 1 2)") "\nbad\n" EVALUATE("3",
                                                                                       "(princ "
                                                                                       "\\\"out\\\""
                                                                                       ")");
    const char *arguments[] = {NULL};
    struct command_result result = command_eclave(arguments, conversation);
    cr_assert_eq(result.status, 0);
    expect_contains(result.output, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\"");
    expect_contains(result.output, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,");
    expect_contains(result.output, "\"text\":\"=> 3\"");
    expect_contains(result.output, "\"text\":\"[stdout]\\nout\\n=> \\\"out\\\"\"");
    cr_assert_eq(result.output[result.output_length - 1], '\n');
    command_result_free(&result);
}

Test(descriptors, a_conversation_with_a_file_is_possible_for_any_user) {
    const char *arguments[] = {ECLAVE_BINARY, NULL};
    struct command_result result = command_run(
        &(struct command){.arguments = arguments,
                          .input = INITIALIZE("1", "\"2025-11-25\"") "\n" EVALUATE("2", "(+ 1 2)"),
                          .unprivileged = getuid() == 0});
    cr_assert_eq(result.status, 0, "%s", result.error);
    expect_contains(result.output, "\"text\":\"=> 3\"");
    command_result_free(&result);
}

Test(descriptors, standard_streams_that_are_closed_do_no_harm) {
    static const char *const scripts[] = {
        "exec \"$1\" <&-",          "exec \"$1\" <&- 2>&-", "exec \"$1\" >&- <&-",
        "exec \"$1\" >&- <&- 2>&-", "exec \"$1\" </", /* a directory */
    };
    for (size_t i = 0; i < COUNT_OF(scripts); i++) {
        struct client *client = start_under_shell(scripts[i], false);
        family_expect_end(client, 0);
    }
}

Test(descriptors, a_closed_stdout_swallows_the_answers) {
    struct client *client = start_under_shell("exec \"$1\" >&-", false);
    client_send_line(client, INITIALIZE("1", "\"2025-11-25\"") "\n" PING("2"));
    client_close_stdin(client);
    cr_assert_null(client_read_line_or_end(client, NULL));
    family_expect_end(client, 0);
}

Test(descriptors, a_closed_stderr_takes_nothing_from_the_conversation) {
    struct client *client = start_under_shell("exec \"$1\" 2>&-", false);
    expect_conversation(client);
    client_evaluate(client, "(ext:quit 3)");
    client_finish(client);
}

Test(descriptors, a_full_disk_under_stderr_takes_nothing_from_the_conversation) {
    struct client *client = start_under_shell("exec \"$1\" 2>/dev/full", false);
    expect_conversation(client);
    client_evaluate(client, "(ext:quit 3)");
    client_finish(client);
}

Test(descriptors, an_unread_stderr_takes_nothing_from_the_conversation) {
    const char *arguments[] = {"--log-level", "debug", NULL};
    struct client *client = client_start_ready(
        &(struct client_options){.arguments = arguments, .stderr_full = true}, NULL);
    for (int i = 0; i < 10000; i++) {
        client_send_line(client, "not json at all");
        if (i % 500 == 499)
            for (int j = 0; j < 500; j++)
                client_await(client, "null", NULL);
    }
    for (int i = 0; i < 100; i++)
        cr_assert_eq(client_evaluate(client, "(ext:quit 3)").exit_code, 3);
    cr_assert_str_eq(client_evaluate(client, "(+ 1 2)").text, "=> 3");
    client_finish(client);
}

Test(descriptors, a_reader_that_closes_stdout_ends_the_server_at_the_next_answer) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate_send(client, "1", ENDLESS);
    client_busy_worker(client);
    client_close_stdout(client);
    client_send_line(client, PING("2"));
    family_expect_end(client, 0);
}

Test(descriptors, a_reader_that_closes_stdout_in_the_middle_of_an_answer_ends_the_server) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client, "1");
    client_pause_reading(client, true);
    client_evaluate_send(client, "1", "(dotimes (i 99999) (write-char #\\a))");
    client_evaluate_send(client, "2", ENDLESS);
    client_busy_worker(client);
    client_close_stdout(client);
    family_expect_end(client, 0);
}

Test(descriptors, a_server_whose_reader_is_slow_does_not_spin) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client, "1");
    client_pause_reading(client, true);
    for (int i = 0; i < 40; i++)
        client_evaluate_send(client, "\"x\"", "(dotimes (i 99999) (write-char #\\a))");
    client_evaluate_send(client, "1", "(dotimes (i 99999) (write-char #\\a))");
    family_expect_idle(client);
    client_pause_reading(client, false);
    client_evaluate_await(client, "1");
    client_free(client);
}

/* Who holds the other end of the pipe is not to find it non-blocking, while the server runs or
 * after it: `cat` gives up on such a stdin. */
static void expect_pipe_left_alone(bool unprivileged) {
    struct client *client = start_under_shell("\"$1\"; exec cat", unprivileged);
    client_initialize(client, NULL);
    client_ping(client);
    client_expect_result(client, REQUEST("1", "shutdown"), "1");
    client_expect_result(client, REQUEST("2", "exit"), "2");
    client_send_line(client, NOTIFICATION("echoed"));
    client_await_notification(client, "echoed", NULL);
    client_finish(client);
}

Test(descriptors, a_pipe_is_left_as_it_was_found) {
    expect_pipe_left_alone(false);
}

Test(descriptors, a_pipe_of_another_user_is_left_as_it_was_found) {
    expect_pipe_left_alone(getuid() == 0);
}

Test(descriptors, everything_works_for_an_unprivileged_user) {
    skip_unless_root(); /* else every other test has shown it */
    struct client *client = client_start(&(struct client_options){.unprivileged = true});
    expect_conversation(client);
    cr_assert_eq(client_evaluate_with(client, "{\"code\":\"(loop)\",\"timeout\":0.2}").error_code,
                 -32004);
    cr_assert_eq(client_evaluate(client, "(ext:quit 7)").exit_code, 7);
    cr_assert_str_eq(client_evaluate(client, "(+ 1 2)").text, "=> 3");
    client_finish(client);
}
