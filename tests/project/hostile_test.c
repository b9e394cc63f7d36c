/* Hostile tools: each way in which a call can end, results and events that no honest tool sends,
 * and floods. The server answers once, goes on, and leaves nothing behind for the next call. */
#include "tests/support/eras.h"
#include "tests/support/process.h"
#include "tests/support/project_files.h"
#include <stdio.h>
#include <stdlib.h>

TestSuite(hostile, .init = project_files_begin, .fini = project_files_end);

/* Leaves everything that a call may leave behind for the next one. */
#define TRACES                                                                                     \
    "(defparameter *trace* 1) (defun trace-left () 1) (defpackage \"TRACE-LEFT\")"                 \
    " (setf (fdefinition 'mcp:text) (lambda (&rest all) all \"spoiled\"))"                         \
    " (setf (get 'probe :trace) 1) (setf *print-base* 2) "

/* A tool that shows which of the traces it sees. */
static void add_probe(void) {
    project_files_write("tools/probe.lisp",
                        "(mcp:deftool \"probe\" () (list (mcp:text \"~a\" (list (boundp '*trace*)"
                        " (fboundp 'trace-left) (find-package \"TRACE-LEFT\") (get 'probe :trace)"
                        " *print-base*))))");
}

/* A tool that leaves traces and then evaluates HARM. */
static void add_harm(const char *name, const char *harm) {
    project_files_format(formatted("tools/%s.lisp", name), "(mcp:deftool \"%s\" () " TRACES " %s)",
                         name, harm);
}

static void expect_untouched(struct client *client, const struct era *era) {
    struct evaluation probe = era_call(client, era, "probe", "{}");
    cr_assert_str_eq(probe.text, "(NIL NIL NIL NIL 10)", "%s", probe.line);
    cr_assert_not(probe.is_error);
    cr_assert_eq(probe.exit_code, 0);
}

static void expect_marker(const struct evaluation *evaluation, const char *type, int exit_code) {
    const char *marker = formatted("[ERROR] %s\n", type);
    cr_assert_eq(evaluation->error_code, 0, "%s", evaluation->line);
    cr_assert(evaluation->is_error, "%s", evaluation->line);
    cr_assert_eq(strncmp(evaluation->text, marker, strlen(marker)), 0, "no %s: %s", type,
                 evaluation->text);
    cr_assert_eq(evaluation->exit_code, exit_code, "%s", evaluation->line);
}

/* --- how a call ends --- */

static const struct harm {
    const char *name, *code, *type;
    int exit_code;
} harms[] = {
    {"condition", "(error \"boom\")", "SIMPLE-ERROR", 1},
    {"division", "(/ 1 (- 1 1))", "DIVISION-BY-ZERO", 1},
    {"thrown", "(throw 'nobody-catches 1)", "CONTROL-ERROR", 1},
    {"unreadable", "(read-from-string \"(\")", "END-OF-FILE", 1},
    {"deep", "(labels ((deeper (n) (1+ (deeper (1+ n))))) (deeper 0))", "STACK-OVERFLOW", 1},
    {"quits", "(ext:quit 7)", "PROCESS-EXIT", 7},
    {"quits-well", "(ext:quit 0)", "PROCESS-EXIT", 0},
    {"crashes", CRASH, "WORKER-CRASH", 139},
    {"violates", VIOLATION, "SANDBOX-VIOLATION", 159},
    {"eats", MEMORY_HOG, "MEMORY-LIMIT", 137},
    {"forges", FORGERY, "MALFORMED-OUTPUT", 70},
};

