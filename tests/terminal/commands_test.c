/* Commands that a person starts by hand in a terminal. */
#include "tests/support/lines.h"
#include "tests/support/screen.h"

#include <unistd.h>

TestSuite(terminal_commands, .fini = screen_end);

/* A command does not end where its last output matters: the end of the terminal's program could
 * discard what the screen has not read. */

Test(terminal_commands, a_server_started_by_hand_says_what_it_is) {
    screen_begin("exec $E");
    screen_wait("this is an MCP server");
    screen_wait("eclave eval -e");
    screen_enter(PING("1"));
    screen_wait("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    screen_press("C-d");
    cr_assert_eq(screen_wait_end(), 0);
}

Test(terminal_commands, a_server_with_pipes_says_nothing) {
    screen_begin("echo '" PING("1") "' | $E; echo done; sleep 600");
    screen_wait("done");
    cr_assert_str_eq(screen_text(), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\ndone");
}

Test(terminal_commands, eval_without_code_says_how_to_end_it) {
    screen_begin("$E eval; echo ended $?; sleep 600");
    screen_wait("Ctrl-D");
    screen_enter("(+ 1");
    screen_enter("2)");
    screen_press("C-d");
    screen_wait("=> 3\nended 0");
}

Test(terminal_commands, eval_shows_nothing_before_a_result_that_a_refusal_is_part_of) {
    screen_begin(
        "$E eval -e '(null (ignore-errors (open \"/etc/passwd\")))'; echo done; sleep 600");
    screen_wait("done");
    cr_assert_str_eq(screen_text(), "=> T\ndone");
}

Test(terminal_commands, a_time_out_of_eval_is_shown_once) {
    screen_begin("$E eval --call-timeout-s 1 -e '(loop)'; echo done; sleep 600");
    screen_wait("done");
    const char *shown = screen_text(), *first = strstr(shown, "No answer within 1 s.");
    cr_assert(first && !strstr(first + 1, "No answer"), "%s", shown);
    expect_lacks(shown, "notice");
}

Test(terminal_commands, the_log_of_eval_can_be_asked_for) {
    screen_begin("$E eval --log-level info --call-timeout-s 1 -e '(loop)'; echo done; sleep 600");
    screen_wait("done");
    expect_contains(screen_text(), "eclave: notice: timeout");
}

Test(terminal_commands, a_batch_that_is_typed_is_not_mixed_with_its_progress) {
    screen_begin("$E batch; sleep 600");
    screen_wait("Ctrl-D");
    screen_enter("{\"id\":1,\"code\":\"(progn (sleep 1/2) 7)\"}");
    screen_wait("\"outcome\":\"value\"");
    screen_type("{\"id\":2,");
    usleep(300000); /* a bar would have been drawn meanwhile */
    screen_enter("\"code\":\"8\"}");
    screen_wait_times("\"outcome\":\"value\"", 2);
    screen_press("C-d");
    screen_wait("2 lines: 2 value");
    expect_lacks(screen_text(), "a second");
    expect_contains(screen_text(), "\n{\"id\":2,\"code\":\"8\"}\n");
}

/* The bar is removed before each line of output in the same terminal. */
Test(terminal_commands, a_batch_of_a_file_writes_whole_lines_beside_its_progress) {
    screen_begin("for i in 1 2 3; do echo '{\"code\":\"(progn (sleep 1/2) 7)\"}'; done >lines; "
                 "$E batch -j 1 lines; echo done; sleep 600");
    screen_wait("a second");
    screen_wait("done");
    const char *shown = screen_text();
    expect_lacks(shown, "failed");
    for (const char *at = shown; (at = strstr(at, "{\"id\"")) != NULL; at++)
        cr_assert(at == shown || at[-1] == '\n', "%s", shown);
}
