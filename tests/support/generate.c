/* See generate.h. The tables hold values that broke other servers. */
#include "tests/support/generate.h"
#include "common/cleanup.h"
#include "tests/support/eras.h"
#include "tests/support/lisp_cases.h"
#include "tests/support/oracle.h"
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 1 << 20 };

/* A request member by member, each as JSON text; NULL leaves it out. */
struct request {
    const char *version, *id, *method, *params, *extra;
};

static void put(struct buffer *out, const char *text) {
    buffer_append_text(out, text);
}

static void put_blanks(struct random *random, struct buffer *out) {
    static const char *const blanks[] = {"", "", "", "", "", " ", "\t", "  ", "\r"};
    put(out, random_pick(random, blanks));
}

/* A member name, now and then with one of its letters escaped. */
static void put_name(struct random *random, const char *name, struct buffer *out) {
    size_t escaped = random_percent(random, 3) ? random_below(random, strlen(name)) : SIZE_MAX;
    put(out, "\"");
    for (size_t i = 0; name[i]; i++)
        if (i == escaped)
            buffer_append_format(out, "\\u%04x", (unsigned)(unsigned char)name[i]);
        else
            buffer_append(out, name + i, 1);
    put(out, "\"");
}

static void put_request(struct random *random, const struct request *request, struct buffer *out) {
    struct {
        const char *name, *value;
    } members[] = {{"jsonrpc", request->version},
                   {"id", request->id},
                   {"method", request->method},
                   {"params", request->params},
                   {"x-extra", request->extra}};
    enum { MEMBERS = sizeof members / sizeof members[0] };
    for (size_t i = MEMBERS - 1; i > 0 && random_percent(random, 50); i--) {
        size_t other = random_below(random, i + 1);
        typeof(members[0]) held = members[i];
        members[i] = members[other];
        members[other] = held;
    }
    bool first = true;
    put(out, "{");
    for (size_t i = 0; i < MEMBERS; i++) {
        if (!members[i].value)
            continue;
        put(out, first ? "" : ",");
        put_blanks(random, out);
        put_name(random, members[i].name, out);
        put_blanks(random, out);
        put(out, ":");
        put_blanks(random, out);
        put(out, members[i].value);
        first = false;
    }
    put_blanks(random, out);
    put(out, "}");
}

/* Values. */

/* An id that no other line of this generator has: integers of all sizes and strings. */
static void put_id(struct generator *generator, struct buffer *out) {
    unsigned long serial = ++generator->serial;
    switch (random_below(&generator->random, 9)) {
    case 0:
        buffer_append_format(out, "\"%lu\"", serial);
        break;
    case 1:
        buffer_append_format(out, "\"s%lu caf\xc3\xa9 \xf0\x9f\x90\x8d\"", serial);
        break;
    case 2:
        buffer_append_format(out, "\"caf\\u00e9 \\\" \\\\ \\n %lu \\/ \\ud83d\\ude00\"", serial);
        break;
    case 3:
        buffer_append_format(out, "-%lu", serial);
        break;
    case 4:
        buffer_append_format(out, "900719925474%lu", serial + 1000);
        break;
    case 5:
        buffer_append_format(out, "12345678901234567890%lu", serial);
        break;
    case 6:
        buffer_append_format(out, "-9999999999999999999999999999999%lu", serial);
        break;
    default:
        buffer_append_format(out, "%lu", serial);
        break;
    }
}

/* Ids that put_id never makes. */
static const char *const odd_ids[] = {"0", "-0", "\"\"", "\"0\""};

static const char *const not_ids[] = {
    "null",  "true", "false", "1.5", "1e3",    "1.0",       "-0.0",
    "1E400", "[]",   "{}",    "[1]", "0.1e-7", "{\"a\":1}", "18446744073709551616.0"};

static const char *const not_objects[] = {"42", "\"x\"", "[1]", "[]", "true", "1e999", "[{}]"};

