/* The ledger of mixed traffic sees what is wrong, and what is right it lets pass. */
#include "tests/support/eras.h"
#include "tests/support/ledger.h"
#include <criterion/criterion.h>

#define HELLO INITIALIZE("0", "\"2025-03-26\"")
#define HELLO_ANSWER                                                                               \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-03-26\"}}"
#define ERROR(id, code)                                                                            \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"m\"}}"
#define SERVER                "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"x\"}"
#define TEXT(text)            "\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}],\"isError\":false"
#define LEGACY_TEXT(id, text) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{" TEXT(text) "}}"
#define MODERN_TEXT(id, text)                                                                      \
    "{\"jsonrpc\":\"2.0\",\"id\":" id                                                              \
    ",\"result\":{\"resultType\":\"complete\"," TEXT(text) "," SERVER ",\"session\":\"s-1\"}}}"
#define ACKNOWLEDGED(id)                                                                           \
    NOTIFICATION_WITH("notifications/subscriptions/acknowledged",                                  \
                      "{\"_meta\":{\"" KEY_SUBSCRIBED "\":" id "},\"notifications\":{}}")
#define PROGRESS(token, value)                                                                     \
    NOTIFICATION_WITH("notifications/progress",                                                    \
                      "{\"progressToken\":" token ",\"progress\":" value "}")
#define SLOW                                                                                       \
    REQUEST_WITH("1", "tools/call",                                                                \
                 "{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":\"(loop)\"},"                \
                 "\"_meta\":{\"progressToken\":9}}")

/* A conversation: "> " before what is sent, "< " before what comes, in order; ends with NULL. The
 * last line is wrong if WRONG. */
struct conversation {
    const char *name;
    bool wrong;
    const char *lines[8];
};

