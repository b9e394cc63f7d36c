/* tests/support/oracle and referee: the model must say what doc/contract.md says, accept a right
 * answer and refuse a wrong one. */
#include "tests/support/eras.h"
#include "tests/support/oracle.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* What a line calls for: "" is silence, a number is an error, "?" is open, other words are shapes
 * of results. */
struct turn {
    const char *line, *answer, *id;
};

static const char *answer_word(const struct answer *answer, char *number, size_t size) {
    static const char *const shapes[] = {[SHAPE_EMPTY] = "{}",
                                         [SHAPE_INITIALIZE] = "initialize",
                                         [SHAPE_TOOLS] = "tools",
                                         [SHAPE_LIST] = "list",
                                         [SHAPE_DISCOVERY] = "discovery",
                                         [SHAPE_CALL] = "call",
                                         [SHAPE_VALUE] = "value",
                                         [SHAPE_TOOL_ERROR] = "tool error",
                                         [SHAPE_SUBSCRIPTION] = "subscription"};
    if (answer->kind == ANSWER_OPEN)
        return "?";
    if (answer->kind == ANSWER_RESULT)
        return shapes[answer->shape];
    snprintf(number, size, "%d", answer->code);
    return number;
}

static void converse(struct oracle oracle, const struct turn *turns, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char number[16];
        size_t answers = oracle_sent(&oracle, text_of(turns[i].line));
        cr_assert_eq(answers, turns[i].answer[0] ? 1 : 0, "%s", turns[i].line);
        if (answers == 0)
            continue;
        const struct answer *answer = &oracle.answers[oracle.count - 1];
        cr_expect_str_eq(answer_word(answer, number, sizeof number), turns[i].answer, "%s",
                         turns[i].line);
        cr_expect_str_eq(answer->id, turns[i].id, "%s", turns[i].line);
    }
    oracle_free(&oracle);
}

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
        {REQUEST_WITH("5", "initialize", "{\"protocolVersion\":\"1999-01-01\"}"), "-32602", "5"},
        {REQUEST_WITH("5", "initialize", "{\"protocolVersion\":5}"), "-32602", "5"},
        {REQUEST_WITH("5", "initialize", "[]"), "-32602", "5"},
        {REQUEST("6", "tools/list"), "-32002", "6"},
        {REQUEST("5", "initialize"), "-32602", "5"},
        {REQUEST_WITH("5", "initialize", "{}"), "-32602", "5"},
        {REQUEST_WITH("5", "initialize", "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":5}"),
         "-32602", "5"},
        {REQUEST_WITH("5", "initialize",
                      "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                      "\"clientInfo\":{\"name\":\"x\"}}"),
         "-32602", "5"},
        {INITIALIZE("7", "\"2025-11-25\""), "initialize", "7"},
        {REQUEST("8", "initialize"), "-32600", "8"},
        {REQUEST("9", "tools/list"), "tools", "9"},
        {REQUEST("\"list\"", "resources/list"), "list", "\"list\""},
        {REQUEST("\"read\"", "resources/read"), "-32602", "\"read\""},
        {REQUEST_WITH("\"get\"", "prompts/get", "{\"name\":\"x\"}"), "?", "\"get\""},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"m\",\"params\":{}}", "-32600", "\"m\""},
        {"[{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":\"ping\"}]", "-32600", "null"},
        {"[]", "-32600", "null"},
        {"5", "-32600", "null"},
        {REQUEST_WITH("3", "notifications/message", "{}"), "-32601", "3"},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}", "", ""},
        {REQUEST_WITH("1", "logging/setLevel", "{\"level\":\"VERBOSE\"}"), "-32602", "1"},
        {REQUEST_WITH("1", "logging/setLevel", "{\"level\":\"debug\"}"), "{}", "1"},
        {REQUEST("1", "logging/setLevel"), "-32602", "1"},
        {REQUEST_WITH("1", "tools/list", "{\"cursor\":\"not-a-cursor\"}"), "-32602", "1"},
        {REQUEST_WITH("1", "tools/list", "{\"cursor\":\"\"}"), "-32602", "1"},
        {REQUEST_WITH("1", "tools/call", "[\"ok\"]"), "-32602", "1"},
        {REQUEST_WITH("1", "tools/call", "{\"name\":\"no\"}"), "-32602", "1"},
        {REQUEST_WITH("1", "ping", "null"), "{}", "1"},
        {REQUEST_WITH("1", "ping", "[]"), "-32602", "1"},
    };
    converse(oracle_make(), turns, COUNT_OF(turns));
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
    converse(oracle_make(), turns, COUNT_OF(turns));
}