static const char *const scalars_and_containers[] = {
    "null", "true", "false", "0", "-1", "1.5", "\"\"", "\"x\"", "[]", "[1]", "{}", "{\"a\":[]}"};

static const char *const extras[] = {
    "null",
    "1e999",
    "-0",
    "123456789012345678901234567890",
    "\"\\u0000\"",
    "\"\xe2\x80\xa8\xef\xbb\xbf\xf4\x8f\xbf\xbf\"",
    "[[[[[[[[{\"id\":7,\"method\":\"ping\"}]]]]]]]]",
    "{\"result\":1,\"error\":2,\"jsonrpc\":\"1.0\"}",
    "\"\\\"id\\\":5\"",
};

static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                     "error", "critical", "alert",  "emergency"};

static void random_text(struct random *random, struct buffer *out) {
    static const char *const pieces[] = {"a",
                                         "Z9",
                                         " ",
                                         "/",
                                         "\\n",
                                         "\\u0001",
                                         "\\\"",
                                         "\\\\",
                                         "\xc3\xa9",
                                         "tools",
                                         "\\ud83d\\ude00",
                                         "\xe2\x82\xac",
                                         "$/",
                                         "list",
                                         "rpc."};
    put(out, "\"");
    for (size_t count = random_below(random, 8); count > 0; count--)
        put(out, random_pick(random, pieces));
    put(out, "\"");
}

static void random_value(struct random *random, unsigned depth, struct buffer *out) {
    size_t choice = random_below(random, depth ? 8 : 6);
    if (choice < 2) {
        random_text(random, out);
    } else if (choice < 3) {
        buffer_append_format(out, "%ld", random_between(random, -100000, 100000));
    } else if (choice < 6) {
        put(out, random_pick(random, scalars_and_containers));
    } else {
        bool object = choice == 6;
        size_t count = random_below(random, 4);
        put(out, object ? "{" : "[");
        for (size_t i = 0; i < count; i++) {
            if (object)
                buffer_append_format(out, "%s\"k%zu\":", i ? "," : "", i);
            else
                put(out, i ? "," : "");
            random_value(random, depth - 1, out);
        }
        put(out, object ? "}" : "]");
    }
}

/* The text of BUFFER, terminated. */
static const char *text_in(struct buffer *buffer) {
    if (!buffer_append(buffer, "", 1))
        abort();
    buffer->length--;
    return (const char *)buffer->data;
}

static struct buffer new_text(void) {
    return buffer_make(LINE_MAX_BYTES);
}

/* Requests that are served. */

static void put_code(struct generator *generator, struct buffer *params) {
    struct random *random = &generator->random;
    char *code;
    if (random_percent(random, 40)) {
        code = lisp_failure_make(random).code;
    } else {
        char *value;
        code = lisp_success_make(random, &value);
        free(value);
    }
    char *quoted = json_quote(code, strlen(code));
    buffer_append_format(params, "{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":%s}}",
                         quoted);
    free(quoted);
    free(code);
}

static const char *valid_method(struct generator *generator, bool evaluations,
                                struct buffer *params) {
    struct random *random = &generator->random;
    static const char *const plain_params[] = {"{}", "{\"_meta\":{}}", "{\"x\":[1,{\"y\":null}]}",
                                               "null", "{\"_meta\":{\"progressToken\":0}}"};
    size_t choice = random_below(random, evaluations ? 8 : 5);
    if (choice >= 5) {
        put_code(generator, params);
        return "\"tools/call\"";
    }
    if (choice == 4) {
        buffer_append_format(params, "{\"level\":\"%s\"}", random_pick(random, levels));
        return "\"logging/setLevel\"";
    }
    if (random_percent(random, 60))
        put(params, random_pick(random, plain_params));
    return choice < 2 ? "\"tools/list\"" : choice < 3 ? "\"p\\u0069ng\"" : "\"ping\"";
}

