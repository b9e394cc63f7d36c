/* Arrays of messages, with requests of both eras: served where the revision has them or the
 * operator asks for them, refused whole everywhere else. Each element is answered as it would be
 * alone, and all of them in one array. */
#include "tests/support/array.h"
#include "tests/support/eras.h"

/* Sends the array of PARTS, which end with NULL, as one line. */
static void send_parts(struct client *client, const char *const *parts) {
    client_send(client, "[", 1);
    for (size_t i = 0; parts[i]; i++) {
        if (i)
            client_send(client, ",", 1);
        client_send(client, parts[i], strlen(parts[i]));
    }
    client_send_line(client, "]");
}

#define SEND(client, ...) send_parts(client, (const char *const[]){__VA_ARGS__, NULL})

/* The next answer, which must be an array of COUNT elements. */
static const char *read_array(struct client *client, size_t count) {
    const char *line = client_read_response(client);
    cr_assert_eq(json_count(array_of(line)), count, "not %zu elements: %s", count, line);
    return line;
}

static void expect_result(const char *line, const char *id, bool modern) {
    struct text result, type;
    cr_assert(json_member(array_element(line, id), "result", &result), "no result for %s in %s", id,
              line);
    cr_assert_eq(json_member(result, "resultType", &type), modern, "%s", line);
}

static struct client *start_with(const char *option, const char *value) {
    const char *arguments[] = {option, value, NULL};
    return client_start_ready(&(struct client_options){.arguments = arguments},
                              CLIENT_REVISION_BATCH);
}

static struct client *start(void) {
    return start_with(NULL, NULL);
}

Test(batches, are_refused_whole_before_initialize_and_in_every_revision_without_them) {
    static const char *const arrays[] = {
        "[" PING("1") "]",
        "[" MODERN("1", "tools/list") "," MODERN("2", "tools/list") "]",
        "[" REQUEST("1", "shutdown") "]",
        "[" NOTIFICATION("ping") "]",
        "[]",
        "[1,2,3]",
        "[[]]",
    };
    static const char *const revisions[] = {NULL, "2024-11-05", "2025-06-18", "2025-11-25"};
    for (size_t i = 0; i < COUNT_OF(revisions); i++) {
        struct client *client = client_start(NULL);
        if (revisions[i])
            client_initialize(client, revisions[i]);
        for (size_t j = 0; j < COUNT_OF(arrays); j++)
            client_expect_error(client, arrays[j], -32600, "null");
        client_expect_silence(client);
        client_finish(client);
    }
}

Test(batches, are_served_in_every_revision_when_the_operator_asks_for_it) {
    const char *arguments[] = {"--batches", NULL};
    struct client *client =
        client_start(&(struct client_options){.arguments = arguments, .batches = true});
    SEND(client, PING("1"));
    expect_result(read_array(client, 1), "1", false);
    client_initialize(client, "2025-11-25");
    SEND(client, REQUEST("1", "tools/list"));
    expect_result(read_array(client, 1), "1", false);
    client_finish(client);
}

Test(batches, are_answered_with_one_array_and_each_element_in_its_own_era) {
    struct client *client = start();
    SEND(client, REQUEST("1", "tools/list"), MODERN("2", "tools/list"), PING("3"),
         MODERN("4", "ping"), MODERN("5", "server/discover"), REQUEST("6", "server/discover"),
         NOTIFICATION("notifications/x"), MODERN("\"7\"", "no/such"), REQUEST("8", "no/such"),
         REQUEST_WITH("9", "tools/call", "{\"name\":\"no\"}"),
         REQUEST_WITH("10", "tools/call", "5"), CALL("11", "{\"code\":7}"),
         CALL("12", "{\"code\":\"1\",\"timeout\":0}"));
    const char *line = read_array(client, 12);
    expect_result(line, "1", false);
    expect_result(line, "2", true);
    expect_result(line, "3", false);
    array_expect_code(line, "4", "-32601");
    expect_result(line, "5", true);
    array_expect_code(line, "6", "-32602");
    array_expect_code(line, "\"7\"", "-32601");
    array_expect_code(line, "8", "-32601");
    array_expect_code(line, "9", "-32602");
    array_expect_code(line, "10", "-32602");
    array_expect_code(line, "11", "-32602");
    expect_result(line, "12", false);
    client_send_line(client, " [ " PING("1") " ] ");
    read_array(client, 1);
    client_expect_silence(client);
    client_finish(client);
}

Test(batches, that_are_empty_or_not_json_get_one_error_outside_an_array) {
    struct client *client = start();
    client_expect_error(client, "[]", -32600, "null");
    client_expect_error(client, "[ ]", -32600, "null");
    client_expect_error(client, "[" PING("1") ",]", -32700, "null");
    client_expect_error(client, "[" PING("1") PING("2") "]", -32700, "null");
    client_expect_silence(client);
    client_finish(client);
}

Test(batches, of_nonsense_get_one_error_for_each_element) {
    struct client *client = start();
    SEND(client, "1", "\"x\"", "null", "[]", "{}", "{\"id\":1.5}");
    array_expect_code(read_array(client, 6), "1.5", "-32600");
    SEND(client, "[" PING("1") "]");
    array_expect_code(read_array(client, 1), "null", "-32600");
    client_finish(client);
}

