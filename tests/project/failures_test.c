/* What a client learns of a project that cannot be read, or only in part: an error for the request
 * that found it, and a log message, even when both happened before the client connected. */
#include "tests/support/project_files.h"
#include <string.h>

TestSuite(failures, .init = project_files_begin, .fini = project_files_end);

static void add_tools(int count) {
    for (int i = 0; i < count; i++)
        project_files_format(formatted("tools/t%d.lisp", i), "(mcp:deftool \"t%d\" () \"here\")",
                             i);
}

/* Sends tools/list from a client that takes log messages of LEVEL and above. */
static void list_with_level(struct client *client, const struct era *era, const char *id,
                            const char *level) {
    if (era->modern) {
        era_send_meta(client, era, id, "tools/list", NULL,
                      formatted("\"" KEY_LOG_LEVEL "\":\"%s\"", level));
        return;
    }
    era_request(client, era, "\"level\"", "logging/setLevel", formatted("\"level\":\"%s\"", level));
    era_send(client, era, id, "tools/list", NULL);
}

static void expect_message(const char *line, const char *event, const char *level) {
    expect_member(line, formatted("\"%s\"", event), "params", "data", "event", NULL);
    expect_member(line, formatted("\"%s\"", level), "params", "level", NULL);
}

Test(failures, at_the_start_are_reported_to_the_first_client) {
    static const char *const arguments[] = {"--registry-max-entries", "2", NULL};
    add_tools(3);
    EACH_KIND_SERVED(era, arguments) {
        if (era->modern)
            list_with_level(client, era, "1", "error");
        expect_message(client_await_notification(client, "notifications/message", NULL),
                       "registry-failed", "error");
        if (!era->modern)
            era_send(client, era, "1", "tools/list", NULL);
        expect_member(client_await(client, "1", NULL), "\"registry\"", "error", "data", "name",
                      NULL);
        list_with_level(client, era, "2",
                        "debug"); /* reported once; the built-in tools are listed */
        const char *line = client_read_line(client, NULL);
        expect_member(line, "2", "id", NULL);
        expect_contains(line, "evaluate-lisp");
        expect_lacks(line, "\"t0\"");
    }
}

Test(failures, of_register_json_are_reported_to_the_first_client) {
    add_tools(1);
    project_files_write("register.json", "{\"version\":1,");
    EACH_KIND_SERVED(era, NULL) {
        if (era->modern)
            list_with_level(client, era, "1", "error");
        expect_message(client_await_notification(client, "notifications/message", NULL),
                       "registry-override", "error");
        if (!era->modern)
            era_send(client, era, "1", "tools/list", NULL);
        expect_contains(client_await(client, "1", NULL), "\"t0\"");
    }
}

Test(failures, of_one_file_are_warnings) {
    add_tools(1);
    project_files_write("tools/bad.json", "{\"inputSchema\":{\"type\":5}}");
    project_files_write("tools/bad.lisp", "1");
    EACH_KIND_SERVED(era, NULL) {
        static const char *const levels[] = {"error", "warning"};
        for (int i = 0; i < 2; i++) {
            list_with_level(client, era, i ? "2" : "1", levels[i]);
            const char *line = client_read_line(client, NULL);
            if (i) {
                expect_message(line, "registry-refused", "warning");
                expect_contains(line, "tools/bad.lisp");
                line = client_read_line(client, NULL);
            }
            expect_member(line, i ? "2" : "1", "id", NULL);
        }
    }
}

Test(failures, later_on_are_reported_to_the_next_modern_request_with_a_log_level) {
    add_tools(1);
    struct client *client = project_files_serve_in(era_modern, NULL);
    list_with_level(client, era_modern, "1", "debug");
    expect_member(client_read_line(client, NULL), "1", "id", NULL);
    project_files_write("register.json", "[]");
    client_await_stderr(client, "registry-override");
    era_request(client, era_modern, "2", "tools/list", NULL); /* no log level */
    list_with_level(client, era_modern, "3", "error");
    expect_message(client_read_line(client, NULL), "registry-override", "error");
    expect_member(client_read_line(client, NULL), "3", "id", NULL);
    client_finish(client);
}

/* A request for an entry that might be in the unread part is an error of the server. */
Test(failures, are_reported_for_a_call_of_an_unknown_entry) {
    static const struct {
        const char *method, *members;
    } asked[] = {
        {"tools/call", "\"name\":\"t2\",\"arguments\":{}"},
        {"prompts/get", "\"name\":\"t2\""},
        {"resources/read", "\"uri\":\"eclave:///t2\""},
        {"completion/complete", "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"t2\"},"
                                "\"argument\":{\"name\":\"a\",\"value\":\"\"}"},
    };
    static const char *const arguments[] = {"--registry-max-entries", "2", NULL};
    add_tools(3);
    EACH_KIND(era)
    for (size_t i = 0; i < COUNT_OF(asked); i++) {
        struct client *client = project_files_serve_in(era, arguments);
        const char *line = era_refused(client, era, -32603, "1", asked[i].method, asked[i].members);
        expect_member(line, "\"registry\"", "error", "data", "name", NULL);
        line = era_request(client, era, "2", asked[i].method, asked[i].members);
        expect_contains(line, "\"error\"");
        expect_lacks(line, "-32603");
        client_finish(client);
    }
}

Test(failures, of_minimal_mode_name_the_mode) {
    static const char *const arguments[] = {"--minimal", NULL};
    static const char *const methods[] = {"tools/list", "prompts/list", "prompts/get",
                                          "resources/templates/list", "completion/complete"};
    struct client *client = project_files_serve_in(era_legacy, arguments);
    for (size_t i = 0; i < COUNT_OF(methods); i++)
        expect_contains(era_refused(client, era_legacy, -32601, "1", methods[i], NULL),
                        "minimal mode");
    client_finish(client);
}
