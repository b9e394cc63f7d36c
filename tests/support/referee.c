/* See oracle.h: the lines received against the answers called for. */
#include "tests/support/oracle.h"
#include "tests/support/wire.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 3, 4))) static bool refuse(struct oracle *oracle, struct text text,
                                                         const char *format, ...) {
    char *reason;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&reason, format, arguments) < 0 ||
        (!oracle->fault &&
         asprintf(&oracle->fault, "%s: %.*s", reason, (int)text.length, text.bytes) < 0))
        abort();
    va_end(arguments);
    free(reason);
    return false;
}

/* Each of these returns what is wrong with a result, or NULL. */

static bool has_kind(struct text object, const char *name, enum value_kind kind) {
    struct text value;
    return json_member(object, name, &value) && json_kind(value) == kind;
}

static const char *era_fault(const struct answer *answer, struct text result) {
    struct text value;
    bool typed = json_member(result, "resultType", &value);
    if (typed != answer->modern)
        return "resultType belongs to the other era";
    if (typed && !oracle_decodes_to(value, "complete"))
        return "resultType is not complete";
    if (typed && !json_at(result, &value, "_meta", ORACLE_PREFIX "serverInfo", "name", NULL))
        return "a modern result does not name the server";
    return NULL;
}

static const char *initialize_fault(const struct answer *answer, struct text result) {
    struct text version, server;
    if (!json_member(result, "protocolVersion", &version) ||
        !oracle_decodes_to(version, answer->revision))
        return "initialize was answered with another protocolVersion";
    if (!has_kind(result, "capabilities", VALUE_OBJECT))
        return "initialize was answered without capabilities";
    if (!json_member(result, "serverInfo", &server) || !has_kind(server, "name", VALUE_STRING) ||
        !has_kind(server, "version", VALUE_STRING))
        return "initialize was answered without serverInfo";
    return NULL;
}

static const char *tools_fault(const struct answer *answer, struct text result) {
    struct text tools, tool, value;
    if (!json_member(result, "tools", &tools) || json_kind(tools) != VALUE_ARRAY)
        return "tools/list has no array of tools";
    if (json_member(result, "nextCursor", &value) && json_kind(value) != VALUE_STRING)
        return "nextCursor is not a string";
    if (json_member(result, "ttlMs", &value) != answer->modern)
        return "ttlMs belongs to the other era";
    bool found = false;
    for (size_t i = 0; json_element(tools, i, &tool); i++) {
        struct text name;
        if (!json_member(tool, "name", &name) ||
            !json_at(tool, &value, "inputSchema", "type", NULL) || !text_is(value, "\"object\""))
            return "a tool has no name or no inputSchema for an object";
        found = found || text_is(name, "\"evaluate-lisp\"");
    }
    return found ? NULL : "tools/list does not name evaluate-lisp";
}

static const char *discovery_fault(struct text result) {
    struct text versions;
    bool right = json_member(result, "supportedVersions", &versions) && json_count(versions) == 5;
    return right ? NULL : "not the supported versions";
}

static const char *subscription_fault(const struct answer *answer, struct text result) {
    struct text id;
    bool right = json_at(result, &id, "_meta", ORACLE_PREFIX "subscriptionId", NULL) &&
                 json_same_id(id, text_of(answer->id));
    return right ? NULL : "the end of a subscription does not name it";
}

static bool begins_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

/* The last line of the TEXT of a call names its session if and only if the call made it. */
static const char *text_fault(const struct answer *answer, const char *text, struct text session) {
    static const char mark[] = "; session ";
    const char *newline = strrchr(text, '\n'), *line = newline ? newline + 1 : text;
    bool names = begins_with(line, mark);
    size_t length = !names ? strlen(text) : (size_t)((newline ? newline : line) - text);
    if (names != (answer->runs && answer->modern && (answer->opens || !answer->own_session)))
        return names ? "the text names a session that the call did not make"
                     : "the text does not name the session that the call made";
    if (names && answer->opens != (strcmp(line, "; session main (new)") == 0))
        return "the text does not say whether the name is the client's";
    if (names && !answer->opens && !oracle_decodes_to(session, line + sizeof mark - 1))
        return "the text and _meta name different sessions";
    if (answer->text && (!begins_with(text, answer->text) ||
                         (answer->shape == SHAPE_VALUE && length != strlen(answer->text))))
        return "another text";
    return NULL;
}

