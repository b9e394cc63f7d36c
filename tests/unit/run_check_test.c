/* supervisor/session/run_check: the results, events and questions that a run may send. */
#include "supervisor/json/json_tree.h"
#include "supervisor/project/project_tool.h"
#include "supervisor/schema/schema.h"
#include "supervisor/session/run.h"
#include "tests/support/random.h"
#include "tests/support/span.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS(blocks) "{\"content\":[" blocks "]}"
#define TEXT           "{\"type\":\"text\",\"text\":\"t\"}"

static const struct {
    enum run_kind kind;
    bool good;
    const char *text;
} results[] = {
    {RUN_TOOL, true, "{\"content\":[]}"},
    {RUN_TOOL, true, BLOCKS(TEXT)},
    {RUN_TOOL, true, BLOCKS(TEXT "," TEXT)},
    {RUN_TOOL, true, " { \"content\" : [ " TEXT " ] } "},
    {RUN_TOOL, true, "{\"content\":[],\"isError\":true}"},
    {RUN_TOOL, true, "{\"content\":[],\"structuredContent\":[1,null]}"},
    {RUN_TOOL, true, BLOCKS("{\"type\":\"image\",\"data\":\"AQ==\",\"mimeType\":\"image/png\"}")},
    {RUN_TOOL, true, BLOCKS("{\"type\":\"audio\",\"data\":\"\",\"mimeType\":\"audio/wav\"}")},
    {RUN_TOOL, true,
     BLOCKS("{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"text\":\"t\"}}")},
    {RUN_TOOL, true,
     BLOCKS("{\"type\":\"resource_link\",\"uri\":\"a+1.-:\",\"name\":\"n\",\"size\":0}")},
    {RUN_TOOL, true,
     BLOCKS("{\"type\":\"text\",\"text\":\"\",\"annotations\":{\"audience\":[\"user\"],"
            "\"priority\":1}}")},
    {RUN_PROMPT, true, "{\"messages\":[{\"role\":\"user\",\"content\":" TEXT "}]}"},
    {RUN_RESOURCE, true, "{\"contents\":[{\"uri\":\"a:\",\"blob\":\"AAAA\"}]}"},
    {RUN_COMPLETION, true, "{\"values\":[\"a\"],\"total\":1,\"hasMore\":false}"},

    {RUN_TOOL, false, ""},
    {RUN_TOOL, false, "{}"},
    {RUN_TOOL, false, "[]"},
    {RUN_TOOL, false, "null"},
    {RUN_TOOL, false, "{\"content\":[]"},
    {RUN_TOOL, false, "{\"content\":[]}{}"},
    {RUN_TOOL, false, "{\"content\":{}}"},
    {RUN_TOOL, false, "{\"content\":null}"},
    {RUN_TOOL, false, "{\"content\":[null]}"},
    {RUN_TOOL, false, "{\"content\":[\"text\"]}"},
    {RUN_TOOL, false, "{\"content\":[],\"other\":1}"},
    {RUN_TOOL, false, "{\"content\":[],\"_meta\":{}}"},
    {RUN_TOOL, false, "{\"content\":[],\"isError\":1}"},
    {RUN_TOOL, false, "{\"content\":[],\"structuredContent\":1,\"structuredContent\":2}"},
    {RUN_TOOL, true, "{\"content\":[],\"\\u0073tructuredContent\":1}"},
    {RUN_TOOL, false, "{\"messages\":[]}"},
    {RUN_TOOL, false, BLOCKS("{}")},
    {RUN_TOOL, false, BLOCKS("{\"type\":\"text\"}")},
    {RUN_TOOL, false, BLOCKS("{\"type\":\"text\",\"text\":1}")},
    {RUN_TOOL, false, BLOCKS("{\"type\":\"text\",\"text\":null}")},
    {RUN_TOOL, false, BLOCKS("{\"type\":\"video\",\"text\":\"t\"}")},
    {RUN_TOOL, false, BLOCKS("{\"type\":\"text\\u0000\",\"text\":\"t\"}")},
    {RUN_TOOL, false, BLOCKS("{\"type\":\"text\",\"text\":\"t\",\"data\":\"\"}")},
    {RUN_TOOL, false, BLOCKS("{\"type\":\"image\",\"data\":\"AQ=\",\"mimeType\":\"a/b\"}")},
    {RUN_TOOL, false, BLOCKS("{\"type\":\"image\",\"data\":\"A===\",\"mimeType\":\"a/b\"}")},
    {RUN_TOOL, false, BLOCKS("{\"type\":\"image\",\"data\":\"=AAA\",\"mimeType\":\"a/b\"}")},
    {RUN_TOOL, false, BLOCKS("{\"type\":\"image\",\"data\":\"A A=\",\"mimeType\":\"a/b\"}")},
    {RUN_TOOL, false, BLOCKS("{\"type\":\"image\",\"data\":\"AA\\u0000A\",\"mimeType\":\"a/b\"}")},
    {RUN_TOOL, false, BLOCKS("{\"type\":\"image\",\"data\":\"\",\"mimeType\":\"png\"}")},
    {RUN_TOOL, false, BLOCKS("{\"type\":\"image\",\"data\":\"\",\"mimeType\":\"a/\"}")},
    {RUN_TOOL, false, BLOCKS("{\"type\":\"image\",\"data\":\"\",\"mimeType\":\"a/\\n\"}")},
    {RUN_TOOL, false, BLOCKS("{\"type\":\"image\",\"data\":\"\"}")},
    {RUN_TOOL, false, BLOCKS("{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\"}}")},
    {RUN_TOOL, false,
     BLOCKS("{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"text\":\"\",\"blob\":\"\"}}")},
    {RUN_TOOL, false, BLOCKS("{\"type\":\"resource\",\"resource\":{\"uri\":\"\",\"text\":\"\"}}")},
    {RUN_TOOL, false,
     BLOCKS("{\"type\":\"resource\",\"resource\":{\"uri\":\"ab\",\"text\":\"\"}}")},
    {RUN_TOOL, false,
     BLOCKS("{\"type\":\"resource\",\"resource\":{\"uri\":\"a: b\",\"text\":\"\"}}")},
    {RUN_TOOL, false, BLOCKS("{\"type\":\"resource_link\",\"uri\":\"1:b\",\"name\":\"n\"}")},
    {RUN_TOOL, false,
     BLOCKS("{\"type\":\"resource_link\",\"uri\":\"a:b\",\"name\":\"n\",\"size\":-1}")},
    {RUN_TOOL, false, BLOCKS("{\"type\":\"text\",\"text\":\"\",\"annotations\":{\"priority\":2}}")},
    {RUN_TOOL, false,
     BLOCKS("{\"type\":\"text\",\"text\":\"\",\"annotations\":{\"audience\":[\"me\"]}}")},
    {RUN_PROMPT, false, "{\"messages\":[" TEXT "]}"},
    {RUN_PROMPT, false, "{\"messages\":[{\"role\":\"system\",\"content\":" TEXT "}]}"},
    {RUN_PROMPT, false, "{\"messages\":[{\"role\":\"user\",\"content\":[" TEXT "]}]}"},
    {RUN_RESOURCE, false, "{\"contents\":[" TEXT "]}"},
    {RUN_LOAD, true, "{}"},
    {RUN_LOAD, false, "{\"values\":[]}"},
    {RUN_COMPLETION, false, "{\"values\":[1],\"total\":1,\"hasMore\":false}"},
    {RUN_COMPLETION, false, "{\"values\":[],\"total\":-1,\"hasMore\":false}"},
    {RUN_COMPLETION, false, "{\"values\":[]}"},
};

