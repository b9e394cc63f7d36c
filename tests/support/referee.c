/* See oracle.h: what came back against what was called for. */
#include "tests/support/oracle.h"
#include "tests/support/wire.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static bool refuse(struct oracle *oracle, const char *format,
                                                         ...) {
    va_list arguments;
    va_start(arguments, format);
    if (!oracle->fault && vasprintf(&oracle->fault, format, arguments) < 0)
        abort();
    va_end(arguments);
    return false;
}

/* What a result must look like; each returns why it does not, or NULL. */

static bool has_kind(struct text object, const char *name, enum value_kind kind) {
    struct text value;
    return json_member(object, name, &value) && json_kind(value) == kind;
}

static const char *empty_fault(struct text result) {
    return json_count(result) ? "the result is not {}" : NULL;
}

static const char *initialize_fault(struct text result, const char *revision) {
    struct text version, server;
    if (!json_member(result, "protocolVersion", &version) || json_kind(version) != VALUE_STRING ||
        version.length != strlen(revision) + 2 ||
        strncmp(version.bytes + 1, revision, version.length - 2) != 0)
        return "initialize was answered with another protocolVersion";
    if (!has_kind(result, "capabilities", VALUE_OBJECT))
        return "initialize was answered without capabilities";
    if (!json_member(result, "serverInfo", &server) || !has_kind(server, "name", VALUE_STRING) ||
        !has_kind(server, "version", VALUE_STRING))
        return "initialize was answered without serverInfo";
    return NULL;
}

static const char *tools_fault(struct text result) {
    struct text tools, tool, schema, type;
    if (!json_member(result, "tools", &tools) || json_kind(tools) != VALUE_ARRAY)
        return "tools/list has no array of tools";
    if (json_member(result, "nextCursor", &tool) && json_kind(tool) != VALUE_STRING)
        return "nextCursor is not a string";
    bool found = false;
    for (size_t i = 0; json_element(tools, i, &tool); i++) {
        struct text name;
        if (!json_member(tool, "name", &name) || !json_member(tool, "inputSchema", &schema) ||
            !json_member(schema, "type", &type) || !text_is(type, "\"object\""))
            return "a tool has no name or no inputSchema for an object";
        found = found || text_is(name, "\"evaluate-lisp\"");
    }
    return found ? NULL : "tools/list does not name evaluate-lisp";
}

static const char *call_fault(struct text result, bool must_fail) {
    struct text content, block, text, is_error;
    if (!json_member(result, "content", &content) || !json_element(content, 0, &block) ||
        !json_member(block, "text", &text) || json_kind(text) != VALUE_STRING)
        return "the result of a tool has no text";
    bool failed = json_member(result, "isError", &is_error) && text_is(is_error, "true");
    char *decoded = json_decode(text, NULL);
    bool marked = strncmp(decoded, "[ERROR] ", 8) == 0;
    free(decoded);
    if (failed != marked)
        return failed ? "isError, but the text does not begin with [ERROR]"
                      : "the text begins with [ERROR], but isError is not true";
    return must_fail && !failed ? "a bad argument is not an error" : NULL;
}

static const char *result_fault(const struct answer *answer, struct text result) {
    switch (answer->shape) {
    case SHAPE_EMPTY:
        return empty_fault(result);
    case SHAPE_INITIALIZE:
        return initialize_fault(result, answer->revision);
    case SHAPE_TOOLS:
        return tools_fault(result);
    case SHAPE_CALL:
        return call_fault(result, false);
    case SHAPE_TOOL_ERROR:
        return call_fault(result, true);
    }
    return "an unknown shape";
}

struct naming {
    const char *method;
    bool found;
};

static bool visit_name(struct text whole, struct text name, struct text value, void *context) {
    (void)whole, (void)name;
    struct naming *naming = context;
    if (json_kind(value) == VALUE_STRING) {
        char *text = json_decode(value, NULL);
        naming->found = naming->found || strcmp(text, naming->method) == 0;
        free(text);
    }
    return !naming->found;
}

/* What the `data` of an error must hold. */
static const char *data_fault(const struct answer *answer, struct text error) {
    enum { LONGEST_NAME_ECHOED = 64 };
    struct text data;
    bool has_data = json_member(error, "data", &data);
    if (answer->code == -32700 && !has_data)
        return "a parse error without data";
    if (answer->code == -32601 && answer->method && strlen(answer->method) <= LONGEST_NAME_ECHOED) {
        struct naming naming = {.method = answer->method};
        if (has_data)
            json_walk(data, visit_name, &naming);
        return naming.found ? NULL : "data does not name the method";
    }
    return NULL;
}

