/* Mutations of JSON for the targets that read it: values are exchanged, repeated, nested and
 * spelled differently, so that the result is mostly valid. Half of the mutations are libFuzzer's
 * own. */
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>
#include <string.h>

/* Values that broke servers before, and the vocabulary of this one. */
// clang-format off
static const char *const values[] = {
    "null", "true", "0", "-0", "1.5", "1e3", "1e999", "-1E-400", "9223372036854775807",
    "9223372036854775808", "18446744073709551616", "-9223372036854775809", "\"\"", "\"\\u0000\"",
    "\"\\ud800\"", "\"\\udc00\\ud800\"", "\"\\ud83d\\ude00\"", "\"\\u0069d\"", "[]", "{}", "[[]]",
    "{\"\":{}}", "\"\xf0\x9f\x90\x8d\"", "\"a\\u0000b\"", "\"2.0\"", "\"main\"", "\"2024-11-05\"",
    "\"2025-03-26\"", "\"2025-11-25\"", "\"2026-07-28\"", "\"claude-code\"", "\"initialize\"",
    "\"ping\"", "\"shutdown\"", "\"exit\"", "\"tools/list\"", "\"tools/call\"",
    "\"logging/setLevel\"", "\"debug\"", "\"notifications/cancelled\"",
    "\"notifications/initialized\"", "\"evaluate-lisp\"", "\"open-session\"", "\"list-sessions\"",
    "\"rollback-session\"", "\"close-session\"", "\"reset-session\"", "\"inspect-lisp\"", "\"read-output\"",
    "\"s-00000000000000000000000000000001\"", "\"server/discover\"", "\"prompts/get\"",
    "\"resources/read\"", "\"completion/complete\"", "\"elicitation/create\"", "\"object\"",
    "\"user\"", "\"caller\"", "\"text\"", "\"resource_link\"", "\"AAAA\"", "\"a:b\"",
    "\"t://{a}/{+b}\"", "\"text/plain\"", "\"eclave:///guide\"", "\"lisp-session\"",
    "\"eclave:///sessions/{name}/transcript\"", "\"eclave:///sessions/main/transcript\"",
};

static const char *const members[] = {
    "\"id\":1", "\"id\":\"a\"", "\"id\":null", "\"jsonrpc\":\"2.0\"", "\"method\":\"ping\"",
    "\"params\":{}", "\"params\":null", "\"params\":{\"requestId\":1}", "\"result\":{}",
    "\"error\":{}", "\"i\\u0064\":2", "\"id\\u0000\":3", "\"name\":\"evaluate-lisp\"",
    "\"arguments\":{\"code\":\"1\"}", "\"code\":\"1\"", "\"timeout\":1", "\"package\":\"P\"",
    "\"session\":\"main\"", "\"from\":\"main\"", "\"at\":0", "\"steps\":1", "\"level\":\"debug\"",
    "\"cursor\":\"\"", "\"protocolVersion\":\"2025-03-26\"", "\"requestId\":1",
    "\"clientInfo\":{\"name\":\"x\"}", "\"_meta\":{\"progressToken\":1}",
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}",
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"t\",\"version\":\"1\"},"
    "\"io.modelcontextprotocol/clientCapabilities\":{}}", "\"progressToken\":2",
    "\"default-session\":\"a\"", "\"session.max\":2", "\"call.timeout_s\":1",
    "\"log-level\":\"debug\"", "\"batches\":true", "\"description\":\"d\"", "\"title\":\"t\"",
    "\"inputSchema\":{\"type\":\"object\"}", "\"outputSchema\":{}", "\"uri\":\"a:b\"",
    "\"uriTemplate\":\"t://{a}\"", "\"mimeType\":\"text/plain\"",
    "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"t\"}}]",
    "\"completions\":{\"a\":\"names\"}", "\"requires\":{\"sampling\":{}}",
    "\"file\":\"other/a.lisp\"",
    "\"inputResponses\":{\"k\":{\"action\":\"accept\",\"content\":{}}}",
    "\"requestState\":\"STATE\"",
    "\"capabilities\":{\"elicitation\":{},\"sampling\":{},\"roots\":{}}",
};
// clang-format on

static const char *const lines[] = {
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
    ("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
     "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"n\",\"version\":\"1\"}}}\n"),
    ("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":"
     "\"evaluate-lisp\",\"arguments\":{\"code\":\"1\"}}}\n"),
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"shutdown\"}\n",
    "[{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}]\n"};

#define COUNT(table) (sizeof(table) / sizeof *(table))

struct text_at {
    uint8_t *data;
    size_t size, max_size;
    unsigned random;
};

static unsigned chance(struct text_at *text, size_t below) {
    text->random = text->random * 1103515245 + 12345;
    return (text->random >> 12) % (unsigned)below;
}

