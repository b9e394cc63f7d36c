/* tools/list, the checks that a call must pass before anything is evaluated, and the form of its
 * answer, in every revision. */
#include "tests/support/eras.h"
#include <stdio.h>

/* The names below are ordered like `eras`. */
enum { IN_2024_11_05, IN_2025_03_26, IN_2025_06_18, IN_2025_11_25, IN_2026_07_28 };

static struct text tools_of(const char *line) {
    struct text tools;
    cr_assert(json_at(text_of(line), &tools, "result", "tools", NULL), "%s", line);
    return tools;
}

Test(tools, the_list_has_the_members_that_the_revision_knows_and_is_always_the_same) {
    for (size_t i = 0; i < ERA_COUNT; i++) {
        struct client *client = era_start(&eras[i], NULL);
        const char *line = era_request(client, &eras[i], "1", "tools/list", NULL);
        struct text tools = tools_of(line), tool;
        for (size_t j = 0; json_element(tools, j, &tool); j++) {
            struct text value;
            cr_assert(json_member(tool, "name", &value) && json_kind(value) == VALUE_STRING);
            cr_assert(json_member(tool, "description", &value) && json_kind(value) == VALUE_STRING);
            cr_assert(json_at(tool, &value, "inputSchema", "type", NULL) &&
                      text_is(value, "\"object\""));
            cr_assert_eq(json_member(tool, "title", &value), i >= IN_2025_06_18);
            cr_assert_eq(json_at(tool, &value, "annotations", "readOnlyHint", NULL),
                         i >= IN_2025_03_26);
            cr_assert_not(json_member(tool, "outputSchema", &value));
            cr_assert_not(json_member(tool, "execution", &value));
        }
        static const char *const modern[] = {"\"resultType\"", "\"ttlMs\"", "\"cacheScope\"",
                                             "\"_meta\""};
        for (size_t j = 0; j < COUNT_OF(modern); j++)
            expect_contains_if(i >= IN_2026_07_28, line, modern[j]);
        cr_assert_str_eq(era_request(client, &eras[i], "1", "tools/list", NULL), line);
        client_finish(client);
    }
}

Test(tools, annotations_are_true) {
    static const struct {
        const char *tool, *read_only, *destructive, *idempotent;
    } rows[] = {
        {"\"evaluate-lisp\"", "false", "false", "false"},
        {"\"open-session\"", "false", "false", "false"},
        {"\"rollback-session\"", "false", "true", "false"},
        {"\"inspect-lisp\"", "true", "false", "true"},
        {"\"read-output\"", "true", "false", "true"},
        {"\"list-sessions\"", "true", "false", "true"},
        {"\"reset-session\"", "false", "true", "true"},
        {"\"close-session\"", "false", "true", "true"},
    };
    struct client *client = client_start(NULL);
    struct text tools = tools_of(client_expect_result(client, MODERN("1", "tools/list"), "1"));
    cr_assert_eq(json_count(tools), COUNT_OF(rows), "ordered by use, no other tool");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *const hints[][2] = {{"readOnlyHint", rows[i].read_only},
                                        {"destructiveHint", rows[i].destructive},
                                        {"idempotentHint", rows[i].idempotent},
                                        {"openWorldHint", "false"}};
        struct text tool, value;
        cr_assert(json_element(tools, i, &tool));
        cr_assert(json_member(tool, "name", &value) && text_is(value, rows[i].tool));
        for (size_t j = 0; j < COUNT_OF(hints); j++)
            cr_assert(json_at(tool, &value, "annotations", hints[j][0], NULL) &&
                          text_is(value, hints[j][1]),
                      "%s of %s", hints[j][0], rows[i].tool);
    }
    client_finish(client);
}

