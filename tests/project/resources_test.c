/* Resources in every revision: files as text or base64, templates answered by Lisp, and
 * notifications of changes. */
#include "tests/support/project_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    EACH_ERA_SERVED(era, options) {
        const char *line = era_refused(client, era, era->modern ? -32602 : -32002, "1",
                                       "resources/read", URI("test://nothing"));
        expect_member(line, "\"test://nothing\"", "error", "data", "uri", NULL);
        era_refused(client, era, -32602, "2", "resources/read", "\"uri\":5");
        line = era_refused(client, era, -32603, "3", "resources/read", URI("item://no/x"));
        expect_member(line, "\"Resource failed: no item no\"", "error", "message", NULL);
        expect_member(line, "{\"exitCode\":1,\"stderr\":\"looked\"}", "error", "data", "_meta",
                      NULL);
        line = era_refused(client, era, -32603, "4", "resources/read", URI("item://big/x"));
        expect_member(line, "2000", "error", "data", "limit", NULL);
        expect_member(line, "\"resource.max_bytes\"", "error", "data", "name", NULL);
        client_await_stderr(client, "resource-limit");
        if (!era->modern)
            client_await_notification(client, "notifications/message", NULL);
    }
}

Test(resources, that_are_refused_say_why_when_they_are_read) {
    static const char *const options[] = {"--resource-max-bytes", "100", NULL};
    static char text[102];
    memset(text, 'x', sizeof text - 1);
    project_files_write("resources/large one.txt", text);
    text[100] = 0;
    project_files_write("resources/just.txt", text);
    EACH_ERA_SERVED(era, options) {
        const char *line = era_refused(client, era, -32603, "1", "resources/read",
                                       URI("eclave:///large%20one.txt"));
        expect_contains(line, "has 101 bytes; the maximum is 100");
        client_await_stderr(client, "error: resource-refused");
        if (!era->modern)
            client_await_notification(client, "notifications/message", NULL);
        expect_contains(era_request(client, era, "2", "resources/read", URI("eclave:///just.txt")),
                        text);
    }
}

/* Their characters fit, but not their JSON. */
Test(resources, that_exceed_the_limit_as_json_are_refused) {
    static const char *const options[] = {"--response-max-bytes", "20000", NULL};
    project_files_write("resources/grow.lisp.meta.json", "{\"uriTemplate\":\"grow://{code}\"}");
    project_files_write("resources/grow.lisp",
                        "(mcp:defresource \"grow://{code}\" (code) (make-string 4000 "
                        ":initial-element (code-char (parse-integer code))))");
    EACH_ERA_SERVED(era, options) {
        const char *line = era_refused(client, era, -32603, "1", "resources/read", URI("grow://1"));
        expect_member(line, "\"response.max_bytes\"", "error", "data", "name", NULL);
        expect_lacks(line, "\\u0001");
        expect_contains(era_request(client, era, "2", "resources/read", URI("grow://120")), "xxxx");
        client_await_stderr(client, "limit");
        if (!era->modern)
            client_await_notification(client, "notifications/message", NULL);
    }
}

Test(resources, are_found_by_each_equivalent_uri) {
    static const char *const equivalent[] = {
        "Test://host/%C3%A4~",   "test://HOST/%c3%a4~",      "TEST://Host/%C3%a4%7E",
        "test://host/./%C3%A4~", "test://host/x/../%C3%A4~", "test://host/%2E%2e/%c3%A4%7e",
    };
    static const char *const others[] = {"test://host/%C3%A4~/", "test://host/%E4~",
                                         "test://host/%C3%A4~?", "test://host:80/%C3%A4~"};
    project_files_write("resources/n.txt", "named");
    project_files_write("resources/n.txt.meta.json", "{\"uri\":\"Test://host/%C3%A4~\"}");
    project_files_write("resources/same.txt", "taken");
    project_files_write("resources/same.txt.meta.json", "{\"uri\":\"test://HOST/%c3%a4~\"}");
    EACH_ERA_SERVED(era, NULL) {
        if (!era->modern)
            expect_contains(client_await_notification(client, "notifications/message", NULL),
                            "is already defined by resources/n.txt");
        for (size_t i = 0; i < COUNT_OF(equivalent); i++) {
            const char *line = era_request(client, era, "1", "resources/read",
                                           formatted("\"uri\":\"%s\"", equivalent[i]));
            expect_contains(line, "\"named\"");
            expect_contains(line, "\"uri\":\"Test://host/%C3%A4~\""); /* as it is listed */
        }
        for (size_t i = 0; i < COUNT_OF(others); i++)
            era_refused(client, era, era->modern ? -32602 : -32002, "2", "resources/read",
                        formatted("\"uri\":\"%s\"", others[i]));
        expect_contains(era_request(client, era, "3", "resources/read", URI("ITEM://5/x")),
                        "\"5 at ITEM://5/x\"");
        if (era->modern)
            continue;
        era_request(client, era, "4", "resources/subscribe", URI("test://HOST/%c3%a4~"));
        project_files_write("resources/n.txt", era->revision);
        const char *line =
            client_await_notification(client, "notifications/resources/updated", NULL);
        expect_member(line, "{\"uri\":\"test://HOST/%c3%a4~\"}", "params", NULL);
        era_request(client, era, "5", "resources/unsubscribe", URI("TEST://host/%C3%A4%7E"));
        project_files_write("resources/n.txt", "named");
        while (!strstr(era_request(client, era, "6", "resources/read", URI("test://host/%C3%A4~")),
                       "\"named\""))
            continue;
        client_expect_silence(client);
    }
    project_files_remove("resources/same.txt");
    project_files_remove("resources/same.txt.meta.json");
}