static const char *call_fault(const struct answer *answer, struct text result) {
    struct text content, block, text, is_error, session = {"null", 4};
    if (!json_member(result, "content", &content) || json_count(content) != 1 ||
        !json_element(content, 0, &block) || !json_member(block, "text", &text) ||
        json_kind(text) != VALUE_STRING)
        return "the result of a tool is not one text";
    if (!json_member(result, "isError", &is_error) || json_kind(is_error) != VALUE_BOOLEAN)
        return "the result of a tool has no isError";
    bool failed = text_is(is_error, "true");
    if (answer->shape != SHAPE_CALL && failed != (answer->shape == SHAPE_TOOL_ERROR))
        return failed ? "isError is true" : "isError is not true";
    json_at(result, &session, "_meta", "session", NULL);
    char *decoded = json_decode(text, NULL);
    const char *fault = text_fault(answer, decoded, session);
    if (failed != begins_with(decoded, "[ERROR] "))
        fault = failed ? "isError, but the text does not begin with [ERROR]"
                       : "the text begins with [ERROR], but isError is not true";
    free(decoded);
    return fault;
}

static const char *result_fault(const struct answer *answer, struct text result) {
    struct text value;
    const char *fault = era_fault(answer, result);
    if (fault)
        return fault;
    switch (answer->shape) {
    case SHAPE_EMPTY:
        return json_count(result) ? "the result is not {}" : NULL;
    case SHAPE_INITIALIZE:
        return initialize_fault(answer, result);
    case SHAPE_TOOLS:
        return tools_fault(answer, result);
    case SHAPE_LIST:
        return json_member(result, "tools", &value) ? "a list of tools" : NULL;
    case SHAPE_DISCOVERY:
        return discovery_fault(result);
    case SHAPE_SUBSCRIPTION:
        return answer->silent ? "a subscription has ended" : subscription_fault(answer, result);
    case SHAPE_CALL:
    case SHAPE_VALUE:
    case SHAPE_TOOL_ERROR:
        return call_fault(answer, result);
    }
    return "an unknown shape";
}

/* Errors. */

static bool visit_name(struct text whole, struct text name, struct text value, void *context) {
    (void)whole, (void)name;
    const char **method = context;
    if (oracle_decodes_to(value, *method))
        *method = NULL;
    return *method != NULL;
}

/* The `data` that an error must have. */
static const char *data_fault(const struct answer *answer, struct text error) {
    enum { LONGEST_NAME_ECHOED = 64 };
    struct text data;
    const char *method = answer->method;
    bool has_data = json_member(error, "data", &data);
    if (answer->code == -32700 && !has_data)
        return "a parse error without data";
    if (answer->code != -32601 || !method || strlen(method) > LONGEST_NAME_ECHOED)
        return NULL;
    if (has_data)
        json_walk(data, visit_name, &method);
    return method ? "data does not name the method" : NULL;
}