/* The two errors that a call may end in through no fault of its own. */
static bool is_excused(const struct answer *answer, const struct wire_message *message) {
    struct text name;
    if (answer->shape != SHAPE_CALL || message->kind != WIRE_ERROR)
        return false;
    if (message->code == -32603 && answer->may_overflow)
        return json_at(message->body, &name, "data", "name", NULL) &&
               text_is(name, "\"session.queue\"");
    return message->code == -32001 && answer->may_be_cancelled;
}

static const char *answer_fault(const struct answer *answer, const struct wire_message *message) {
    if (answer->kind == ANSWER_OPEN || is_excused(answer, message))
        return NULL;
    if (answer->kind == ANSWER_RESULT)
        return message->kind == WIRE_RESULT ? result_fault(answer, message->body)
                                            : "an error instead of a result";
    if (message->kind == WIRE_RESULT)
        return "a result instead of an error";
    return message->code == answer->code ? data_fault(answer, message->body) : "another error code";
}

static bool may_answer(const struct answer *answer, struct text id) {
    return json_same_id(text_of(answer->id), id) ||
           (answer->kind == ANSWER_OPEN && text_is(id, "null"));
}

/* Answers may come in any order, so a response belongs to the first due one with its id that it
 * fits, exact ones before open ones. */
static struct answer *find_answer(struct oracle *oracle, const struct wire_message *message,
                                  size_t batch, const char **fault) {
    struct answer *open = NULL, *unfit = NULL;
    for (size_t i = oracle->first_due; i < oracle->count; i++) {
        struct answer *answer = &oracle->answers[i];
        if (answer->given || answer->batch != batch || !may_answer(answer, message->id))
            continue;
        const char *why = answer_fault(answer, message);
        if (answer->kind == ANSWER_OPEN)
            open = open ? open : answer;
        else if (!why)
            return answer;
        else if (!unfit)
            unfit = answer, *fault = why;
    }
    return open;
}

static bool receive_message(struct oracle *oracle, struct text line, size_t batch) {
    struct wire_message message;
    const char *fault = wire_fault(line, &message);
    if (fault)
        return refuse(oracle, "not a message (%s): %.*s", fault, (int)line.length, line.bytes);
    if (message.kind == WIRE_NOTIFICATION)
        return true;
    if (message.kind == WIRE_REQUEST)
        return refuse(oracle, "a request of the server: %.*s", (int)line.length, line.bytes);
    const char *why = "no such answer was called for";
    struct answer *answer = find_answer(oracle, &message, batch, &why);
    if (!answer)
        return refuse(oracle, "%s: %.*s", why, (int)line.length, line.bytes);
    answer->given = true;
    while (oracle->first_due < oracle->count && oracle->answers[oracle->first_due].given)
        oracle->first_due++;
    return true;
}

/* The number of the batch that ARRAY answers: the first due one whose first answer fits. */
static size_t batch_of(const struct oracle *oracle, struct text array) {
    struct text first;
    struct wire_message message;
    if (!json_element(array, 0, &first) || wire_fault(first, &message))
        return 0;
    for (size_t i = oracle->first_due; i < oracle->count; i++) {
        const struct answer *answer = &oracle->answers[i];
        if (answer->batch && !answer->given && may_answer(answer, message.id) &&
            !answer_fault(answer, &message))
            return answer->batch;
    }
    return 0;
}

bool oracle_received(struct oracle *oracle, struct text line) {
    if (json_kind(line) != VALUE_ARRAY)
        return receive_message(oracle, line, 0);
    size_t batch = batch_of(oracle, line);
    if (batch == 0)
        return refuse(oracle, "no such batch was sent: %.*s", (int)line.length, line.bytes);
    struct text element;
    for (size_t i = 0; json_element(line, i, &element); i++)
        if (!receive_message(oracle, element, batch))
            return false;
    for (size_t i = oracle->first_due; i < oracle->count; i++) {
        struct answer *answer = &oracle->answers[i];
        if (answer->batch != batch || answer->given)
            continue;
        if (answer->kind != ANSWER_OPEN)
            return refuse(oracle, "a batch was answered in part: %.*s", (int)line.length,
                          line.bytes);
        answer->given = true; /* what it left open will not come in another array */
    }
    return true;
}

const struct answer *oracle_first_due(const struct oracle *oracle) {
    for (size_t i = oracle->first_due; i < oracle->count; i++)
        if (!oracle->answers[i].given && oracle->answers[i].kind != ANSWER_OPEN)
            return &oracle->answers[i];
    return NULL;
}

size_t oracle_due(const struct oracle *oracle) {
    size_t due = 0;
    for (size_t i = oracle->first_due; i < oracle->count; i++)
        due += !oracle->answers[i].given && oracle->answers[i].kind != ANSWER_OPEN;
    return due;
}

size_t oracle_open(const struct oracle *oracle) {
    size_t open = 0;
    for (size_t i = 0; i < oracle->count; i++)
        open += oracle->answers[i].kind == ANSWER_OPEN;
    return open;
}
