/* The modern era: the envelope of requests and answers, the methods that do not exist in it, and
 * that no earlier message changes the answer to a request. */
#include "tests/support/eras.h"
#include "tests/support/family.h"

#define CLAIM(version, rest) "{\"_meta\":{\"" KEY_VERSION "\":" version rest "}}"
#define CLIENT               ",\"" KEY_CLIENT "\":{}"

Test(stateless, discover_describes_the_server) {
    struct client *client = client_start(NULL);
    const char *line = client_expect_result(client, MODERN("\"d\"", "server/discover"), "\"d\"");
    expect_member(line, "\"complete\"", "result", "resultType", NULL);
    expect_member(line,
                  "[\"2026-07-28\",\"2025-11-25\",\"2025-06-18\",\"2025-03-26\",\"2024-11-05\"]",
                  "result", "supportedVersions", NULL);
    expect_member(line,
                  "{\"logging\":{},\"tools\":{},\"resources\":{},\"prompts\":{},\"completions\":{},"
                  "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}",
                  "result", "capabilities", NULL);
    expect_member(line, "\"public\"", "result", "cacheScope", NULL);
    cr_assert_geq(client_integer(client, line, "result", "ttlMs", NULL), 0);
    expect_member(line, "\"eclave\"", "result", "_meta", "io.modelcontextprotocol/serverInfo",
                  "name", NULL);
    expect_member(line, NULL, "result", "serverInfo", NULL);
    const char *instructions = client_string(client, line, "result", "instructions", NULL);
    cr_assert_leq(strlen(instructions), 2048);
    cr_assert_eq(strncmp(instructions, "evaluate-lisp ", 14), 0, "%s", instructions);
    cr_assert_str_eq(client_expect_result(client, MODERN("\"d\"", "server/discover"), "\"d\""),
                     line);
    client_finish(client);
}

Test(stateless, a_probe_starts_no_process) {
    struct client *client = client_start(NULL);
    client_expect_result(client, MODERN("\"server-discover-probe-1\"", "server/discover"),
                         "\"server-discover-probe-1\"");
    client_expect_result(client, MODERN("2", "server/discover"), "2");
    family_await_launcher_alone(client);
    client_finish(client);
}

Test(stateless, every_result_names_its_type_and_the_server) {
    static const char *const requests[] = {
        MODERN("1", "server/discover"),
        MODERN("1", "tools/list"),
        MODERN_EVALUATE("1", "(+ 1 2)"),
        MODERN_EVALUATE("1", "(car 5)"),
        MODERN_CALL("1", "{\"code\":\"1\",\"timeout\":0}"),
        MODERN_CALL("1", "{\"code\":\"1\",\"session\":\"nope\"}"),
        MODERN_WITH("1", "tools/call", "\"name\":\"open-session\","),
        MODERN_WITH("1", "tools/call", "\"name\":\"list-sessions\",\"arguments\":{},"),
    };
    struct client *client = client_start(NULL);
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        const char *line = client_expect_result(client, requests[i], "1");
        expect_member(line, "\"complete\"", "result", "resultType", NULL);
        expect_member(line, "\"eclave\"", "result", "_meta", "io.modelcontextprotocol/serverInfo",
                      "name", NULL);
    }
    client_finish(client);
}

Test(stateless, the_missing_or_wrong_member_of_the_envelope_is_named) {
    static const char *const rows[][2] = {
        {CLAIM("\"2026-07-28\"", ""), KEY_CLIENT},
        {CLAIM("\"2026-07-28\"", ",\"" KEY_CLIENT "\":null"), KEY_CLIENT},
        {CLAIM("\"2026-07-28\"", ",\"" KEY_CLIENT "\":[]"), KEY_CLIENT},
        {CLAIM("\"2026-07-28\"", ",\"" KEY_CLIENT "\":true"), KEY_CLIENT},
        {CLAIM("20260728", CLIENT), KEY_VERSION},
        {CLAIM("null", CLIENT), KEY_VERSION},
        {CLAIM("{}", CLIENT), KEY_VERSION},
        {CLAIM("\"2026-07-28\\u0000\"", CLIENT), KEY_VERSION},
        {CLAIM("\"2026-07-28\"", CLIENT ",\"" KEY_LOG_LEVEL "\":\"verbose\""), KEY_LOG_LEVEL},
        {CLAIM("\"2026-07-28\"", CLIENT ",\"" KEY_LOG_LEVEL "\":5"), KEY_LOG_LEVEL},
        {CLAIM("\"2026-07-28\"", CLIENT ",\"" KEY_LOG_LEVEL "\":null"), KEY_LOG_LEVEL},
    };
    static const char *const methods[] = {"server/discover", "tools/list", "tools/call",
                                          "subscriptions/listen"};
    struct client *client = client_start(NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t j = 0; j < COUNT_OF(methods); j++) {
            const char *line = client_request(client, "1", methods[j], rows[i][0]);
            expect_member(line, "-32602", "error", "code", NULL);
            cr_assert_str_eq(client_string(client, line, "error", "data", "name", NULL),
                             rows[i][1]);
        }
    client_expect_error(client, REQUEST("2", "tools/list"), -32002, "2");
    client_finish(client);
}

