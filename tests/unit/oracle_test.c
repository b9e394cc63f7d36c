/* tests/support/oracle: the model must say what CONTRACT.md says. Conversations, line by line, with
 * the answer that each calls for. */
#include "tests/support/oracle.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* What a line calls for: "" is silence, "{}" and other words are results, a number is a code, "?"
 * is open. */
struct turn {
    const char *line, *answer, *id;
};

static const char *answer_word(const struct answer *answer, char *number, size_t size) {
    static const char *const shapes[] = {[SHAPE_EMPTY] = "{}",
                                         [SHAPE_INITIALIZE] = "initialize",
                                         [SHAPE_TOOLS] = "tools",
                                         [SHAPE_CALL] = "call",
                                         [SHAPE_TOOL_ERROR] = "tool error"};
    if (answer->kind == ANSWER_OPEN)
        return "?";
    if (answer->kind == ANSWER_RESULT)
        return shapes[answer->shape];
    snprintf(number, size, "%d", answer->code);
    return number;
}

static void converse(struct oracle *oracle, const struct turn *turns, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char number[16];
        size_t answers = oracle_sent(oracle, text_of(turns[i].line));
        cr_assert_eq(answers, turns[i].answer[0] ? 1 : 0, "%s", turns[i].line);
        if (answers == 0)
            continue;
        const struct answer *answer = &oracle->answers[oracle->count - 1];
        cr_expect_str_eq(answer_word(answer, number, sizeof number), turns[i].answer, "%s",
                         turns[i].line);
        cr_expect_str_eq(answer->id, turns[i].id, "%s", turns[i].line);
    }
}

#define REQUEST(id, method) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\"}"
#define WITH(id, method, params)                                                                   \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}"

/* The lines of the research's table (mcpbash.md section 9) that need no process. */
Test(oracle, the_first_lines) {
    static const struct turn turns[] = {
        {"not-json", "-32700", "null"},
        {"", "", ""},
        {"  \t\r", "", ""},
        {"\xef\xbb\xbf", "", ""},
        {REQUEST("\"pre\"", "tools/list"), "-32002", "\"pre\""},
        {REQUEST("1", "foo/bar"), "-32601", "1"},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\"}", "", ""},
        {REQUEST("2", "ping"), "{}", "2"},
        {REQUEST("3", "logging/setLevel"), "-32002", "3"},
        {REQUEST("4", "exit"), "-32005", "4"},
        {WITH("5", "initialize", "{\"protocolVersion\":\"1999-01-01\"}"), "-32602", "5"},
        {WITH("5", "initialize", "{\"protocolVersion\":5}"), "-32602", "5"},
        {WITH("5", "initialize", "[]"), "-32602", "5"},
        {REQUEST("6", "tools/list"), "-32002", "6"},
        {WITH("7", "initialize", "{}"), "initialize", "7"},
        {REQUEST("8", "initialize"), "-32600", "8"},
        {REQUEST("9", "tools/list"), "tools", "9"},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"m\",\"params\":{}}", "-32600", "\"m\""},
        {"[{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":\"ping\"}]", "-32600", "null"},
        {"[]", "-32600", "null"},
        {"5", "-32600", "null"},
        {WITH("3", "notifications/message", "{}"), "-32601", "3"},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}", "", ""},
        {WITH("1", "logging/setLevel", "{\"level\":\"VERBOSE\"}"), "-32602", "1"},
        {WITH("1", "logging/setLevel", "{\"level\":\"debug\"}"), "{}", "1"},
        {REQUEST("1", "logging/setLevel"), "-32602", "1"},
        {WITH("1", "tools/list", "{\"cursor\":\"not-a-cursor\"}"), "-32602", "1"},
        {WITH("1", "tools/list", "{\"cursor\":\"\"}"), "-32602", "1"},
        {WITH("1", "tools/call", "[\"ok\"]"), "-32602", "1"},
        {WITH("1", "tools/call", "{\"name\":\"no\"}"), "-32602", "1"},
        {WITH("1", "ping", "null"), "{}", "1"},
        {WITH("1", "ping", "[]"), "-32602", "1"},
    };
    struct oracle oracle = oracle_make();
    converse(&oracle, turns, sizeof turns / sizeof turns[0]);
    oracle_free(&oracle);
}

