/* See wire.h. */
#include "tests/support/wire.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool holds(struct text text, char byte) {
    return text.length && memchr(text.bytes, byte, text.length);
}

static const char *error_fault(struct text error, int *code) {
    struct text value;
    if (json_kind(error) != VALUE_OBJECT)
        return "error is not an object";
    if (!json_member(error, "code", &value) || !json_is_integer(value))
        return "error.code is not an integer";
    long long number = strtoll(value.bytes, NULL, 10);
    if (number < INT_MIN || number > INT_MAX)
        return "error.code is out of range";
    *code = (int)number;
    if (!json_member(error, "message", &value) || json_kind(value) != VALUE_STRING)
        return "error.message is not a string";
    if (value.length <= 2)
        return "error.message is empty";
    if (json_has_twins(error))
        return "error has a member twice";
    if (json_member(error, "data", &value) && json_kind(value) != VALUE_OBJECT)
        return "error.data is not an object";
    return NULL;
}

static bool is_id(struct text id) {
    return json_kind(id) == VALUE_STRING || json_is_integer(id);
}

static const char *response_fault(struct text object, struct wire_message *message) {
    struct text result, error;
    bool has_result = json_member(object, "result", &result);
    bool has_error = json_member(object, "error", &error);
    if (has_result == has_error)
        return has_result ? "both result and error" : "neither method nor result nor error";
    if (!json_member(object, "id", &message->id))
        return "a response without id";
    message->kind = has_result ? WIRE_RESULT : WIRE_ERROR;
    message->body = has_result ? result : error;
    if (has_result && json_kind(result) != VALUE_OBJECT)
        return "result is not an object";
    if (has_result)
        return is_id(message->id) ? NULL : "the id of a result is neither string nor integer";
    /* An error may repeat a number that is not an integer, and has null when there was no id. */
    enum value_kind kind = json_kind(message->id);
    if (kind != VALUE_STRING && kind != VALUE_NUMBER && kind != VALUE_NULL)
        return "the id of an error is no string, number or null";
    return error_fault(error, &message->code);
}

static const char *call_fault(struct text object, struct wire_message *message) {
    struct text ignored;
    if (json_kind(message->method) != VALUE_STRING)
        return "method is not a string";
    if (json_member(object, "result", &ignored) || json_member(object, "error", &ignored))
        return "a method with a result or error";
    if (json_member(object, "params", &message->body) && json_kind(message->body) != VALUE_OBJECT)
        return "params is not an object";
    message->kind = WIRE_NOTIFICATION;
    if (json_member(object, "id", &message->id)) {
        message->kind = WIRE_REQUEST;
        if (!is_id(message->id))
            return "the id of a request is neither string nor integer";
    }
    return NULL;
}

static const char *message_fault(struct text object, struct wire_message *message) {
    struct text version;
    *message = (struct wire_message){0};
    if (json_kind(object) != VALUE_OBJECT)
        return "not an object";
    if (json_has_twins(object))
        return "a member twice";
    if (!json_member(object, "jsonrpc", &version) || !text_is(version, "\"2.0\""))
        return "jsonrpc is not \"2.0\"";
    if (json_member(object, "method", &message->method))
        return call_fault(object, message);
    return response_fault(object, message);
}

static const char *line_fault(struct text line) {
    if (line.length == 0)
        return "an empty line";
    if (holds(line, '\r') || holds(line, '\n'))
        return "a raw carriage return or line feed";
    const char *fault = json_fault(line, WIRE_DEPTH_MAX);
    if (fault)
        return fault;
    return json_has_lone_surrogate(line) ? "a lone surrogate" : NULL;
}

const char *wire_fault(struct text line, struct wire_message *message) {
    const char *fault = line_fault(line);
    return fault ? fault : message_fault(line, message);
}

struct batch {
    const char *fault;
};

static bool visit_response(struct text whole, struct text name, struct text value, void *context) {
    (void)whole, (void)name;
    struct batch *batch = context;
    struct wire_message message;
    batch->fault = message_fault(value, &message);
    if (!batch->fault && message.kind != WIRE_RESULT && message.kind != WIRE_ERROR)
        batch->fault = "a batch holds something other than responses";
    return batch->fault == NULL;
}

const char *wire_batch_fault(struct text line) {
    const char *fault = line_fault(line);
    struct wire_message message;
    if (fault || json_kind(line) != VALUE_ARRAY)
        return fault ? fault : message_fault(line, &message);
    struct batch batch = {.fault = json_count(line) == 0 ? "an empty batch" : NULL};
    if (!batch.fault)
        json_walk(line, visit_response, &batch);
    return batch.fault;
}