Test(hostile, each_way_to_end_is_reported) {
    static const char *const arguments[] = {"--session-memory-mb", "128", NULL};
    const struct era *const some[] = {&eras[0], era_legacy, era_modern};
    add_probe();
    for (size_t i = 0; i < COUNT_OF(harms); i++)
        add_harm(harms[i].name, harms[i].code);
    for (size_t e = 0; e < COUNT_OF(some); e++)
        SERVED(some[e], arguments) {
            for (size_t i = 0; i < COUNT_OF(harms); i++) {
                struct evaluation end = era_call(client, some[e], harms[i].name, "{}");
                expect_marker(&end, harms[i].type, harms[i].exit_code);
                expect_lacks(end.text, "; session ");
                expect_lacks(end.text, "The session");
                expect_untouched(client, some[e]);
            }
        }
}

Test(hostile, a_failure_is_reported_in_the_words_of_the_tool) {
    add_probe();
    add_harm("fails", "(mcp:fail \"There are only ~d words.\" 3)");
    EACH_ERA_SERVED(era, NULL) {
        struct evaluation end = era_call(client, era, "fails", "{}");
        cr_assert_str_eq(end.text, "There are only 3 words.", "%s", end.line);
        cr_assert(end.is_error);
        cr_assert_eq(end.exit_code, 1);
        expect_untouched(client, era);
    }
}

Test(hostile, a_tool_ends_at_its_own_time_limit) {
    add_probe();
    add_harm("endless", "(princ \"said\") (finish-output) (loop)");
    project_files_write("tools/endless.json", "{\"timeout\":1}");
    EACH_ERA_SERVED(era, NULL) {
        struct evaluation end = era_call(client, era, "endless", "{}");
        cr_assert_eq(end.error_code, -32004, "%s", end.line);
        expect_member(end.line, "1", "error", "data", "timeoutSecs", NULL);
        expect_member(end.line, "124", "error", "data", "_meta", "exitCode", NULL);
        expect_member(end.line, "\"said\"", "error", "data", "stdout", NULL);
        expect_untouched(client, era);
    }
}

Test(hostile, a_cancelled_tool_is_answered_in_the_legacy_era_only) {
    add_probe();
    add_harm("endless", "(loop)");
    EACH_KIND_SERVED(era, NULL) {
        era_call_send(client, era, "1", "endless", "{}");
        client_busy_worker(client);
        client_send_line(client, CANCEL("1"));
        if (!era->modern)
            cr_assert_eq(client_evaluate_await(client, "1").error_code, -32001);
        expect_untouched(client, era);
        cr_assert_eq(client_unread_responses(client), 0);
    }
}

Test(hostile, a_flood_of_output_is_an_error_that_names_the_stream) {
    static const struct {
        const char *tool, *code, *stream;
    } rows[] = {
        {"floods", "(loop (write-line \"0123456789012345678901234567890123456789\"))",
         "\"stdout\""},
        {"whines", "(loop (write-line \"0123456789012345678901234567890\" *error-output*))",
         "\"stderr\""},
    };
    static const char *const arguments[] = {"--output-max-bytes", "100000", "--stderr-max-bytes",
                                            "100000", NULL};
    add_probe();
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        add_harm(rows[i].tool, rows[i].code);
    EACH_ERA_SERVED(era, arguments) {
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            struct evaluation end = era_call(client, era, rows[i].tool, "{}");
            cr_assert_eq(end.error_code, -32603, "%s", end.line);
            expect_member(end.line, "100000", "error", "data", "limit", NULL);
            expect_member(end.line, rows[i].stream, "error", "data", "stream", NULL);
            expect_untouched(client, era);
        }
    }
}

Test(hostile, a_source_that_does_harm_while_it_is_read_ends_its_own_call_only) {
    static const struct harm rows[] = {
        {"half", "(mcp:deftool \"half\" (", "END-OF-FILE", 1},
        {"nothing", "42", "SIMPLE-ERROR", 1},
        {"reader", "#.(ext:quit 3)", "PROCESS-EXIT", 3},
        {"top", TRACES CRASH, "WORKER-CRASH", 139},
        {"package", "(in-package \"NO-SUCH\")", "PACKAGE-ERROR", 1},
        {"lied", "(mcp:deftool \"other\" () 1)", "SIMPLE-ERROR", 1},
    };
    add_probe();
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        project_files_write(formatted("tools/%s.lisp", rows[i].name), rows[i].code);
    struct client *client = project_files_serve_in(era_legacy, NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct evaluation end = era_call(client, era_legacy, rows[i].name, "{}");
        expect_marker(&end, rows[i].type, rows[i].exit_code);
        expect_untouched(client, era_legacy);
    }
    client_finish(client);
}

