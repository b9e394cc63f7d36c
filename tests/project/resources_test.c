/* Resources in every revision: files as text or base64, templates that Lisp answers, and who is
 * told when one changes. */
#include "tests/project/files.h"

#define URI(uri) "\"uri\":\"" uri "\""

static void put_resources(void) {
    put("resources/a.txt", "text \xC3\xA9");
    put("resources/empty.txt", "");
    put("resources/b.bin", "\x01\xFF");
    put("resources/item.lisp",
        "(mcp:defresource \"item://{id}/x\" (id uri)\n (cond ((string= id \"no\") (format "
        "*error-output* \"looked\") (mcp:fail \"no item ~a\" id))\n ((string= id \"big\") "
        "(make-string 3000 :initial-element #\\a)) (t (format nil \"~a at ~a\" id uri))))");
    put("resources/item.lisp.meta.json",
        "{\"uriTemplate\":\"item://{id}/x\",\"mimeType\":\"text/x-item\",\"title\":\"T\"}");
}

PROJECT_TEST(resources, are_listed_and_read) {
    put_resources();
    EACH_ERA(era) {
        struct client *client = serve(era);
        const char *line = era_request(client, era, "1", "resources/list", NULL);
        expect_has(line, "{\"name\":\"a.txt\",\"uri\":\"eclave:///a.txt\",\"mimeType\":"
                         "\"text/plain\"}");
        cr_expect_eq(has(line, "\"ttlMs\":"), era->modern);
        line = era_request(client, era, "2", "resources/templates/list", NULL);
        expect_has(line, "\"uriTemplate\":\"item://{id}/x\"");
        cr_expect_eq(has(line, "\"title\":\"T\""), era >= eras + 2);
        line = era_request(client, era, "3", "resources/read", URI("eclave:///a.txt"));
        expect_member(line,
                      "[{\"uri\":\"eclave:///a.txt\",\"mimeType\":\"text/plain\",\"text\":\"text "
                      "\xC3\xA9\"}]",
                      "result", "contents", NULL);
        line = era_request(client, era, "4", "resources/read", URI("eclave:///empty.txt"));
        expect_has(line, "\"text\":\"\"");
        line = era_request(client, era, "5", "resources/read", URI("eclave:///b.bin"));
        expect_has(line, "\"blob\":\"Af8=\"");
        line = era_request(client, era, "6", "resources/read", URI("item://5%20/x"));
        expect_has(line, "\"text\":\"5  at item://5%20/x\"");
        expect_has(line, "\"mimeType\":\"text/x-item\"");
        client_finish(client);
    }
}