Test(stateless, client_info_and_unknown_members_are_ignored) {
    static const char *const params[] = {
        CLAIM("\"2026-07-28\"", CLIENT),
        CLAIM("\"2026-07-28\"", CLIENT ",\"io.modelcontextprotocol/clientInfo\":{\"name\":\"x\","
                                       "\"version\":\"1\"}"),
        CLAIM("\"2026-07-28\"", CLIENT ",\"io.modelcontextprotocol/clientInfo\":7"),
        CLAIM("\"2026-07-28\"", CLIENT ",\"traceparent\":\"00-0-0-00\",\"x/y\":[[]]"),
        CLAIM("\"2026-07-28\"", ",\"" KEY_CLIENT "\":{\"roots\":{\"listChanged\":true}}"),
        "{\"extra\":{\"deep\":[1,2]}," ENVELOPE "}",
    };
    struct client *client = client_start(NULL);
    for (size_t i = 0; i < COUNT_OF(params); i++)
        expect_member(client_request(client, "1", "tools/list", params[i]), "\"complete\"",
                      "result", "resultType", NULL);
    client_finish(client);
}

static const char *const states[] = {NULL, "2024-11-05", "2025-11-25"};

Test(stateless, an_unsupported_version_is_refused_on_any_request_at_any_time) {
    static const char *const methods[] = {"server/discover", "tools/list", "ping",
                                          "initialize",      "no/such",    "shutdown"};
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        struct client *client = client_start(NULL);
        if (states[i])
            client_initialize(client, states[i]);
        client_expect_result(client, MODERN("0", "tools/list"), "0");
        for (size_t j = 0; j < COUNT_OF(methods); j++) {
            const char *line =
                client_request(client, "1", methods[j], CLAIM("\"2027-06-01\"", CLIENT));
            expect_member(line, "-32022", "error", "code", NULL);
            expect_member(line, "\"2027-06-01\"", "error", "data", "requested", NULL);
            expect_contains(line, "\"supported\":[\"2026-07-28\",");
        }
        client_finish(client);
    }
}

Test(stateless, a_legacy_revision_is_not_served_without_a_handshake) {
    struct client *client = client_start(NULL);
    for (size_t i = 0; i + 1 < ERA_COUNT; i++) {
        const char *line = client_request(client, "1", "tools/list",
                                          formatted(CLAIM("\"%s\"", CLIENT), eras[i].revision));
        expect_member(line, "-32022", "error", "code", NULL);
        expect_member(line, "[\"2026-07-28\"]", "error", "data", "supported", NULL);
    }
    client_expect_error(client, REQUEST_WITH("1", "tools/list", CLAIM("\"\"", CLIENT)), -32022,
                        "1");
    client_expect_error(client, REQUEST_WITH("1", "tools/list", CLAIM("\"v999.0.0\"", CLIENT)),
                        -32022, "1");
    client_finish(client);
}

Test(stateless, legacy_methods_do_not_exist_even_beside_a_legacy_session) {
    static const char *const methods[] = {"initialize",
                                          "ping",
                                          "logging/setLevel",
                                          "shutdown",
                                          "exit",
                                          "resources/subscribe",
                                          "resources/unsubscribe",
                                          "tasks/list",
                                          "tasks/result"};
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        struct client *client = client_start(NULL);
        if (states[i])
            client_initialize(client, states[i]);
        for (size_t j = 0; j < COUNT_OF(methods); j++) {
            const char *line =
                era_refused(client, era_modern, -32601, "1", methods[j], "\"level\":\"debug\"");
            cr_assert_str_eq(client_string(client, line, "error", "data", "method", NULL),
                             methods[j]);
        }
        client_ping(client); /* it was neither shut down nor ended */
        client_finish(client);
    }
}