/* --- results that no honest tool gives --- */

/* A tool whose call returns RESULT in place of a result that the package made. */
static void add_forged(const char *name, const char *result) {
    char lisp[4000];
    size_t length = 0;
    for (; *result && length < sizeof lisp - 3; result++) {
        if (*result == '"' || *result == '\\')
            lisp[length++] = '\\';
        lisp[length++] = *result;
    }
    lisp[length] = 0;
    project_files_format(formatted("tools/%s.lisp", name),
                         "(mcp:deftool \"%s\" () 1) (setf (fdefinition 'mcp:write-json)"
                         " (lambda (&rest all) (declare (ignore all)) \"%s\"))",
                         name, lisp);
}

/* Sends EVENT, or a question, below the package's checks. */
static void add_sender(const char *name, const char *function, const char *event) {
    char *quoted = json_quote(event, strlen(event));
    project_files_format(formatted("tools/%s.lisp", name),
                         "(mcp:deftool \"%s\" () (%s %s) \"unharmed\")", name, function, quoted);
    free(quoted);
}

static void add_event(const char *name, const char *event) {
    add_sender(name, "eclave::send-event", event);
}

static void add_question(const char *name, const char *question) {
    add_sender(name, "eclave::send-ask", question);
}

/* A call with a token for its progress, by a client that takes all log messages. */
static void send_call(struct client *client, const struct era *era, const char *tool) {
    era_send_meta(client, era, "1", "tools/call", formatted("\"name\":\"%s\"", tool),
                  "\"progressToken\":\"p\",\"" KEY_LOG_LEVEL "\":\"debug\"");
}

/* The tools bad0, bad1, ... that ADD makes of TABLE end as MALFORMED-OUTPUT. */
static void expect_malformed(void (*add)(const char *name, const char *what),
                             const char *const *table, size_t count) {
    add_probe();
    for (size_t i = 0; i < count; i++)
        add(formatted("bad%zu", i), table[i]);
    SERVED(era_legacy, NULL) {
        for (size_t i = 0; i < count; i++) {
            send_call(client, era_legacy, formatted("bad%zu", i));
            struct evaluation end = client_evaluate_await(client, "1");
            cr_expect(end.is_error && end.exit_code == 70 && strstr(end.text, "MALFORMED-OUTPUT"),
                      "%s became %s", table[i], end.line);
        }
        expect_untouched(client, era_legacy);
    }
}

#define TEXT_BLOCK    "{\"type\":\"text\",\"text\":\"t\"}"
#define CONTENT(part) "{\"content\":[" part "]}"

