/* Resources in every revision: files as text or base64, templates that Lisp answers, and who is
 * told when one changes. */
#include "tests/support/project_files.h"

#define URI(uri) "\"uri\":\"" uri "\""

static void begin(void) {
    project_files_begin();
    project_files_write("resources/a.txt", "text \xC3\xA9");
    project_files_write("resources/empty.txt", "");
    project_files_write("resources/b.bin", "\x01\xFF");
    project_files_write(
        "resources/item.lisp",
        "(mcp:defresource \"item://{id}/x\" (id uri)\n (cond ((string= id \"no\") (format "
        "*error-output* \"looked\") (mcp:fail \"no item ~a\" id))\n ((string= id \"big\") "
        "(make-string 3000 :initial-element #\\a)) (t (format nil \"~a at ~a\" id uri))))");
    project_files_write(
        "resources/item.lisp.meta.json",
        "{\"uriTemplate\":\"item://{id}/x\",\"mimeType\":\"text/x-item\",\"title\":\"T\"}");
}

TestSuite(resources, .init = begin, .fini = project_files_end);

Test(resources, are_listed_and_read) {
    static const struct project_answer answers[] = {
        {"resources/list", NULL,
         "{\"name\":\"a.txt\",\"uri\":\"eclave:///a.txt\",\"mimeType\":\"text/plain\"}", 0},
        {"resources/list", NULL, "\"ttlMs\":", ERA_COUNT - 1},
        {"resources/templates/list", NULL, "\"uriTemplate\":\"item://{id}/x\"", 0},
        {"resources/templates/list", NULL, "\"title\":\"T\"", 2},
        {"resources/read", URI("eclave:///a.txt"),
         "\"contents\":[{\"uri\":\"eclave:///a.txt\",\"mimeType\":\"text/plain\","
         "\"text\":\"text \xC3\xA9\"}]",
         0},
        {"resources/read", URI("eclave:///empty.txt"), "\"text\":\"\"", 0},
        {"resources/read", URI("eclave:///b.bin"), "\"blob\":\"Af8=\"", 0},
        {"resources/read", URI("item://5%20/x"), "\"text\":\"5  at item://5%20/x\"", 0},
        {"resources/read", URI("item://5%20/x"), "\"mimeType\":\"text/x-item\"", 0},
    };
    project_files_expect(answers, COUNT_OF(answers));
}

Test(resources, that_cannot_be_read_say_why) {
    static const char *const options[] = {"--resource-max-bytes", "2000", NULL};
    EACH_ERA(era) {
        struct client *client = project_files_serve_in(era, options);
        const char *line = era_refused(client, era, era->modern ? -32602 : -32002, "1",
                                       "resources/read", URI("test://nothing"));
        expect_member(line, "\"test://nothing\"", "error", "data", "uri", NULL);
        era_refused(client, era, -32602, "2", "resources/read", "\"uri\":5");
        line = era_refused(client, era, -32603, "3", "resources/read", URI("item://no/x"));
        expect_member(line, "\"Resource failed: no item no\"", "error", "message", NULL);
        expect_member(line, "1", "error", "data", "exitCode", NULL);
        expect_member(line, "\"looked\"", "error", "data", "stderr", NULL);
        line = era_refused(client, era, -32603, "4", "resources/read", URI("item://big/x"));
        expect_member(line, "2000", "error", "data", "limit", NULL);
        expect_member(line, "\"resource.max_bytes\"", "error", "data", "name", NULL);
        client_await_stderr(client, "resource-limit");
        if (!era->modern)
            client_await_notification(client, "notifications/message", NULL);
        client_finish(client);
    }
}

Test(resources, tell_those_who_subscribed_when_they_change) {
    for (const struct era *era = eras; !era->modern; era++) {
        project_files_write("resources/a.txt", "before");
        struct client *client = project_files_serve_in(era, NULL);
        expect_member(era_request(client, era, "1", "resources/subscribe", URI("eclave:///a.txt")),
                      "{}", "result", NULL);
        era_request(client, era, "2", "resources/subscribe", URI("item://1/x"));
        era_refused(client, era, -32002, "3", "resources/subscribe", URI("test://nothing"));
        project_files_write("resources/a.txt", "behind");
        const char *line =
            client_await_notification(client, "notifications/resources/updated", NULL);
        expect_member(line, "{\"uri\":\"eclave:///a.txt\"}", "params", NULL);
        expect_member(
            era_request(client, era, "4", "resources/unsubscribe", URI("eclave:///a.txt")), "{}",
            "result", NULL);
        project_files_write("resources/a.txt", "before");
        project_files_write("tools/new.lisp", "1");
        client_await_notification(client, "notifications/tools/list_changed", NULL);
        project_files_remove("tools/new.lisp");
        client_await_notification(client, "notifications/tools/list_changed", NULL);
        client_expect_silence(client);
        client_finish(client);
    }
}

Test(resources, tell_the_streams_of_a_modern_client) {
    struct client *client = project_files_serve_in(era_modern, NULL);
    client_send_line(client, LISTEN("\"s\"", "{\"resourceSubscriptions\":[\"eclave:///a.txt\","
                                             "\"eclave:///a.txt\",7],\"promptsListChanged\":true,"
                                             "\"toolsListChanged\":false,\"other\":1}"));
    const char *line =
        client_await_notification(client, "notifications/subscriptions/acknowledged", NULL);
    expect_member(line,
                  "{\"promptsListChanged\":true,\"resourceSubscriptions\":[\"eclave:///a.txt\"]}",
                  "params", "notifications", NULL);
    project_files_write("resources/a.txt", "behind");
    line = client_await_notification(client, "notifications/resources/updated", NULL);
    expect_member(line, "\"s\"", "params", "_meta", KEY_SUBSCRIBED, NULL);
    expect_member(line, "\"eclave:///a.txt\"", "params", "uri", NULL);
    project_files_write("prompts/p.txt", "p");
    line = client_await_notification(client, "notifications/prompts/list_changed", NULL);
    expect_member(line, "\"s\"", "params", "_meta", KEY_SUBSCRIBED, NULL);
    client_send_line(client, CANCEL("\"s\""));
    client_finish(client);
}

Test(resources, tell_once_a_refresh_which_lists_changed) {
    project_files_write("tools/says.lisp", ";;; {\"description\": \"x\"}\n(mcp:deftool \"says\" () "
                                           "(mcp:publish-change :prompts) \"said\")");
    for (const struct era *era = eras; !era->modern; era++) {
        struct client *client = project_files_serve_in(era, NULL);
        project_files_write("prompts/one.txt", "1");
        client_await_notification(client, "notifications/prompts/list_changed", NULL);
        project_files_write("prompts/one.txt", "2");
        project_files_write("resources/new.txt", "2");
        client_await_notification(client, "notifications/resources/list_changed", NULL);
        project_files_remove("resources/new.txt");
        client_await_notification(client, "notifications/resources/list_changed", NULL);
        cr_assert_str_eq(era_call(client, era, "says", "{}").text, "said");
        client_await_notification(client, "notifications/prompts/list_changed", NULL);
        project_files_remove("prompts/one.txt");
        client_await_notification(client, "notifications/prompts/list_changed", NULL);
        client_expect_silence(client);
        client_finish(client);
    }
}
