/* Answers of tools in each revision: bad arguments, text that is hard to put on a line, and what a
 * revision does not know. */
#include "tests/support/eras.h"

Test(answers, a_request_that_is_no_call_is_an_error_and_a_bad_argument_is_for_the_model_to_read) {
    static const char *const refused[] = {
        "\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":42}",
        "\"name\":\"evaluate-lisp\",\"arguments\":{}",
        "\"name\":\"evaluate-lisp\"",
        "\"name\":\"evaluate-lisp\",\"arguments\":[1]",
        "\"name\":7",
        "\"name\":\"no-such-tool\",\"arguments\":{\"code\":\"1\"}",
    };
    static const char *const shown[] = {
        "{\"code\":\"1\",\"timeout\":\"5\"}",
        "{\"code\":\"1\",\"package\":5}",
        "{\"code\":\"1\",\"session\":5}",
        "{\"code\":\"1\",\"extra\":1}",
    };
    for (size_t i = 0; i < ERA_COUNT; i++) {
        struct client *client = era_start(&eras[i], NULL);
        for (size_t j = 0; j < COUNT_OF(refused); j++)
            era_refused(client, &eras[i], -32602, "1", "tools/call", refused[j]);
        for (size_t j = 0; j < COUNT_OF(shown); j++) {
            struct evaluation evaluation = era_call(client, &eras[i], "evaluate-lisp", shown[j]);
            cr_assert(evaluation.is_error);
            cr_assert_eq(strncmp(evaluation.text, "[ERROR] TYPE-ERROR\n", 19), 0);
        }
        client_finish(client);
    }
}

Test(answers, any_text_fits_on_one_line) {
    static const char *const rows[][2] = {
        {"(string (code-char #x2028))", "=> \"\xE2\x80\xA8\""},
        {"(string (code-char #xD800))", "=> \"\xEF\xBF\xBD\""},
        {"(length (string (code-char 0)))", "=> 1"},
        {"(princ (code-char 0)) 1", NULL},
        {"(princ (code-char #x7F)) (princ (code-char #x85)) (princ (code-char #x9F)) 1",
         "[stdout]\n\x7F\xC2\x85\xC2\x9F\n=> 1"},
        {FOREIGN "(c \"write\" :long '(:int :cstring :unsigned-long) 1 (coerce (list (code-char "
                 "255) (code-char 254)) 'base-string) 2) 1",
         NULL},
        {"(princ \"a\") (terpri) (princ (code-char 13)) 1", "[stdout]\na\n\r\n=> 1"},
    };
    for (size_t i = 0; i < ERA_COUNT; i++) {
        struct client *client = era_start(&eras[i], NULL);
        for (size_t j = 0; j < COUNT_OF(rows); j++) {
            struct evaluation evaluation = era_evaluate(client, &eras[i], NULL, rows[j][0]);
            cr_assert_not(evaluation.is_error, "%s", evaluation.text);
            if (rows[j][1])
                cr_assert_str_eq(era_text(client, &evaluation), rows[j][1]);
        }
        client_finish(client);
    }
}

/* What each member of an answer came with; ordered like `eras`. */
static void expect_since(const char *line, const char *member, size_t era, size_t since) {
    if (era >= since)
        expect_contains(line, member);
    else
        expect_lacks(line, member);
}

enum { IN_2024_11_05, IN_2025_03_26, IN_2025_06_18, IN_2025_11_25, IN_2026_07_28 };

Test(answers, a_list_of_tools_holds_what_the_revision_knows) {
    for (size_t i = 0; i < ERA_COUNT; i++) {
        struct client *client = era_start(&eras[i], NULL);
        const char *line = era_request(client, &eras[i], "1", "tools/list", NULL);
        struct text tools, tool;
        cr_assert(json_at(text_of(line), &tools, "result", "tools", NULL));
        for (size_t j = 0; json_element(tools, j, &tool); j++) {
            struct text value;
            cr_assert_eq(json_member(tool, "title", &value), i >= IN_2025_06_18);
            cr_assert_eq(json_member(tool, "annotations", &value), i >= IN_2025_03_26);
            cr_assert(json_member(tool, "description", &value));
            cr_assert(json_at(tool, &value, "inputSchema", "type", NULL));
        }
        expect_since(line, "\"readOnlyHint\"", i, IN_2025_03_26);
        expect_since(line, "\"resultType\"", i, IN_2026_07_28);
        expect_since(line, "\"ttlMs\"", i, IN_2026_07_28);
        expect_since(line, "\"cacheScope\"", i, IN_2026_07_28);
        expect_since(line, "\"_meta\"", i, IN_2026_07_28);
        expect_lacks(line, "outputSchema");
        expect_lacks(line, "execution");
        cr_assert_str_eq(era_request(client, &eras[i], "1", "tools/list", NULL), line);
        client_finish(client);
    }
}