static const char *const forged_results[] = {
    "",
    " ",
    "null",
    "5",
    "[]",
    "{}",
    "{\"content\":5}",
    "{\"content\":null}",
    "{\"content\":{}}",
    CONTENT("5"),
    CONTENT("null"),
    CONTENT("[]"),
    CONTENT("{}"),
    CONTENT("{\"type\":5}"),
    CONTENT("{\"type\":\"spell\"}"),
    CONTENT("{\"type\":\"text\"}"),
    CONTENT("{\"type\":\"text\",\"text\":5}"),
    CONTENT("{\"type\":\"text\",\"text\":null}"),
    CONTENT("{\"type\":\"image\",\"data\":\"AAAA\"}"),
    CONTENT("{\"type\":\"image\",\"data\":5,\"mimeType\":\"image/png\"}"),
    CONTENT("{\"type\":\"image\",\"data\":\"***\",\"mimeType\":\"image/png\"}"),
    CONTENT("{\"type\":\"audio\",\"data\":\"AAA\",\"mimeType\":\"audio/wav\"}"),
    CONTENT("{\"type\":\"resource\"}"),
    CONTENT("{\"type\":\"resource\",\"resource\":5}"),
    CONTENT("{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\"}}"),
    CONTENT("{\"type\":\"resource\",\"resource\":{\"uri\":5,\"text\":\"\"}}"),
    CONTENT("{\"type\":\"resource_link\",\"uri\":\"a:b\"}"),
    CONTENT("{\"type\":\"resource_link\",\"uri\":\"a:b\",\"name\":[]}"),
    CONTENT("{\"type\":\"text\",\"text\":\"t\",\"annotations\":5}"),
    CONTENT("{\"type\":\"text\",\"text\":\"t\",\"annotations\":{\"audience\":\"all\"}}"),
    "{\"content\":[" TEXT_BLOCK "],\"isError\":\"no\"}",
    "{\"content\":[" TEXT_BLOCK "]} {}",
    "{\"content\":[" TEXT_BLOCK ",]}",
    "{'content':[]}",
    "{\"content\":[" TEXT_BLOCK "],\"structuredContent\":NaN}",
    "{\"content\":[" TEXT_BLOCK "],\"structuredContent\":Infinity}",
    "{\"content\":[" TEXT_BLOCK "],\"structuredContent\":{\"a\":01}}",
    "{\"content\":[" TEXT_BLOCK "],\"structuredContent\":{\"a\":1.}}",
    "{\"content\":[" TEXT_BLOCK "],\"structuredContent\":{\"a\":+1}}",
    "{\"content\":[" TEXT_BLOCK "],\"structuredContent\":{a:1}}",
    "{\"content\":[" TEXT_BLOCK "],\"structuredContent\":{\"a\":/*c*/1}}",
    "{\"content\":[" TEXT_BLOCK "],\"structuredContent\":{\"a\":\"\n\"}}",
};

Test(hostile, a_forged_result_is_replaced_by_an_error) {
    expect_malformed(add_forged, forged_results, COUNT_OF(forged_results));
}

/* Odd results that may pass: each line is still one valid message, which the client checks. */
Test(hostile, an_odd_result_never_breaks_the_line) {
    static const char *const odd[] = {
        "{\"content\":[" TEXT_BLOCK "],\"structuredContent\":{\"a\":\n1,\r\t\"b\":[\n]}}",
        "{\"content\":[" TEXT_BLOCK "],\"structuredContent\":{\"a\":\"\\ud800\"}}",
        "{\"content\":[" TEXT_BLOCK "],\"structuredContent\":{\"\\udc00\":1}}",
        "{\"content\":[" TEXT_BLOCK "],\"structuredContent\":{\"a\\u0000b\":1,\"a\":2}}",
        "{\"content\":[" TEXT_BLOCK "],\"structuredContent\":{\"a\":1,\"a\":2}}",
        "{\"content\":[" TEXT_BLOCK "],\"structuredContent\":{\"a\":1e999999}}",
        "{\"content\":[" TEXT_BLOCK "],\"structuredContent\":{\"a\":-0.0e-0}}",
        "{\"content\":[" TEXT_BLOCK "],\"structuredContent\":"
        "{\"a\":123456789012345678901234567890123456789012345678901234567890}}",
        "{\"content\":[" TEXT_BLOCK "],\"structuredContent\":null}",
        "{\"content\":[" TEXT_BLOCK "],\"structuredContent\":[]}",
        "{\"content\":[" TEXT_BLOCK "],\"id\":1,\"jsonrpc\":\"2.0\",\"_meta\":5,\"resultType\":1}",
        "{\"content\":[" TEXT_BLOCK "],\"content\":5}",
        "{\"content\":5,\"content\":[" TEXT_BLOCK "]}",
        "\n{\"content\":[\n" TEXT_BLOCK "\n]\n}\n",
        CONTENT("{\"type\":\"text\",\"text\":\"\\ud800\\u0000\\udfff\\n\"}"),
        CONTENT("{\"type\":\"text\",\"type\":\"image\",\"text\":\"t\"}"),
        CONTENT("{\"type\":\"text\",\"text\":\"t\",\"extra\":{\"a\":NaN}}"),
        CONTENT("{\"type\":\"text\",\"text\":\"t\",\"_meta\":5}"),
    };
    add_probe();
    for (size_t i = 0; i < COUNT_OF(odd); i++)
        add_forged(formatted("odd%zu", i), odd[i]);
    EACH_ERA_SERVED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(odd); i++) {
            era_call_send(client, era, "1", formatted("odd%zu", i), "{}");
            const char *line = client_await(client, "1", NULL);
            struct text result, value;
            cr_assert(json_at(text_of(line), &result, "result", NULL), "%s", line);
            cr_expect_not(json_has_twins(result), "%s", line);
            cr_expect(json_at(result, &value, "content", NULL) && json_kind(value) == VALUE_ARRAY,
                      "%s", line);
            expect_member(line, NULL, "result", "jsonrpc", NULL);
            cr_expect(json_at(result, &value, "_meta", "exitCode", NULL), "%s", line);
        }
        expect_untouched(client, era);
    }
}