Test(tools, the_schema_of_evaluate_lisp_has_its_four_arguments) {
    static const char *const arguments[][2] = {{"code", "\"string\""},
                                               {"package", "\"string\""},
                                               {"timeout", "\"number\""},
                                               {"session", "\"string\""}};
    struct client *client = client_start(NULL);
    const char *line = client_expect_result(client, MODERN("1", "tools/list"), "1");
    struct text tool, schema, properties, value;
    cr_assert(json_element(tools_of(line), 0, &tool));
    cr_assert(json_member(tool, "name", &value) && text_is(value, "\"evaluate-lisp\""));
    cr_assert(json_member(tool, "inputSchema", &schema));
    cr_assert(json_member(schema, "required", &value) && text_is(value, "[\"code\"]"));
    cr_assert(json_member(schema, "additionalProperties", &value) && text_is(value, "false"));
    cr_assert(json_member(schema, "properties", &properties));
    cr_assert_eq(json_count(properties), COUNT_OF(arguments));
    for (size_t i = 0; i < COUNT_OF(arguments); i++)
        cr_assert(json_at(properties, &value, arguments[i][0], "type", NULL) &&
                  text_is(value, arguments[i][1]));
    client_finish(client);
}

Test(tools, the_description_of_evaluate_lisp_states_the_limits_in_force) {
    static const char *const arguments[] = {"--call-timeout-s",
                                            "17",
                                            "--call-timeout-max-s",
                                            "43",
                                            "--session-memory-mb",
                                            "321",
                                            "--output-max-bytes",
                                            "98765",
                                            NULL};
    static const char *const parts[] = {"17 s", "43 s", "321 MiB", "0.094 MiB printed",
                                        "\"maximum\":43"};
    EACH_KIND_STARTED(era, arguments) {
        const char *line = era_request(client, era, "1", "tools/list", NULL);
        for (size_t i = 0; i < COUNT_OF(parts); i++)
            expect_contains(line, parts[i]);
    }
}

#define EVALUATE_WITH(arguments) "\"name\":\"evaluate-lisp\",\"arguments\":" arguments
#define NAMED(name)              "\"name\":\"" name "\",\"arguments\":{\"code\":\"1\"}"

/* The inside of `params`, and the name in the error's data. */
static const char *const invalid_calls[][2] = {
    {NULL, "name"},
    {"\"arguments\":{\"code\":\"1\"}", "name"},
    {"\"name\":5,\"arguments\":{\"code\":\"1\"}", "name"},
    {"\"name\":null", "name"},
    {"\"name\":[\"evaluate-lisp\"]", "name"},
    {"\"name\":{}", "name"},
    {"\"Name\":\"evaluate-lisp\"", "name"},
    {NAMED("nope"), "nope"},
    {NAMED(""), ""},
    {NAMED("Evaluate-Lisp"), "Evaluate-Lisp"},
    {NAMED("evaluate-lisp "), "evaluate-lisp "},
    {NAMED("evaluate_lisp"), "evaluate_lisp"},
    {NAMED("evaluate-lisp\\u0000"), "evaluate-lisp"},
    {NAMED("\\ud800"), "\xEF\xBF\xBD"},
    {NAMED("../../etc/passwd"), "../../etc/passwd"},
    {EVALUATE_WITH("\"x\""), "arguments"},
    {EVALUATE_WITH("[1]"), "arguments"},
    {EVALUATE_WITH("[]"), "arguments"},
    {EVALUATE_WITH("5"), "arguments"},
    {EVALUATE_WITH("true"), "arguments"},
    {"\"name\":\"evaluate-lisp\"", "code"},
    {EVALUATE_WITH("null"), "code"},
    {EVALUATE_WITH("{}"), "code"},
    {EVALUATE_WITH("{\"Code\":\"1\"}"), "code"},
    {EVALUATE_WITH("{\"code\":7}"), "code"},
    {EVALUATE_WITH("{\"code\":null}"), "code"},
    {EVALUATE_WITH("{\"code\":[\"1\"]}"), "code"},
    {EVALUATE_WITH("{\"code\":{}}"), "code"},
    {EVALUATE_WITH("{\"code\":true}"), "code"},
    {EVALUATE_WITH("{\"code\":\"1\",\"code\":2}"), "code"},
};

