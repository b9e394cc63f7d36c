/* subscriptions/listen: acknowledged at once, silent while nothing changes, and ended by the client
 * with a cancellation or by the server with a result. */
#include "tests/support/eras.h"
#include "tests/support/family.h"
#include <signal.h>

#define ALL "{\"toolsListChanged\":true,\"promptsListChanged\":true,\"resourcesListChanged\":true}"

static void expect_acknowledged(struct client *client, const char *id) {
    const char *line =
        client_await_notification(client, "notifications/subscriptions/acknowledged", NULL);
    expect_member(line, id, "params", "_meta", KEY_SUBSCRIBED, NULL);
    expect_member(line, "{}", "params", "notifications", NULL);
}

static void listen_as(struct client *client, const char *id) {
    client_send_format(client, LISTEN("%s", ALL), id);
    expect_acknowledged(client, id);
}

Test(listen, is_acknowledged_with_its_own_id_and_stays_open) {
    static const char *const ids[] = {"\"listen:0\"",     "0",     "\"\"",
                                      "9007199254740993", "\"0\"", "99999999999999999999"};
    struct client *client = client_start(NULL);
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        listen_as(client, ids[i]);
    client_expect_silence(client);
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        client_send_format(client, CANCEL("%s"), ids[i]);
    client_expect_silence(client);
    client_finish(client);
}

Test(listen, requires_the_object_of_notifications) {
    static const char *const members[] = {NULL, "\"notifications\":null", "\"notifications\":[]",
                                          "\"notifications\":true", "\"notification\":{}"};
    struct client *client = client_start(NULL);
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        const char *line =
            era_refused(client, era_modern, -32602, "1", "subscriptions/listen", members[i]);
        expect_member(line, "\"notifications\"", "error", "data", "name", NULL);
    }
    client_send_line(client, LISTEN("1", "{\"unknown\":[1],\"resourceSubscriptions\":[\"x:y\"]}"));
    expect_acknowledged(client, "1");
    client_send_line(client, CANCEL("1"));
    client_expect_silence(client);
    client_finish(client);
}

Test(listen, with_an_id_in_flight_is_refused_and_the_first_one_stays_open) {
    struct client *client = client_start(NULL);
    listen_as(client, "1");
    client_expect_error(client, LISTEN("1", ALL), -32600, "1");
    client_expect_error(client, PING("1"), -32600, "1");
    listen_as(client, "\"1\"");
    client_send_line(client, CANCEL("1"));
    client_send_line(client, CANCEL("\"1\""));
    client_expect_result(client, PING("1"), "1");
    client_finish(client);
}

Test(listen, is_cancelled_without_an_answer_under_every_cancel_reply) {
    static const char *const replies[] = {"auto", "error", "silent"};
    for (size_t i = 0; i < COUNT_OF(replies); i++) {
        struct client *client = era_start(era_modern, STRINGS("--cancel-reply", replies[i]));
        listen_as(client, "7");
        client_send_line(client, CANCEL("\"7\""));
        client_send_line(client, CANCEL("8"));
        client_expect_error(client, PING("7"), -32600, "7"); /* still open */
        client_send_line(client, CANCEL("7"));
        client_send_line(client, CANCEL("7"));
        client_expect_silence(client);
        listen_as(client, "7"); /* the id is free again */
        client_send_line(client, CANCEL("7"));
        client_finish(client);
    }
}

Test(listen, too_many_are_refused_with_the_limit) {
    enum { LIMIT = 16 };
    struct client *client = client_start(NULL);
    for (int i = 0; i < LIMIT; i++)
        listen_as(client, formatted("%d", i));
    const char *line = client_expect_error(client, LISTEN("99", ALL), -32603, "99");
    cr_assert_eq(client_integer(client, line, "error", "data", "limit", NULL), LIMIT);
    cr_assert_str_eq(client_string(client, line, "error", "data", "name", NULL),
                     "subscriptions.streams");
    client_send_line(client, CANCEL("3"));
    listen_as(client, "99");
    client_send_line(client, CANCEL("99"));
    for (int i = 0; i < LIMIT; i++)
        client_send_format(client, CANCEL("%d"), i);
    client_expect_silence(client);
    client_finish(client);
}

Test(listen, starts_no_process_and_does_not_delay_evaluations) {
    struct client *client = client_start(NULL);
    listen_as(client, "\"l\"");
    family_await_launcher_alone(client);
    struct evaluation evaluation = era_evaluate(client, era_modern, NULL, "(+ 1 2)");
    cr_assert_str_eq(era_text(client, &evaluation), "=> 3");
    client_send_line(client, CANCEL("\"l\""));
    client_expect_silence(client);
    client_finish(client);
}

/* The end of a subscription by the server: its result, then the notification. */
static void expect_ended(struct client *client, const char *id) {
    const char *line = client_read_line(client, NULL);
    expect_member(line, id, "id", NULL);
    expect_member(line, "\"complete\"", "result", "resultType", NULL);
    expect_member(line, id, "result", "_meta", KEY_SUBSCRIBED, NULL);
    line = client_read_line(client, NULL);
    expect_member(line, "\"notifications/cancelled\"", "method", NULL);
    expect_member(line, id, "params", "requestId", NULL);
}

Test(listen, ends_with_a_result_and_a_notification_when_the_server_ends) {
    for (int by_signal = 0; by_signal < 2; by_signal++) {
        struct client *client = client_start(NULL);
        listen_as(client, "\"listen:0\"");
        if (by_signal)
            client_kill(client, SIGTERM);
        else
            client_close_stdin(client);
        expect_ended(client, "\"listen:0\"");
        client_finish(client);
    }
}

Test(listen, ends_after_all_other_answers) {
    struct client *client = client_start(NULL);
    listen_as(client, "5");
    era_call_send(client, era_modern, "6", "evaluate-lisp", "{\"code\":\"(sleep 0.3) 1\"}");
    client_close_stdin(client);
    expect_member(client_read_line(client, NULL), "6", "id", NULL);
    expect_ended(client, "5");
    client_finish(client);
}

Test(listen, ends_in_the_same_way_after_shutdown_and_exit) {
    struct client *client = client_start_ready(NULL, NULL);
    listen_as(client, "5");
    client_expect_result(client, REQUEST("1", "shutdown"), "1");
    client_expect_error(client, LISTEN("6", ALL), -32003, "6");
    client_send_line(client, NOTIFICATION("exit"));
    expect_ended(client, "5");
    client_finish(client);
}