Test(hostile, an_invalid_content_made_by_hand_is_refused) {
    static const char *const made[] = {
        "(mcp::make-content :block (mcp:object \"type\" \"spell\"))",
        "(mcp::make-content :block (mcp:object \"type\" \"text\" \"text\" 5))",
        "(mcp::make-content :block 5)",
        "(mcp::make-content :block nil)",
        "(let ((image (mcp:image \"AAAA\" \"image/png\")))"
        " (setf (gethash \"data\" (mcp::content-value image)) \"!!\") image)",
        "(mcp::make-content :block (mcp:object \"type\" \"resource\" \"resource\" 7))",
    };
    expect_malformed(add_harm, made, COUNT_OF(made));
}

/* --- schemas --- */

Test(hostile, a_result_that_its_output_schema_refuses_never_passes) {
    static const char *const values[] = {
        "(mcp:structured (mcp:object \"n\" \"five\"))",
        "(mcp:structured (mcp:object))",
        "(mcp:structured (mcp:array '(1)))",
        "(mcp:structured :null)",
        "(mcp:structured (mcp:object \"n\" 5 \"secret\" t))",
        "\"no value at all\"",
    };
    static const char schema[] =
        "{\"outputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},"
        "\"required\":[\"n\"],\"additionalProperties\":false}}";
    add_probe();
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        add_harm(formatted("breaks%zu", i), values[i]);
        project_files_write(formatted("tools/breaks%zu.json", i), schema);
    }
    EACH_ERA_SERVED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(values); i++) {
            struct evaluation end = era_call(client, era, formatted("breaks%zu", i), "{}");
            expect_marker(&end, "MALFORMED-OUTPUT", 70);
            expect_member(end.line, NULL, "result", "structuredContent", NULL);
            expect_lacks(end.line, "secret\\\":");
            expect_untouched(client, era);
        }
    }
}

Test(hostile, arguments_that_the_input_schema_refuses_never_reach_the_tool) {
    static const char *const refused[] = {
        "{}",
        "{\"n\":\"5\"}",
        "{\"n\":null}",
        "{\"n\":1.5}",
        "{\"n\":-1}",
        "{\"n\":[5]}",
        "{\"n\":5,\"m\":1}",
        "{\"N\":5}",
        "{\"n\":1e9}",
        "{\"\":5}",
        "{\"n\":{\"n\":5}}",
        "{\"__proto__\":{\"n\":5}}",
        "{\"n\":true}",
        "{\"n\":99999999999999999999999999999999999}",
    };
    project_files_write("tools/strict.lisp", "(mcp:deftool \"strict\" (n) (ext:quit n))");
    project_files_write("tools/strict.json",
                        "{\"inputSchema\":{\"type\":\"object\",\"properties\":{\"n\":"
                        "{\"type\":\"integer\",\"minimum\":0,\"maximum\":9}},\"required\":[\"n\"],"
                        "\"additionalProperties\":false}}");
    EACH_ERA_SERVED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(refused); i++) {
            struct evaluation end = era_call(client, era, "strict", refused[i]);
            expect_marker(&end, "TYPE-ERROR", 1);
        }
        struct evaluation end = era_call(client, era, "strict", "{\"n\":7}");
        expect_marker(&end, "PROCESS-EXIT", 7);
    }
}