Test(run_check, results_of_unknown_shape_are_refused) {
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        struct run_result result;
        bool good = run_result_decode(results[i].kind, span_of(results[i].text), &result);
        cr_expect_eq(good, results[i].good, "%s", results[i].text);
        cr_expect_eq(good, result.json != NULL);
        run_result_free(&result);
    }
}

Test(run_check, a_structured_value_is_returned_as_written) {
    static const struct {
        const char *text, *structured;
    } rows[] = {
        {"{\"content\":[],\"structuredContent\":123456789012345678901234567890}",
         "123456789012345678901234567890"},
        {"{ \"structuredContent\" : [ 1 , 2 ] , \"content\" : [] }", "[ 1 , 2 ]"},
        {"{\"content\":[],\"structuredContent\":null}", "null"},
        {"{\"structuredContent\":{\"structuredContent\":\"x:\"},\"content\":[]}",
         "{\"structuredContent\":\"x:\"}"},
        {"{\"structuredContent\":\" : \",\"content\":[]}", "\" : \""},
        {"{\"content\":[{\"type\":\"text\",\"text\":\"\\\"structuredContent\\\":1\"}]}", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct run_result result;
        cr_assert(run_result_decode(RUN_TOOL, span_of(rows[i].text), &result), "%s", rows[i].text);
        cr_expect_eq(result.structured.bytes != NULL, rows[i].structured != NULL);
        if (rows[i].structured)
            cr_expect(result.structured.length == strlen(rows[i].structured) &&
                          memcmp(result.structured.bytes, rows[i].structured,
                                 result.structured.length) == 0,
                      "%.*s", (int)result.structured.length, result.structured.bytes);
        if (rows[i].structured) { /* parsed on its own */
            struct json_object *expected = json_tree_parse(string_span(rows[i].structured));
            cr_expect(json_object_equal(result.value, expected), "%s", rows[i].text);
            cr_expect_null(json_object_object_get(result.json, "structuredContent"));
            json_object_put(expected);
        }
        run_result_free(&result);
    }
}

static const struct {
    bool good;
    const char *text;
} events[] = {
    {true, "{\"type\":\"progress\",\"progress\":1}"},
    {true, "{\"type\":\"progress\",\"progress\":-0.5,\"total\":1e3,\"message\":\"\"}"},
    {true, "{\"type\":\"log\",\"level\":\"emergency\",\"data\":null}"},
    {true, "{\"type\":\"log\",\"level\":\"info\",\"data\":{},\"logger\":\"l\"}"},
    {true, "{\"type\":\"change\",\"kind\":\"tools\"}"},
    {true, "{\"type\":\"change\",\"kind\":\"resource\",\"uri\":\"a:b\"}"},
    {false, "{\"type\":\"progress\"}"},
    {false, "{\"type\":\"progress\",\"progress\":1e999}"},
    {false, "{\"type\":\"progress\",\"progress\":true}"},
    {false, "{\"type\":\"progress\",\"progress\":1,\"progressToken\":1}"},
    {false, "{\"type\":\"log\",\"level\":\"loud\",\"data\":1}"},
    {false, "{\"type\":\"log\",\"level\":\"info\"}"},
    {false, "{\"type\":\"change\",\"kind\":\"resource\"}"},
    {false, "{\"type\":\"change\",\"kind\":\"tools\",\"uri\":\"a:b\"}"},
    {false, "{\"type\":\"change\",\"kind\":\"others\"}"},
    {false, "{\"type\":[\"log\"]}"},
    {false, "{}"},
    {false, "[]"},
    {false, "1"},
    {false, ""},
};

Test(run_check, events_of_unknown_shape_are_refused) {
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        struct run_event event;
        cr_expect_eq(run_event_decode(span_of(events[i].text), &event), events[i].good, "%s",
                     events[i].text);
        run_event_free(&event);
    }
}