static void generate_valid(struct generator *generator, unsigned kinds, struct buffer *out) {
    struct random *random = &generator->random;
    cleanup_buffer struct buffer id = new_text(), params = new_text();
    const char *method = valid_method(generator, (kinds & GENERATE_EVALUATIONS) != 0, &params);
    bool immediate = strstr(method, "call") == NULL;
    if (immediate && random_percent(random, 5))
        put(&id, random_pick(random, odd_ids));
    else
        put_id(generator, &id);
    struct request request = {.version = random_percent(random, 5) ? "\"2\\u002e0\"" : "\"2.0\"",
                              .id = text_in(&id),
                              .method = method,
                              .params = params.length ? text_in(&params) : NULL,
                              .extra =
                                  random_percent(random, 20) ? random_pick(random, extras) : NULL};
    if (random_percent(random, 5))
        put(out, "\xef\xbb\xbf");
    put_blanks(random, out);
    put_request(random, &request, out);
    if (random_percent(random, 10))
        put(out, "\r");
}

/* Requests that are refused for their method or parameters. */

static const char *const unknown_methods[] = {
    "\"\"",
    "\"foo/bar\"",
    "\"rpc.x\"",
    "\"constructor\"",
    "\"__proto__\"",
    "\"tools/lists\"",
    "\"TOOLS/LIST\"",
    "\"tools\"",
    "\"tools/\"",
    "\"ping \"",
    "\"ping\\u0000\"",
    "\"\\u0000\"",
    "\"initialise\"",
    "\"notifications/initialized\"",
    "\"notifications/message\"",
    "\"notifications/cancelled\"",
    "\"notifications/unheard\"",
    "\"resources/list\"",
    "\"resources/read\"",
    "\"prompts/list\"",
    "\"prompts/get\"",
    "\"completion/complete\"",
    "\"sampling/createMessage\"",
    "\"roots/list\"",
    "\"\xf0\x9f\x90\x8d/\xc3\xa9\"",
    "\"%s%n%s%n\"",
    "\"../../etc/passwd\"",
};

/* Known methods with parameters that each of them refuses. */
static const struct {
    const char *method, *params;
} bad_params[] = {
    {"\"tools/list\"", "{\"cursor\":\"not-a-cursor\"}"},
    {"\"tools/list\"", "{\"cursor\":\"\"}"},
    {"\"tools/list\"", "{\"cursor\":5}"},
    {"\"tools/list\"", "{\"cursor\":\"e30\"}"},
    {"\"tools/list\"", "{\"cursor\":{}}"},
    {"\"logging/setLevel\"", "{\"level\":\"loud\"}"},
    {"\"logging/setLevel\"", "{\"level\":\"debug\\u0000\"}"},
    {"\"logging/setLevel\"", "{\"level\":5}"},
    {"\"logging/setLevel\"", "{\"level\":null}"},
    {"\"logging/setLevel\"", "{\"level\":\"\"}"},
    {"\"logging/setLevel\"", "{}"},
    {"\"logging/setLevel\"", NULL},
    {"\"tools/call\"", NULL},
    {"\"tools/call\"", "{}"},
    {"\"tools/call\"", "null"},
    {"\"tools/call\"", "{\"name\":\"no-such-tool\",\"arguments\":{}}"},
    {"\"tools/call\"", "{\"name\":\"\",\"arguments\":{}}"},
    {"\"tools/call\"", "{\"name\":\"EVALUATE-LISP\",\"arguments\":{\"code\":\"1\"}}"},
    {"\"tools/call\"", "{\"name\":\"evaluate-lisp\\u0000\",\"arguments\":{\"code\":\"1\"}}"},
    {"\"tools/call\"", "{\"name\":5,\"arguments\":{\"code\":\"1\"}}"},
    {"\"tools/call\"", "{\"name\":null,\"arguments\":{\"code\":\"1\"}}"},
    {"\"tools/call\"", "{\"name\":[\"evaluate-lisp\"],\"arguments\":{\"code\":\"1\"}}"},
    {"\"tools/call\"", "{\"arguments\":{\"code\":\"1\"}}"},
    {"\"tools/call\"", "{\"name\":\"evaluate-lisp\"}"},
    {"\"tools/call\"", "{\"name\":\"evaluate-lisp\",\"arguments\":\"x\"}"},
    {"\"tools/call\"", "{\"name\":\"evaluate-lisp\",\"arguments\":[1]}"},
    {"\"tools/call\"", "{\"name\":\"evaluate-lisp\",\"arguments\":[]}"},
    {"\"tools/call\"", "{\"name\":\"evaluate-lisp\",\"arguments\":7}"},
    {"\"tools/call\"", "{\"name\":\"evaluate-lisp\",\"arguments\":{}}"},
    {"\"tools/call\"", "{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":7}}"},
    {"\"tools/call\"", "{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":null}}"},
    {"\"tools/call\"", "{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":[\"1\"]}}"},
    {"\"tools/call\"", "{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":{}}}"},
    {"\"tools/call\"", "{\"name\":\"evaluate-lisp\",\"arguments\":{\"Code\":\"1\"}}"},
    {"\"initialize\"", "{\"protocolVersion\":\"2025-11-25\"}"},
    {"\"initialize\"", "{}"},
    {"\"exit\"", NULL},
    {"\"exit\"", "{}"},
};