/* The arguments of evaluate-lisp, and a part of the text. */
static const char *const invalid_arguments[][2] = {
    {"{\"code\":\"1\",\"timeout\":0}", "timeout"},
    {"{\"code\":\"1\",\"timeout\":-1}", "timeout"},
    {"{\"code\":\"1\",\"timeout\":-0.0}", "timeout"},
    {"{\"code\":\"1\",\"timeout\":600.5}", "600"},
    {"{\"code\":\"1\",\"timeout\":601}", "600"},
    {"{\"code\":\"1\",\"timeout\":1e400}", "timeout"},
    {"{\"code\":\"1\",\"timeout\":99999999999999999999}", "timeout"},
    {"{\"code\":\"1\",\"timeout\":\"5\"}", "timeout"},
    {"{\"code\":\"1\",\"timeout\":true}", "timeout"},
    {"{\"code\":\"1\",\"timeout\":[1]}", "timeout"},
    {"{\"code\":\"1\",\"package\":5}", "package"},
    {"{\"code\":\"1\",\"session\":5}", "session"},
    {"{\"code\":\"1\",\"session\":{}}", "session"},
    {"{\"code\":\"1\",\"timeoutSecs\":5}", "timeoutSecs"},
    {"{\"code\":\"1\",\"\":5}", "no argument"},
};

Test(tools, an_invalid_call_is_an_error_and_an_invalid_argument_a_tool_error) {
    EACH_ERA_STARTED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(invalid_calls); i++) {
            const char *line =
                era_refused(client, era, -32602, "1", "tools/call", invalid_calls[i][0]);
            cr_assert_str_eq(client_string(client, line, "error", "data", "name", NULL),
                             invalid_calls[i][1]);
        }
        for (size_t i = 0; i < COUNT_OF(invalid_arguments); i++) {
            struct evaluation evaluation =
                era_call(client, era, "evaluate-lisp", invalid_arguments[i][0]);
            cr_assert(evaluation.is_error, "%s", evaluation.line);
            cr_assert_eq(evaluation.exit_code, 1);
            cr_assert_eq(strncmp(evaluation.text, "[ERROR] TYPE-ERROR\n", 19), 0, "%s",
                         evaluation.text);
            expect_contains(evaluation.text, invalid_arguments[i][1]);
            expect_contains(evaluation.text, "\n\n[Backtrace]\n(no frames)");
        }
    }
}

Test(tools, an_unknown_tool_with_a_long_name_gets_a_short_message) {
    struct client *client = client_start_ready(NULL, NULL);
    char name[3001];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    client_send_format(client, REQUEST_WITH("1", "tools/call", "{\"name\":\"%s\"}"), name);
    const char *answer = client_await(client, "1", NULL);
    cr_assert_lt(strlen(client_string(client, answer, "error", "message", NULL)), 200);
    client_finish(client);
}

Test(tools, good_arguments_are_accepted) {
    static const char *const arguments[] = {
        "{\"code\":\"(+ 1 2)\"}",
        "{\"code\":\"(+ 1 2)\",\"timeout\":600}",
        "{\"code\":\"(+ 1 2)\",\"timeout\":59.5}",
        "{\"code\":\"(+ 1 2)\",\"package\":\"CL-USER\"}",
        "{\"code\":\"(+ 1 2)\",\"session\":\"main\"}",
        "{\"session\":\"main\",\"package\":\"COMMON-LISP-USER\",\"timeout\":6e1,"
        "\"code\":\"(+ 1 2)\"}",
        "{\"code\":\"(\\u002b 1\\n2)\"}",
    };
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(arguments); i++) {
        struct evaluation evaluation = client_evaluate_with(client, arguments[i]);
        cr_assert_not(evaluation.is_error, "%s", evaluation.line);
        cr_assert_str_eq(evaluation.text, "=> 3");
        cr_assert_eq(evaluation.exit_code, 0);
    }
    client_finish(client);
}

