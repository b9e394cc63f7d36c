/* Arrays of messages: served where the revision has them or the operator asks for them, refused
 * whole everywhere else. */
#include "tests/support/array.h"
#include "tests/support/client.h"
#include "tests/support/lines.h"

static void expect_result(const char *line, const char *id) {
    struct text value;
    cr_assert(json_member(array_element(line, id), "result", &value), "no result for %s in %s", id,
              line);
}

/* The next line that is no notification. */
static const char *read_answer(struct client *client) {
    const char *line = client_read_line(client, NULL);
    while (strncmp(line, "{\"jsonrpc\":\"2.0\",\"method\"", 24) == 0)
        line = client_read_line(client, NULL);
    return line;
}

static const char *send_batch(struct client *client, const char *line) {
    client_send_line(client, line);
    return read_answer(client);
}

static void expect_count(const char *line, size_t count) {
    cr_assert_eq(json_count(array_of(line)), count, "not %zu elements: %s", count, line);
}

static const char *const arrays[] = {
    "[" PING("1") "]",
    "[" REQUEST("1", "shutdown") "]",
    "[" NOTIFICATION("ping") "]",
    "[]",
    "[1,2,3]",
    "[[]]",
};

Test(batches, are_refused_whole_in_every_revision_without_them_and_before_initialize) {
    static const char *const revisions[] = {"2024-11-05", "2025-06-18", "2025-11-25"};
    for (size_t i = 0; i < COUNT_OF(revisions); i++) {
        struct client *client = client_start(NULL);
        for (size_t j = 0; j < COUNT_OF(arrays); j++)
            client_expect_error(client, arrays[j], -32600, "null");
        client_expect_silence(client);
        client_initialize(client, revisions[i]);
        for (size_t j = 0; j < COUNT_OF(arrays); j++)
            client_expect_error(client, arrays[j], -32600, "null");
        client_expect_silence(client);
        client_finish(client);
    }
}

Test(batches, are_answered_with_one_array_in_the_revision_that_has_them) {
    struct client *client = client_start_ready(NULL, CLIENT_REVISION_BATCH);
    const char *line =
        send_batch(client, "[" PING("1") "," NOTIFICATION("ping") "," REQUEST(
                               "\"a\"", "tools/list") "," REQUEST("2", "no/such") "]");
    expect_count(line, 3);
    expect_result(line, "1");
    expect_result(line, "\"a\"");
    array_expect_code(line, "2", "-32601");
    client_expect_silence(client);
    client_finish(client);
}

Test(batches, of_one_are_answered_with_an_array_of_one) {
    struct client *client = client_start_ready(NULL, CLIENT_REVISION_BATCH);
    expect_count(send_batch(client, " [ " PING("1") " ] "), 1);
    client_finish(client);
}

Test(batches, that_are_empty_get_one_error_that_is_no_array) {
    struct client *client = client_start_ready(NULL, CLIENT_REVISION_BATCH);
    client_expect_error(client, "[]", -32600, "null");
    client_expect_error(client, "[ ]", -32600, "null");
    client_expect_silence(client);
    client_finish(client);
}

Test(batches, of_nonsense_get_one_error_for_each_element) {
    struct client *client = client_start_ready(NULL, CLIENT_REVISION_BATCH);
    const char *line = send_batch(client, "[1,\"x\",null,[],{},{\"id\":1.5}]");
    expect_count(line, 6);
    array_expect_code(line, "1.5", "-32600");
    line = send_batch(client, "[[" PING("1") "]]");
    expect_count(line, 1);
    array_expect_code(line, "null", "-32600");
    client_finish(client);
}

Test(batches, that_are_no_json_get_one_parse_error) {
    struct client *client = client_start_ready(NULL, CLIENT_REVISION_BATCH);
    client_expect_error(client, "[" PING("1") ",]", -32700, "null");
    client_expect_error(client, "[" PING("1") PING("2") "]", -32700, "null");
    client_expect_silence(client);
    client_finish(client);
}

Test(batches, without_a_request_get_nothing) {
    struct client *client = client_start_ready(NULL, CLIENT_REVISION_BATCH);
    client_send_line(client, "[" NOTIFICATION("ping") "," NOTIFICATION("x") "]");
    client_send_line(client, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]");
    client_expect_silence(client);
    client_finish(client);
}

Test(batches, must_not_hold_initialize) {
    const char *arguments[] = {"serve", "--batches", NULL};
    struct client *client =
        client_start(&(struct client_options){.arguments = arguments, .batches = true});
    const char *line = send_batch(client, "[" INITIALIZE("1", "\"2025-11-25\"") "," PING("2") "]");
    array_expect_code(line, "1", "-32600");
    expect_result(line, "2");
    client_expect_error(client, REQUEST("3", "tools/list"), -32002, "3");
    client_finish(client);
}

Test(batches, are_served_in_every_revision_when_the_operator_says_so) {
    const char *arguments[] = {"--batches", NULL};
    struct client *client =
        client_start(&(struct client_options){.arguments = arguments, .batches = true});
    expect_result(send_batch(client, "[" PING("1") "]"), "1");
    client_initialize(client, "2025-11-25");
    expect_result(send_batch(client, "[" REQUEST("1", "tools/list") "]"), "1");
    client_finish(client);
}