/* Replaces LENGTH bytes at AT by SIZE bytes, when they fit. */
static void replace(struct text_at *text, size_t at, size_t length, const void *bytes,
                    size_t size) {
    if (text->size - length + size > text->max_size)
        return;
    uint8_t *copy = malloc(size ? size : 1); /* BYTES may be in the part that moves */
    if (!copy)
        return;
    memcpy(copy, bytes, size);
    memmove(text->data + at + size, text->data + at + length, text->size - at - length);
    memcpy(text->data + at, copy, size);
    text->size = text->size - length + size;
    free(copy);
}

static size_t string_end(const struct text_at *text, size_t at) {
    for (at++; at < text->size; at++)
        if (text->data[at] == '\\')
            at++;
        else if (text->data[at] == '"')
            return at + 1;
    return text->size;
}

/* The end of the value at AT, approximately. */
static size_t value_end(const struct text_at *text, size_t at) {
    size_t depth = 0;
    while (at < text->size) {
        uint8_t byte = text->data[at];
        if (byte == '"') {
            at = string_end(text, at);
        } else if (byte == '{' || byte == '[') {
            depth++;
            at++;
        } else if (byte == '}' || byte == ']') {
            if (depth == 0)
                return at;
            depth--;
            at++;
        } else if (depth == 0 && strchr(",: \n", byte)) {
            return at;
        } else {
            at++;
            continue; /* a word or a number continues */
        }
        if (depth == 0)
            return at;
    }
    return text->size;
}

/* A place where a value begins, or the end of the text. */
static size_t some_value(struct text_at *text) {
    size_t start = text->size ? chance(text, text->size) : 0;
    for (size_t at = start; at < text->size; at++)
        if (at == 0 || strchr(",:[{ \n", text->data[at - 1]))
            if (text->data[at] > ' ' && !strchr(",:]}", text->data[at]))
                return at;
    return text->size;
}

static void exchange(struct text_at *text, size_t at, size_t length) {
    const char *value = values[chance(text, COUNT(values))];
    replace(text, at, length, value, strlen(value));
}

static void repeat(struct text_at *text, size_t at, size_t length) {
    replace(text, at, 0, ",", 1);
    replace(text, at, 0, text->data + at + 1, length);
}

static void copy_from_elsewhere(struct text_at *text, size_t at, size_t length) {
    size_t other = some_value(text);
    replace(text, at, length, text->data + other, value_end(text, other) - other);
}

static void nest(struct text_at *text, size_t at, size_t length) {
    static const char opening[] = "[[[[[[[[", closing[] = "]]]]]]]]";
    size_t depth = 1 + chance(text, sizeof opening - 1);
    replace(text, at + length, 0, closing, depth);
    replace(text, at, 0, opening, depth);
}

static void drop(struct text_at *text, size_t at, size_t length) {
    if (at + length < text->size && text->data[at + length] == ',')
        length++;
    replace(text, at, length, "", 0);
}

static void add_member(struct text_at *text, size_t at, size_t length) {
    (void)length;
    uint8_t *brace = memchr(text->data + at, '{', text->size - at);
    const char *member = members[chance(text, COUNT(members))];
    if (!brace || brace + 1 == text->data + text->size)
        return;
    size_t inside = (size_t)(brace - text->data) + 1;
    if (text->data[inside] != '}')
        replace(text, inside, 0, ",", 1);
    replace(text, inside, 0, member, strlen(member));
}

/* One letter spelled as an escape. */
static void escape(struct text_at *text, size_t at, size_t length) {
    char spelled[8];
    if (length < 3 || text->data[at] != '"')
        return;
    size_t letter = at + 1 + chance(text, length - 2);
    if (text->data[letter] < ' ' || text->data[letter] > '~' || text->data[letter] == '\\')
        return;
    snprintf(spelled, sizeof spelled, "\\u%04x", text->data[letter]);
    replace(text, letter, 1, spelled, 6);
}

static void add_line(struct text_at *text, size_t at, size_t length) {
    (void)length;
    const char *line = lines[chance(text, COUNT(lines))];
    uint8_t *newline = memchr(text->data + at, '\n', text->size - at);
    replace(text, newline ? (size_t)(newline - text->data) + 1 : text->size, 0, line, strlen(line));
}

static void add_blank(struct text_at *text, size_t at, size_t length) {
    static const char blanks[] = " \t\r\n";
    replace(text, chance(text, 2) ? at : at + length, 0, blanks + chance(text, 4), 1);
}

static void (*const mutations[])(struct text_at *text, size_t at, size_t length) = {
    exchange, exchange, copy_from_elsewhere, repeat,   nest,
    drop,     escape,   add_member,          add_line, add_blank};

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    struct text_at text = {data, size, max_size, seed * 2654435761U + 1};
    if (chance(&text, 2))
        return LLVMFuzzerMutate(data, size, max_size);
    for (unsigned left = 1 + chance(&text, 3); left; left--) {
        size_t at = some_value(&text);
        mutations[chance(&text, COUNT(mutations))](&text, at, value_end(&text, at) - at);
    }
    return text.size ? text.size : LLVMFuzzerMutate(data, size, max_size);
}