static const struct conversation conversations[] = {
    {"an answer", false, {"> " PING("1"), "< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"}},
    {"an answer to nothing", true, {"< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"}},
    {"two answers",
     true,
     {"> " PING("1"), "< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
      "< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"}},
    {"an id of another type",
     true,
     {"> " PING("1"), "< {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}"}},
    {"another error", true, {"> " REQUEST("1", "no/such"), "< " ERROR("1", "-32600")}},
    {"the right error", false, {"> " REQUEST("1", "no/such"), "< " ERROR("1", "-32601")}},
    {"a parse error", false, {"> {", "< " ERROR("null", "-32700")}},
    {"too early", false, {"> " REQUEST("1", "tools/list"), "< " ERROR("1", "-32002")}},
    {"a modern answer in a legacy session",
     true,
     {"> " HELLO, "< " HELLO_ANSWER, "> " EVALUATE("1", "(list 1)"),
      "< " MODERN_TEXT("1", "=> (1)")}},
    {"a legacy answer to a modern request",
     true,
     {"> " MODERN_EVALUATE("1", "(list 1)"), "< " LEGACY_TEXT("1", "=> (1)")}},
    {"a value",
     false,
     {"> " HELLO, "< " HELLO_ANSWER, "> " EVALUATE("1", "(list 1)"),
      "< " LEGACY_TEXT("1", "=> (1)")}},
    {"another value",
     true,
     {"> " HELLO, "< " HELLO_ANSWER, "> " EVALUATE("1", "(list 1)"),
      "< " LEGACY_TEXT("1", "=> (2)")}},
    {"a new session that is named",
     false,
     {"> " MODERN_EVALUATE("1", "(list 1)"), "< " MODERN_TEXT("1", "=> (1)\\n; session s-1")}},
    {"a new session that is not named",
     true,
     {"> " MODERN_EVALUATE("1", "(list 1)"), "< " MODERN_TEXT("1", "=> (1)")}},
    {"a new session under two names",
     true,
     {"> " MODERN_EVALUATE("1", "(list 1)"), "< " MODERN_TEXT("1", "=> (1)\\n; session s-2")}},
    {"a cancelled legacy call",
     false,
     {"> " HELLO, "< " HELLO_ANSWER, "> " SLOW, "> " CANCEL("1"), "< " ERROR("1", "-32001")}},
    {"a legacy call that nobody cancelled",
     true,
     {"> " HELLO, "< " HELLO_ANSWER, "> " SLOW, "< " ERROR("1", "-32001")}},
    {"a cancelled modern call that is answered",
     true,
     {"> " MODERN_EVALUATE("1", "(loop)"), "> " CANCEL("1"), "< " ERROR("1", "-32001")}},
    {"an id that is in flight",
     false,
     {"> " MODERN_EVALUATE("1", "(loop)"), "> " PING("1"), "< " ERROR("1", "-32600")}},
    {"progress",
     false,
     {"> " HELLO, "< " HELLO_ANSWER, "> " SLOW, "< " PROGRESS("9", "1"), "< " PROGRESS("9", "2")}},
    {"no progress",
     true,
     {"> " HELLO, "< " HELLO_ANSWER, "> " SLOW, "< " PROGRESS("9", "1"), "< " PROGRESS("9", "1")}},
    {"progress of nothing",
     true,
     {"> " HELLO, "< " HELLO_ANSWER, "> " SLOW, "< " PROGRESS("\"9\"", "1")}},
    {"progress after the answer",
     true,
     {"> " HELLO, "< " HELLO_ANSWER, "> " SLOW, "> " CANCEL("1"), "< " ERROR("1", "-32001"),
      "< " PROGRESS("9", "1")}},
    {"a subscription", false, {"> " LISTEN("1", "{}"), "< " ACKNOWLEDGED("1")}},
    {"a subscription acknowledged twice",
     true,
     {"> " LISTEN("1", "{}"), "< " ACKNOWLEDGED("1"), "< " ACKNOWLEDGED("1")}},
    {"a subscription that is answered",
     true,
     {"> " LISTEN("1", "{}"), "< " ACKNOWLEDGED("1"), "< " ERROR("1", "-32001")}},
    {"an acknowledgement on its way",
     false,
     {"> " LISTEN("1", "{}"), "> " CANCEL("1"), "< " ACKNOWLEDGED("1")}},
    {"a batch",
     false,
     {"> " HELLO, "< " HELLO_ANSWER, "> [" PING("1") "," REQUEST("2", "x") "]",
      "< [" ERROR("2", "-32601") ",{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]"}},
    {"a batch in parts",
     true,
     {"> " HELLO, "< " HELLO_ANSWER, "> [" PING("1") "," REQUEST("2", "x") "]",
      "< [" ERROR("2", "-32601") "]"}},
    {"a batch answered one by one",
     true,
     {"> " HELLO, "< " HELLO_ANSWER, "> [" PING("1") "]",
      "< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"}},
    {"a batch in another revision", false, {"> [" PING("1") "]", "< " ERROR("null", "-32600")}},
    {"a message that nobody asked for",
     true,
     {"< " NOTIFICATION_WITH("notifications/message", "{\"level\":\"info\",\"data\":1}")}},
    {"an unknown notification", true, {"< " NOTIFICATION_WITH("notifications/x", "{}")}},
};

static void play(const struct conversation *conversation) {
    struct ledger ledger = {0};
    bool fine = true;
    for (size_t i = 0; conversation->lines[i]; i++) {
        const char *line = conversation->lines[i];
        cr_assert(fine, "%s: already %s", conversation->name, ledger.fault);
        if (line[0] == '>')
            ledger_sent(&ledger, text_of(line + 2));
        else
            fine = ledger_received(&ledger, text_of(line + 2));
    }
    cr_assert_eq(fine, !conversation->wrong, "%s: %s", conversation->name,
                 ledger.fault ? ledger.fault : "passed");
    ledger_free(&ledger);
}

Test(ledger, tells_right_from_wrong) {
    for (size_t i = 0; i < COUNT_OF(conversations); i++)
        play(&conversations[i]);
}