Test(oracle, arguments) {
    static const struct turn turns[] = {
        {INITIALIZE("1", "\"2025-11-25\""), "initialize", "1"},
        {CALL("1", "{\"code\":\"1\"}"), "call", "1"},
        {CALL("2", "{\"code\":1}"), "-32602", "2"},
        {CALL("2", "{}"), "-32602", "2"},
        {CALL("2", "\"x\""), "-32602", "2"},
        {CALL("2", "null"), "-32602", "2"},
        {CALL("2", "{\"code\":\"1\",\"timeout\":\"5\"}"), "tool error", "2"},
        {CALL("3", "{\"code\":\"1\",\"timeout\":0}"), "tool error", "3"},
        {CALL("4", "{\"code\":\"1\",\"timeout\":601}"), "tool error", "4"},
        {CALL("5", "{\"code\":\"1\",\"timeout\":0.5}"), "call", "5"},
        {CALL("6", "{\"code\":\"1\",\"package\":7}"), "tool error", "6"},
        {CALL("7", "{\"code\":\"1\",\"session\":7}"), "tool error", "7"},
        {CALL("1", "{\"code\":\"1\"}"), "?", "1"}, /* the first may still be running */
    };
    converse(oracle_make(), turns, COUNT_OF(turns));
}

Test(oracle, the_way_out) {
    static const struct turn turns[] = {
        {INITIALIZE("1", "\"2025-11-25\""), "initialize", "1"},
        {REQUEST("2", "exit"), "-32005", "2"},
        {REQUEST_WITH("3", "shutdown", "5"), "-32602", "3"},
        {REQUEST("4", "shutdown"), "{}", "4"},
        {REQUEST("5", "tools/list"), "-32003", "5"},
        {REQUEST("6", "ping"), "-32003", "6"},
        {REQUEST("7", "initialize"), "-32003", "7"},
        {REQUEST("8", "foo"), "-32601", "8"},
        {REQUEST("9", "shutdown"), "{}", "9"},
        {REQUEST("10", "exit"), "{}", "10"},
        {REQUEST("11", "ping"), "", ""},
    };
    converse(oracle_make(), turns, COUNT_OF(turns));
}

Test(oracle, minimal_mode) {
    static const struct turn turns[] = {
        {REQUEST("1", "tools/list"), "-32002", "1"},
        {INITIALIZE("2", "\"2025-11-25\""), "initialize", "2"},
        {REQUEST("3", "tools/list"), "-32601", "3"},
        {REQUEST("4", "prompts/list"), "-32601", "4"},
        {REQUEST("5", "ping"), "{}", "5"},
        {REQUEST_WITH("6", "logging/setLevel", "{\"level\":\"info\"}"), "{}", "6"},
    };
    struct oracle oracle = oracle_make();
    oracle.minimal = true;
    converse(oracle, turns, COUNT_OF(turns));
}