#define ASK(key, method, params)                                                                   \
    "{\"requests\":{\"" key "\":{\"method\":\"" method "\",\"params\":" params "}}}"

static const struct {
    bool good;
    const char *text;
} asks[] = {
    {true, ASK("k", "roots/list", "{}")},
    {true, ASK("k", "elicitation/create", "{\"message\":\"m\",\"requestedSchema\":{}}")},
    {true, ASK("k", "elicitation/create",
               "{\"message\":\"m\",\"mode\":\"url\",\"url\":\"a:b\",\"elicitationId\":\"i\"}")},
    {true, ASK("k", "sampling/createMessage", "{\"messages\":[],\"maxTokens\":1}")},
    {false, ASK("", "roots/list", "{}")},
    {false, ASK("k", "roots/list", "[]")},
    {false, ASK("k", "roots/list", "{\"x\":1}")},
    {false, ASK("k", "tools/call", "{}")},
    {false, ASK("k", "elicitation/create", "{\"message\":\"m\"}")},
    {false, ASK("k", "elicitation/create", "{\"message\":\"m\",\"requestedSchema\":[]}")},
    {false,
     ASK("k", "elicitation/create", "{\"message\":\"m\",\"requestedSchema\":{},\"url\":\"a:b\"}")},
    {false, ASK("k", "sampling/createMessage", "{\"messages\":[],\"maxTokens\":-1}")},
    {false, ASK("k", "sampling/createMessage", "{\"messages\":[1],\"maxTokens\":1}")},
    {false, "{\"requests\":{}}"},
    {false, "{\"requests\":[]}"},
    {false, "{\"requests\":{\"k\":{\"method\":\"roots/list\"}}}"},
    {false, "{\"requests\":{\"k\":{\"method\":\"roots/list\",\"params\":{}}},\"x\":1}"},
    {false, "{}"},
    {false, "null"},
};

Test(run_check, questions_of_unknown_shape_are_refused) {
    for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
        struct json_object *questions = run_ask_decode(span_of(asks[i].text));
        cr_expect_eq(questions != NULL, asks[i].good, "%s", asks[i].text);
        json_object_put(questions);
    }
}

