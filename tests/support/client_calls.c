/* See client.h: requests, answers and evaluations. */
#include "tests/support/client.h"
#include "tests/support/lines.h"
#include "tests/support/wire.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct wire_message parsed(struct client *client, const char *line) {
    struct wire_message message = {0};
    const char *fault = line ? wire_fault(text_of(line), &message) : "no line";
    if (fault)
        client_fail(client, "not a message (%s): %.500s", fault, line ? line : "");
    return message;
}

const char *client_request(struct client *client, const char *id, const char *method,
                           const char *params) {
    client_send_format(client, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\"%s%s}", id, method,
                       params ? ",\"params\":" : "", params ? params : "");
    return client_await(client, id, NULL);
}

const char *client_expect_error(struct client *client, const char *line, int code, const char *id) {
    client_send_line(client, line);
    const char *answer = client_await(client, id, NULL);
    struct wire_message message = parsed(client, answer);
    if (message.kind != WIRE_ERROR || message.code != code)
        client_fail(client, "wanted the error %d for %.300s, got %.500s", code, line,
                    answer ? answer : "nothing");
    return answer;
}

const char *client_expect_result(struct client *client, const char *line, const char *id) {
    client_send_line(client, line);
    const char *answer = client_await(client, id, NULL);
    struct wire_message message = parsed(client, answer);
    if (message.kind != WIRE_RESULT)
        client_fail(client, "wanted a result for %.300s, got %.500s", line,
                    answer ? answer : "nothing");
    return answer;
}

const char *client_new_id(struct client *client) {
    static unsigned long count;
    char *id;
    if (asprintf(&id, "\"client %lu\"", ++count) < 0)
        abort();
    return client_keep(client, id);
}

const char *client_initialize(struct client *client, const char *revision) {
    return client_initialize_with(client, revision, "{}");
}