/* --- events --- */

static void expect_flood_ends(struct client *client, const struct era *era) {
    if (!era->modern)
        client_ping(client);
    struct evaluation end = client_evaluate_await(client, "1");
    cr_assert_eq(end.error_code, -32603, "%s", end.line);
    expect_contains(end.text, "too many progress and log messages");
    expect_untouched(client, era);
}

Test(hostile, an_endless_flood_of_events_is_ended_while_pings_are_answered) {
    static const char *const floods[][2] = {
        {"progress", "(loop for step from 1 do (mcp:progress step))"},
        {"log", "(loop (mcp:log :emergency \"flood\"))"},
        {"changes", "(loop (mcp:publish-change :tools))"},
    };
    add_probe();
    for (size_t i = 0; i < COUNT_OF(floods); i++)
        add_harm(floods[i][0], floods[i][1]);
    EACH_KIND_SERVED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(floods); i++) {
            send_call(client, era, floods[i][0]);
            expect_flood_ends(client, era);
        }
    }
}

/* Messages of almost the maximum size, formatted once: they reach the limit of bytes long before
 * that of their number. */
static const char *const big_floods[][2] = {
    {"big-log", "\\\"type\\\":\\\"log\\\",\\\"level\\\":\\\"emergency\\\",\\\"data\\\""},
    {"big-progress", "\\\"type\\\":\\\"progress\\\",\\\"progress\\\":1,\\\"message\\\""},
};

static void add_big_floods(void) {
    add_probe();
    for (size_t i = 0; i < COUNT_OF(big_floods); i++)
        project_files_format(formatted("tools/%s.lisp", big_floods[i][0]),
                             "(mcp:deftool \"%s\" () (let ((words (format nil"
                             " \"{%s:\\\"~a\\\"}\" (make-string 65000 :initial-element #\\x))))"
                             " (loop (eclave::send-event words))))",
                             big_floods[i][0], big_floods[i][1]);
}

Test(hostile, a_flood_of_large_events_is_ended_by_its_bytes) {
    add_big_floods();
    EACH_KIND_SERVED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(big_floods); i++) {
            send_call(client, era, big_floods[i][0]);
            expect_flood_ends(client, era);
        }
    }
}

Test(hostile, a_flood_for_a_client_that_does_not_read_is_not_kept_in_memory) {
    /* The rate limit passes 13 MiB. */
    enum { GROWTH_MAX_KB = 2 * 1024 + ECLAVE_TEST_MEMORY_SLACK_KB };
    add_big_floods();
    for (size_t i = 0; i < COUNT_OF(big_floods); i++) {
        struct client *client = project_files_serve_in(era_legacy, NULL);
        expect_untouched(client, era_legacy);
        long before_kb = process_status(client_pid(client), "VmHWM");
        client_pause_reading(client, true);
        send_call(client, era_legacy, big_floods[i][0]);
        client_await_stderr(client, "too many progress and log messages");
        long grown_kb = process_status(client_pid(client), "VmHWM") - before_kb;
        cr_assert_leq(grown_kb, GROWTH_MAX_KB, "%s: %ld KiB", big_floods[i][0], grown_kb);
        client_pause_reading(client, false);
        expect_flood_ends(client, era_legacy);
        client_finish(client);
    }
}

