/* What a server keeps for clients and tools is bounded. */
#include "tests/support/process.h"
#include "tests/support/project_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(holding, .init = project_files_begin, .fini = project_files_end);

/* BEFORE, UNIT COUNT times with commas between, AFTER; owned by the client. */
static const char *repeated(struct client *client, const char *before, const char *unit,
                            size_t count, const char *after) {
    size_t size = strlen(unit) + 1;
    char *text = malloc(strlen(before) + count * size + strlen(after) + 1), *to = text;
    cr_assert_not_null(text);
    to = stpcpy(to, before);
    for (size_t i = 0; i < count; i++) {
        to = stpcpy(to, unit);
        *to++ = ',';
    }
    strcpy(count ? to - 1 : to, after); // NOLINT(clang-analyzer-security.insecureAPI.strcpy)
    return client_keep(client, text);
}

static void add_asker(const char *name, const char *head) {
    project_files_format(formatted("tools/%s.lisp", name),
                         "%s\n(mcp:deftool \"%s\" (&rest all) all (format nil \"Hello ~a\" "
                         "(mcp:ref (mcp:ask :elicit \"Name?\" :key \"k\") \"action\")))",
                         head, name);
}

#define ABLE ENVELOPE_ABLE("{\"elicitation\":{}}")

Test(holding, too_many_values_are_refused_before_they_are_kept) {
    enum { VALUES = 30000 };
    add_asker("ask", "");
    struct client *client = project_files_serve(NULL);
    const char *many = repeated(client, "{\"other\":{\"a\":[", "{}", VALUES, "]}}");
    client_send_format(
        client,
        REQUEST_WITH("1", "tools/call", "{\"name\":\"ask\",\"inputResponses\":%s," ABLE "}"), many);
    const char *line = client_await(client, "1", NULL);
    expect_member(line, "-32602", "error", "code", NULL);
    expect_contains(line, "inputResponses has too many values");
    client_send_format(
        client, REQUEST_WITH("2", "tools/call", "{\"name\":\"ask\"," ENVELOPE_ABLE("%s") "}"),
        many);
    expect_contains(client_await(client, "2", NULL), "capabilities of the client have too many");
    client_finish(client);
}

Test(holding, a_question_of_too_many_values_ends_its_call) {
    project_files_write("tools/ask.lisp",
                        "(mcp:deftool \"ask\" () (mcp:ask :elicit \"x\" (list :object \"a\" "
                        "(make-array 30000 :initial-element '(:object)))))");
    struct client *client = project_files_serve(NULL);
    client_send_line(client, REQUEST_WITH("1", "tools/call", "{\"name\":\"ask\"," ABLE "}"));
    expect_lacks(client_await(client, "1", NULL), "inputRequests");
    client_finish(client);
}

/* A JSON string of LENGTH bytes, quotes included; owned by the client. */
static const char *long_id(struct client *client, size_t length, char fill) {
    char *id = malloc(length + 1);
    memset(id, fill, length);
    id[0] = id[length - 1] = '"';
    id[length] = 0;
    return client_keep(client, id);
}

Test(holding, ids_have_a_maximum_length) {
    enum { MOST = 65536 };
    struct client *client = project_files_serve_in(era_legacy, NULL);
    for (size_t longer = 0; longer < 2; longer++) {
        const char *id = long_id(client, MOST + longer, 'x');
        client_send_format(client, REQUEST("%s", "ping"), id);
        const char *line = client_read_line(client, NULL);
        expect_member(line, id, "id", NULL);
        expect_contains_if(longer, line, "id is longer than 65536 bytes");
        expect_contains_if(!longer, line, "\"result\":{}");
    }
    client_finish(client);
}