const char *client_initialize_with(struct client *client, const char *revision,
                                   const char *capabilities) {
    char params[512];
    if (!revision)
        revision = CLIENT_REVISION_NEWEST;
    snprintf(params, sizeof params,
             "{\"protocolVersion\":\"%s\",\"capabilities\":%s,"
             "\"clientInfo\":{\"name\":\"eclave-tests\",\"version\":\"1\"}}",
             revision, capabilities);
    const char *line = client_request(client, client_new_id(client), "initialize", params);
    const char *answered = client_string(client, line, "result", "protocolVersion", NULL);
    if (!answered || strcmp(answered, revision) != 0)
        client_fail(client, "initialize with %s was answered with %s", revision,
                    answered ? answered : "nothing");
    if (strcmp(revision, CLIENT_REVISION_BATCH) == 0)
        client_allow_batches(client);
    client_send_line(client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    return line;
}

struct client *client_start_ready(const struct client_options *options, const char *revision) {
    struct client *client = client_start(options);
    client_initialize(client, revision);
    return client;
}

void client_ping(struct client *client) {
    const char *line = client_request(client, client_new_id(client), "ping", NULL);
    struct wire_message message = parsed(client, line);
    if (line && (message.kind != WIRE_RESULT || !text_is(message.body, "{}")))
        client_fail(client, "a ping was answered with %.500s", line);
}

void client_barrier(struct client *client) {
    client_ping(client);
}

void client_expect_silence(struct client *client) {
    client_ping(client);
    const char *line = client_take_line(client, NULL);
    if (line)
        client_fail(client, "wanted silence, got %.500s", line);
}

/* Members by path. */

static bool find(const char *line, va_list path, struct text *value) {
    *value = line ? text_of(line) : (struct text){"null", 4};
    for (const char *name; (name = va_arg(path, const char *)) != NULL;)
        if (!json_member(*value, name, value))
            return false;
    return true;
}

long long client_integer(struct client *client, const char *line, ...) {
    struct text value;
    va_list path;
    va_start(path, line);
    bool found = find(line, path, &value);
    va_end(path);
    if (!found || !json_is_integer(value)) {
        client_fail(client, "no such integer in %.500s", line ? line : "nothing");
        return 0;
    }
    return strtoll(value.bytes, NULL, 10);
}

const char *client_string(struct client *client, const char *line, ...) {
    struct text value;
    va_list path;
    va_start(path, line);
    bool found = find(line, path, &value);
    va_end(path);
    if (!found || json_kind(value) != VALUE_STRING) {
        client_fail(client, "no such string in %.500s", line ? line : "nothing");
        return NULL;
    }
    return client_keep(client, json_decode(value, NULL));
}

/* Evaluations. */

static bool is_true(struct text value) {
    return text_is(value, "true");
}

/* The text of a tool's result, which must be one text block; NULL after a failure. */
static const char *content_text(struct client *client, struct text result, const char *line) {
    struct text content, block, type, text;
    if (!json_member(result, "content", &content) || json_count(content) != 1 ||
        !json_element(content, 0, &block) || !json_member(block, "type", &type) ||
        !text_is(type, "\"text\"") || !json_member(block, "text", &text) ||
        json_kind(text) != VALUE_STRING) {
        client_fail(client, "the content is not one text block: %.500s", line);
        return NULL;
    }
    return client_keep(client, json_decode(text, NULL));
}

static void read_result(struct client *client, struct text result, struct evaluation *evaluation) {
    struct text value;
    if (json_member(result, "isError", &value))
        evaluation->is_error = is_true(value);
    if (json_at(result, &value, "_meta", "exitCode", NULL) && json_is_integer(value))
        evaluation->exit_code = (int)strtol(value.bytes, NULL, 10);
    if (json_at(result, &value, "_meta", "stderr", NULL) && json_kind(value) == VALUE_STRING)
        evaluation->stderr_text = client_keep(client, json_decode(value, NULL));
    const char *text = content_text(client, result, evaluation->line);
    if (text)
        evaluation->text = text;
}

struct evaluation client_evaluate_await(struct client *client, const char *id) {
    struct evaluation evaluation = {.exit_code = -1, .text = ""};
    evaluation.line = client_await(client, id, NULL);
    if (!evaluation.line)
        return evaluation;
    struct wire_message message = parsed(client, evaluation.line);
    if (message.kind == WIRE_RESULT) {
        read_result(client, message.body, &evaluation);
    } else {
        evaluation.error_code = message.code;
        const char *text = client_string(client, evaluation.line, "error", "message", NULL);
        evaluation.text = text ? text : "";
    }
    return evaluation;
}

void client_tool_send(struct client *client, const char *id, const char *tool,
                      const char *arguments) {
    client_send_format(client,
                       REQUEST_WITH("%s", "tools/call", "{\"name\":\"%s\",\"arguments\":%s}"), id,
                       tool, arguments);
}

struct evaluation client_tool(struct client *client, const char *tool, const char *arguments) {
    const char *id = client_new_id(client);
    client_tool_send(client, id, tool, arguments);
    return client_evaluate_await(client, id);
}

struct evaluation client_evaluate_with(struct client *client, const char *arguments) {
    return client_tool(client, "evaluate-lisp", arguments);
}

static char *arguments_for(const char *code) {
    char *quoted = json_quote(code, strlen(code)), *arguments;
    if (asprintf(&arguments, "{\"code\":%s}", quoted) < 0)
        abort();
    free(quoted);
    return arguments;
}

struct evaluation client_evaluate(struct client *client, const char *code) {
    char *arguments = arguments_for(code);
    struct evaluation evaluation = client_evaluate_with(client, arguments);
    free(arguments);
    return evaluation;
}

void client_evaluate_send(struct client *client, const char *id, const char *code) {
    char *arguments = arguments_for(code);
    client_tool_send(client, id, "evaluate-lisp", arguments);
    free(arguments);
}

void client_expect_works(struct client *client) {
    struct evaluation evaluation = client_evaluate(client, "(+ 1 2)");
    if (strcmp(evaluation.text, "=> 3") != 0)
        client_fail(client, "(+ 1 2) gives %.500s", evaluation.text);
}