Test(tools, the_largest_time_limit_can_be_set) {
    struct client *client = client_start_with("--call-timeout-max-s", "50");
    expect_contains(client_evaluate_with(client, "{\"code\":\"1\",\"timeout\":51}").text,
                    "at most 50");
    cr_assert_not(client_evaluate_with(client, "{\"code\":\"1\",\"timeout\":50}").is_error);
    client_finish(client);
}

/* Lisp that writes bytes, given by their codes, to a file descriptor. */
#define WRITE(fd, codes, count)                                                                    \
    FOREIGN "(c \"write\" :long '(:int :cstring :unsigned-long) " fd                               \
            " (coerce (mapcar #'code-char '(" codes ")) 'base-string) " count ") 1"

Test(tools, any_text_is_well_formed_and_fits_on_one_line) {
    static const struct {
        const char *code, *text; /* NULL: any */
    } rows[] = {
        {"(string (code-char #x2028))", "=> \"\xE2\x80\xA8\""},
        {"(string (code-char #xD800))", "=> \"\xEF\xBF\xBD\""},
        {"(string (code-char #xDFFF))", "=> \"\xEF\xBF\xBD\""},
        {"(code-char #xD800)", NULL},
        {"(length (string (code-char 0)))", "=> 1"},
        {"(princ (code-char 0)) 1", NULL},
        {"(princ (code-char #x7F)) (princ (code-char #x85)) (princ (code-char #x9F)) 1",
         "[stdout]\n\x7F\xC2\x85\xC2\x9F\n=> 1"},
        {"(princ (code-char #xD800)) 1", "[stdout]\n\xEF\xBF\xBD\n=> 1"},
        {"(princ \"a\") (terpri) (princ (code-char 13)) 1", "[stdout]\na\n\r\n=> 1"},
        {"(list (code-char 0) (code-char 127) (code-char #x85) (code-char #x10FFFF))", NULL},
        {WRITE("1", "255 254", "2"), NULL},
        {WRITE("2", "255 254 120", "3"), "[stderr]\n\xEF\xBF\xBD\xEF\xBF\xBDx\n=> 1"},
    };
    EACH_ERA_STARTED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            struct evaluation evaluation = era_evaluate(client, era, NULL, rows[i].code);
            cr_assert_not(evaluation.is_error, "%s", evaluation.text);
            expect_lacks(evaluation.line, "structuredContent");
            if (rows[i].text)
                cr_assert_str_eq(era_text(client, &evaluation), rows[i].text);
        }
        struct evaluation failure =
            era_evaluate(client, era, NULL, "(error (string (code-char #xD800)))");
        cr_assert(failure.is_error);
        expect_lacks(failure.line, "structuredContent");
    }
}

/* Models fill every field. */
Test(tools, null_and_an_empty_string_count_as_absent) {
    static const char *const calls[][2] = {
        {"evaluate-lisp", "{\"code\":\"(+ 1 2)\",\"package\":null}"},
        {"evaluate-lisp", "{\"code\":\"(+ 1 2)\",\"package\":\"\"}"},
        {"evaluate-lisp", "{\"code\":\"(+ 1 2)\",\"timeout\":null}"},
        {"evaluate-lisp", "{\"code\":\"(+ 1 2)\",\"session\":null}"},
        {"evaluate-lisp", "{\"code\":\"(+ 1 2)\",\"session\":\"\"}"},
        {"evaluate-lisp",
         "{\"code\":\"(+ 1 2)\",\"session\":\"\",\"package\":null,\"timeout\":null}"},
        {"evaluate-lisp", "{\"code\":\"\"}"},
        {"open-session", "{\"from\":null}"},
        {"open-session", "{\"from\":\"\",\"at\":null}"},
        {"list-sessions", "{}"},
    };
    EACH_ERA_STARTED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(calls); i++) {
            struct evaluation evaluation = era_call(client, era, calls[i][0], calls[i][1]);
            cr_expect(!evaluation.is_error && !evaluation.error_code, "%s: %s", calls[i][1],
                      evaluation.line);
        }
    }
}
