/* See ledger.h: what a line calls for. ledger_check.c compares that with what comes. */
#include "tests/support/ledger.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_REVISION  "2025-03-26"
#define NEWEST_REVISION "2025-11-25"
#define MODERN_REVISION "2026-07-28"
#define PREFIX          "io.modelcontextprotocol/"

enum {
    PARSE_ERROR = -32700,
    INVALID_REQUEST = -32600,
    METHOD_NOT_FOUND = -32601,
    INVALID_PARAMS = -32602,
    INTERNAL_ERROR = -32603,
    CANCELLED = -32001,
    NOT_INITIALIZED = -32002,
    TIMED_OUT = -32004,
    UNSUPPORTED_VERSION = -32022,

    DEPTH_MAX = 128,
    SESSIONS_MAX = 16,
    SUBSCRIPTIONS_MAX = 16
};

static char *copy_text(struct text text) {
    char *copy = strndup(text.bytes, text.length);
    if (!copy)
        abort();
    return copy;
}

static bool decodes_to(struct text value, const char *string) {
    if (json_kind(value) != VALUE_STRING)
        return false;
    char *decoded = json_decode(value, NULL);
    bool same = strcmp(decoded, string) == 0;
    free(decoded);
    return same;
}

void ledger_free(struct ledger *ledger) {
    while (ledger->due_count)
        ledger_strike(ledger, &ledger->dues[0]);
    for (size_t i = 0; i < ledger->end_count; i++)
        free(ledger->ends[i]);
    free(ledger->ends);
    free(ledger->dues);
    free(ledger->fault);
    *ledger = (struct ledger){0};
}

void ledger_strike(struct ledger *ledger, struct due *due) {
    free(due->id);
    free(due->text);
    free(due->token);
    *due = ledger->dues[--ledger->due_count];
}

/* The message at hand. */
struct incoming {
    struct text id; /* JSON text */
    struct text params;
    bool modern;
    size_t batch;
};

static struct due *add(struct ledger *ledger, const struct incoming *incoming) {
    if (ledger->due_count == ledger->due_capacity) {
        ledger->due_capacity = ledger->due_capacity ? 2 * ledger->due_capacity : 64;
        ledger->dues = realloc(ledger->dues, ledger->due_capacity * sizeof *ledger->dues);
        if (!ledger->dues)
            abort();
    }
    struct due *due = &ledger->dues[ledger->due_count++];
    *due = (struct due){
        .id = copy_text(incoming->id), .modern = incoming->modern, .batch = incoming->batch};
    return due;
}

static void add_error(struct ledger *ledger, const struct incoming *incoming, int code) {
    add(ledger, incoming)->codes[0] = code;
}

static struct due *add_result(struct ledger *ledger, const struct incoming *incoming,
                              enum ledger_shape shape) {
    struct due *due = add(ledger, incoming);
    due->result = true;
    due->shape = shape;
    return due;
}

static size_t count_running(const struct ledger *ledger) {
    size_t count = 0;
    for (size_t i = 0; i < ledger->due_count; i++)
        count += ledger->dues[i].runs;
    return count;
}

static size_t count_subscriptions(const struct ledger *ledger) {
    size_t count = 0;
    for (size_t i = 0; i < ledger->due_count; i++)
        count += ledger->dues[i].shape == LEDGER_SUBSCRIPTION && !ledger->dues[i].closing;
    return count;
}

/* The request with that id that is in flight until something ends it, or may be. */
static struct due *find_open(struct ledger *ledger, struct text id) {
    for (size_t i = 0; i < ledger->due_count; i++) {
        struct due *due = &ledger->dues[i];
        bool open = due->runs || (due->shape == LEDGER_SUBSCRIPTION && !due->closing);
        if (open && json_same_id(text_of(due->id), id))
            return due;
    }
    return NULL;
}

/* The methods. */