/* It is notified of the lists once it reads again. */
Test(holding, changes_are_not_kept_for_a_client_that_does_not_read) {
    enum { STREAMS = 16, EDITS = 30, ID_BYTES = 60000, GROWTH_MAX_KB = 8 * 1024 };
    struct client *client = project_files_serve(NULL);
    for (int i = 0; i < STREAMS; i++) {
        client_send_format(client, LISTEN("%s", "{\"toolsListChanged\":true}"),
                           long_id(client, ID_BYTES, (char)('a' + i)));
        client_await_notification(client, "notifications/subscriptions/acknowledged", NULL);
    }
    long before_kb = process_status(client_pid(client), "VmHWM");
    client_pause_reading(client, true);
    for (int i = 0; i < EDITS; i++) {
        project_files_format("tools/t.lisp", ";;; {\"description\":\"x%d\",\"timeout\":%d}\n1", i,
                             1000 + i);
        client_await_stderr(client, "registry-warned");
        client_await_stderr(client, formatted("the timeout of %d s", 1000 + i));
    }
    long grown_kb = process_status(client_pid(client), "VmHWM") - before_kb;
    cr_assert_lt(grown_kb, GROWTH_MAX_KB + ECLAVE_TEST_MEMORY_SLACK_KB, "%ld kB", grown_kb);
    client_pause_reading(client, false);
    for (int i = 0; i < STREAMS; i++)
        client_await_notification(client, "notifications/tools/list_changed", NULL);
    client_free(client);
}

/* Above the high-water mark no call starts; at the end of the input they must start nevertheless.
 */
Test(holding, calls_queued_behind_much_output_run_after_the_end_of_the_input) {
    enum { CALLS = 8 };
    struct client *client = project_files_serve_in(era_legacy, STRINGS("--shutdown-grace-s", "60"));
    for (int i = 0; i < CALLS; i++) {
        client_evaluate_send(client, formatted("%d", i),
                             "(progn (princ (make-string 100000 :initial-element (code-char 1))) "
                             "(princ (make-string 100000 :initial-element (code-char 1)) "
                             "*error-output*) 1)");
    }
    client_pause_reading(client, true);
    client_close_stdin(client);
    usleep(1000000); /* a slow reader */
    client_pause_reading(client, false);
    for (int i = 0; i < CALLS; i++) {
        struct evaluation call = client_evaluate_await(client, formatted("%d", i));
        cr_assert_eq(call.error_code, 0, "%s", call.text);
    }
    client_finish(client);
}

Test(holding, an_unknown_session_is_an_error_of_prompts_and_resources) {
    project_files_write("prompts/p.lisp",
                        ";;; {\"session\": \"caller\"}\n(mcp:defprompt \"p\" () \"here\")");
    project_files_write("resources/r.lisp", "(mcp:defresource \"r://{x}\" (x) x)");
    project_files_write("resources/r.lisp.meta.json",
                        "{\"uriTemplate\":\"r://{x}\",\"session\":\"caller\"}");
    static const char *const asked[][2] = {{"prompts/get", "\"name\":\"p\""},
                                           {"resources/read", "\"uri\":\"r://a\""}};
    static const char *const names[] = {"\"nowhere\"", "5", "null", "[]"};
    struct client *client = project_files_serve(NULL);
    for (size_t i = 0; i < COUNT_OF(asked); i++) {
        for (size_t n = 0; n < COUNT_OF(names); n++) {
            era_send_meta(client, era_modern, "1", asked[i][0], asked[i][1],
                          formatted("\"session\":%s", names[n]));
            const char *line = client_await(client, "1", NULL);
            expect_contains_if(strcmp(names[n], "null") != 0, line, "\"code\":-32602");
            expect_lacks(line, "isError");
        }
        expect_contains(era_request(client, era_modern, "2", asked[i][0], asked[i][1]),
                        "\"result\"");
    }
    struct evaluation list = era_call(client, era_modern, "list-sessions", "{}");
    cr_assert_not(list.is_error || list.error_code, "%s", list.line);
    expect_lacks(list.text, ": state number"); /* no session was opened for them */
    client_finish(client);
}

Test(holding, the_answer_after_a_question_names_the_new_session) {
    add_asker("ask", ";;; {\"session\": \"caller\"}");
    struct client *client = project_files_serve(NULL);
    client_send_line(client, REQUEST_WITH("1", "tools/call", "{\"name\":\"ask\"," ABLE "}"));
    const char *line = client_await(client, "1", NULL);
    const char *state = client_string(client, line, "result", "requestState", NULL);
    client_send_format(client,
                       REQUEST_WITH("2", "tools/call",
                                    "{\"name\":\"ask\",\"requestState\":\"%s\",\"inputResponses\":{"
                                    "\"k\":{\"action\":\"decline\"}}," ABLE "}"),
                       state);
    line = client_await(client, "2", NULL);
    expect_contains(line, "Hello decline");
    expect_contains(line, "\"text\":\"; session s-");
    client_finish(client);
}