static void generate_refused(struct generator *generator, struct buffer *out) {
    struct random *random = &generator->random;
    cleanup_buffer struct buffer id = new_text(), params = new_text(), method = new_text();
    static const char *const known[] = {"\"ping\"", "\"tools/list\"", "\"tools/call\"",
                                        "\"logging/setLevel\"", "\"shutdown\""};
    size_t choice = random_below(random, 10);
    put_id(generator, &id);
    struct request request = {.version = "\"2.0\"", .id = text_in(&id)};
    if (choice < 2) {
        request.method = random_pick(random, unknown_methods);
    } else if (choice < 4) {
        random_text(random, &method);
        request.method = text_in(&method);
    } else if (choice < 6) {
        request.method = random_pick(random, known);
        request.params = random_pick(random, not_objects);
    } else {
        size_t index = random_below(random, sizeof bad_params / sizeof bad_params[0]);
        request.method = bad_params[index].method;
        request.params = bad_params[index].params;
    }
    if (choice < 4 && random_percent(random, 50)) {
        random_value(random, 4, &params);
        request.params = text_in(&params);
    }
    if (random_percent(random, 10))
        request.extra = random_pick(random, extras);
    put_request(random, &request, out);
}

/* JSON that is no request. */

static void generate_ill_formed(struct generator *generator, struct buffer *out) {
    struct random *random = &generator->random;
    static const char *const versions[] = {"\"1.0\"", "2.0",      "2",  "null", "\"2.0 \"",
                                           "[]",      "\"2.00\"", "{}", "\"\"", "true"};
    static const char *const methods[] = {"5", "null", "[]", "{}", "true", "[\"ping\"]", "1.5"};
    cleanup_buffer struct buffer id = new_text();
    put_id(generator, &id);
    struct request request = {
        .version = "\"2.0\"", .id = text_in(&id), .method = "\"ping\"", .params = NULL};
    switch (random_below(random, 9)) {
    case 0:
        request.version = NULL;
        break;
    case 1:
        request.version = random_pick(random, versions);
        break;
    case 2:
        request.method = NULL;
        request.params = "{}";
        break;
    case 3:
        request.method = random_pick(random, methods);
        break;
    case 4:
        request.id = random_pick(random, not_ids);
        break;
    case 5: /* no id: an invalid notification is answered, since it is not one */
        request.id = NULL;
        request.version = random_pick(random, versions);
        break;
    case 6:
        request.version = random_pick(random, versions);
        request.method = random_pick(random, methods);
        request.id = random_pick(random, not_ids);
        break;
    case 7:
        put(out, random_pick(random, scalars_and_containers));
        return;
    default:
        random_value(random, 5, out);
        return;
    }
    if (random_percent(random, 10))
        request.extra = random_pick(random, extras);
    put_request(random, &request, out);
}

