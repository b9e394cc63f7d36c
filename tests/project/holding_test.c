/* What a server holds for clients and tools is bounded, and told to whom it is held for. */
#include "tests/support/process.h"
#include "tests/support/project_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(holding, .init = project_files_begin, .fini = project_files_end);

/* BEFORE, UNIT so many times with commas, AFTER; the client's. */
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
    char file[64];
    snprintf(file, sizeof file, "tools/%s.lisp", name);
    project_files_format(file,
                         "%s\n(mcp:deftool \"%s\" (&rest all) all (format nil \"Hello ~a\" "
                         "(mcp:ref (mcp:ask :elicit \"Name?\" :key \"k\") \"action\")))",
                         head, name);
}

#define ABLE "\"" KEY_VERSION "\":\"" MODERN_REVISION "\",\"" KEY_CLIENT "\":"

Test(holding, values_beyond_measure_are_refused_before_they_are_held) {
    enum { VALUES = 100000 };
    add_asker("ask", "");
    struct client *client = project_files_serve(NULL);
    const char *many = repeated(client, "{\"other\":{\"a\":[", "{}", VALUES, "]}}");
    client_send_format(client,
                       REQUEST_WITH("1", "tools/call",
                                    "{\"name\":\"ask\",\"inputResponses\":%s,\"_meta\":{" ABLE
                                    "{\"elicitation\":{}}}}"),
                       many);
    const char *line = client_await(client, "1", NULL);
    expect_member(line, "-32602", "error", "code", NULL);
    expect_contains(line, "inputResponses has too many values");
    client_send_format(
        client, REQUEST_WITH("2", "tools/call", "{\"name\":\"ask\",\"_meta\":{" ABLE "%s}}"), many);
    expect_contains(client_await(client, "2", NULL), "capabilities of the client have too many");
    client_finish(client);
}

Test(holding, a_question_of_too_many_values_ends_its_call) {
    project_files_write("tools/ask.lisp",
                        "(mcp:deftool \"ask\" () (mcp:ask :elicit \"x\" (list :object \"a\" "
                        "(make-array 30000 :initial-element '(:object)))))");
    struct client *client = project_files_serve(NULL);
    client_send_line(client,
                     REQUEST_WITH("1", "tools/call",
                                  "{\"name\":\"ask\",\"_meta\":{" ABLE "{\"elicitation\":{}}}}"));
    expect_lacks(client_await(client, "1", NULL), "inputRequests");
    client_finish(client);
}

Test(holding, ids_have_a_length) {
    enum { MOST = 65536 };
    struct client *client = project_files_serve_in(era_legacy, NULL);
    for (size_t longer = 0; longer < 2; longer++) {
        char *id = malloc(MOST + 2);
        memset(id, 'x', MOST + longer);
        id[0] = id[MOST + longer - 1] = '"';
        id[MOST + longer] = 0;
        client_send_format(client, REQUEST("%s", "ping"), client_keep(client, id));
        const char *line = client_read_line(client, NULL);
        expect_member(line, id, "id", NULL);
        expect_contains_if(longer, line, "id is longer than 65536 bytes");
        expect_contains_if(!longer, line, "\"result\":{}");
    }
    client_finish(client);
}