Test(oracle, ids) {
    static const struct turn turns[] = {
        {REQUEST("0", "ping"), "{}", "0"},
        {REQUEST("-0", "ping"), "{}", "-0"},
        {REQUEST("\"\"", "ping"), "{}", "\"\""},
        {REQUEST("123456789012345678901234567890", "ping"), "{}", "123456789012345678901234567890"},
        {REQUEST("1.5", "ping"), "-32600", "1.5"},
        {REQUEST("1e3", "ping"), "-32600", "1e3"},
        {REQUEST("null", "ping"), "-32600", "null"},
        {REQUEST("true", "ping"), "-32600", "null"},
        {REQUEST("{}", "ping"), "-32600", "null"},
        {REQUEST("[1]", "ping"), "-32600", "null"},
        {"{\"id\":1,\"method\":\"ping\"}", "-32600", "1"},
        {"{\"jsonrpc\":\"1.0\",\"id\":2,\"method\":\"ping\"}", "-32600", "2"},
        {"{\"jsonrpc\":2.0,\"id\":3,\"method\":\"ping\"}", "-32600", "3"},
        {"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":12345}", "-32600", "4"},
        {"{\"jsonrpc\":\"2.0\",\"id\":5}", "-32600", "5"},
        {"{\"jsonrpc\":\"1.0\",\"method\":\"ping\"}", "-32600", "null"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", "", ""},
        {"{\"id\":1,\"error\":{}}", "", ""},
        {REQUEST("1", "ping\\u0000"), "-32601", "1"},
    };
    struct oracle oracle = oracle_make();
    converse(&oracle, turns, sizeof turns / sizeof turns[0]);
    oracle_free(&oracle);
}

#define EVALUATE(id, arguments)                                                                    \
    WITH(id, "tools/call", "{\"name\":\"evaluate-lisp\",\"arguments\":" arguments "}")

Test(oracle, arguments) {
    static const struct turn turns[] = {
        {REQUEST("1", "initialize"), "initialize", "1"},
        {EVALUATE("1", "{\"code\":\"1\"}"), "call", "1"},
        {EVALUATE("2", "{\"code\":1}"), "-32602", "2"},
        {EVALUATE("2", "{}"), "-32602", "2"},
        {EVALUATE("2", "\"x\""), "-32602", "2"},
        {EVALUATE("2", "null"), "-32602", "2"},
        {EVALUATE("2", "{\"code\":\"1\",\"timeout\":\"5\"}"), "tool error", "2"},
        {EVALUATE("3", "{\"code\":\"1\",\"timeout\":0}"), "tool error", "3"},
        {EVALUATE("4", "{\"code\":\"1\",\"timeout\":601}"), "tool error", "4"},
        {EVALUATE("5", "{\"code\":\"1\",\"timeout\":0.5}"), "call", "5"},
        {EVALUATE("6", "{\"code\":\"1\",\"package\":7}"), "tool error", "6"},
        {EVALUATE("7", "{\"code\":\"1\",\"session\":7}"), "tool error", "7"},
        {EVALUATE("1", "{\"code\":\"1\"}"), "?", "1"}, /* the first may still be running */
    };
    struct oracle oracle = oracle_make();
    converse(&oracle, turns, sizeof turns / sizeof turns[0]);
    oracle_free(&oracle);
}

Test(oracle, the_way_out) {
    static const struct turn turns[] = {
        {REQUEST("1", "initialize"), "initialize", "1"},
        {REQUEST("2", "exit"), "-32005", "2"},
        {WITH("3", "shutdown", "5"), "-32602", "3"},
        {REQUEST("4", "shutdown"), "{}", "4"},
        {REQUEST("5", "tools/list"), "-32003", "5"},
        {REQUEST("6", "ping"), "-32003", "6"},
        {REQUEST("7", "initialize"), "-32003", "7"},
        {REQUEST("8", "foo"), "-32601", "8"},
        {REQUEST("9", "shutdown"), "{}", "9"},
        {REQUEST("10", "exit"), "{}", "10"},
        {REQUEST("11", "ping"), "", ""},
    };
    struct oracle oracle = oracle_make();
    converse(&oracle, turns, sizeof turns / sizeof turns[0]);
    oracle_free(&oracle);
}

Test(oracle, minimal_mode) {
    static const struct turn turns[] = {
        {REQUEST("1", "tools/list"), "-32002", "1"},
        {REQUEST("2", "initialize"), "initialize", "2"},
        {REQUEST("3", "tools/list"), "-32601", "3"},
        {REQUEST("4", "prompts/list"), "-32601", "4"},
        {REQUEST("5", "ping"), "{}", "5"},
        {WITH("6", "logging/setLevel", "{\"level\":\"info\"}"), "{}", "6"},
    };
    struct oracle oracle = oracle_make();
    oracle.minimal = true;
    converse(&oracle, turns, sizeof turns / sizeof turns[0]);
    oracle_free(&oracle);
}

Test(oracle, depth_is_counted_in_containers) {
    char line[300];
    for (size_t depth = 127; depth <= 129; depth++) {
        struct oracle oracle = oracle_make();
        memset(line, '[', depth);
        memset(line + depth, ']', depth);
        oracle_sent(&oracle, (struct text){line, 2 * depth});
        cr_assert_eq(oracle.answers[0].code, depth <= 128 ? -32600 : -32700);
        oracle_free(&oracle);
    }
}

/* What comes back, right and wrong. */
static void expect_judgement(const char *answer, bool right) {
    struct oracle oracle = oracle_make();
    oracle_sent(&oracle, text_of(REQUEST("7", "ping")));
    oracle_sent(&oracle, text_of(REQUEST("8", "foo/bar")));
    cr_assert_eq(oracle_due(&oracle), 2);
    cr_expect_eq(oracle_received(&oracle, text_of(answer)), right, "%s", answer);
    oracle_free(&oracle);
}

Test(oracle, judges_what_comes_back) {
    expect_judgement("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}", true);
    expect_judgement("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"x\":1}}", false);
    expect_judgement("{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":{}}", false);
    expect_judgement("{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}", false);
    expect_judgement("{\"jsonrpc\":\"2.0\",\"id\":8,\"error\":{\"code\":-32601,\"message\":\"m\","
                     "\"data\":{\"method\":\"foo/bar\"}}}",
                     true);
    expect_judgement("{\"jsonrpc\":\"2.0\",\"id\":8,\"error\":{\"code\":-32601,\"message\":\"m\"}}",
                     false);
    expect_judgement("{\"jsonrpc\":\"2.0\",\"id\":8,\"error\":{\"code\":-32600,\"message\":\"m\"}}",
                     false);
    expect_judgement("{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}", false);
    expect_judgement("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}", true);
    expect_judgement("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}", false);
}

Test(oracle, an_answer_counts_once) {
    struct oracle oracle = oracle_make();
    const char *answer = "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}";
    oracle_sent(&oracle, text_of(REQUEST("7", "ping")));
    cr_assert(oracle_received(&oracle, text_of(answer)));
    cr_assert_eq(oracle_due(&oracle), 0);
    cr_assert_not(oracle_received(&oracle, text_of(answer)));
    cr_assert_not_null(oracle.fault);
    oracle_free(&oracle);
}

Test(oracle, batches_are_answered_in_one_piece) {
    static const char batch[] =
        "[" REQUEST("1", "ping") ",5," REQUEST("2", "foo") ",{\"jsonrpc\":"
                                                           "\"2.0\",\"method\":\"n\"}]";
    static const char first[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
                      second[] = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,"
                                 "\"message\":\"m\",\"data\":{}}}",
                      third[] = "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32601,"
                                "\"message\":\"m\",\"data\":{\"m\":\"foo\"}}}";
    for (int pieces = 2; pieces <= 3; pieces++) {
        char answer[600];
        struct oracle oracle = oracle_make();
        oracle.batches = true;
        cr_assert_eq(oracle_sent(&oracle, text_of(batch)), 3);
        snprintf(answer, sizeof answer, "[%s,%s%s%s]", third, first, pieces == 3 ? "," : "",
                 pieces == 3 ? second : "");
        cr_assert_eq(oracle_received(&oracle, text_of(answer)), pieces == 3);
        oracle_free(&oracle);
    }
    struct oracle oracle = oracle_make();
    oracle.batches = true;
    oracle_sent(&oracle, text_of(batch));
    cr_assert_not(oracle_received(&oracle, text_of(first)), "an element must not come alone");
    oracle_free(&oracle);
}