/* What is no JSON. */

static const char *const broken_texts[] = {
    "not-json",
    "{this is not json",
    "{\"jsonrpc\":\"2.0\", \"method\": \"test\", \"params\": ",
    "{\"jsonrpc\":\"2.0\",\"id\":1,",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":"
    "\"ping\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} 1",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",}",
    "{\"jsonrpc\":\"2.0\",\"id\":+1,\"method\":\"ping\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":01,\"method\":\"ping\"}",
    "{'jsonrpc':'2.0','id':1,'method':'ping'}",
    "{\"jsonrpc\":\"2.0\",/* comment */\"id\":1,\"method\":\"ping\"}",
#define MALFORMED(value) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":" value "}",
#define NOT_UTF8(value)  MALFORMED(value)
#include "tests/support/malformed_json.def"
    "\xff\xfe",
    "\xef\xbb\xbf\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
    "Content-Length: 52",
    ",",
    "{\"\\ud800\"",
    "\x0c{}",
    "GET / HTTP/1.1",
};

static void put_random_bytes(struct random *random, size_t count, struct buffer *out) {
    while (count-- > 0) {
        char byte = (char)random_below(random, 256);
        buffer_append(out, byte == '\n' ? "\v" : &byte, 1);
    }
}

/* Containers nested deeper than the limit, closed or not. */
static void put_nesting(struct random *random, struct buffer *out) {
    static const size_t depths[] = {129, 130, 200, 512, 513, 5000, 40000};
    size_t depth = random_pick(random, depths);
    bool object = random_percent(random, 50), closed = random_percent(random, 70);
    bool inside = random_percent(random, 50);
    if (inside)
        put(out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":");
    for (size_t i = 0; i < depth; i++)
        put(out, object ? "{\"a\":" : "[");
    put(out, object ? "1" : "");
    for (size_t i = 0; closed && i < depth; i++)
        put(out, object ? "}" : "]");
    put(out, inside ? "}" : "");
}

/* A request with one to three bytes cut off, left out, changed or added. */
static void generate_mutated(struct generator *generator, struct buffer *out) {
    struct random *random = &generator->random;
    generate_refused(generator, out);
    for (size_t count = 1 + random_below(random, 3); count > 0 && out->length > 0; count--) {
        size_t at = random_below(random, out->length);
        switch (random_below(random, 4)) {
        case 0:
            out->length = at;
            break;
        case 1:
            memmove(out->data + at, out->data + at + 1, out->length - at - 1);
            out->length--;
            break;
        case 2:
            out->data[at] = (unsigned char)"{}[]\",:\\x\xff\x00 1"[random_below(random, 13)];
            break;
        default:
            if (buffer_reserve(out, 1)) {
                memmove(out->data + at + 1, out->data + at, out->length - at);
                out->data[at] = (unsigned char)"{}[]\",:\\x\xff\x00 1"[random_below(random, 13)];
                out->length++;
            }
            break;
        }
    }
}

static void generate_unreadable(struct generator *generator, struct buffer *out) {
    struct random *random = &generator->random;
    size_t choice = random_below(random, 14);
    if (choice < 9)
        put(out, random_pick(random, broken_texts));
    else if (choice < 13)
        put_random_bytes(random, 1 + random_below(random, 200), out);
    else
        put_nesting(random, out);
}

/* Lines that are not answered. */

static const char *const silent_texts[] = {
    "",
    " ",
    "\r",
    " \t \r",
    "\xef\xbb\xbf",
    "\xef\xbb\xbf \r",
    "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\"}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"foo/bar\",\"params\":[1]}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\",\"params\":5}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
    "message\",\"params\":{\"level\":\"info\",\"data\":1}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":null}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":null}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
    "cancelled\",\"params\":{\"requestId\":\"none\"}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":{}}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"initialize\",\"params\":{}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"shutdown\"}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":\"evaluate-lisp\","
    "\"arguments\":{\"code\":\"(ext:quit 3)\"}}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":null}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"m\"}}",
    "{\"id\":null,\"error\":5}",
    "{\"result\":1,\"error\":2}",
};