static void on_initialize(struct ledger *ledger, const struct incoming *incoming) {
    static const char *const served[] = {"2024-11-05", BATCH_REVISION, "2025-06-18",
                                         NEWEST_REVISION};
    struct text version;
    if (ledger->revision) {
        add_error(ledger, incoming, INVALID_REQUEST);
        return;
    }
    if (json_member(incoming->params, "protocolVersion", &version))
        for (size_t i = 0; i < sizeof served / sizeof served[0]; i++)
            if (decodes_to(version, served[i]))
                ledger->revision = served[i];
    if (ledger->revision)
        add_result(ledger, incoming, LEDGER_HANDSHAKE);
    else
        add_error(ledger, incoming, INVALID_PARAMS);
}

static void on_ping(struct ledger *ledger, const struct incoming *incoming) {
    add_result(ledger, incoming, LEDGER_EMPTY);
}

static void on_list(struct ledger *ledger, const struct incoming *incoming) {
    struct text cursor;
    if (json_member(incoming->params, "cursor", &cursor))
        add_error(ledger, incoming, INVALID_PARAMS); /* none was ever handed out */
    else
        add_result(ledger, incoming, LEDGER_TOOLS);
}

static void on_discover(struct ledger *ledger, const struct incoming *incoming) {
    add_result(ledger, incoming, LEDGER_DISCOVERY);
}

static void on_listen(struct ledger *ledger, const struct incoming *incoming) {
    struct text filter;
    if (!json_member(incoming->params, "notifications", &filter)) {
        add_error(ledger, incoming, INVALID_PARAMS);
    } else if (count_subscriptions(ledger) == SUBSCRIPTIONS_MAX) {
        add_error(ledger, incoming, INTERNAL_ERROR);
    } else {
        struct due *due = add(ledger, incoming);
        due->shape = LEDGER_SUBSCRIPTION;
        due->silence = true;
    }
}

/* What CODE comes to. OWN: in the legacy session. */
static void foresee(struct ledger *ledger, struct due *due, struct text code, bool own) {
    char *text = json_decode(code, NULL), *after;
    unsigned long number = strncmp(text, "(list ", 6) == 0 ? strtoul(text + 6, &after, 10) : 0;
    int printed = 0;
    if (strcmp(text, LEDGER_ENDLESS) == 0) {
        due->endless = true;
        due->codes[0] = TIMED_OUT;
        due->result = false;
    } else if (strcmp(text, LEDGER_FAIL) == 0) {
        due->fails = true;
        printed = asprintf(&due->text, "[ERROR] TYPE-ERROR\n");
    } else if (strcmp(text, LEDGER_UNKNOWN) == 0) {
        due->fails = true;
        printed = asprintf(&due->text, "[ERROR] UNDEFINED-FUNCTION\n");
    } else if (strcmp(text, LEDGER_COUNT) == 0) {
        printed = asprintf(&due->text, "=> %lu", own ? ++ledger->count : 1);
    } else {
        printed = asprintf(&due->text, "=> (%lu)", number);
    }
    if (printed < 0)
        abort();
    free(text);
}

static void on_evaluate(struct ledger *ledger, const struct incoming *incoming, struct text code,
                        struct text arguments) {
    struct text session, level;
    bool named = json_member(arguments, "session", &session);
    bool own = named || !incoming->modern;
    if (!incoming->modern)
        ledger->own_session = true;
    size_t busy = count_running(ledger) + ledger->cancelled[0] + ledger->cancelled[1];
    struct due *due = add_result(ledger, incoming, LEDGER_CALL);
    if (own && !ledger->own_session) { /* there is no session of that name yet */
        due->fails = true;
        if (asprintf(&due->text, "[ERROR] UNKNOWN-SESSION\n") < 0)
            abort();
        return;
    }
    due->runs = true;
    due->names = !own;
    foresee(ledger, due, code, own);
    if (!own && busy + ledger->own_session >= SESSIONS_MAX)
        due->codes[1] = INTERNAL_ERROR;
    struct text token;
    if (json_at(incoming->params, &token, "_meta", "progressToken", NULL))
        due->token = copy_text(token);
    ledger->messages_allowed +=
        incoming->modern && json_at(incoming->params, &level, "_meta", PREFIX "logLevel", NULL);
}