Test(resources, notify_subscribers_of_changes) {
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

Test(resources, notify_the_streams_of_a_modern_client) {
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

Test(resources, notify_of_each_changed_list_once_a_refresh) {
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

enum { WATCHED = 300, STREAMS = 3, COPIES = 20000, URI_ROOM = 64 };

/* ["item://0/x", ...], with the last one COPIES times more. */
static char *many_uris(size_t copies) {
    char *text = malloc((WATCHED + copies + 1) * URI_ROOM), *at = text;
    cr_assert_not_null(text);
    for (size_t i = 0; i < WATCHED + copies; i++)
        at +=
            sprintf(at, "%s\"item://%zu/x\"", i ? "," : "[", i < WATCHED ? i : (size_t)WATCHED - 1);
    memcpy(at, "]", 2);
    return text;
}

Test(resources, that_are_subscribed_twenty_thousand_times_are_honoured_once) {
    char *wanted = many_uris(COPIES), *honoured = many_uris(0);
    struct client *client = project_files_serve_in(era_modern, NULL);
    client_send_format(client, LISTEN("\"s\"", "{\"resourceSubscriptions\":%s}"), wanted);
    const char *line =
        client_await_notification(client, "notifications/subscriptions/acknowledged", NULL);
    expect_member(line, honoured, "params", "notifications", "resourceSubscriptions", NULL);
    client_send_line(client, CANCEL("\"s\""));
    client_finish(client);
    free(wanted);
    free(honoured);
}

Test(resources, name_the_limit_of_subscriptions) {
    enum { LIMIT = 1000 };
    struct client *client = project_files_serve_in(eras, NULL);
    for (int i = 0; i <= LIMIT; i++) {
        const char *params = formatted("{" URI("item://%d/x") "}", i);
        const char *line =
            client_request(client, formatted("%d", i), "resources/subscribe", params);
        if (i < LIMIT)
            continue;
        expect_member(line, "-32603", "error", "code", NULL);
        expect_member(line, "1000", "error", "data", "limit", NULL);
        expect_member(line, "\"subscriptions.resources\"", "error", "data", "name", NULL);
    }
    client_finish(client);
}

/* A legacy client that also opens modern streams, as during a migration. */
Test(resources, notify_each_of_many_subscribers_once) {
    char *uris = many_uris(0);
    struct client *client = project_files_serve_in(eras, NULL);
    for (int i = 0; i < WATCHED; i++) {
        const char *params = formatted("{" URI("item://%d/x") "}", i);
        client_request(client, formatted("%d", i), "resources/subscribe", params);
    }
    for (int i = 0; i < STREAMS; i++) {
        client_send_format(client, LISTEN("\"s%d\"", "{\"resourceSubscriptions\":%s}"), i, uris);
        client_await_notification(client, "notifications/subscriptions/acknowledged", NULL);
    }
    project_files_write("resources/a.txt", "not subscribed");
    project_files_write("resources/new.txt", "listed");
    client_await_notification(client, "notifications/resources/list_changed", NULL);
    client_expect_silence(client);
    project_files_write("resources/item.lisp", "(mcp:defresource \"item://{id}/x\" (id) id)");
    size_t notified[STREAMS + 1][WATCHED] = {0};
    for (int i = 0; i < WATCHED * (STREAMS + 1); i++) {
        const char *line =
            client_await_notification(client, "notifications/resources/updated", NULL);
        const char *uri = strstr(line, "item://"), *of = strstr(line, "\"s");
        cr_assert_not_null(uri, "%s", line);
        unsigned long number = strtoul(uri + 7, NULL, 10);
        unsigned long stream = of ? strtoul(of + 2, NULL, 10) + 1 : 0;
        cr_assert(number < WATCHED && stream <= STREAMS, "%s", line);
        notified[stream][number]++;
    }
    for (size_t i = 0; i < STREAMS + 1; i++)
        for (size_t j = 0; j < WATCHED; j++)
            cr_expect_eq(notified[i][j], 1, "stream %zu, %zu", i, j);
    client_expect_silence(client);
    for (int i = 0; i < STREAMS; i++)
        client_send_format(client, CANCEL("\"s%d\""), i);
    client_finish(client);
    free(uris);
}

Test(resources, do_not_notify_a_stream_that_was_cancelled_meanwhile) {
    char *uris = many_uris(0);
    struct client *client = project_files_serve_in(era_modern, NULL);
    for (int round = 0; round < 10; round++) {
        client_send_format(client, LISTEN("\"s\"", "{\"resourceSubscriptions\":%s}"), uris);
        client_await_notification(client, "notifications/subscriptions/acknowledged", NULL);
        project_files_format("resources/item.lisp",
                             "(mcp:defresource \"item://{id}/x\" (id) \"%d\")", round);
        client_await_notification(client, "notifications/resources/updated", NULL);
        client_send_line(client, CANCEL("\"s\""));
        client_barrier(client);
        while (client_take_line(client, NULL))
            continue;
        client_expect_silence(client);
    }
    client_finish(client);
    free(uris);
}
