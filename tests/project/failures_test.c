/* What a client hears of a project that cannot be read, or not wholly: an error for the request
 * that met it, and a message, also when all that happened before the client was there. */
#include "tests/support/project_files.h"
#include <stdio.h>
#include <string.h>

TestSuite(failures, .init = project_files_begin, .fini = project_files_end);

static void add_tools(int count) {
    for (int i = 0; i < count; i++) {
        char file[32];
        snprintf(file, sizeof file, "tools/t%d.lisp", i);
        project_files_format(file, "(mcp:deftool \"t%d\" () \"here\")", i);
    }
}

/* Sends a request that wants to hear of LEVEL and above. */
static void list_with_level(struct client *client, const struct era *era, const char *id,
                            const char *level) {
    if (era->modern) {
        client_send_format(client,
                           REQUEST_WITH("%s", "tools/list",
                                        "{\"_meta\":{\"" KEY_VERSION "\":\"" MODERN_REVISION
                                        "\",\"" KEY_LOG_LEVEL "\":\"%s\",\"" KEY_CLIENT "\":{}}}"),
                           id, level);
        return;
    }
    client_send_format(client, REQUEST_WITH("\"level\"", "logging/setLevel", "{\"level\":\"%s\"}"),
                       level);
    client_await(client, "\"level\"", NULL);
    era_send(client, era, id, "tools/list", NULL);
}

static void expect_message(const char *line, const char *event, const char *level) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\"", event);
    expect_member(line, quoted, "params", "data", "event", NULL);
    snprintf(quoted, sizeof quoted, "\"%s\"", level);
    expect_member(line, quoted, "params", "level", NULL);
}

Test(failures, at_the_start_are_told_to_who_comes) {
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
        list_with_level(client, era, "2", "debug"); /* told once; the built-in tools are there */
        const char *line = client_read_line(client, NULL);
        expect_member(line, "2", "id", NULL);
        expect_contains(line, "evaluate-lisp");
        expect_lacks(line, "\"t0\"");
    }
}

Test(failures, of_register_json_are_told_to_who_comes) {
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

Test(failures, of_one_file_are_told_to_who_wants_warnings) {
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

Test(failures, later_on_are_told_to_the_next_modern_request_that_wants_to_hear) {
    add_tools(1);
    struct client *client = project_files_serve_in(era_modern, NULL);
    list_with_level(client, era_modern, "1", "debug");
    expect_member(client_read_line(client, NULL), "1", "id", NULL);
    project_files_write("register.json", "[]");
    client_await_stderr(client, "registry-override");
    era_request(client, era_modern, "2", "tools/list", NULL); /* does not want to */
    list_with_level(client, era_modern, "3", "error");
    expect_message(client_read_line(client, NULL), "registry-override", "error");
    expect_member(client_read_line(client, NULL), "3", "id", NULL);
    client_finish(client);
}

/* The request that asks for what might be there hears that it is not known. */
Test(failures, are_met_by_a_call_of_what_is_not_known) {
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

Test(failures, of_the_whole_server_leave_the_methods_known) {
    static const char *const arguments[] = {"--minimal", NULL};
    static const char *const methods[] = {"tools/list", "prompts/list", "prompts/get",
                                          "resources/templates/list", "completion/complete"};
    struct client *client = project_files_serve_in(era_legacy, arguments);
    for (size_t i = 0; i < COUNT_OF(methods); i++)
        expect_contains(era_refused(client, era_legacy, -32601, "1", methods[i], NULL),
                        "minimal mode");
    client_finish(client);
}