static void on_call(struct ledger *ledger, const struct incoming *incoming) {
    struct text name, arguments, code;
    if (!json_member(incoming->params, "name", &name) || !decodes_to(name, "evaluate-lisp") ||
        !json_member(incoming->params, "arguments", &arguments) ||
        json_kind(arguments) != VALUE_OBJECT || !json_member(arguments, "code", &code) ||
        json_kind(code) != VALUE_STRING)
        add_error(ledger, incoming, INVALID_PARAMS);
    else
        on_evaluate(ledger, incoming, code, arguments);
}

static const struct method {
    const char *name;
    bool legacy, modern, before_initialize, in_batch;
    void (*serve)(struct ledger *ledger, const struct incoming *incoming);
} methods[] = {
    {"initialize", true, false, true, false, on_initialize},
    {"ping", true, false, true, true, on_ping},
    {"server/discover", false, true, true, true, on_discover},
    {"subscriptions/listen", false, true, true, false, on_listen},
    {"tools/call", true, true, false, true, on_call},
    {"tools/list", true, true, false, true, on_list},
};

static const struct method *find_method(struct text name) {
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (decodes_to(name, methods[i].name))
            return &methods[i];
    return NULL;
}

/* The error in the envelope of a modern request, or 0. */
static int envelope_error(struct text version, struct text params) {
    struct text capabilities;
    if (json_kind(version) != VALUE_STRING ||
        !json_at(params, &capabilities, "_meta", PREFIX "clientCapabilities", NULL) ||
        json_kind(capabilities) != VALUE_OBJECT)
        return INVALID_PARAMS;
    return decodes_to(version, MODERN_REVISION) ? 0 : UNSUPPORTED_VERSION;
}

static void on_request(struct ledger *ledger, struct incoming *incoming, struct text name) {
    static const struct text no_params = {"{}", 2};
    const struct method *method = find_method(name);
    const struct due *open = find_open(ledger, incoming->id);
    struct text version;
    if (open && (open->endless || !open->runs)) {
        add_error(ledger, incoming, INVALID_REQUEST);
        return;
    }
    if (incoming->batch && method && !method->in_batch) {
        add_error(ledger, incoming, INVALID_REQUEST);
        return;
    }
    bool object = json_kind(incoming->params) == VALUE_OBJECT;
    if (!object && json_kind(incoming->params) == VALUE_NULL)
        incoming->params = no_params;
    incoming->modern =
        object && json_at(incoming->params, &version, "_meta", PREFIX "protocolVersion", NULL);
    int error = incoming->modern ? envelope_error(version, incoming->params) : 0;
    if (!error && (!method || (incoming->modern && !method->modern)))
        error = METHOD_NOT_FOUND;
    if (!error && !incoming->modern && !method->legacy)
        error = INVALID_PARAMS;
    if (!error && !incoming->modern && !ledger->revision && !method->before_initialize)
        error = NOT_INITIALIZED;
    if (!error && json_kind(incoming->params) != VALUE_OBJECT)
        error = INVALID_PARAMS;
    if (error)
        add_error(ledger, incoming, error);
    else
        method->serve(ledger, incoming);
}

/* A cancelled call is answered in a legacy session and not in the modern era. One that may have
 * been done before is answered as it would have been. */
static void on_cancel(struct ledger *ledger, struct text id) {
    struct due *due = find_open(ledger, id);
    if (!due)
        return;
    due->endless = false;
    if (!due->runs && due->acknowledged) {
        ledger_strike(ledger, due);
    } else if (!due->runs) {
        due->closing = true;
    } else if (due->modern) {
        due->silence = true;
        ledger->cancelled[0]++;
    } else {
        due->codes[2] = CANCELLED;
    }
}

