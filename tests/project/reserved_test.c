/* What is built in beside a project: both are in the lists and their pages, and a definition with
 * the name or URI of something built in is refused. */
#include "tests/support/project_files.h"
#include <stdio.h>
#include <string.h>

#define URI(uri) "\"uri\":\"" uri "\""

static void begin(void) {
    project_files_begin();
    project_files_write("resources/a.txt", "mine");
    project_files_write("prompts/mine.txt", "Say {{x}}");
}

TestSuite(reserved, .init = begin, .fini = project_files_end);

/* The texts of the member NAME on all pages of METHOD, each followed by a blank. */
static void walk(struct client *client, const struct era *era, const char *method, const char *list,
                 const char *name, char *names, size_t size) {
    const char *cursor = NULL;
    *names = 0;
    do {
        struct text entries, entry, value;
        const char *line = era_request(client, era, "1", method,
                                       cursor ? formatted("\"cursor\":\"%s\"", cursor) : NULL);
        cr_assert(json_at(text_of(line), &entries, "result", list, NULL), "%s", line);
        cr_assert_eq(json_count(entries), 1);
        cr_assert(json_element(entries, 0, &entry) && json_member(entry, name, &value));
        snprintf(names + strlen(names), size - strlen(names), "%.*s ", (int)value.length,
                 value.bytes);
        cursor = json_at(text_of(line), &value, "result", "nextCursor", NULL)
                     ? client_string(client, line, "result", "nextCursor", NULL)
                     : NULL;
    } while (cursor);
}

Test(reserved, what_is_built_in_comes_first_in_lists) {
    static const char *const options[] = {"--list-page-size", "1", NULL};
    EACH_KIND_SERVED(era, options) {
        char names[800];
        walk(client, era, "resources/list", "resources", "uri", names, sizeof names);
        cr_assert_str_eq(names, "\"eclave:///guide\" \"eclave:///policy\" \"eclave:///a.txt\" ");
        walk(client, era, "prompts/list", "prompts", "name", names, sizeof names);
        cr_assert_str_eq(names, "\"lisp-session\" \"mine\" ");
        walk(client, era, "tools/list", "tools", "name", names, sizeof names);
        cr_assert_eq(strncmp(names, "\"evaluate-lisp\" \"open-session\" ", 31), 0, "%s", names);
    }
}

Test(reserved, both_can_be_read_and_completed) {
    EACH_ERA_SERVED(era, NULL) {
        expect_contains(era_request(client, era, "1", "resources/read", URI("eclave:///guide")),
                        "Common Lisp");
        expect_contains(era_request(client, era, "2", "resources/read", URI("eclave:///a.txt")),
                        "\"text\":\"mine\"");
        expect_contains(era_request(client, era, "3", "prompts/get",
                                    "\"name\":\"mine\",\"arguments\":{\"x\":\"y\"}"),
                        "Say y");
        expect_contains(era_request(client, era, "4", "prompts/get",
                                    "\"name\":\"lisp-session\",\"arguments\":{\"task\":\"y\"}"),
                        "\\n\\ny\\n\\n");
        era_refused(client, era, era->modern ? -32602 : -32002, "5", "resources/read",
                    URI("eclave:///sessions/nobody/transcript"));
    }
}

Test(reserved, a_definition_of_the_same_name_is_refused_with_a_message) {
    static const struct {
        const char *file, *text, *metadata, *reason;
    } rows[] = {
        {"resources/guide", "x", NULL, "has the URI of a built-in resource, eclave:///guide"},
        {"resources/p.txt", "x", "{\"uri\":\"ECLAVE:///%70olicy\"}", "eclave:///policy"},
        {"resources/s.txt", "x", "{\"uri\":\"eclave:///sessions/main/transcript\"}",
         "has the URI of a built-in resource"},
        {"resources/t.lisp", "1", "{\"uriTemplate\":\"eclave:///sessions/{id}/transcript\"}",
         "has the URI of a built-in resource"},
        {"prompts/lisp-session.txt", "x", NULL, "has the name of the built-in prompt lisp-session"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        project_files_write(rows[i].file, rows[i].text);
        if (rows[i].metadata)
            project_files_write(formatted("%s.meta.json", rows[i].file), rows[i].metadata);
    }
    struct client *client = project_files_serve_in(era_modern, NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        client_await_stderr(client, rows[i].reason);
    expect_contains(era_request(client, era_modern, "1", "resources/read", URI("eclave:///guide")),
                    "Common Lisp");
    expect_lacks(era_request(client, era_modern, "2", "resources/templates/list", NULL), "{id}");
    client_finish(client);
}

/* A template of the project that would match is not asked. */
Test(reserved, a_template_of_the_project_gets_no_built_in_uri) {
    project_files_write(
        "resources/any.lisp",
        "(mcp:defresource \"eclave:///{+rest}\" (rest) (format nil \"any ~a\" rest))");
    project_files_write("resources/any.lisp.meta.json", "{\"uriTemplate\":\"eclave:///{+rest}\"}");
    struct client *client = project_files_serve_in(era_legacy, NULL);
    expect_contains(era_request(client, era_legacy, "1", "resources/read", URI("eclave:///policy")),
                    "LAYERS");
    expect_contains(
        era_request(client, era_legacy, "2", "resources/read", URI("eclave:///policies")),
        "any policies");
    era_refused(client, era_legacy, -32002, "3", "resources/read",
                URI("eclave:///sessions/nobody/transcript"));
    client_finish(client);
}

Test(reserved, a_built_in_resource_cannot_be_subscribed) {
    struct client *client = project_files_serve_in(era_legacy, NULL);
    static const char *const uris[] = {"eclave:///guide", "eclave:///%67uide",
                                       "eclave:///sessions/main/transcript"};
    for (size_t i = 0; i < COUNT_OF(uris); i++)
        expect_contains(era_refused(client, era_legacy, -32602, "1", "resources/subscribe",
                                    formatted("\"uri\":\"%s\"", uris[i])),
                        "cannot be subscribed");
    era_request(client, era_legacy, "2", "resources/subscribe", URI("eclave:///a.txt"));
    client_finish(client);
    client = project_files_serve_in(era_modern, NULL);
    client_send_line(client, LISTEN("7", "{\"resourceSubscriptions\":[\"eclave:///policy\","
                                         "\"eclave:///a.txt\",5]}"));
    expect_contains(
        client_await_notification(client, "notifications/subscriptions/acknowledged", NULL),
        "\"resourceSubscriptions\":[\"eclave:///a.txt\"]");
    client_send_line(client, CANCEL("7"));
    client_finish(client);
}