Test(hostile, a_forged_event_ends_its_call) {
    static const char *const events[] = {
        "",
        "5",
        "{}",
        "{'type':'progress'}",
        "{\"type\":\"spell\"}",
        "{\"type\":5}",
        "{\"type\":\"progress\"}",
        "{\"type\":\"progress\",\"progress\":\"5\"}",
        "{\"type\":\"progress\",\"progress\":NaN}",
        "{\"type\":\"progress\",\"progress\":1,\"total\":\"5\"}",
        "{\"type\":\"progress\",\"progress\":1,\"message\":5}",
        "{\"type\":\"log\",\"level\":\"shout\",\"data\":1}",
        "{\"type\":\"log\",\"level\":5,\"data\":1}",
        "{\"type\":\"log\",\"level\":\"info\"}",
        "{\"type\":\"log\",\"level\":\"info\",\"data\":1,\"logger\":5}",
        "{\"type\":\"change\"}",
        "{\"type\":\"change\",\"kind\":\"world\"}",
        "{\"type\":\"change\",\"kind\":5}",
        "{\"type\":\"change\",\"kind\":\"resource\"}",
        "{\"type\":\"change\",\"kind\":\"resource\",\"uri\":5}",
        "{\"type\":\"progress\",\"progress\":1}{\"type\":\"progress\",\"progress\":2}",
    };
    expect_malformed(add_event, events, COUNT_OF(events));
}

#define QUESTION(inside) "{\"requests\":{\"k\":" inside "}}"

Test(hostile, a_forged_question_ends_its_call_and_is_not_sent) {
    static const char *const questions[] = {
        "",
        "5",
        "[]",
        QUESTION("5"),
        QUESTION("{}"),
        QUESTION("{\"method\":5,\"params\":{}}"),
        QUESTION("{\"method\":\"ping\",\"params\":{}}"),
        QUESTION("{\"method\":\"tools/call\",\"params\":{}}"),
        QUESTION("{\"method\":\"notifications/cancelled\",\"params\":{}}"),
        QUESTION("{\"method\":\"roots/list\",\"params\":5}"),
        QUESTION("{\"method\":\"elicitation/create\",\"params\":[]}"),
        "{\"requests\":{}}",
        "{\"requests\":[]}",
    };
    expect_malformed(add_question, questions, COUNT_OF(questions));
}

Test(hostile, an_odd_event_never_breaks_the_line) {
    static const char *const events[] = {
        "{\"type\":\"progress\",\"progress\":1e999}",
        "{\"type\":\"progress\",\"progress\":-1e999}",
        "{\"type\":\"progress\",\"progress\":123456789012345678901234567890}",
        "{\"type\":\"progress\",\"progress\":1,\"total\":1e999}",
        "{\"type\":\"progress\",\"progress\":-5.5,\"message\":\"\\ud800\\u0000\"}",
        "{\"type\":\"log\",\"level\":\"error\",\"data\":{\"a\\u0000b\":\"\\udc00\",\"n\":1e999}}",
        "{\"type\":\"log\",\"level\":\"error\",\"data\":null,\"logger\":\"\\ud800\"}",
        "\n{\"type\":\"log\",\n\"level\":\"error\",\"data\":[\n1\n]}\n",
        "{\"type\":\"change\",\"kind\":\"tools\",\"uri\":\"\\ud800\"}",
        "{\"type\":\"change\",\"kind\":\"resource\",\"uri\":\"\"}",
    };
    add_probe();
    for (size_t i = 0; i < COUNT_OF(events); i++)
        add_event(formatted("sends%zu", i), events[i]);
    EACH_KIND_SERVED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(events); i++) {
            send_call(client, era, formatted("sends%zu", i));
            struct evaluation end = client_evaluate_await(client, "1");
            cr_expect(end.exit_code == 0 || end.exit_code == 70, "%s", end.line);
        }
        expect_untouched(client, era);
    }
}

/* --- names --- */