Test(batches, hold_what_each_request_would_have_got_alone) {
    struct client *client = client_start_ready(NULL, CLIENT_REVISION_BATCH);
    const char *line = send_batch(
        client,
        "[" REQUEST_WITH("1", "tools/call", "{\"name\":\"no\"}") "," REQUEST_WITH(
            "2", "tools/call", "5") "," CALL("3", "{\"code\":7}") "," CALL("4", "{\"code\":\"1\","
                                                                                "\"timeout\":"
                                                                                "0}") "]");
    expect_count(line, 4);
    array_expect_code(line, "1", "-32602");
    array_expect_code(line, "2", "-32602");
    array_expect_code(line, "3", "-32602");
    expect_result(line, "4");
    client_finish(client);
}

Test(batches, wait_for_their_evaluations_while_other_requests_are_served) {
    struct client *client = client_start_ready(NULL, CLIENT_REVISION_BATCH);
    client_send_line(client, "[" EVALUATE("1", "(progn (sleep 0.2) (defvar *x* 5))") "," EVALUATE(
                                 "2", "(* *x* 2)") "," PING("3") "]");
    client_ping(client);
    const char *line = read_answer(client);
    expect_count(line, 3);
    struct text text;
    cr_assert(json_at(array_element(line, "2"), &text, "result", "content", NULL));
    cr_assert(json_element(text, 0, &text) && json_member(text, "text", &text));
    cr_assert(text_is(text, "\"=> 10\""));
    client_finish(client);
}

Test(batches, do_not_let_two_requests_with_one_id_run_at_once) {
    struct client *client = client_start_ready(NULL, CLIENT_REVISION_BATCH);
    client_send_line(client, "[" EVALUATE("1", "1") "," EVALUATE("1", "2") "]");
    expect_count(read_answer(client), 2);
    client_expect_silence(client);
    client_finish(client);
}

Test(batches, hold_the_error_of_a_cancelled_element) {
    struct client *client = client_start_ready(NULL, CLIENT_REVISION_BATCH);
    client_send_line(client, "[" EVALUATE("1", ENDLESS) "," PING("2") "]");
    client_send_line(client, CANCEL("1"));
    const char *line = read_answer(client);
    expect_count(line, 2);
    array_expect_code(line, "1", "-32001");
    client_finish(client);
}

Test(batches, leave_out_a_cancelled_element_where_silence_is_asked_for) {
    const char *arguments[] = {"--cancel-reply", "silent", NULL};
    struct client *client =
        client_start_ready(&(struct client_options){.arguments = arguments}, CLIENT_REVISION_BATCH);
    client_send_line(client, "[" EVALUATE("1", ENDLESS) "," PING("2") "]");
    client_send_line(client, CANCEL("1"));
    const char *line = read_answer(client);
    expect_count(line, 1);
    expect_result(line, "2");
    client_send_line(client, "[" EVALUATE("1", ENDLESS) "]");
    client_send_line(client, CANCEL("1"));
    cr_assert_eq(client_evaluate(client, "1").error_code, 0);
    client_expect_silence(client);
    client_finish(client);
}

Test(batches, may_be_large) {
    enum { COUNT = 10000 };
    struct client *client = client_start_ready(NULL, CLIENT_REVISION_BATCH);
    client_send(client, "[", 1);
    for (int i = 0; i < COUNT; i++) {
        static const char request[] = PING("9") ",";
        client_send(client, request, sizeof request - 1);
    }
    client_send_line(client, PING("\"last\"") "]");
    const char *line = read_answer(client);
    expect_count(line, COUNT + 1);
    client_finish(client);
}

Test(batches, may_end_the_server_and_are_answered_whole) {
    struct client *client = client_start_ready(NULL, CLIENT_REVISION_BATCH);
    const char *line = send_batch(
        client,
        "[" EVALUATE("1", "1") "," REQUEST("2", "shutdown") "," REQUEST("3", "exit") "," REQUEST(
            "4", "exit") "," PING("5") "," REQUEST("6", "tools/list") "]");
    expect_count(line, 6);
    array_expect_code(line, "5", "-32003");
    array_expect_code(line, "6", "-32003");
    for (int id = 1; id <= 4; id++)
        expect_result(line, (const char[]){(char)('0' + id), '\0'});
    cr_assert_eq(client_wait(client), 0);
    client_finish(client);
}

Test(batches, answer_with_an_error_what_does_not_fit_into_one_line) {
    const char *arguments[] = {"--response-max-bytes", "20000", NULL};
    struct client *client =
        client_start_ready(&(struct client_options){.arguments = arguments}, CLIENT_REVISION_BATCH);
    client_send(client, "[", 1);
    for (int i = 0; i < 30; i++)
        client_send(client, REQUEST("8", "tools/list") ",",
                    sizeof(REQUEST("8", "tools/list") ",") - 1);
    const char *line = send_batch(client, REQUEST("\"last\"", "tools/list") "]");
    expect_count(line, 31);
    cr_assert_leq(strlen(line), 20000);
    expect_contains(line, "\"tools\":[");
    expect_contains(line, "\"name\":\"response.max_bytes\"");
    client_finish(client);
}