Test(oracle, modern_requests) {
    static const struct turn turns[] = {
        {MODERN("1", "server/discover"), "discovery", "1"},
        {REQUEST("1", "server/discover"), "-32602", "1"},
        {MODERN("1", "tools/list"), "tools", "1"},
        {MODERN("1", "ping"), "-32601", "1"},
        {MODERN("1", "no/such"), "-32601", "1"},
        {REQUEST_WITH("1", "tools/list", "{\"_meta\":{\"" KEY_VERSION "\":\"2026-07-28\"}}"),
         "-32602", "1"},
        {REQUEST_WITH("1", "ping",
                      "{\"_meta\":{\"" KEY_VERSION "\":\"2027-01-01\",\"" KEY_CLIENT "\":{}}}"),
         "-32022", "1"},
        {MODERN_EVALUATE("2", "(list 1)"), "value", "2"},
        {MODERN_EVALUATE("3", "(car 5)"), "tool error", "3"},
        {MODERN_CALL("4", "{\"code\":\"1\",\"session\":\"main\"}"), "call", "4"},
        {MODERN_EVALUATE("5", "(+ 1 2)"), "call", "5"},
        {MODERN_EVALUATE("6", "(loop)"), "-32004", "6"},
        {LISTEN("7", "{}"), "subscription", "7"},
        {LISTEN("7", "{}"), "-32600", "7"},
        {MODERN("8", "subscriptions/listen"), "-32602", "8"},
        {INITIALIZE("9", "\"2025-11-25\""), "initialize", "9"},
        {REQUEST("10", "shutdown"), "{}", "10"},
        {MODERN("11", "tools/list"), "-32003", "11"},
        {MODERN("11", "shutdown"), "-32601", "11"},
    };
    converse(oracle_make(), turns, COUNT_OF(turns));
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

#define ERROR_WITH(id, code, data)                                                                 \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code                                 \
    ",\"message\":\"m\",\"data\":{" data "}}}"
#define ERROR(id, code)    ERROR_WITH(id, code, "")
#define UNKNOWN(id)        ERROR_WITH(id, "-32601", "\"method\":\"no/such\"")
#define RESULT(id, result) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{" result "}}"
#define TEXT(text, error)                                                                          \
    "\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}],\"isError\":" error
#define MODERN_TEXT(id, text)                                                                      \
    RESULT(id, "\"resultType\":\"complete\"," TEXT(                                                \
                   text, "false") ",\"_meta\":{\"session\":\"s-1\","                               \
                                  "\"io.modelcontextprotocol/serverInfo\":{\"name\":\"x\"}}")
#define ACKNOWLEDGED(id)                                                                           \
    NOTIFICATION_WITH("notifications/subscriptions/acknowledged",                                  \
                      "{\"_meta\":{\"" KEY_SUBSCRIBED "\":" id "},\"notifications\":{}}")
#define PROGRESS(token, value)                                                                     \
    NOTIFICATION_WITH("notifications/progress",                                                    \
                      "{\"progressToken\":" token ",\"progress\":" value "}")
#define MESSAGE NOTIFICATION_WITH("notifications/message", "{\"level\":\"info\",\"data\":1}")
#define SLOW                                                                                       \
    REQUEST_WITH("1", "tools/call",                                                                \
                 "{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":\"(loop)\"},"                \
                 "\"_meta\":{\"progressToken\":9}}")
#define READY                                                                                      \
    "> " INITIALIZE("0", "\"2025-03-26\""),                                                        \
        "< " RESULT("0", "\"protocolVersion\":\"2025-03-26\",\"capabilities\":{},"                 \
                         "\"serverInfo\":{\"name\":\"x\",\"version\":\"1\"}")
#define SENT_BATCH "> [" PING("1") ",5," REQUEST("2", "no/such") "," NOTIFICATION("n") "]"

/* A conversation: "> " before what is sent, "< " before a right answer, "! " before a wrong one,
 * which is the last line. */
static const struct conversation {
    const char *name, *lines[8];
} conversations[] = {
    {"an answer", {"> " PING("7"), "< " RESULT("7", "")}},
    {"an answer with a member", {"> " PING("7"), "! " RESULT("7", "\"x\":1")}},
    {"an answer to nothing", {"! " RESULT("1", "")}},
    {"two answers", {"> " PING("1"), "< " RESULT("1", ""), "! " RESULT("1", "")}},
    {"an id of another type", {"> " PING("1"), "! " RESULT("\"1\"", "")}},
    {"the right error", {"> " REQUEST("1", "no/such"), "< " UNKNOWN("1")}},
    {"another error", {"> " REQUEST("1", "no/such"), "! " ERROR("1", "-32600")}},
    {"an error without its data", {"> " REQUEST("1", "no/such"), "! " ERROR("1", "-32601")}},
    {"a result instead", {"> " REQUEST("1", "no/such"), "! " RESULT("1", "")}},
    {"a parse error", {"> {", "< " ERROR("null", "-32700")}},
    {"too early", {"> " REQUEST("1", "tools/list"), "< " ERROR("1", "-32002")}},
    {"a request of the server", {"! " REQUEST("1", "roots/list")}},
    {"a modern answer in a legacy session",
     {READY, "> " EVALUATE("1", "(list 1)"), "! " MODERN_TEXT("1", "=> (1)")}},
    {"a legacy answer to a modern request",
     {"> " MODERN_EVALUATE("1", "(list 1)"), "! " RESULT("1", TEXT("=> (1)", "false"))}},
    {"a value", {READY, "> " EVALUATE("1", "(list 1)"), "< " RESULT("1", TEXT("=> (1)", "false"))}},
    {"another value",
     {READY, "> " EVALUATE("1", "(list 1)"), "! " RESULT("1", TEXT("=> (2)", "false"))}},
    {"an error that is not marked",
     {READY, "> " EVALUATE("1", "(+ 1 2)"), "! " RESULT("1", TEXT("=> 3", "true"))}},
    {"a new session that is named",
     {"> " MODERN_EVALUATE("1", "(list 1)"), "< " MODERN_TEXT("1", "=> (1)\\n; session s-1")}},
    {"a new session that is not named",
     {"> " MODERN_EVALUATE("1", "(list 1)"), "! " MODERN_TEXT("1", "=> (1)")}},
    {"a new session under two names",
     {"> " MODERN_EVALUATE("1", "(list 1)"), "! " MODERN_TEXT("1", "=> (1)\\n; session s-2")}},
    {"a cancelled legacy call", {READY, "> " SLOW, "> " CANCEL("1"), "< " ERROR("1", "-32001")}},
    {"a legacy call that was not cancelled", {READY, "> " SLOW, "! " ERROR("1", "-32001")}},
    {"a cancelled modern call that is answered",
     {"> " MODERN_EVALUATE("1", "(loop)"), "> " CANCEL("1"), "! " ERROR("1", "-32001")}},
    {"an id that is in flight",
     {"> " MODERN_EVALUATE("1", "(loop)"), "> " PING("1"), "< " ERROR("1", "-32600")}},
    {"progress", {READY, "> " SLOW, "< " PROGRESS("9", "1"), "< " PROGRESS("9", "2")}},
    {"no progress", {READY, "> " SLOW, "< " PROGRESS("9", "1"), "! " PROGRESS("9", "1")}},
    {"progress under another token", {READY, "> " SLOW, "! " PROGRESS("\"9\"", "1")}},
    {"progress after the answer",
     {READY, "> " SLOW, "> " CANCEL("1"), "< " ERROR("1", "-32001"), "! " PROGRESS("9", "1")}},
    {"a subscription", {"> " LISTEN("1", "{}"), "< " ACKNOWLEDGED("1")}},
    {"a subscription acknowledged twice",
     {"> " LISTEN("1", "{}"), "< " ACKNOWLEDGED("1"), "! " ACKNOWLEDGED("1")}},
    {"a subscription that is answered",
     {"> " LISTEN("1", "{}"), "< " ACKNOWLEDGED("1"), "! " ERROR("1", "-32001")}},
    {"an acknowledgement on its way",
     {"> " LISTEN("1", "{}"), "> " CANCEL("1"), "< " ACKNOWLEDGED("1")}},
    {"a batch",
     {READY, SENT_BATCH, "< [" UNKNOWN("2") "," RESULT("1", "") "," ERROR("null", "-32600") "]"}},
    {"a batch in parts", {READY, SENT_BATCH, "! [" UNKNOWN("2") "," RESULT("1", "") "]"}},
    {"a batch answered one by one", {READY, SENT_BATCH, "! " RESULT("1", "")}},
    {"a batch in another revision", {"> [" PING("1") "]", "< " ERROR("null", "-32600")}},
    {"a message",
     {READY, "> " REQUEST_WITH("1", "logging/setLevel", "{\"level\":\"info\"}"), "< " MESSAGE}},
    {"a message that was not asked for", {READY, "! " MESSAGE}},
    {"an unknown notification", {"! " NOTIFICATION_WITH("notifications/x", "{}")}},
};

static void play(const struct conversation *conversation) {
    struct oracle oracle = oracle_make();
    for (size_t i = 0; conversation->lines[i]; i++) {
        const char *line = conversation->lines[i];
        if (line[0] == '>')
            oracle_sent(&oracle, text_of(line + 2));
        else
            cr_expect_eq(oracle_received(&oracle, text_of(line + 2)), line[0] == '<', "%s: %s",
                         conversation->name, oracle.fault ? oracle.fault : "passed");
    }
    oracle_free(&oracle);
}

Test(oracle, tells_right_answers_from_wrong_ones) {
    for (size_t i = 0; i < COUNT_OF(conversations); i++)
        play(&conversations[i]);
}

static void send_and_receive(struct oracle *oracle, const char *sent, const char *received) {
    oracle_sent(oracle, text_of(sent));
    cr_assert(oracle_received(oracle, text_of(received)), "%s", oracle->fault);
}

Test(oracle, a_subscription_is_due_at_the_end_and_then_its_notification) {
    struct oracle oracle = oracle_make();
    send_and_receive(&oracle, LISTEN("1", "{}"), ACKNOWLEDGED("1"));
    cr_assert_eq(oracle_due(&oracle), 0);
    oracle_end(&oracle);
    cr_assert_eq(oracle_due(&oracle), 1);
    cr_assert(oracle_received(
        &oracle, text_of(RESULT("1", "\"resultType\":\"complete\",\"_meta\":{\"" KEY_SUBSCRIBED
                                     "\":1,\"io.modelcontextprotocol/serverInfo\":{\"name\":"
                                     "\"x\"}}"))));
    cr_assert_eq(oracle_due(&oracle), 1);
    cr_assert(oracle_received(
        &oracle, text_of(NOTIFICATION_WITH("notifications/cancelled", "{\"requestId\":1}"))));
    cr_assert_eq(oracle_due(&oracle), 0);
    oracle_free(&oracle);
}

Test(oracle, a_cancelled_modern_call_is_forgotten_when_all_is_settled) {
    struct oracle oracle = oracle_make();
    oracle_sent(&oracle, text_of(MODERN_EVALUATE("1", "(loop)")));
    cr_assert_str_eq(oracle_endless(&oracle), "1");
    oracle_sent(&oracle, text_of(CANCEL("1")));
    cr_assert_null(oracle_endless(&oracle));
    cr_assert_null(oracle_first_due(&oracle));
    oracle_settle(&oracle);
    cr_assert_eq(oracle.count, 0);
    oracle_free(&oracle);
}