/* It hears of the lists when it reads again. */
Test(holding, changes_are_not_kept_for_a_client_that_does_not_read) {
    enum { STREAMS = 16, EDITS = 30, ID_BYTES = 60000, GROWTH_MAX_KB = 8 * 1024 };
    struct client *client = project_files_serve(NULL);
    for (int i = 0; i < STREAMS; i++) {
        char *id = malloc(ID_BYTES + 3);
        memset(id, 'a' + i, ID_BYTES + 2);
        id[0] = id[ID_BYTES + 1] = '"';
        id[ID_BYTES + 2] = 0;
        client_send_format(client, LISTEN("%s", "{\"toolsListChanged\":true}"),
                           client_keep(client, id));
        client_await_notification(client, "notifications/subscriptions/acknowledged", NULL);
    }
    long before_kb = process_status(client_pid(client), "VmHWM");
    client_pause_reading(client, true);
    for (int i = 0; i < EDITS; i++) {
        char description[100];
        snprintf(description, sizeof description, ";;; {\"description\":\"x%d\"", i);
        project_files_format("tools/t.lisp", "%s,\"timeout\":%d}\n1", description, 1000 + i);
        client_await_stderr(client, "registry-warned");
        char told[40];
        snprintf(told, sizeof told, "the timeout of %d s", 1000 + i);
        client_await_stderr(client, told);
    }
    long grown_kb = process_status(client_pid(client), "VmHWM") - before_kb;
    cr_assert_lt(grown_kb, GROWTH_MAX_KB + ECLAVE_TEST_MEMORY_SLACK_KB, "%ld kB", grown_kb);
    client_pause_reading(client, false);
    for (int i = 0; i < STREAMS; i++)
        client_await_notification(client, "notifications/tools/list_changed", NULL);
    client_free(client);
}

/* Above the high water nothing is begun; with the input at its end that must not be for ever. */
Test(holding, calls_behind_much_output_are_made_after_the_end_of_the_input) {
    enum { CALLS = 8 };
    struct client *client = project_files_serve_in(era_legacy, NULL);
    char id[16];
    for (int i = 0; i < CALLS; i++) {
        snprintf(id, sizeof id, "%d", i);
        client_evaluate_send(client, id,
                             "(progn (princ (make-string 100000 :initial-element (code-char 1))) "
                             "(princ (make-string 100000 :initial-element (code-char 1)) "
                             "*error-output*) 1)");
    }
    client_pause_reading(client, true);
    client_close_stdin(client);
    usleep(1000000); /* a slow reader; whatever has happened by then, all must be answered */
    client_pause_reading(client, false);
    for (int i = 0; i < CALLS; i++) {
        snprintf(id, sizeof id, "%d", i);
        struct evaluation call = client_evaluate_await(client, id);
        cr_assert_eq(call.error_code, 0, "%s", call.text);
    }
    client_finish(client);
}

Test(holding, a_session_that_is_none_is_an_error_of_prompts_and_resources) {
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
            client_send_format(
                client, REQUEST_WITH("1", "%s", "{%s,\"_meta\":{\"session\":%s," ABLE "{}}}"),
                asked[i][0], asked[i][1], names[n]);
            const char *line = client_await(client, "1", NULL);
            expect_contains_if(strcmp(names[n], "null") != 0, line, "\"code\":-32602");
            expect_lacks(line, "isError");
        }
        expect_contains(era_request(client, era_modern, "2", asked[i][0], asked[i][1]),
                        "\"result\"");
    }
    struct evaluation list = era_call(client, era_modern, "list-sessions", "{}");
    cr_assert_not(list.is_error || list.error_code, "%s", list.line);
    expect_lacks(list.text, ": state number"); /* none that no answer named */
    client_finish(client);
}

Test(holding, the_answer_behind_a_question_names_its_new_session) {
    add_asker("ask", ";;; {\"session\": \"caller\"}");
    struct client *client = project_files_serve(NULL);
    client_send_line(client,
                     REQUEST_WITH("1", "tools/call",
                                  "{\"name\":\"ask\",\"_meta\":{" ABLE "{\"elicitation\":{}}}}"));
    const char *line = client_await(client, "1", NULL);
    const char *state = client_string(client, line, "result", "requestState", NULL);
    client_send_format(client,
                       REQUEST_WITH("2", "tools/call",
                                    "{\"name\":\"ask\",\"requestState\":\"%s\",\"inputResponses\":{"
                                    "\"k\":{\"action\":\"decline\"}},\"_meta\":{" ABLE
                                    "{\"elicitation\":{}}}}"),
                       state);
    line = client_await(client, "2", NULL);
    expect_contains(line, "Hello decline");
    expect_contains(line, "\"text\":\"; session s-");
    client_finish(client);
}
