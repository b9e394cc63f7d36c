/* See ledger.h: what came against what is due. */
#include "tests/support/ledger.h"
#include "tests/support/wire.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "io.modelcontextprotocol/"

__attribute__((format(printf, 2, 3))) static bool refuse(struct ledger *ledger, const char *format,
                                                         ...) {
    va_list arguments;
    va_start(arguments, format);
    if (!ledger->fault && vasprintf(&ledger->fault, format, arguments) < 0)
        abort();
    va_end(arguments);
    return false;
}

static bool decodes_to(struct text value, const char *string) {
    if (json_kind(value) != VALUE_STRING)
        return false;
    char *decoded = json_decode(value, NULL);
    bool same = strcmp(decoded, string) == 0;
    free(decoded);
    return same;
}

/* Results. Each returns what is wrong, or NULL. */

static const char *era_fault(const struct due *due, struct text result) {
    struct text value;
    bool typed = json_member(result, "resultType", &value);
    if (typed != due->modern)
        return "the resultType is not of the era";
    if (typed && !decodes_to(value, "complete"))
        return "the resultType is not complete";
    if (due->modern && !json_at(result, &value, "_meta", PREFIX "serverInfo", "name", NULL))
        return "the server does not name itself";
    return NULL;
}

static const char *tools_fault(const struct due *due, struct text result) {
    struct text tools, value;
    if (!json_member(result, "tools", &tools) || json_kind(tools) != VALUE_ARRAY ||
        json_count(tools) == 0)
        return "no tools";
    if (json_member(result, "ttlMs", &value) != due->modern)
        return "the ttlMs is not of the era";
    return NULL;
}

static bool begins_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

/* TEXT is what DUE foresees, and the line about the session is there if and only if it has to be.
 */
static const char *text_fault(const struct due *due, const char *text, struct text session) {
    const char *line = strrchr(text, '\n');
    bool names = line && begins_with(line, "\n; session ");
    size_t length = names ? (size_t)(line - text) : strlen(text);
    if (names != due->names)
        return names ? "the text names a session unasked" : "the text does not name its session";
    if (names && !decodes_to(session, line + strlen("\n; session ")))
        return "the text and _meta name different sessions";
    if (!begins_with(text, due->text) || (!due->fails && length != strlen(due->text)))
        return "another text";
    return NULL;
}

static const char *call_fault(const struct due *due, struct text result) {
    struct text content, block, text, is_error, session = {"null", 4};
    if (!json_member(result, "content", &content) || json_count(content) != 1 ||
        !json_element(content, 0, &block) || !json_member(block, "text", &text) ||
        json_kind(text) != VALUE_STRING)
        return "not one text";
    if (!json_member(result, "isError", &is_error) ||
        !text_is(is_error, due->fails ? "true" : "false"))
        return "the wrong isError";
    json_at(result, &session, "_meta", "session", NULL);
    char *decoded = json_decode(text, NULL);
    const char *fault = text_fault(due, decoded, session);
    free(decoded);
    return fault;
}

static const char *subscription_fault(const struct due *due, struct text result) {
    struct text id;
    if (!json_at(result, &id, "_meta", PREFIX "subscriptionId", NULL) ||
        !json_same_id(id, text_of(due->id)))
        return "the end of a subscription does not name it";
    return NULL;
}

static const char *result_fault(const struct ledger *ledger, const struct due *due,
                                struct text result) {
    struct text value;
    const char *fault = era_fault(due, result);
    if (fault)
        return fault;
    switch (due->shape) {
    case LEDGER_EMPTY:
        return json_count(result) ? "not {}" : NULL;
    case LEDGER_HANDSHAKE:
        return json_member(result, "protocolVersion", &value) && decodes_to(value, ledger->revision)
                   ? NULL
                   : "another protocolVersion";
    case LEDGER_TOOLS:
        return tools_fault(due, result);
    case LEDGER_DISCOVERY:
        return json_member(result, "supportedVersions", &value) && json_count(value) == 5
                   ? NULL
                   : "not the supported versions";
    case LEDGER_CALL:
        return call_fault(due, result);
    case LEDGER_SUBSCRIPTION:
        return subscription_fault(due, result);
    }
    return "an unknown shape";
}