Test(batches, without_a_request_get_no_answer) {
    struct client *client = start();
    SEND(client, NOTIFICATION("ping"), NOTIFICATION("x"));
    SEND(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    client_expect_silence(client);
    client_finish(client);
}

Test(batches, must_not_hold_a_handshake_or_a_subscription) {
    const char *arguments[] = {"serve", "--batches", NULL};
    struct client *client =
        client_start(&(struct client_options){.arguments = arguments, .batches = true});
    SEND(client, INITIALIZE("1", "\"2025-11-25\""), PING("2"), LISTEN("3", "{}"),
         MODERN("4", "initialize"), MODERN("5", "server/discover"));
    const char *line = read_array(client, 5);
    array_expect_code(line, "1", "-32600");
    expect_result(line, "2", false);
    array_expect_code(line, "3", "-32600");
    array_expect_code(line, "4", "-32600");
    expect_result(line, "5", true);
    client_expect_error(client, REQUEST("6", "tools/list"), -32002, "6");
    client_expect_silence(client);
    client_finish(client);
}

Test(batches, wait_for_their_evaluations_while_other_requests_are_served) {
    struct client *client = start();
    SEND(client, EVALUATE("1", "(progn (sleep 0.2) (defvar *x* 5))"), EVALUATE("2", "(* *x* 2)"),
         PING("3"), MODERN_EVALUATE("4", "(list 2)"),
         MODERN_CALL("5", "{\"code\":\"(loop)\",\"timeout\":0.2}"));
    client_ping(client);
    const char *line = read_array(client, 5);
    expect_contains(line, "\"text\":\"=> 10\"");
    expect_result(line, "1", false);
    expect_result(line, "4", true);
    array_expect_code(line, "5", "-32004");
    client_finish(client);
}

Test(batches, do_not_repeat_an_id_that_is_in_flight) {
    struct client *client = start();
    SEND(client, EVALUATE("1", "(sleep 0.2)"), EVALUATE("1", "2"), MODERN_EVALUATE("1", "1"),
         MODERN_EVALUATE("\"1\"", "1"));
    const char *line = read_array(client, 4);
    expect_result(line, "\"1\"", true);
    expect_contains(line, "-32600");
    client_expect_silence(client);
    client_finish(client);
}

Test(batches, hold_the_error_of_a_cancelled_legacy_call_and_leave_out_a_modern_one) {
    struct client *client = start();
    SEND(client, EVALUATE("1", ENDLESS), MODERN_EVALUATE("2", ENDLESS), PING("3"));
    client_send_line(client, CANCEL("1"));
    client_send_line(client, CANCEL("2"));
    const char *line = read_array(client, 2);
    array_expect_code(line, "1", "-32001");
    expect_result(line, "3", false);
    SEND(client, EVALUATE("1", ENDLESS), MODERN_EVALUATE("2", ENDLESS), CANCEL("1"), CANCEL("2"));
    array_expect_code(read_array(client, 1), "1", "-32001");
    SEND(client, MODERN_EVALUATE("2", ENDLESS));
    client_send_line(client, CANCEL("2"));
    cr_assert_str_eq(client_evaluate(client, "1").text, "=> 1");
    client_expect_silence(client);
    client_finish(client);
}

Test(batches, leave_out_a_cancelled_element_where_the_operator_asks_for_silence) {
    struct client *client = start_with("--cancel-reply", "silent");
    SEND(client, EVALUATE("1", ENDLESS), PING("2"));
    client_send_line(client, CANCEL("1"));
    expect_result(read_array(client, 1), "2", false);
    SEND(client, EVALUATE("1", ENDLESS));
    client_send_line(client, CANCEL("1"));
    cr_assert_eq(client_evaluate(client, "1").error_code, 0);
    client_expect_silence(client);
    client_finish(client);
}

/* Sends an array of COUNT times ELEMENT and LAST. */
static void send_many(struct client *client, size_t count, const char *element, const char *last) {
    client_send(client, "[", 1);
    for (size_t i = 0; i < count; i++) {
        client_send(client, element, strlen(element));
        client_send(client, ",", 1);
    }
    client_send(client, last, strlen(last));
    client_send_line(client, "]");
}

Test(batches, may_be_large) {
    struct client *client = start();
    send_many(client, 8000, PING("9"), PING("\"last\""));
    read_array(client, 8001);
    client_finish(client);
}

Test(batches, hold_an_error_for_each_answer_that_does_not_fit_into_one_line) {
    struct client *client = start_with("--response-max-bytes", "20000");
    send_many(client, 30, REQUEST("8", "tools/list"), REQUEST("\"last\"", "tools/list"));
    const char *line = read_array(client, 31);
    cr_assert_leq(strlen(line), 20000);
    expect_contains(line, "\"tools\":[");
    expect_contains(line, "\"name\":\"response.max_bytes\"");
    client_finish(client);
}

Test(batches, may_end_the_server_and_are_answered_whole) {
    struct client *client = start();
    SEND(client, EVALUATE("1", "1"), REQUEST("2", "shutdown"), REQUEST("3", "exit"),
         REQUEST("4", "exit"), PING("5"), REQUEST("6", "tools/list"));
    const char *line = read_array(client, 6);
    array_expect_code(line, "5", "-32003");
    array_expect_code(line, "6", "-32003");
    for (int id = 1; id <= 4; id++)
        expect_result(line, (const char[]){(char)('0' + id), '\0'}, false);
    cr_assert_eq(client_wait(client), 0);
    client_finish(client);
}
