/* Arrays in the one revision that has them, with requests of both eras inside: each is answered as
 * it would be alone, and all of them in one array. */
#include "tests/support/array.h"
#include "tests/support/eras.h"

static void expect_type(const char *line, const char *id, bool modern) {
    struct text result, type;
    cr_assert(json_member(array_element(line, id), "result", &result), "%s", line);
    cr_assert_eq(json_member(result, "resultType", &type), modern, "%s", line);
}

static struct client *start(void) {
    return client_start_ready(NULL, CLIENT_REVISION_BATCH);
}

/* The array of PARTS, which end with NULL, as one line. */
static void send_array(struct client *client, const char *const *parts) {
    client_send(client, "[", 1);
    for (size_t i = 0; parts[i]; i++) {
        if (i)
            client_send(client, ",", 1);
        client_send(client, parts[i], strlen(parts[i]));
    }
    client_send_line(client, "]");
}

#define SEND(client, ...) send_array(client, (const char *const[]){__VA_ARGS__, NULL})

Test(mixed_batches, answer_each_request_in_its_own_era) {
    struct client *client = start();
    SEND(client, REQUEST("1", "tools/list"), MODERN("2", "tools/list"), PING("3"),
         MODERN("4", "ping"), MODERN("5", "server/discover"), REQUEST("6", "server/discover"),
         NOTIFICATION("notifications/x"), MODERN("\"7\"", "no/such"));
    const char *line = client_read_line(client, NULL);
    cr_assert_eq(json_count(text_of(line)), 7);
    expect_type(line, "1", false);
    expect_type(line, "2", true);
    expect_type(line, "3", false);
    array_expect_code(line, "4", "-32601");
    expect_type(line, "5", true);
    array_expect_code(line, "6", "-32602");
    array_expect_code(line, "\"7\"", "-32601");
    client_expect_silence(client);
    client_finish(client);
}

Test(mixed_batches, wait_for_the_evaluations_of_both) {
    struct client *client = start();
    SEND(client, EVALUATE("1", "(sleep 0.2) (list 1)"), MODERN_EVALUATE("2", "(list 2)"),
         MODERN_CALL("3", "{\"code\":\"(loop)\",\"timeout\":0.2}"));
    client_ping(client);
    const char *line = client_read_line(client, NULL);
    cr_assert_eq(json_count(text_of(line)), 3);
    expect_type(line, "1", false);
    expect_type(line, "2", true);
    array_expect_code(line, "3", "-32004");
    client_finish(client);
}

Test(mixed_batches, leave_out_a_cancelled_modern_call_and_hold_the_error_of_a_legacy_one) {
    struct client *client = start();
    SEND(client, EVALUATE("1", ENDLESS), MODERN_EVALUATE("2", ENDLESS), PING("3"));
    client_send_line(client, CANCEL("1"));
    client_send_line(client, CANCEL("2"));
    const char *line = client_read_line(client, NULL);
    cr_assert_eq(json_count(text_of(line)), 2);
    array_expect_code(line, "1", "-32001");
    expect_type(line, "3", false);
    client_finish(client);
}

Test(mixed_batches, of_nothing_but_a_cancelled_modern_call_get_nothing) {
    struct client *client = start();
    SEND(client, MODERN_EVALUATE("2", ENDLESS));
    client_send_line(client, CANCEL("2"));
    cr_assert_str_eq(client_evaluate(client, "1").text, "=> 1");
    client_expect_silence(client);
    client_finish(client);
}

Test(mixed_batches, can_cancel_what_they_began) {
    struct client *client = start();
    SEND(client, EVALUATE("1", ENDLESS), MODERN_EVALUATE("2", ENDLESS), CANCEL("1"), CANCEL("2"));
    const char *line = client_read_line(client, NULL);
    cr_assert_eq(json_count(text_of(line)), 1);
    array_expect_code(line, "1", "-32001");
    client_finish(client);
}

Test(mixed_batches, hold_no_subscription_and_no_handshake) {
    struct client *client = start();
    SEND(client, LISTEN("1", "{}"), MODERN("2", "initialize"), MODERN("3", "server/discover"));
    const char *line = client_read_line(client, NULL);
    cr_assert_eq(json_count(text_of(line)), 3);
    array_expect_code(line, "1", "-32600");
    array_expect_code(line, "2", "-32600");
    expect_type(line, "3", true);
    client_expect_silence(client);
    client_finish(client);
}

Test(mixed_batches, do_not_repeat_an_id_that_is_open_in_either_era) {
    struct client *client = start();
    SEND(client, EVALUATE("1", "(sleep 0.2)"), MODERN_EVALUATE("1", "1"),
         MODERN_EVALUATE("\"1\"", "1"));
    const char *line = client_read_line(client, NULL);
    cr_assert_eq(json_count(text_of(line)), 3);
    expect_type(line, "\"1\"", true);
    expect_contains(line, "-32600");
    client_finish(client);
}

Test(mixed_batches, are_refused_whole_where_the_revision_has_none) {
    static const char *const revisions[] = {"2024-11-05", "2025-06-18", "2025-11-25", NULL};
    for (size_t i = 0; i < COUNT_OF(revisions); i++) {
        struct client *client = client_start(NULL);
        if (revisions[i])
            client_initialize(client, revisions[i]);
        SEND(client, MODERN("1", "tools/list"), MODERN("2", "tools/list"));
        const char *line = client_await(client, "null", NULL);
        expect_member(line, "-32600", "error", "code", NULL);
        client_expect_silence(client);
        client_finish(client);
    }
}