Test(hostile, a_tool_never_takes_the_name_of_a_built_in_one) {
    static const char *const names[] = {"evaluate-lisp", "open-session", "list-sessions"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        project_files_format(formatted("tools/%s.lisp", names[i]),
                             "(mcp:deftool \"%s\" (&rest all) all \"taken over\")", names[i]);
    EACH_ERA_SERVED(era, NULL) {
        const char *list = era_request(client, era, "1", "tools/list", NULL);
        for (size_t i = 0; i < COUNT_OF(names); i++) {
            const char *wanted = formatted("\"name\":\"%s\"", names[i]);
            const char *first = strstr(list, wanted);
            cr_assert_not_null(first, "%s", list);
            expect_lacks(first + 1, wanted);
        }
        struct evaluation value = era_evaluate(client, era, NULL, "(+ 1 2)");
        expect_contains(value.text, "=> 3");
        expect_lacks(era_call(client, era, "list-sessions", "{}").text, "taken over");
        client_await_stderr(client, "evaluate-lisp");
    }
}

/* --- prompts, resources and completions --- */

static void expect_error_of(const char *line, const struct harm *harm) {
    expect_member(line, "-32603", "error", "code", NULL);
    expect_member(line, formatted("\"%s\"", harm->type), "error", "data", "type", NULL);
    expect_member(line, formatted("%d", harm->exit_code), "error", "data", "_meta", "exitCode",
                  NULL);
}

Test(hostile, a_failed_prompt_or_resource_is_an_error_with_its_type) {
    add_probe();
    for (size_t i = 0; i < COUNT_OF(harms); i++) {
        const char *name = harms[i].name, *code = harms[i].code;
        project_files_format(formatted("prompts/%s.lisp", name),
                             "(mcp:defprompt \"%s\" () " TRACES " %s)", name, code);
        project_files_format(formatted("resources/%s.lisp", name),
                             "(mcp:defresource \"harm://%s/{x}\" (x) " TRACES " x %s)", name, code);
        project_files_format(formatted("resources/%s.lisp.meta.json", name),
                             "{\"uriTemplate\":\"harm://%s/{x}\"}", name);
    }
    EACH_ERA_SERVED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(harms); i++) {
            if (strcmp(harms[i].name, "eats") == 0)
                continue;
            const char *name = formatted("\"name\":\"%s\"", harms[i].name);
            expect_error_of(era_request(client, era, "1", "prompts/get", name), &harms[i]);
            const char *uri = formatted("\"uri\":\"harm://%s/y\"", harms[i].name);
            expect_error_of(era_request(client, era, "1", "resources/read", uri), &harms[i]);
            expect_untouched(client, era);
        }
    }
}

Test(hostile, a_failed_completion_never_breaks_the_line) {
    static const char *const arguments[] = {"--session-memory-mb", "128", NULL};
    add_probe();
    for (size_t i = 0; i < COUNT_OF(harms); i++) {
        const char *name = harms[i].name;
        project_files_format(formatted("completions/%s.lisp", name),
                             "(mcp:defcompletion \"%s\" (argument value context) "
                             "argument value context " TRACES " %s)",
                             name, harms[i].code);
        project_files_write(formatted("prompts/%s.txt", name), "{{a}}");
        project_files_format(formatted("prompts/%s.json", name),
                             "{\"arguments\":[{\"name\":\"a\"}],\"completions\":{\"a\":\"%s\"}}",
                             name);
    }
    SERVED(era_legacy, arguments) {
        for (size_t i = 0; i < COUNT_OF(harms); i++) {
            const char *line =
                era_request(client, era_legacy, "1", "completion/complete",
                            formatted("\"ref\":{\"type\":\"ref/prompt\",\"name\":\"%s\"},"
                                      "\"argument\":{\"name\":\"a\",\"value\":\"v\"}",
                                      harms[i].name));
            expect_lacks(line, "spoiled");
            expect_untouched(client, era_legacy);
        }
    }
}