static char *repeated(const char *before, const char *part, size_t count, const char *after) {
    size_t length = strlen(before) + count * strlen(part) + strlen(after);
    char *text = malloc(length + 1);
    cr_assert(text);
    char *end = stpcpy(text, before);
    for (size_t i = 0; i < count; i++)
        end = stpcpy(end, part);
    stpcpy(end, after);
    return text;
}

Test(run_check, limits_size_and_depth) {
    struct run_result result;
    struct run_event event;
    cr_expect_not(run_event_decode((struct span){0}, &event), "no bytes at all");
    cr_expect_null(run_ask_decode((struct span){0}));
    char *text = repeated("{\"content\":[],\"structuredContent\":", "[", 200, "");
    char *whole = repeated(text, "]", 200, "}");
    cr_expect_not(run_result_decode(RUN_TOOL, span_of(whole), &result), "deep");
    free(text);
    free(whole);
    text = repeated("{\"content\":[],\"structuredContent\":[0", ",0", RUN_VALUES_MAX, "]}");
    cr_expect_not(run_result_decode(RUN_TOOL, span_of(text), &result), "many");
    free(text);
    text = repeated("{\"content\":[{\"type\":\"text\",\"text\":\"", "aaaaaaaaaaaaaaaa", 1 << 20,
                    "\"}]}");
    cr_expect_not(run_result_decode(RUN_TOOL, span_of(text), &result), "long");
    free(text);
    text = repeated("{\"values\":[\"a\"", ",\"a\"", 100, "],\"total\":101,\"hasMore\":true}");
    cr_expect_not(run_result_decode(RUN_COMPLETION, span_of(text), &result), "completions");
    free(text);
    text = repeated(ASK("k", "roots/list", "{}"), "", 0, "");
    text[strlen(text) - 2] = 0;
    whole = repeated(text, ",\"\":{\"method\":\"roots/list\",\"params\":{}}", 1, "}}");
    cr_expect_null(run_ask_decode(span_of(whole)), "an empty key");
    free(text);
    free(whole);
}

/* Random changes of valid JSON: the result is refused or has a known shape. */
Test(run_check, mutated_json_is_refused_or_has_a_known_shape) {
    struct random random = random_for("run results");
    for (size_t trial = random_trials(20000, 500000); trial; trial--) {
        const size_t row = random_below(&random, sizeof results / sizeof *results);
        char *text = strdup(results[row].text);
        size_t length = strlen(text);
        for (size_t i = random_below(&random, 4); length && i; i--)
            text[random_below(&random, length)] = (char)random_between(&random, 1, 255);
        struct run_result result;
        if (run_result_decode(results[row].kind, span_of(text), &result)) {
            struct run_result again;
            const char *plain = json_object_to_json_string(result.json);
            cr_assert(run_result_decode(results[row].kind, span_of(plain), &again), "%s", plain);
            run_result_free(&again);
        }
        run_result_free(&result);
        free(text);
    }
}

/* A client may take either of two members of the same name, so both must be valid. */
Test(run_check, both_of_two_equal_members_are_checked) {
    static const struct {
        const char *text, *why; /* NULL: accepted */
    } cases[] = {
        {"{\"content\":[],\"structuredContent\":{\"n\":1,\"a\":[{\"n\":\":\"}]}}", NULL},
        {"{\"content\":[],\"structuredContent\":{\"n\":\"x\"}}", "n"},
        {"{\"content\":[],\"structuredContent\":{\"n\":\"x\",\"n\":1}}", "twice"},
        {"{\"content\":[],\"structuredContent\":{\"n\":\"x\",\"\\u006e\":1}}", "twice"},
        {"{\"content\":[],\"structuredContent\":{\"a\":{\"b\":1,\"b\":1},\"n\":1}}", "twice"},
        {"{\"content\":[]}", "no structured result"},
        {"{\"content\":[],\"isError\":true}", NULL},
    };
    struct error error;
    struct json_object *json =
        json_tree_parse(string_span("{\"type\":\"object\",\"properties\":{\"n\":{\"type\":"
                                    "\"integer\"}},\"required\":[\"n\"]}"));
    struct registry_entry entry = {.output = schema_compile(json, &error)};
    cr_assert_not_null(entry.output);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run_result result;
        cr_assert(run_result_decode(RUN_TOOL, span_of(cases[i].text), &result));
        cr_expect_eq(project_tool_check_result(&entry, &result, &error), !cases[i].why, "%s",
                     cases[i].text);
        if (cases[i].why)
            cr_expect_not_null(strstr(error.text, cases[i].why), "%s", error.text);
        run_result_free(&result);
    }
    schema_free(entry.output);
    json_object_put(json);
}