/* Requests of both eras that are answered at once. */

static void put_legacy(struct generator *generator, const char *id, struct buffer *out) {
    struct random *random = &generator->random;
    static const char *const methods[] = {
        "ping", "ping",      "tools/list", "no/such", "server/discover", "subscriptions/listen",
        "",     "tools/call"};
    static const char *const cursors[] = {"\"\"", "5", "null", "\"x\""};
    if (random_percent(random, 10))
        buffer_append_format(out, REQUEST_WITH("%s", "ping", "%s"), id,
                             random_pick(random, not_objects));
    else if (random_percent(random, 10))
        buffer_append_format(out, REQUEST_WITH("%s", "tools/list", "{\"cursor\":%s}"), id,
                             random_pick(random, cursors));
    else
        buffer_append_format(out, REQUEST("%s", "%s"), id, random_pick(random, methods));
}

static void put_modern(struct generator *generator, const char *id, struct buffer *out) {
    struct random *random = &generator->random;
    static const char *const methods[] = {
        "tools/list", "server/discover",  "ping",     "initialize",          "no/such",
        "tools/call", "logging/setLevel", "shutdown", "subscriptions/listen"};
    static const char *const envelopes[] = {
        "\"" KEY_VERSION "\":\"2026-07-28\"",
        "\"" KEY_VERSION "\":\"2027-01-01\",\"" KEY_CLIENT "\":{}",
        "\"" KEY_VERSION "\":\"2025-11-25\",\"" KEY_CLIENT "\":{}",
        "\"" KEY_VERSION "\":20260728,\"" KEY_CLIENT "\":{}",
        "\"" KEY_VERSION "\":\"2026-07-28\",\"" KEY_CLIENT "\":[]",
        "\"" KEY_CLIENT "\":{},\"" KEY_VERSION "\":\"2026-07-28\",\"x\":1",
    };
    const char *method = random_pick(random, methods);
    if (random_percent(random, 25))
        buffer_append_format(out, REQUEST_WITH("%s", "%s", "{\"_meta\":{%s}}"), id, method,
                             random_pick(random, envelopes));
    else
        buffer_append_format(out, MODERN("%s", "%s"), id, method);
}

static void put_evaluation(struct generator *generator, bool modern, const char *id,
                           const char *code, struct buffer *out) {
    struct random *random = &generator->random;
    buffer_append_format(
        out,
        "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"evaluate-lisp\",\"arguments\":{\"code\":\"%s\"%s},\"_meta\":{\"x\":1",
        id, code, random_percent(random, modern ? 30 : 10) ? ",\"session\":\"main\"" : "");
    if (random_percent(random, 20))
        buffer_append_format(out, ",\"progressToken\":\"token %lu\"", ++generator->serial);
    if (modern && random_percent(random, 20))
        put(out, ",\"" KEY_LOG_LEVEL "\":\"debug\"");
    if (modern)
        put(out, ",\"" KEY_VERSION "\":\"" MODERN_REVISION "\",\"" KEY_CLIENT "\":{}");
    put(out, "}}}");
}

/* COUNTS: the code may be the one whose value depends on the calls before. */
static void put_known_code(struct generator *generator, const char *id, bool counts,
                           struct buffer *out) {
    struct random *random = &generator->random;
    static const char *const fixed[] = {ORACLE_FAIL, ORACLE_UNKNOWN, ORACLE_COUNT};
    char code[80];
    if (random_percent(random, 50))
        snprintf(code, sizeof code, ORACLE_LIST, ++generator->serial);
    else
        snprintf(code, sizeof code, "%s", fixed[random_below(random, counts ? 3 : 2)]);
    put_evaluation(generator, random_percent(random, 50), id, code, out);
}

/* A new id, terminated. */
static void make_id(struct generator *generator, char id[GENERATE_ID_BYTES]) {
    cleanup_buffer struct buffer text = new_text();
    put_id(generator, &text);
    snprintf(id, GENERATE_ID_BYTES, "%s", text_in(&text));
}

