/* stdin and stdout: pipes, files and sockets in every state, and code that tries to write to them
 * or to read from them. The client checks each line on stdout. */
#include "tests/support/client.h"
#include "tests/support/client_sessions.h"
#include "tests/support/command.h"
#include "tests/support/family.h"
#include "tests/support/lines.h"
#include "tests/support/skip.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct client *start_under_shell(const char *script, bool unprivileged) {
    return client_start(
        &(struct client_options){.program = "/bin/sh",
                                 .arguments = STRINGS("-c", script, "sh", ECLAVE_BINARY),
                                 .unprivileged = unprivileged});
}

static void expect_conversation(struct client *client) {
    client_initialize(client, NULL);
    cr_assert_str_eq(client_evaluate(client, "(+ 1 2)").text, "=> 3");
    struct evaluation evaluation = client_evaluate(
        client,
        "(dotimes (i 2000) (write-string (make-string 40 :initial-element (code-char 26085))))");
    cr_assert_gt(strlen(evaluation.text), 80000, "it fits into a pipe");
    client_expect_silence(client);
}

Test(descriptors, code_cannot_write_to_the_servers_stdout) {
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

Test(descriptors, code_reads_the_end_of_its_input_and_not_the_next_message) {
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
    struct command_result result = command_eclave(STRINGS(NULL), conversation);
    cr_assert_eq(result.status, 0);
    expect_contains(result.output, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\"");
    expect_contains(result.output, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,");
    expect_contains(result.output, "\"text\":\"=> 3\"");
    expect_contains(result.output, "\"text\":\"[stdout]\\nout\\n=> \\\"out\\\"\"");
    cr_assert_eq(result.output[result.output_length - 1], '\n');
    command_result_free(&result);
}

Test(descriptors, a_conversation_with_a_file_is_possible_for_any_user) {
    struct command_result result = command_run(
        &(struct command){.arguments = STRINGS(ECLAVE_BINARY),
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

Test(descriptors, answers_to_a_closed_stdout_are_lost) {
    struct client *client = start_under_shell("exec \"$1\" >&-", false);
    client_send_line(client, INITIALIZE("1", "\"2025-11-25\"") "\n" PING("2"));
    client_close_stdin(client);
    cr_assert_null(client_read_line_or_end(client, NULL));
    family_expect_end(client, 70);
}

Test(descriptors, a_closed_stderr_or_a_full_disk_under_it_does_no_harm) {
    static const char *const scripts[] = {"exec \"$1\" 2>&-", "exec \"$1\" 2>/dev/full"};
    for (size_t i = 0; i < COUNT_OF(scripts); i++) {
        struct client *client = start_under_shell(scripts[i], false);
        expect_conversation(client);
        client_evaluate(client, "(ext:quit 3)");
        client_finish(client);
    }
}

Test(descriptors, an_unread_stderr_does_no_harm) {
    struct client *client = client_start_ready(
        &(struct client_options){.arguments = STRINGS("--log-level", "debug"), .stderr_full = true},
        NULL);
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
    family_expect_end(client, 70);
}

Test(descriptors, a_reader_that_closes_stdout_in_the_middle_of_an_answer_ends_the_server) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client, "1");
    client_pause_reading(client, true);
    client_evaluate_send(client, "1", "(dotimes (i 99999) (write-char #\\a))");
    client_evaluate_send(client, "2", ENDLESS);
    client_busy_worker(client);
    client_close_stdout(client);
    family_expect_end(client, 70);
}

Test(descriptors, a_server_with_a_slow_reader_does_not_spin) {
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

/* The pipe must not be left non-blocking, neither while the server runs nor after it: `cat` fails
 * on such a stdin. */
static void expect_pipe_unchanged(bool unprivileged) {
    struct client *client = start_under_shell("\"$1\"; exec cat", unprivileged);
    client_initialize(client, NULL);
    client_ping(client);
    client_expect_result(client, REQUEST("1", "shutdown"), "1");
    client_expect_result(client, REQUEST("2", "exit"), "2");
    client_send_line(client, NOTIFICATION("echoed"));
    client_await_notification(client, "echoed", NULL);
    client_finish(client);
}

Test(descriptors, a_pipe_keeps_its_flags) {
    expect_pipe_unchanged(false);
}

Test(descriptors, a_pipe_of_another_user_keeps_its_flags) {
    expect_pipe_unchanged(getuid() == 0);
}

/* Runs the server with at most LIMIT descriptors on the pipe ends in ENDS, for a user who cannot
 * open them anew, and returns its exit status. */
static int run_with_descriptors(rlim_t limit, int (*ends)[2]) {
    enum { NOBODY = 65534 };
    const struct rlimit few = {.rlim_cur = limit, .rlim_max = limit};
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[0][0], STDIN_FILENO);
        dup2(ends[1][1], STDOUT_FILENO);
        dup2(ends[2][1], STDERR_FILENO);
        close_range(STDERR_FILENO + 1, ~0U, 0);
        if (setrlimit(RLIMIT_NOFILE, &few) == 0 &&
            (getuid() != 0 || (setgid(NOBODY) == 0 && setuid(NOBODY) == 0)))
            execl(ECLAVE_BINARY, ECLAVE_BINARY, NULL);
        _exit(127);
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Start-up fails at a different descriptor for each limit; none of the failures may leave a pipe
 * that other processes hold in non-blocking mode. */
Test(descriptors, a_start_that_fails_leaves_the_pipes_blocking) {
    int failed = 0, started = 0;
    for (rlim_t limit = 4; limit < 40; limit++) {
        int ends[3][2];
        for (size_t i = 0; i < COUNT_OF(ends); i++)
            cr_assert_eq(pipe(ends[i]), 0);
        close(ends[0][1]); /* the end of input, so that a server that starts ends as well */
        int status = run_with_descriptors(limit, ends);
        for (size_t i = 0; i < COUNT_OF(ends); i++)
            cr_expect_not(fcntl(ends[i][i == 0 ? 0 : 1], F_GETFL) & O_NONBLOCK,
                          "stream %zu is non-blocking after status %d with %llu descriptors", i,
                          status, (unsigned long long)limit);
        failed += status == 2;
        started += status == 0;
        close(ends[0][0]);
        for (size_t i = 1; i < COUNT_OF(ends); i++) {
            close(ends[i][0]);
            close(ends[i][1]);
        }
    }
    cr_assert_gt(failed, 0);
    cr_assert_gt(started, 0);
}

Test(descriptors, everything_works_for_an_unprivileged_user) {
    skip_unless_root(); /* else every other test shows it */
    struct client *client = client_start(&(struct client_options){.unprivileged = true});
    expect_conversation(client);
    cr_assert_eq(client_evaluate_with(client, "{\"code\":\"(loop)\",\"timeout\":0.2}").error_code,
                 -32004);
    cr_assert_eq(client_evaluate(client, "(ext:quit 7)").exit_code, 7);
    cr_assert_str_eq(client_evaluate(client, "(+ 1 2)").text, "=> 3");
    client_finish(client);
}

Test(descriptors, the_soft_limit_does_not_limit_the_sessions) {
    enum { FEW = 64, SESSIONS = 8, CALLS = 6 };
    struct rlimit before, few;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = FEW;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct client *client = client_start_ready(NULL, NULL);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (int i = 0; i < SESSIONS; i++) {
        const char *session = client_session_open(client);
        for (int call = 0; call < CALLS; call++)
            cr_assert_eq(client_session_integer(client, session, "1"), 1);
    }
    client_finish(client);
}