static const char *fault_of(const struct ledger *ledger, const struct due *due,
                            const struct wire_message *message) {
    if (message->kind == WIRE_RESULT)
        return due->result ? result_fault(ledger, due, message->body) : "a result";
    for (size_t i = 0; i < sizeof due->codes / sizeof due->codes[0]; i++)
        if (due->codes[i] == message->code)
            return NULL;
    return "another error";
}

/* The due that MESSAGE answers; NULL and *fault when there is none. */
static struct due *find(const struct ledger *ledger, const struct wire_message *message,
                        size_t batch, const char **fault) {
    *fault = "nobody waits for this answer";
    for (size_t i = 0; i < ledger->due_count; i++) {
        struct due *due = &ledger->dues[i];
        if (due->batch != batch || !json_same_id(text_of(due->id), message->id))
            continue;
        const char *why = fault_of(ledger, due, message);
        if (!why)
            return due;
        *fault = why;
    }
    return NULL;
}

static void expect_end_notice(struct ledger *ledger, const struct due *due) {
    ledger->ends = realloc(ledger->ends, (ledger->end_count + 1) * sizeof *ledger->ends);
    if (!ledger->ends)
        abort();
    ledger->ends[ledger->end_count++] = strdup(due->id);
}

static bool receive_response(struct ledger *ledger, const struct wire_message *message,
                             struct text line, size_t batch) {
    const char *fault;
    struct due *due = find(ledger, message, batch, &fault);
    if (!due)
        return refuse(ledger, "%s: %.*s", fault, (int)line.length, line.bytes);
    if (due->shape == LEDGER_SUBSCRIPTION && message->kind == WIRE_RESULT)
        expect_end_notice(ledger, due);
    ledger->answers++;
    ledger_strike(ledger, due);
    return true;
}

/* Notifications. */

static bool on_progress(struct ledger *ledger, struct text params) {
    struct text token, progress;
    if (!json_member(params, "progressToken", &token) ||
        !json_member(params, "progress", &progress) || json_kind(progress) != VALUE_NUMBER)
        return refuse(ledger, "not a progress: %.*s", (int)params.length, params.bytes);
    double value = strtod(progress.bytes, NULL);
    for (size_t i = 0; i < ledger->due_count; i++) {
        struct due *due = &ledger->dues[i];
        if (!due->token || !json_same_id(text_of(due->token), token))
            continue;
        if (value <= due->progress)
            return refuse(ledger, "no progress: %.*s", (int)params.length, params.bytes);
        due->progress = value;
        return true;
    }
    return refuse(ledger, "progress of nothing: %.*s", (int)params.length, params.bytes);
}

static bool on_message(struct ledger *ledger, struct text params) {
    if (ledger->messages_allowed) {
        ledger->messages_allowed--;
        return true;
    }
    return refuse(ledger, "nobody asked for %.*s", (int)params.length, params.bytes);
}

static bool on_acknowledged(struct ledger *ledger, struct text params) {
    struct text id, filter;
    if (json_at(params, &id, "_meta", PREFIX "subscriptionId", NULL) &&
        json_member(params, "notifications", &filter) && json_count(filter) == 0)
        for (size_t i = 0; i < ledger->due_count; i++) {
            struct due *due = &ledger->dues[i];
            if (due->shape != LEDGER_SUBSCRIPTION || due->acknowledged ||
                !json_same_id(text_of(due->id), id))
                continue;
            due->acknowledged = true;
            if (due->closing)
                ledger_strike(ledger, due);
            return true;
        }
    return refuse(ledger, "nothing to acknowledge: %.*s", (int)params.length, params.bytes);
}

