/* What a client learns of a project that cannot be read, or only in part: an error for the request
 * that found it, and a log message, even when both happened before the client connected. */
#include "tests/support/project_files.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

Test(failures, of_one_file_are_errors) {
    add_tools(1);
    project_files_write("tools/bad.json", "{\"inputSchema\":{\"type\":5}}");
    project_files_write("tools/bad.lisp", "1");
    EACH_KIND_SERVED(era, NULL) {
        static const char *const levels[] = {"critical", "error", "debug"};
        bool told = !era->modern; /* a legacy client hears errors from the first moment */
        if (told)
            expect_message(client_read_line(client, NULL), "registry-refused", "error");
        for (size_t i = 0; i < COUNT_OF(levels); i++) {
            const char *id = formatted("%zu", i);
            list_with_level(client, era, id, levels[i]);
            const char *line = client_read_line(client, NULL);
            if (i == 1 && !told) {
                expect_message(line, "registry-refused", "error");
                expect_contains(line, "tools/bad.lisp");
                line = client_read_line(client, NULL);
            }
            expect_member(line, id, "id", NULL);
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
        expect_member(line, strcmp(asked[i].method, "tools/call") == 0 ? "-32602" : "-32603",
                      "error", "code", NULL);
        client_finish(client);
    }
}

static void break_size(void) {
    add_tools(3);
}

static void break_folder(void) {
    cr_assert_eq(rename(formatted("%s/tools", project_files_path()),
                        formatted("%s/aside", project_files_path())),
                 0);
    project_files_write("tools", "a file");
}

static void mend(void) {
    if (access(formatted("%s/tools/t2.lisp", project_files_path()), F_OK) == 0)
        project_files_remove("tools/t2.lisp");
    if (access(formatted("%s/aside", project_files_path()), F_OK) == 0) {
        project_files_remove("tools");
        cr_assert_eq(rename(formatted("%s/aside", project_files_path()),
                            formatted("%s/tools", project_files_path())),
                     0);
    }
}

#define MINIMAL "{\"logging\":{},\"tools\":{\"listChanged\":true}"

/* Nothing of it is known, so nothing of it is offered but the tools that may come. */
Test(failures, at_the_start_leave_the_built_in_tools) {
    static const char *const arguments[] = {"--registry-max-entries", "2", NULL};
    static const char *const lists[] = {"resources/list", "resources/templates/list",
                                        "prompts/list"};
    static void (*const breaks[])(void) = {break_size, break_folder};
    for (size_t i = 0; i < COUNT_OF(breaks); i++)
        EACH_ERA(era) {
            breaks[i]();
            struct client *client = project_files_serve(arguments);
            const char *line = era->modern ? era_request(client, era, "0", "server/discover", NULL)
                                           : client_initialize(client, era->revision);
            expect_member(line,
                          era->modern ? MINIMAL
                              ",\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"
                                      : MINIMAL "}",
                          "result", "capabilities", NULL);
            if (!era->modern)
                expect_message(client_await_notification(client, "notifications/message", NULL),
                               "registry-failed", "error");
            era_refused(client, era, -32603, "1", "tools/list", NULL);
            line = era_request(client, era, "2", "tools/list", NULL);
            expect_contains(line, "evaluate-lisp");
            for (size_t j = 0; j < 2 * COUNT_OF(lists); j++) {
                line = era_refused(client, era, -32603, "3", lists[j % COUNT_OF(lists)], NULL);
                expect_member(line, "\"registry\"", "error", "data", "name", NULL);
            }
            mend();
            if (!era->modern)
                client_await_notification(client, "notifications/tools/list_changed", NULL);
            else
                while (!strstr(era_request(client, era, "4", "tools/list", NULL), "\"t1\""))
                    continue;
            client_finish(client);
        }
}

/* A definition that is broken while it is served, in every way that a client can see. */
Test(failures, of_a_file_that_was_good_leave_its_last_version_in_force) {
    EACH_KIND(era) {
        project_files_write("tools/t0.lisp", ";;; {\"title\":\"T\"}\n"
                                             "(mcp:deftool \"t0\" () \"good\")");
        struct client *client = project_files_serve_in(era, NULL);
        cr_assert_str_eq(era_call(client, era, "t0", "{}").text, "good");
        project_files_write("tools/t0.lisp", ";;; {\"title\":");
        if (era->modern)
            client_await_stderr(client, "registry-stale");
        else
            expect_message(client_await_notification(client, "notifications/message", NULL),
                           "registry-stale", "error");
        cr_assert_str_eq(era_call(client, era, "t0", "{}").text, "good");
        expect_contains(era_request(client, era, "1", "tools/list", NULL), "\"t0\"");
        client_expect_silence(client); /* and no list has changed */
        project_files_remove("tools/t0.lisp");
        if (era->modern)
            while (strstr(era_request(client, era, "2", "tools/list", NULL), "\"t0\""))
                continue;
        else
            client_await_notification(client, "notifications/tools/list_changed", NULL);
        expect_contains(
            era_request(client, era, "3", "tools/call", "\"name\":\"t0\",\"arguments\":{}"),
            "-32602");
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

/* --- links --- */

/* Turns the link `current` in the project's directory to TARGET. */
static void turn(const char *target) {
    char next[300], link[300];
    snprintf(next, sizeof next, "%s/next", project_files_path());
    snprintf(link, sizeof link, "%s/current", project_files_path());
    cr_assert_eq(symlink(target, next), 0);
    cr_assert_eq(rename(next, link), 0);
}

/* Releases 1 and 2, with a tool each, and 3, which is broken. */
static void make_releases(void) {
    static const char *const folders[] = {"releases",   "releases/1",       "releases/1/tools",
                                          "releases/2", "releases/2/tools", "releases/3"};
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        const char *path = formatted("%s/%s", project_files_path(), folders[i]);
        cr_assert_eq(mkdir(path, 0755), 0);
        cr_assert_eq(chmod(path, 0755), 0); /* whatever the umask is */
    }
    project_files_write("releases/1/tools/one.lisp", "(mcp:deftool \"one\" () \"1\")");
    project_files_write("releases/2/tools/two.lisp", "(mcp:deftool \"two\" () \"2\")");
    project_files_write("releases/3/tools", "no directory");
}

static bool has_tool(struct client *client, const char *tool) {
    return strstr(client_request(client, "1", "tools/list", "{}"), formatted("\"%s\"", tool)) !=
           NULL;
}

static void await_tools(struct client *client) {
    client_await_notification(client, "notifications/tools/list_changed", NULL);
}

Test(failures, a_link_that_is_turned_to_another_release_is_followed) {
    static const char *const named[] = {"current", "current/", "./current", "../%s/current",
                                        "way/current"};
    make_releases();
    const char *own = strrchr(project_files_path(), '/') + 1;
    cr_assert_eq(symlink(".", formatted("%s/way", project_files_path())), 0);
    for (size_t i = 0; i < COUNT_OF(named); i++) {
        char path[300];
        turn("releases/1");
        snprintf(path, sizeof path, "%s/%s", project_files_path(),
                 strstr(named[i], "%s") ? formatted("../%s/current", own) : named[i]);
        struct client *client = client_start_with("--project", path, "--registry-refresh-s", "1");
        cr_assert(has_tool(client, "one") && !has_tool(client, "two"), "%s", path);
        turn("releases/2");
        await_tools(client);
        cr_assert(has_tool(client, "two") && !has_tool(client, "one"), "%s", path);
        turn("releases/3");
        client_await_stderr(client, "registry-failed");
        client_request(client, "2", "tools/list", "{}"); /* the error */
        cr_assert(has_tool(client, "two"), "%s", path);
        turn("releases/1");
        await_tools(client);
        cr_assert(has_tool(client, "one") && !has_tool(client, "two"), "%s", path);
        client_finish(client);
    }
}

Test(failures, a_link_that_is_turned_to_nowhere_leaves_the_state_before) {
    static const char *const targets[] = {"releases/gone", "current", "releases/1/tools/one.lisp"};
    make_releases();
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        turn("releases/1");
        struct client *client =
            client_start_with("--project", formatted("%s/current", project_files_path()),
                              "--registry-refresh-s", "1");
        cr_assert(has_tool(client, "one"));
        turn(targets[i]);
        client_await_stderr(client, "registry-failed");
        client_request(client, "2", "tools/list", "{}"); /* the error */
        cr_assert(has_tool(client, "one"), "%s", targets[i]);
        client_finish(client);
    }
}
