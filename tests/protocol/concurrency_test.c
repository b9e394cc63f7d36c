/* A slow call delays only its own session, and of many calls at once none is lost. */
#include "tests/support/client.h"
#include "tests/support/lines.h"
#include <stdio.h>
#include <stdlib.h>

Test(concurrency, ping_and_list_are_answered_while_a_call_runs) {
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate_send(client, "1", ENDLESS);
    client_busy_worker(client);
    client_expect_result(client, PING("2"), "2");
    client_expect_result(client, REQUEST("3", "tools/list"), "3");
    client_expect_error(client, REQUEST("4", "no/such"), -32601, "4");
    cr_assert(client_evaluate_with(client, "{\"code\":\"1\",\"timeout\":0}").is_error);
    client_send_line(client, CANCEL("1"));
    client_evaluate_await(client, "1");
    client_finish(client);
}

Test(concurrency, calls_on_one_session_run_in_their_order) {
    enum { CALLS = 30 };
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client, "(defvar *seen* '())");
    for (int i = 0; i < CALLS; i++)
        client_evaluate_send(client, formatted("%d", i), formatted("(length (push %d *seen*))", i));
    for (int i = 0; i < CALLS; i++)
        cr_assert_str_eq(client_evaluate_await(client, formatted("%d", i)).text,
                         formatted("=> %d", i + 1));
    client_finish(client);
}

Test(concurrency, twenty_calls_at_once_get_twenty_answers) {
    enum { CALLS = 20 };
    struct client *client = client_start_ready(NULL, NULL);
    for (int i = 0; i < CALLS; i++)
        client_evaluate_send(client, formatted("%d", i), formatted("(* %d %d)", i, i));
    bool seen[CALLS] = {false};
    for (int i = 0; i < CALLS; i++) {
        const char *line = client_read_line(client, NULL);
        long long id = client_integer(client, line, "id", NULL);
        cr_assert(id >= 0 && id < CALLS && !seen[id], "%s", line);
        seen[id] = true;
        expect_contains(line, formatted("\"text\":\"=> %lld\"", id * id));
    }
    client_expect_silence(client);
    client_finish(client);
}

/* Client and server would wait for each other if either wrote without reading. */
Test(concurrency, a_megabyte_of_code_goes_in_while_a_megabyte_of_output_comes_out) {
    enum { LENGTH = 1 << 20 };
    struct client *client = client_start_with("--text-max-chars", "2000000");
    char *code = malloc(LENGTH + 64);
    cr_assert_not_null(code);
    size_t used = (size_t)snprintf(code, 64, "(progn (length \"");
    memset(code + used, 'c', LENGTH);
    memcpy(code + used + LENGTH, "\"))", 4);
    for (int i = 0; i < 4; i++) {
        client_evaluate_send(client, "1",
                             "(progn (dotimes (i 16384) (write-string (make-string 64 "
                             ":initial-element #\\o))) 1)");
        client_evaluate_send(client, "2", code);
        struct evaluation evaluation = client_evaluate_await(client, "1");
        cr_assert_gt(strlen(evaluation.text), LENGTH, "%s", evaluation.text);
        cr_assert_str_eq(client_evaluate_await(client, "2").text, "=> 1048576");
    }
    free(code);
    client_finish(client);
}

Test(concurrency, a_slow_reader_gets_a_large_answer_whole_and_the_answers_after_it) {
    enum { LENGTH = 5000000 };
    struct client *client = client_start_with("--text-max-chars", "6000000");
    client_evaluate(client, "1");
    client_pause_reading(client, true);
    client_evaluate_send(client, "1",
                         "(progn (dotimes (i 5000) (write-string (make-string 1000 "
                         ":initial-element #\\a))) 1)");
    for (int i = 0; i < 50; i++)
        client_send_line(client, PING("9"));
    client_flush(client);
    /* Before it is read, the answer fills the pipe and waits in the server. */
    for (int i = 0; i < 200; i++)
        client_take_line(client, NULL);
    client_pause_reading(client, false);
    struct evaluation evaluation = client_evaluate_await(client, "1");
    cr_assert_eq(strlen(evaluation.text), strlen("[stdout]\n") + LENGTH + strlen("\n=> 1"));
    for (int i = 0; i < 50; i++)
        client_await(client, "9", NULL);
    client_expect_silence(client);
    client_finish(client);
}