/* The two errors that a call may end in for a reason outside it. */
static bool is_excused(const struct answer *answer, const struct wire_message *message) {
    struct text name;
    if (!answer->runs || message->kind != WIRE_ERROR)
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

/* Responses. */

static bool has_id(const struct answer *answer, struct text id) {
    return !answer->ended && (json_same_id(text_of(answer->id), id) ||
                              (answer->kind == ANSWER_OPEN && text_is(id, "null")));
}

/* Answers come in any order: a response belongs to the first one with its id that it fits, an open
 * one only when there is no other. */
static struct answer *find_answer(const struct oracle *oracle, const struct wire_message *message,
                                  size_t batch, const char **fault) {
    struct answer *open = NULL;
    *fault = NULL;
    for (size_t i = 0; i < oracle->count; i++) {
        struct answer *answer = &oracle->answers[i];
        if (answer->batch != batch || !has_id(answer, message->id))
            continue;
        const char *why = answer_fault(answer, message);
        if (answer->kind == ANSWER_OPEN)
            open = open ? open : answer;
        else if (!why)
            return answer;
        else if (!*fault)
            *fault = why;
    }
    if (!*fault)
        *fault = "no such answer was called for";
    return open;
}

static bool receive_response(struct oracle *oracle, const struct wire_message *message,
                             struct text line, size_t batch) {
    const char *fault;
    struct answer *answer = find_answer(oracle, message, batch, &fault);
    if (!answer)
        return refuse(oracle, line, "%s", fault);
    if (answer->kind == ANSWER_RESULT && answer->shape == SHAPE_SUBSCRIPTION)
        answer->ended = true;
    else
        oracle_strike(oracle, answer);
    return true;
}

/* Notifications. */

static bool refuse_notification(struct oracle *oracle, struct text params, const char *reason) {
    return oracle->any_notification || refuse(oracle, params, "%s", reason);
}

static bool on_progress(struct oracle *oracle, struct text params) {
    struct text token, progress;
    if (!json_member(params, "progressToken", &token) ||
        !json_member(params, "progress", &progress) || json_kind(progress) != VALUE_NUMBER)
        return refuse(oracle, params, "not a progress");
    double value = strtod(progress.bytes, NULL);
    for (size_t i = 0; i < oracle->count; i++) {
        struct answer *answer = &oracle->answers[i];
        if (!answer->token || !json_same_id(text_of(answer->token), token))
            continue;
        if (value <= answer->progress)
            return refuse(oracle, params, "no progress");
        answer->progress = value;
        return true;
    }
    return refuse_notification(oracle, params, "progress of no call");
}

static bool on_message(struct oracle *oracle, struct text params) {
    if (oracle->messages == 0)
        return refuse_notification(oracle, params, "a message that was not asked for");
    oracle->messages--;
    return true;
}

static bool on_acknowledged(struct oracle *oracle, struct text params) {
    struct text id, filter;
    if (json_at(params, &id, "_meta", ORACLE_PREFIX "subscriptionId", NULL) &&
        json_member(params, "notifications", &filter) && json_count(filter) == 0)
        for (size_t i = 0; i < oracle->count; i++) {
            struct answer *answer = &oracle->answers[i];
            if (answer->shape != SHAPE_SUBSCRIPTION || answer->acknowledged ||
                !json_same_id(text_of(answer->id), id))
                continue;
            answer->acknowledged = true;
            if (answer->closing)
                oracle_strike(oracle, answer);
            return true;
        }
    return refuse_notification(oracle, params, "no such subscription was made");
}

static bool on_cancelled(struct oracle *oracle, struct text params) {
    struct text id;
    if (json_member(params, "requestId", &id))
        for (size_t i = 0; i < oracle->count; i++)
            if (oracle->answers[i].ended && json_same_id(text_of(oracle->answers[i].id), id)) {
                oracle_strike(oracle, &oracle->answers[i]);
                return true;
            }
    return refuse_notification(oracle, params, "no such subscription has ended");
}

static bool receive_notification(struct oracle *oracle, const struct wire_message *message,
                                 struct text line) {
    static const struct {
        const char *method;
        bool (*receive)(struct oracle *oracle, struct text params);
    } known[] = {{"notifications/progress", on_progress},
                 {"notifications/message", on_message},
                 {"notifications/subscriptions/acknowledged", on_acknowledged},
                 {"notifications/cancelled", on_cancelled}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (message->body.length && oracle_decodes_to(message->method, known[i].method))
            return known[i].receive(oracle, message->body);
    return refuse(oracle, line, "an unknown notification");
}

static bool receive_message(struct oracle *oracle, struct text line, size_t batch) {
    struct wire_message message;
    const char *fault = wire_fault(line, &message);
    if (fault)
        return refuse(oracle, line, "not a message (%s)", fault);
    switch (message.kind) {
    case WIRE_RESULT:
    case WIRE_ERROR:
        return receive_response(oracle, &message, line, batch);
    case WIRE_NOTIFICATION:
        return receive_notification(oracle, &message, line);
    case WIRE_REQUEST:
        break;
    }
    return refuse(oracle, line, "the server sent a request");
}

/* Batches. */

/* Has ARRAY the ids of BATCH, so that it may answer it? */
static bool answers_batch(const struct oracle *oracle, struct text array, size_t batch) {
    struct text element, id;
    size_t most = 0, least = 0, count = json_count(array);
    for (size_t i = 0; i < oracle->count; i++) {
        const struct answer *answer = &oracle->answers[i];
        most += answer->batch == batch;
        least += answer->batch == batch && !answer->silent && answer->kind != ANSWER_OPEN;
    }
    if (count < least || count > most)
        return false;
    for (size_t i = 0; json_element(array, i, &element); i++) {
        bool found = false;
        for (size_t j = 0; json_member(element, "id", &id) && !found && j < oracle->count; j++)
            found = oracle->answers[j].batch == batch && has_id(&oracle->answers[j], id);
        if (!found)
            return false;
    }
    return true;
}

static bool receive_batch(struct oracle *oracle, struct text array) {
    struct text element;
    size_t batch = 0;
    for (size_t i = 0; !batch && i < oracle->count; i++)
        if (oracle->answers[i].batch && answers_batch(oracle, array, oracle->answers[i].batch))
            batch = oracle->answers[i].batch;
    if (!batch)
        return refuse(oracle, array, "no batch was sent that has these ids");
    for (size_t i = 0; json_element(array, i, &element); i++)
        if (!receive_message(oracle, element, batch))
            return false;
    for (size_t i = oracle->count; i-- > 0;) {
        struct answer *answer = &oracle->answers[i];
        if (answer->batch != batch)
            continue;
        if (answer->kind != ANSWER_OPEN && !answer->silent)
            return refuse(oracle, array, "%s is missing from its batch", answer->id);
        oracle_strike(oracle, answer); /* it will not come in another array */
    }
    return true;
}

bool oracle_received(struct oracle *oracle, struct text line) {
    return json_kind(line) == VALUE_ARRAY ? receive_batch(oracle, line)
                                          : receive_message(oracle, line, 0);
}