Test(stateless, modern_methods_without_an_envelope_name_the_missing_members) {
    static const char *const methods[] = {"server/discover", "subscriptions/listen"};
    static const char *const params[] = {NULL,
                                         "null",
                                         "{}",
                                         "{\"_meta\":{}}",
                                         "{\"_meta\":{\"progressToken\":1}}",
                                         "{\"_meta\":{\"" KEY_CLIENT "\":{}}}",
                                         "{\"_meta\":5}",
                                         "{\"notifications\":{}}"};
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        struct client *client = client_start(NULL);
        if (states[i])
            client_initialize(client, states[i]);
        for (size_t j = 0; j < COUNT_OF(methods) * COUNT_OF(params); j++) {
            const char *line = client_request(client, "1", methods[j % 2], params[j / 2]);
            expect_member(line, "-32602", "error", "code", NULL);
            expect_contains(line, KEY_VERSION);
            expect_contains(line, KEY_CLIENT);
        }
        client_finish(client);
    }
}

Test(stateless, client_capabilities_alone_do_not_make_a_modern_request) {
    static const char params[] = "{\"_meta\":{\"" KEY_CLIENT "\":{}}}";
    struct client *client = client_start(NULL);
    expect_member(client_request(client, "1", "tools/list", params), "-32002", "error", "code",
                  NULL);
    client_initialize(client, NULL);
    expect_member(client_request(client, "1", "tools/list", params), NULL, "result", "resultType",
                  NULL);
    client_finish(client);
}

Test(stateless, the_eras_alternate_on_one_pipe_without_influence_on_each_other) {
    struct client *client = client_start(NULL);
    const char *modern = client_expect_result(client, MODERN("0", "tools/list"), "0");
    expect_member(modern, "\"complete\"", "result", "resultType", NULL);
    client_expect_error(client, REQUEST("0", "tools/list"), -32002, "0");
    client_initialize(client, "2024-11-05");
    const char *legacy = client_expect_result(client, REQUEST("0", "tools/list"), "0");
    expect_lacks(legacy, "resultType");
    expect_lacks(legacy, "annotations");
    cr_assert_str_eq(client_expect_result(client, MODERN("0", "tools/list"), "0"), modern);
    cr_assert_str_eq(client_expect_result(client, REQUEST("0", "tools/list"), "0"), legacy);
    client_expect_error(client, INITIALIZE("1", "\"2025-11-25\""), -32600, "1");
    client_finish(client);
}

Test(stateless, a_probe_and_a_handshake_may_come_in_one_write) {
    static const char lines[] =
        MODERN("\"p\"", "server/discover") "\n" INITIALIZE("1", "\"2025-06-18\"") "\n" NOTIFICATION(
            "notifications/initialized") "\n" REQUEST("2", "tools/"
                                                           "list") "\n";
    struct client *client = client_start(NULL);
    client_send(client, lines, sizeof lines - 1);
    client_await(client, "\"p\"", NULL);
    expect_member(client_await(client, "1", NULL), "\"2025-06-18\"", "result", "protocolVersion",
                  NULL);
    expect_member(client_await(client, "2", NULL), NULL, "result", "resultType", NULL);
    client_finish(client);
}

Test(stateless, no_error_reveals_source_files_or_addresses) {
    struct client *client = client_start(NULL);
    static const char *const lines[] = {
        MODERN_WITH("1", "tools/call", "\"name\":\"nope\","),
        MODERN_WITH("1", "tools/call", "\"name\":7,"),
        MODERN_WITH("1", "tools/call", "\"name\":\"evaluate-lisp\",\"arguments\":[1],"),
        MODERN_WITH("1", "tools/call", "\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":42},"),
        MODERN_WITH("1", "tools/list", "\"cursor\":\"bogus\","),
        MODERN_WITH("1", "tools/list", "\"cursor\":\"\","),
        MODERN_WITH("1", "tools/list", "\"cursor\":5,"),
        MODERN_WITH("1", "tools/list", "\"cursor\":null,"),
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        const char *line = client_expect_error(client, lines[i], -32602, "1");
        expect_lacks(line, ".c:");
        expect_lacks(line, "0x");
        expect_lacks(line, ECLAVE_SOURCE_DIR);
    }
    client_finish(client);
}