static void generate_both_eras(struct generator *generator, struct buffer *out) {
    char id[GENERATE_ID_BYTES];
    size_t choice = random_below(&generator->random, 4);
    make_id(generator, id);
    if (choice == 0)
        put_legacy(generator, id, out);
    else if (choice == 1)
        put_modern(generator, id, out);
    else
        put_known_code(generator, id, true, out);
}

/* Requests that stay in flight. */

static void put_listen(struct generator *generator, struct buffer *out) {
    if (generator->subscription_count == GENERATE_SUBSCRIPTIONS_MAX)
        return;
    char *id = generator->subscriptions[generator->subscription_count++];
    make_id(generator, id);
    buffer_append_format(out, LISTEN("%s", "{\"toolsListChanged\":true}"), id);
}

/* Cancels a subscription, or repeats its id while it is open. */
static void use_subscription(struct generator *generator, struct buffer *out) {
    struct random *random = &generator->random;
    if (generator->subscription_count == 0)
        return;
    char *id = generator->subscriptions[random_below(random, generator->subscription_count)];
    if (random_percent(random, 30)) {
        buffer_append_format(out, LISTEN("%s", "{}"), id);
        return;
    }
    buffer_append_format(out, CANCEL("%s"), id);
    memmove(id, generator->subscriptions[--generator->subscription_count], GENERATE_ID_BYTES);
}

/* A call that is cancelled a few lines later, whether it has ended by then or not. */
static void put_cancelled_call(struct generator *generator, struct buffer *out) {
    struct random *random = &generator->random;
    if (generator->call[0] && generator->endless)
        buffer_append_format(out, PING("%s"), generator->call); /* its id is in flight */
    if (generator->call[0])
        return;
    generator->endless = random_percent(random, 50);
    generator->lines_left = random_below(random, generator->endless ? 8 : 2);
    make_id(generator, generator->call);
    if (generator->endless)
        put_evaluation(generator, random_percent(random, 50), generator->call, ORACLE_ENDLESS, out);
    else
        put_known_code(generator, generator->call, false, out);
}

static void generate_in_flight(struct generator *generator, struct buffer *out) {
    switch (random_below(&generator->random, 4)) {
    case 0:
        put_listen(generator, out);
        break;
    case 1:
        use_subscription(generator, out);
        break;
    default:
        put_cancelled_call(generator, out);
        break;
    }
}

/* A batch of a few messages of every kind. */
static void generate_batch(struct generator *generator, unsigned kinds, struct buffer *out) {
    struct random *random = &generator->random;
    size_t count = random_below(random, 6);
    put(out, "[");
    for (size_t i = 0; i < count; i++) {
        put(out, i ? "," : "");
        switch (random_below(random, kinds & GENERATE_BOTH_ERAS ? 10 : 5)) {
        case 0:
            generate_refused(generator, out);
            break;
        case 1:
            generate_ill_formed(generator, out);
            break;
        case 2:
            put(out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard\"}");
            break;
        case 3:
        case 4:
            buffer_append_format(out, PING("%lu"), ++generator->serial);
            break;
        default:
            generate_both_eras(generator, out);
            break;
        }
    }
    put(out, "]");
}

static void generate_twins(struct generator *generator, struct buffer *out) {
    static const char *const twins[][2] = {
        {"\"method\":\"ping\"", "id"},
        {"\"method\":\"ping\",\"method\":\"tools/list\"", "x"},
        {"\"jsonrpc\":\"1.0\",\"method\":\"ping\"", "x"},
    };
    unsigned long serial = ++generator->serial;
    const char *const *twin = random_pick(&generator->random, twins);
    buffer_append_format(out, "{\"jsonrpc\":\"2.0\",\"id\":%lu,%s,\"%s\":%lu}", serial, twin[0],
                         twin[1], serial);
}