PROJECT_TEST(resources, that_cannot_be_read_say_why) {
    static const char *const options[] = {"--resource-max-bytes", "2000", NULL};
    put_resources();
    EACH_ERA(era) {
        struct client *client = serve_as(era, "{}", options, false);
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

/* Their bytes are few enough, what they become as JSON is not. */
PROJECT_TEST(resources, that_grow_over_the_limit_are_refused_whole) {
    static const char *const options[] = {"--response-max-bytes", "20000", NULL};
    static char controls[4000];
    memset(controls, 1, sizeof controls - 1);
    put("resources/controls.txt", controls);
    memset(controls, 'x', sizeof controls - 1);
    put("resources/plain.txt", controls);
    EACH_ERA(era) {
        struct client *client = serve_as(era, "{}", options, false);
        const char *line =
            era_refused(client, era, -32603, "1", "resources/read", URI("eclave:///controls.txt"));
        expect_member(line, "\"response.max_bytes\"", "error", "data", "name", NULL);
        expect_has_not(line, "\\u0001");
        expect_has(era_request(client, era, "2", "resources/read", URI("eclave:///plain.txt")),
                   controls);
        client_await_stderr(client, "limit");
        if (!era->modern)
            client_await_notification(client, "notifications/message", NULL);
        client_finish(client);
    }
}

PROJECT_TEST(resources, tell_those_who_subscribed_when_they_change) {
    put_resources();
    for (const struct era *era = eras; !era->modern; era++) {
        put("resources/a.txt", "before");
        struct client *client = serve(era);
        expect_member(era_request(client, era, "1", "resources/subscribe", URI("eclave:///a.txt")),
                      "{}", "result", NULL);
        era_request(client, era, "2", "resources/subscribe", URI("item://1/x"));
        era_refused(client, era, -32002, "3", "resources/subscribe", URI("test://nothing"));
        put("resources/a.txt", "behind");
        const char *line =
            client_await_notification(client, "notifications/resources/updated", NULL);
        expect_member(line, "{\"uri\":\"eclave:///a.txt\"}", "params", NULL);
        expect_member(
            era_request(client, era, "4", "resources/unsubscribe", URI("eclave:///a.txt")), "{}",
            "result", NULL);
        put("resources/a.txt", "before");
        put("tools/new.lisp", "1");
        client_await_notification(client, "notifications/tools/list_changed", NULL);
        unlink("tools/new.lisp");
        client_await_notification(client, "notifications/tools/list_changed", NULL);
        client_expect_silence(client);
        client_finish(client);
    }
}

PROJECT_TEST(resources, tell_the_streams_of_a_modern_client) {
    put_resources();
    struct client *client = serve(era_modern);
    client_send_line(client, LISTEN("\"s\"", "{\"resourceSubscriptions\":[\"eclave:///a.txt\","
                                             "\"eclave:///a.txt\",7],\"promptsListChanged\":true,"
                                             "\"toolsListChanged\":false,\"other\":1}"));
    const char *line =
        client_await_notification(client, "notifications/subscriptions/acknowledged", NULL);
    expect_member(line,
                  "{\"promptsListChanged\":true,\"resourceSubscriptions\":[\"eclave:///a.txt\"]}",
                  "params", "notifications", NULL);
    put("resources/a.txt", "behind");
    line = client_await_notification(client, "notifications/resources/updated", NULL);
    expect_member(line, "\"s\"", "params", "_meta", KEY_SUBSCRIBED, NULL);
    expect_member(line, "\"eclave:///a.txt\"", "params", "uri", NULL);
    put("prompts/p.txt", "p");
    line = client_await_notification(client, "notifications/prompts/list_changed", NULL);
    expect_member(line, "\"s\"", "params", "_meta", KEY_SUBSCRIBED, NULL);
    client_send_line(client, CANCEL("\"s\""));
    client_finish(client);
}

PROJECT_TEST(resources, tell_once_a_refresh_which_lists_changed) {
    put_resources();
    put("tools/says.lisp", ";;; {\"description\": \"x\"}\n(mcp:deftool \"says\" () "
                           "(mcp:publish-change :prompts) \"said\")");
    for (const struct era *era = eras; !era->modern; era++) {
        struct client *client = serve(era);
        put("prompts/one.txt", "1");
        client_await_notification(client, "notifications/prompts/list_changed", NULL);
        put("prompts/one.txt", "2");
        put("resources/new.txt", "2");
        client_await_notification(client, "notifications/resources/list_changed", NULL);
        unlink("resources/new.txt");
        client_await_notification(client, "notifications/resources/list_changed", NULL);
        cr_assert_str_eq(era_call(client, era, "says", "{}").text, "said");
        client_await_notification(client, "notifications/prompts/list_changed", NULL);
        unlink("prompts/one.txt");
        client_await_notification(client, "notifications/prompts/list_changed", NULL);
        client_expect_silence(client);
        client_finish(client);
    }
}

enum { WATCHED = 300, STREAMS = 3, COPIES = 20000, URI_ROOM = 64 };

/* [ "item://0/x", … ], and the last of them COPIES times more. */
static char *many_uris(size_t copies) {
    char *text = malloc((WATCHED + copies + 1) * URI_ROOM), *at = text;
    cr_assert_not_null(text);
    for (size_t i = 0; i < WATCHED + copies; i++)
        at +=
            sprintf(at, "%s\"item://%zu/x\"", i ? "," : "[", i < WATCHED ? i : (size_t)WATCHED - 1);
    memcpy(at, "]", 2);
    return text;
}

PROJECT_TEST(resources, that_are_wanted_twenty_thousand_times_are_honoured_once) {
    put_resources();
    char *wanted = many_uris(COPIES), *honoured = many_uris(0);
    struct client *client = serve(era_modern);
    client_send_format(client, LISTEN("\"s\"", "{\"resourceSubscriptions\":%s}"), wanted);
    const char *line =
        client_await_notification(client, "notifications/subscriptions/acknowledged", NULL);
    expect_member(line, honoured, "params", "notifications", "resourceSubscriptions", NULL);
    client_send_line(client, CANCEL("\"s\""));
    client_finish(client);
    free(wanted);
    free(honoured);
}

PROJECT_TEST(resources, say_which_limit_of_subscriptions_is_reached) {
    enum { LIMIT = 1000 };
    put_resources();
    struct client *client = serve(eras);
    char id[16], params[40];
    for (int i = 0; i <= LIMIT; i++) {
        snprintf(id, sizeof id, "%d", i);
        snprintf(params, sizeof params, "{" URI("item://%d/x") "}", i);
        const char *line = client_request(client, id, "resources/subscribe", params);
        if (i < LIMIT)
            continue;
        expect_member(line, "-32603", "error", "code", NULL);
        expect_member(line, "1000", "error", "data", "limit", NULL);
        expect_member(line, "\"subscriptions.resources\"", "error", "data", "name", NULL);
    }
    client_finish(client);
}

/* A legacy client that also listens, as one that moves from one era to the other does. */
PROJECT_TEST(resources, that_many_watch_are_told_of_once_to_each) {
    put_resources();
    char *uris = many_uris(0), id[16];
    struct client *client = serve(eras);
    for (int i = 0; i < WATCHED; i++) {
        snprintf(id, sizeof id, "%d", i);
        client_send_format(
            client, REQUEST_WITH("%s", "resources/subscribe", "{" URI("item://%s/x") "}"), id, id);
        client_await(client, id, NULL);
    }
    for (int i = 0; i < STREAMS; i++) {
        client_send_format(client, LISTEN("\"s%d\"", "{\"resourceSubscriptions\":%s}"), i, uris);
        client_await_notification(client, "notifications/subscriptions/acknowledged", NULL);
    }
    put("resources/a.txt", "nobody watches this one"); /* and its size is listed */
    client_await_notification(client, "notifications/resources/list_changed", NULL);
    client_expect_silence(client);
    put("resources/item.lisp", "(mcp:defresource \"item://{id}/x\" (id) id)");
    size_t told[STREAMS + 1][WATCHED] = {0};
    for (int i = 0; i < WATCHED * (STREAMS + 1); i++) {
        const char *line =
            client_await_notification(client, "notifications/resources/updated", NULL);
        const char *uri = strstr(line, "item://"), *of = strstr(line, "\"s");
        cr_assert_not_null(uri, "%s", line);
        unsigned long number = strtoul(uri + 7, NULL, 10);
        unsigned long stream = of ? strtoul(of + 2, NULL, 10) + 1 : 0;
        cr_assert(number < WATCHED && stream <= STREAMS, "%s", line);
        told[stream][number]++;
    }
    for (size_t i = 0; i < STREAMS + 1; i++)
        for (size_t j = 0; j < WATCHED; j++)
            cr_expect_eq(told[i][j], 1, "stream %zu, %zu", i, j);
    client_expect_silence(client);
    for (int i = 0; i < STREAMS; i++)
        client_send_format(client, CANCEL("\"s%d\""), i);
    client_finish(client);
    free(uris);
}

PROJECT_TEST(resources, are_not_told_to_those_who_leave_in_the_middle) {
    put_resources();
    char *uris = many_uris(0);
    struct client *client = serve(era_modern);
    for (int round = 0; round < 10; round++) {
        char text[80];
        client_send_format(client, LISTEN("\"s\"", "{\"resourceSubscriptions\":%s}"), uris);
        client_await_notification(client, "notifications/subscriptions/acknowledged", NULL);
        snprintf(text, sizeof text, "(mcp:defresource \"item://{id}/x\" (id) \"%d\")", round);
        put("resources/item.lisp", text);
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