static void on_object(struct ledger *ledger, struct text object, size_t batch) {
    struct text version, method, id, value;
    struct incoming incoming = {.id = {"null", 4}, .params = {"null", 4}, .batch = batch};
    bool has_method = json_member(object, "method", &method);
    if (!has_method &&
        (json_member(object, "result", &value) || json_member(object, "error", &value)))
        return;
    bool has_id = json_member(object, "id", &id);
    bool usable = has_id && (json_kind(id) == VALUE_STRING || json_is_integer(id));
    if (has_id && (usable || json_kind(id) == VALUE_NUMBER))
        incoming.id = id;
    json_member(object, "params", &incoming.params);
    if (!json_member(object, "jsonrpc", &version) || !decodes_to(version, "2.0") || !has_method ||
        json_kind(method) != VALUE_STRING || (has_id && !usable))
        add_error(ledger, &incoming, INVALID_REQUEST);
    else if (has_id)
        on_request(ledger, &incoming, method);
    else if (decodes_to(method, "notifications/cancelled") &&
             json_kind(incoming.params) == VALUE_OBJECT &&
             json_member(incoming.params, "requestId", &id))
        on_cancel(ledger, id);
}

static bool visit_element(struct text whole, struct text name, struct text value, void *context) {
    (void)whole, (void)name;
    struct ledger *ledger = context;
    if (json_kind(value) == VALUE_OBJECT)
        on_object(ledger, value, ledger->batches);
    else
        add_error(ledger, &(struct incoming){.id = {"null", 4}, .batch = ledger->batches},
                  INVALID_REQUEST);
    return true;
}

void ledger_sent(struct ledger *ledger, struct text line) {
    static const struct incoming nobody = {.id = {"null", 4}};
    bool batches = ledger->revision && strcmp(ledger->revision, BATCH_REVISION) == 0;
    if (json_fault(line, DEPTH_MAX))
        add_error(ledger, &nobody, PARSE_ERROR);
    else if (json_kind(line) == VALUE_OBJECT)
        on_object(ledger, line, 0);
    else if (json_kind(line) != VALUE_ARRAY || !batches || json_count(line) == 0)
        add_error(ledger, &nobody, INVALID_REQUEST);
    else {
        ledger->batches++;
        json_walk(line, visit_element, ledger);
    }
}

void ledger_end(struct ledger *ledger) {
    ledger->ended = true;
    for (size_t i = 0; i < ledger->due_count; i++)
        if (ledger->dues[i].shape == LEDGER_SUBSCRIPTION) {
            ledger->dues[i].result = true;
            ledger->dues[i].silence = false;
        }
}

size_t ledger_due(const struct ledger *ledger) {
    size_t due = 0;
    for (size_t i = 0; i < ledger->due_count; i++)
        due += !ledger->dues[i].silence && !ledger->dues[i].endless;
    return due;
}

const char *ledger_endless(const struct ledger *ledger) {
    for (size_t i = 0; i < ledger->due_count; i++)
        if (ledger->dues[i].endless)
            return ledger->dues[i].id;
    return NULL;
}

bool ledger_is_blocked(const struct ledger *ledger) {
    for (size_t i = 0; i < ledger->due_count; i++)
        if (ledger->dues[i].endless && !ledger->dues[i].names)
            return true;
    return false;
}

void ledger_settle(struct ledger *ledger) {
    for (size_t i = ledger->due_count; i-- > 0;)
        if (ledger->dues[i].silence && ledger->dues[i].shape != LEDGER_SUBSCRIPTION)
            ledger_strike(ledger, &ledger->dues[i]);
    ledger->cancelled[1] = ledger->cancelled[0];
    ledger->cancelled[0] = 0;
}