/* How often each kind comes, of those that are asked for. */
static const struct {
    enum generate_kind kind;
    size_t weight;
} weights[] = {
    {GENERATE_VALID, 30},      {GENERATE_REFUSED, 30}, {GENERATE_ILL_FORMED, 25},
    {GENERATE_UNREADABLE, 17}, {GENERATE_MUTATED, 8},  {GENERATE_SILENT, 15},
    {GENERATE_BATCH, 20},      {GENERATE_TWINS, 2},    {GENERATE_BOTH_ERAS, 150},
    {GENERATE_IN_FLIGHT, 50},
};

static enum generate_kind choose_kind(struct random *random, unsigned kinds) {
    size_t total = 0, i = 0;
    for (size_t j = 0; j < COUNT_OF(weights); j++)
        total += (kinds & weights[j].kind) ? weights[j].weight : 0;
    for (size_t choice = random_below(random, total);; i++) {
        size_t weight = (kinds & weights[i].kind) ? weights[i].weight : 0;
        if (choice < weight)
            return weights[i].kind;
        choice -= weight;
    }
}

struct generator generate_for(const char *name) {
    return (struct generator){.random = random_for(name)};
}

void generate_line(struct generator *generator, unsigned kinds, struct buffer *out) {
    if (generator->call[0] && generator->lines_left-- == 0) {
        buffer_append_format(out, CANCEL("%s"), generator->call);
        generator->call[0] = '\0';
        return;
    }
    switch (choose_kind(&generator->random, kinds)) {
    case GENERATE_REFUSED:
        generate_refused(generator, out);
        break;
    case GENERATE_ILL_FORMED:
        generate_ill_formed(generator, out);
        break;
    case GENERATE_UNREADABLE:
        generate_unreadable(generator, out);
        break;
    case GENERATE_MUTATED:
        generate_mutated(generator, out);
        break;
    case GENERATE_SILENT:
        put(out, random_pick(&generator->random, silent_texts));
        break;
    case GENERATE_BATCH:
        generate_batch(generator, kinds, out);
        break;
    case GENERATE_TWINS:
        generate_twins(generator, out);
        break;
    case GENERATE_BOTH_ERAS:
        generate_both_eras(generator, out);
        break;
    case GENERATE_IN_FLIGHT:
        generate_in_flight(generator, out);
        break;
    case GENERATE_VALID:
    case GENERATE_EVALUATIONS:
        generate_valid(generator, kinds, out);
        break;
    }
}

void generate_lines(struct generator *generator, unsigned kinds, size_t count,
                    struct script *script) {
    for (size_t i = 0; i < count; i++) {
        cleanup_buffer struct buffer line = new_text();
        generate_line(generator, kinds, &line);
        script_add(script, line.data, line.length);
    }
}

static bool is_answered_with_one_error(const struct buffer *line) {
    struct oracle oracle = oracle_make();
    oracle.phase = PHASE_READY;
    size_t answers = oracle_sent(&oracle, (struct text){(const char *)line->data, line->length});
    bool invalid = answers == 1 && oracle.answers[0].kind == ANSWER_ERROR;
    oracle_free(&oracle);
    return invalid;
}

void generate_invalid_lines(struct generator *generator, size_t count, struct script *script) {
    while (count > 0) {
        cleanup_buffer struct buffer line = new_text();
        generate_line(generator,
                      GENERATE_REFUSED | GENERATE_ILL_FORMED | GENERATE_UNREADABLE |
                          GENERATE_MUTATED | GENERATE_BATCH,
                      &line);
        if (line.length && is_answered_with_one_error(&line)) {
            script_add(script, line.data, line.length);
            count--;
        }
    }
}

void generate_handshake(const char *revision, struct script *script) {
    char line[256];
    snprintf(line, sizeof line, INITIALIZE("\"handshake\"", "\"%s\""),
             revision ? revision : CLIENT_REVISION_NEWEST);
    script_add_line(script, line);
    script_add_line(script, NOTIFICATION("notifications/initialized"));
}