Test(answers, a_handshake_holds_what_the_revision_knows) {
    for (size_t i = 0; i < IN_2026_07_28; i++) {
        struct client *client = client_start(NULL);
        const char *line = client_initialize(client, eras[i].revision);
        struct text server, value;
        cr_assert(json_at(text_of(line), &server, "result", "serverInfo", NULL));
        cr_assert(json_member(server, "name", &value) && text_is(value, "\"eclave\""));
        cr_assert(json_member(server, "version", &value));
        cr_assert_eq(json_member(server, "title", &value), i >= IN_2025_06_18);
        cr_assert_eq(json_member(server, "description", &value), i >= IN_2025_11_25);
        expect_member(line, "{\"logging\":{},\"tools\":{}}", "result", "capabilities", NULL);
        cr_assert_leq(strlen(client_string(client, line, "result", "instructions", NULL)), 2048);
        expect_lacks(line, "resultType");
        client_finish(client);
    }
}

Test(answers, annotations_are_true) {
    static const struct {
        const char *tool, *read_only, *destructive, *idempotent;
    } rows[] = {
        {"\"close-session\"", "false", "true", "true"},
        {"\"evaluate-lisp\"", "false", "false", "false"},
        {"\"list-sessions\"", "true", "false", "true"},
        {"\"open-session\"", "false", "false", "false"},
        {"\"reset-session\"", "false", "true", "true"},
        {"\"rollback-session\"", "false", "true", "false"},
    };
    struct client *client = client_start(NULL);
    const char *line = client_expect_result(client, MODERN("1", "tools/list"), "1");
    struct text tools, tool, value;
    cr_assert(json_at(text_of(line), &tools, "result", "tools", NULL));
    cr_assert_eq(json_count(tools), COUNT_OF(rows), "sorted by name, no other tool");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        cr_assert(json_element(tools, i, &tool));
        cr_assert(json_member(tool, "name", &value) && text_is(value, rows[i].tool));
        cr_assert(json_at(tool, &value, "annotations", "readOnlyHint", NULL) &&
                  text_is(value, rows[i].read_only));
        cr_assert(json_at(tool, &value, "annotations", "destructiveHint", NULL) &&
                  text_is(value, rows[i].destructive));
        cr_assert(json_at(tool, &value, "annotations", "idempotentHint", NULL) &&
                  text_is(value, rows[i].idempotent));
        cr_assert(json_at(tool, &value, "annotations", "openWorldHint", NULL) &&
                  text_is(value, "false"));
    }
    client_finish(client);
}

Test(answers, the_description_of_evaluate_lisp_states_the_limits_in_force) {
    static const char *const arguments[] = {"--call-timeout-s",
                                            "17",
                                            "--call-timeout-max-s",
                                            "43",
                                            "--session-memory-mb",
                                            "321",
                                            "--output-max-bytes",
                                            "98765",
                                            NULL};
    for (size_t i = 0; i < ERA_COUNT; i += ERA_COUNT - 1) {
        struct client *client = era_start(&eras[i], arguments);
        const char *line = era_request(client, &eras[i], "1", "tools/list", NULL);
        expect_contains(line, "17 s");
        expect_contains(line, "43 s");
        expect_contains(line, "321 MiB");
        expect_contains(line, "98765 bytes");
        expect_contains(line, "\"maximum\":43");
        client_finish(client);
    }
}

Test(answers, no_result_has_structured_content) {
    for (size_t i = 0; i < ERA_COUNT; i++) {
        struct client *client = era_start(&eras[i], NULL);
        struct evaluation evaluation = era_evaluate(client, &eras[i], NULL, "(list 1 2)");
        expect_lacks(evaluation.line, "structuredContent");
        client_finish(client);
    }
}