static bool on_cancelled(struct ledger *ledger, struct text params) {
    struct text id;
    if (json_member(params, "requestId", &id))
        for (size_t i = 0; i < ledger->end_count; i++)
            if (json_same_id(text_of(ledger->ends[i]), id)) {
                free(ledger->ends[i]);
                ledger->ends[i] = ledger->ends[--ledger->end_count];
                return true;
            }
    return refuse(ledger, "no such subscription has ended: %.*s", (int)params.length, params.bytes);
}

static bool receive_notification(struct ledger *ledger, const struct wire_message *message,
                                 struct text line) {
    static const struct {
        const char *method;
        bool (*receive)(struct ledger *ledger, struct text params);
    } known[] = {{"notifications/progress", on_progress},
                 {"notifications/message", on_message},
                 {"notifications/subscriptions/acknowledged", on_acknowledged},
                 {"notifications/cancelled", on_cancelled}};
    ledger->notifications++;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (message->body.length && decodes_to(message->method, known[i].method))
            return known[i].receive(ledger, message->body);
    return refuse(ledger, "an unknown notification: %.*s", (int)line.length, line.bytes);
}

static bool receive_message(struct ledger *ledger, struct text line, size_t batch) {
    struct wire_message message;
    const char *fault = wire_fault(line, &message);
    if (fault)
        return refuse(ledger, "%s: %.*s", fault, (int)line.length, line.bytes);
    switch (message.kind) {
    case WIRE_RESULT:
    case WIRE_ERROR:
        return receive_response(ledger, &message, line, batch);
    case WIRE_NOTIFICATION:
        return receive_notification(ledger, &message, line);
    case WIRE_REQUEST:
        break;
    }
    return refuse(ledger, "a request of the server: %.*s", (int)line.length, line.bytes);
}

/* Has BATCH a due with an id of its own? */
static bool has_named(const struct ledger *ledger, size_t batch) {
    for (size_t i = 0; i < ledger->due_count; i++)
        if (ledger->dues[i].batch == batch && strcmp(ledger->dues[i].id, "null") != 0)
            return true;
    return false;
}

/* The batch in which ID is due; "null" stands for batches that have no other id. 0: none. */
static size_t batch_with(const struct ledger *ledger, struct text id) {
    for (size_t i = 0; i < ledger->due_count; i++) {
        const struct due *due = &ledger->dues[i];
        if (due->batch && json_same_id(text_of(due->id), id) &&
            (!text_is(id, "null") || !has_named(ledger, due->batch)))
            return due->batch;
    }
    return 0;
}

/* The batch that ARRAY answers, by the first element that tells. */
static size_t batch_of(const struct ledger *ledger, struct text array) {
    struct text element, id;
    size_t batch = 0;
    for (size_t i = 0; !batch && json_element(array, i, &element); i++)
        if (json_member(element, "id", &id))
            batch = batch_with(ledger, id);
    return batch;
}

static bool receive_batch(struct ledger *ledger, struct text array) {
    struct text element;
    size_t batch = batch_of(ledger, array);
    for (size_t i = 0; json_element(array, i, &element); i++)
        if (!batch || !receive_message(ledger, element, batch))
            return refuse(ledger, "no such batch: %.*s", (int)array.length, array.bytes);
    for (size_t i = ledger->due_count; i-- > 0;) {
        struct due *due = &ledger->dues[i];
        if (due->batch == batch && !due->silence)
            return refuse(ledger, "%s is missing from its batch: %.*s", due->id, (int)array.length,
                          array.bytes);
        if (due->batch == batch)
            ledger_strike(ledger, due);
    }
    return true;
}

bool ledger_received(struct ledger *ledger, struct text line) {
    if (ledger->fault)
        return false;
    return line.length && line.bytes[0] == '[' ? receive_batch(ledger, line)
                                               : receive_message(ledger, line, 0);
}
