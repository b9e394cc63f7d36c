/* See oracle.h: what a line calls for, step by step as CONTRACT.md section 2 counts them.
 * referee.c compares that with what came back. */
#include "tests/support/oracle.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NEWEST_REVISION "2025-11-25"
#define BATCH_REVISION  "2025-03-26"

enum {
    PARSE_ERROR = -32700,
    INVALID_REQUEST = -32600,
    METHOD_NOT_FOUND = -32601,
    INVALID_PARAMS = -32602,
    NOT_INITIALIZED = -32002,
    SHUTTING_DOWN = -32003,
    EXIT_TOO_EARLY = -32005
};

struct oracle oracle_make(void) {
    return (struct oracle){.line_max = 16 << 20, .depth_max = 128, .queue_max = 64};
}

void oracle_free(struct oracle *oracle) {
    for (size_t i = 0; i < oracle->count; i++) {
        free(oracle->answers[i].id);
        free(oracle->answers[i].method);
    }
    free(oracle->answers);
    free(oracle->fault);
    *oracle = (struct oracle){0};
}

static char *copy_text(struct text text) {
    char *copy = strndup(text.bytes, text.length);
    if (!copy)
        abort();
    return copy;
}

static const struct text null_id = {"null", 4};

/* The message at hand. */
struct incoming {
    struct text id; /* JSON text; null_id when there is none to echo */
    bool has_id;
    char *method;
    struct text params;
    bool has_params;
    size_t batch;
};

static void add(struct oracle *oracle, struct answer answer, const struct incoming *incoming) {
    if (oracle->count == oracle->capacity) {
        oracle->capacity = oracle->capacity ? 2 * oracle->capacity : 64;
        oracle->answers = realloc(oracle->answers, oracle->capacity * sizeof *oracle->answers);
        if (!oracle->answers)
            abort();
    }
    if (oracle->confused) {
        free(answer.method);
        answer = (struct answer){.kind = ANSWER_OPEN};
    }
    answer.id = copy_text(incoming->id);
    answer.batch = incoming->batch;
    oracle->answers[oracle->count++] = answer;
}

static void add_error(struct oracle *oracle, int code, const struct incoming *incoming) {
    add(oracle, (struct answer){.kind = ANSWER_ERROR, .code = code}, incoming);
}

static void add_result(struct oracle *oracle, enum answer_shape shape,
                       const struct incoming *incoming) {
    add(oracle, (struct answer){.kind = ANSWER_RESULT, .shape = shape}, incoming);
}

/* How many calls may be waiting or running when the next line is read. What is open may be one. */
static size_t calls_due(const struct oracle *oracle) {
    size_t calls = 0;
    for (size_t i = oracle->first_due; i < oracle->count; i++) {
        const struct answer *answer = &oracle->answers[i];
        calls += !answer->given && (answer->kind == ANSWER_OPEN ||
                                    (answer->kind == ANSWER_RESULT && answer->shape == SHAPE_CALL));
    }
    return calls;
}

static void add_call(struct oracle *oracle, const struct incoming *incoming) {
    add(oracle,
        (struct answer){.kind = ANSWER_RESULT,
                        .shape = SHAPE_CALL,
                        .may_overflow = calls_due(oracle) >= oracle->queue_max},
        incoming);
}

/* Calls in flight have the grace time to finish; how many do is the machine's business. */
static void cancel_calls(struct oracle *oracle) {
    for (size_t i = oracle->first_due; i < oracle->count; i++)
        oracle->answers[i].may_be_cancelled = true;
}

static void add_open(struct oracle *oracle, const struct incoming *incoming) {
    add(oracle, (struct answer){.kind = ANSWER_OPEN}, incoming);
}

static bool param(const struct incoming *incoming, const char *name, struct text *value) {
    return incoming->has_params && json_member(incoming->params, name, value);
}

static bool decodes_to(struct text value, const char *string) {
    if (json_kind(value) != VALUE_STRING)
        return false;
    size_t length;
    char *decoded = json_decode(value, &length);
    bool same = length == strlen(string) && memcmp(decoded, string, length) == 0;
    free(decoded);
    return same;
}

/* The methods, in their state after the gates of step 10 to 12. */

static bool is_date(const char *text) {
    static const char shape[] = "dddd-dd-dd";
    if (strlen(text) != sizeof shape - 1)
        return false;
    for (size_t i = 0; shape[i]; i++)
        if (shape[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != '-')
            return false;
    long month = strtol(text + 5, NULL, 10), day = strtol(text + 8, NULL, 10);
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/* The revision that answers a request for VERSION; NULL when it is refused. */
static const char *negotiate(struct text version) {
    static const char *const served[] = {"2024-11-05", BATCH_REVISION, "2025-06-18",
                                         NEWEST_REVISION};
    for (size_t i = 0; i < sizeof served / sizeof served[0]; i++)
        if (decodes_to(version, served[i]))
            return served[i];
    if (json_kind(version) != VALUE_STRING)
        return NULL;
    size_t length;
    char *requested = json_decode(version, &length);
    bool later =
        strlen(requested) == length && is_date(requested) && strcmp(requested, NEWEST_REVISION) > 0;
    free(requested);
    return later ? NEWEST_REVISION : NULL;
}

static void on_initialize(struct oracle *oracle, const struct incoming *incoming) {
    struct text version;
    const char *revision = NEWEST_REVISION;
    if (param(incoming, "protocolVersion", &version))
        revision = negotiate(version);
    if (!revision) {
        add_error(oracle, INVALID_PARAMS, incoming);
        return;
    }
    add(oracle,
        (struct answer){.kind = ANSWER_RESULT, .shape = SHAPE_INITIALIZE, .revision = revision},
        incoming);
    oracle->phase = PHASE_READY;
    oracle->batches = oracle->batches || strcmp(revision, BATCH_REVISION) == 0;
}

static void on_ping(struct oracle *oracle, const struct incoming *incoming) {
    add_result(oracle, SHAPE_EMPTY, incoming);
}

static void on_set_level(struct oracle *oracle, const struct incoming *incoming) {
    static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                         "error", "critical", "alert",  "emergency"};
    struct text level;
    bool good = false;
    if (param(incoming, "level", &level) && json_kind(level) == VALUE_STRING) {
        size_t length;
        char *name = json_decode(level, &length);
        for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) /* in any case */
            good = good || (length == strlen(levels[i]) && strcasecmp(name, levels[i]) == 0);
        free(name);
    }
    if (good)
        add_result(oracle, SHAPE_EMPTY, incoming);
    else
        add_error(oracle, INVALID_PARAMS, incoming);
}

static void on_tools_list(struct oracle *oracle, const struct incoming *incoming) {
    struct text cursor;
    if (!param(incoming, "cursor", &cursor))
        add_result(oracle, SHAPE_TOOLS, incoming);
    else if (json_kind(cursor) == VALUE_NULL)
        add_open(oracle, incoming);
    else
        add_error(oracle, INVALID_PARAMS, incoming); /* none was ever handed out */
}

/* Tools that later work brings; a call to one is not foreseen here. */
static bool is_later_tool(struct text name) {
    static const char *const later[] = {"open-session", "rollback-session", "close-session",
                                        "list-sessions", "reset-session"};
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++)
        if (decodes_to(name, later[i]))
            return true;
    return false;
}

static bool visit_argument(struct text whole, struct text name, struct text value, void *context) {
    (void)whole, (void)value;
    static const char *const known[] = {"code", "package", "timeout", "session"};
    bool *unknown = context, found = false;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        found = found || decodes_to(name, known[i]);
    *unknown = !found;
    return found;
}

/* Has evaluate-lisp no such argument? */
static bool has_unknown_argument(struct text arguments) {
    bool unknown = false;
    json_walk(arguments, visit_argument, &unknown);
    return unknown;
}

/* The optional arguments of evaluate-lisp, for code that is fine. */
static void on_evaluate(struct oracle *oracle, struct text arguments,
                        const struct incoming *incoming) {
    struct text package, timeout, session;
    bool has_package = json_member(arguments, "package", &package);
    bool has_timeout = json_member(arguments, "timeout", &timeout);
    bool has_session = json_member(arguments, "session", &session);
    if ((has_package && json_kind(package) == VALUE_NULL) ||
        (has_timeout && json_kind(timeout) == VALUE_NULL) ||
        (has_session && (json_kind(session) == VALUE_NULL || json_kind(session) == VALUE_STRING))) {
        add_open(oracle, incoming);
        return;
    }
    bool bad = (has_package && json_kind(package) != VALUE_STRING) || has_session ||
               has_unknown_argument(arguments);
    if (has_timeout && json_kind(timeout) == VALUE_NUMBER) {
        double seconds = strtod(timeout.bytes, NULL);
        bad = bad || !(seconds > 0 && seconds <= 600);
    } else {
        bad = bad || has_timeout;
    }
    if (bad)
        add_result(oracle, SHAPE_TOOL_ERROR, incoming);
    else
        add_call(oracle, incoming);
}

static void on_tools_call(struct oracle *oracle, const struct incoming *incoming) {
    struct text name, arguments, code;
    bool named = param(incoming, "name", &name);
    if (named && is_later_tool(name)) {
        add_open(oracle, incoming);
        return;
    }
    if (!named || !decodes_to(name, "evaluate-lisp") || !param(incoming, "arguments", &arguments) ||
        json_kind(arguments) != VALUE_OBJECT || !json_member(arguments, "code", &code) ||
        json_kind(code) != VALUE_STRING) {
        add_error(oracle, INVALID_PARAMS, incoming);
        return;
    }
    on_evaluate(oracle, arguments, incoming);
}

static void on_shutdown(struct oracle *oracle, const struct incoming *incoming) {
    cancel_calls(oracle);
    add_result(oracle, SHAPE_EMPTY, incoming);
    oracle->phase = PHASE_SHUTDOWN;
}

static void on_exit_request(struct oracle *oracle, const struct incoming *incoming) {
    add_result(oracle, SHAPE_EMPTY, incoming);
    oracle->phase = PHASE_ENDED;
}

struct method {
    const char *name;
    bool before_initialize, after_shutdown, in_minimal_mode;
    void (*serve)(struct oracle *oracle, const struct incoming *incoming);
};

static const struct method methods[] = {
    {"initialize", true, false, true, on_initialize},
    {"ping", true, false, true, on_ping},
    {"shutdown", true, true, true, on_shutdown},
    {"exit", true, true, true, on_exit_request},
    {"logging/setLevel", false, false, true, on_set_level},
    {"tools/list", false, false, false, on_tools_list},
    {"tools/call", false, false, false, on_tools_call},
};

static const struct method *find_method(const char *name) {
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (strcmp(methods[i].name, name) == 0)
            return &methods[i];
    return NULL;
}

/* Methods of the modern era, which these tests do not foresee. */
static bool is_modern_method(const char *name) {
    static const char *const modern[] = {"server/discover", "subscriptions/listen", "tasks/update"};
    for (size_t i = 0; i < sizeof modern / sizeof modern[0]; i++)
        if (strcmp(modern[i], name) == 0)
            return true;
    return false;
}

static bool claims_modern_era(const struct incoming *incoming) {
    struct text version;
    return incoming->has_params && json_at(incoming->params, &version, "_meta",
                                           "io.modelcontextprotocol/protocolVersion", NULL);
}

/* Could a call with this id still be running when the next line is read? */
static bool may_be_in_flight(const struct oracle *oracle, struct text id) {
    for (size_t i = oracle->first_due; i < oracle->count; i++) {
        const struct answer *answer = &oracle->answers[i];
        if (!answer->given && answer->kind != ANSWER_ERROR &&
            (answer->kind == ANSWER_OPEN || answer->shape == SHAPE_CALL ||
             answer->shape == SHAPE_TOOL_ERROR) &&
            json_same_id(text_of(answer->id), id))
            return true;
    }
    return false;
}

static bool changes_phase(const char *method) {
    return strcmp(method, "initialize") == 0 || strcmp(method, "shutdown") == 0 ||
           strcmp(method, "exit") == 0;
}

static bool params_are_fine(const struct incoming *incoming) {
    return !incoming->has_params || json_kind(incoming->params) == VALUE_OBJECT;
}

/* Steps 8 to 13, for a message that is a request. */
static void on_request(struct oracle *oracle, const struct incoming *incoming) {
    if (may_be_in_flight(oracle, incoming->id) || claims_modern_era(incoming) ||
        is_modern_method(incoming->method)) {
        add_open(oracle, incoming);
        oracle->confused = oracle->confused || changes_phase(incoming->method);
        return;
    }
    const struct method *method = find_method(incoming->method);
    if (!method) {
        add(oracle,
            (struct answer){
                .kind = ANSWER_ERROR, .code = METHOD_NOT_FOUND, .method = strdup(incoming->method)},
            incoming);
        return;
    }
    bool initialize = strcmp(method->name, "initialize") == 0;
    bool exit_early = strcmp(method->name, "exit") == 0 && oracle->phase != PHASE_SHUTDOWN;
    /* Two reasons to refuse; the order is not laid down. */
    bool torn = (oracle->phase == PHASE_SHUTDOWN && initialize && incoming->batch) ||
                ((exit_early || (initialize && oracle->phase == PHASE_READY)) &&
                 !params_are_fine(incoming));
    if (torn)
        add_open(oracle, incoming);
    else if (oracle->phase == PHASE_FRESH && !method->before_initialize)
        add_error(oracle, NOT_INITIALIZED, incoming);
    else if (oracle->phase == PHASE_SHUTDOWN && !method->after_shutdown)
        add_error(oracle, SHUTTING_DOWN, incoming);
    else if (oracle->minimal && !method->in_minimal_mode)
        add_error(oracle, METHOD_NOT_FOUND, incoming);
    else if (exit_early)
        add_error(oracle, EXIT_TOO_EARLY, incoming);
    else if (initialize && (oracle->phase == PHASE_READY || incoming->batch))
        add_error(oracle, INVALID_REQUEST, incoming);
    else if (!params_are_fine(incoming))
        add_error(oracle, INVALID_PARAMS, incoming);
    else
        method->serve(oracle, incoming);
}

static bool visit_phase_change(struct text whole, struct text name, struct text value,
                               void *context) {
    (void)whole, (void)name;
    bool *changes = context;
    *changes = *changes || decodes_to(value, "initialize") || decodes_to(value, "shutdown") ||
               decodes_to(value, "exit");
    return !*changes;
}

/* Could this object, some of whose members stand twice, change the phase? */
static bool may_change_phase(struct text object) {
    bool changes = false;
    json_walk(object, visit_phase_change, &changes);
    return changes;
}

/* Steps 5 to 7, for an object. */
static void on_object(struct oracle *oracle, struct text object, size_t batch) {
    struct text version, method, value;
    struct incoming incoming = {.id = null_id, .batch = batch};
    incoming.has_id = json_member(object, "id", &incoming.id);
    bool echoed = incoming.has_id && (json_kind(incoming.id) == VALUE_STRING ||
                                      json_kind(incoming.id) == VALUE_NUMBER);
    bool integer =
        echoed && (json_kind(incoming.id) == VALUE_STRING || json_is_integer(incoming.id));
    if (!echoed)
        incoming.id = null_id;
    if (json_has_twins(object) || (echoed && json_has_lone_surrogate(incoming.id))) {
        add_open(oracle, &incoming);
        /* Of two batches it would not be known which one is answered. */
        oracle->confused = oracle->confused || batch || may_change_phase(object);
        return;
    }
    bool has_method = json_member(object, "method", &method);
    bool has_outcome =
        json_member(object, "result", &value) || json_member(object, "error", &value);
    if (has_outcome && !has_method)
        return;
    if (has_outcome) { /* neither a clear request nor a response */
        add_open(oracle, &incoming);
        oracle->confused = oracle->confused || may_change_phase(object);
        return;
    }
    if (!json_member(object, "jsonrpc", &version) || !decodes_to(version, "2.0") || !has_method ||
        json_kind(method) != VALUE_STRING || (incoming.has_id && !integer)) {
        add_error(oracle, INVALID_REQUEST, &incoming);
        return;
    }
    if (!incoming.has_id) {
        /* A request method sent as a notification is not run; whether `exit` is one is left open.
         */
        oracle->confused =
            oracle->confused || (oracle->phase == PHASE_SHUTDOWN && decodes_to(method, "exit"));
        return;
    }
    incoming.has_params =
        json_member(object, "params", &incoming.params) && json_kind(incoming.params) != VALUE_NULL;
    size_t length;
    incoming.method = json_decode(method, &length);
    if (strlen(incoming.method) != length &&
        (may_be_in_flight(oracle, incoming.id) || claims_modern_era(&incoming)))
        add_open(oracle, &incoming);
    else if (strlen(incoming.method) != length)
        add_error(oracle, METHOD_NOT_FOUND, &incoming); /* a NUL in it: no method of ours */
    else
        on_request(oracle, &incoming);
    free(incoming.method);
}

/* A batch: each element is a message of its own, answered in one array. */
static bool visit_element(struct text whole, struct text name, struct text value, void *context) {
    (void)whole, (void)name;
    struct oracle *oracle = context;
    if (json_kind(value) == VALUE_OBJECT)
        on_object(oracle, value, oracle->batch_count);
    else
        add_error(oracle, INVALID_REQUEST,
                  &(struct incoming){.id = null_id, .batch = oracle->batch_count});
    return true;
}

static struct text trimmed(struct text line) {
    if (line.length >= 3 && memcmp(line.bytes, "\xef\xbb\xbf", 3) == 0)
        line = (struct text){line.bytes + 3, line.length - 3};
    while (line.length && memchr(" \t\r", line.bytes[0], 3))
        line = (struct text){line.bytes + 1, line.length - 1};
    while (line.length && memchr(" \t\r", line.bytes[line.length - 1], 3))
        line.length--;
    return line;
}

static void on_line(struct oracle *oracle, struct text line) {
    struct incoming nobody = {.id = null_id};
    if (line.length > oracle->line_max) {
        add_error(oracle, PARSE_ERROR, &nobody);
        return;
    }
    line = trimmed(line);
    if (line.length == 0)
        return;
    if (json_fault(line, oracle->depth_max) || json_has_zero_name(line))
        add_error(oracle, PARSE_ERROR, &nobody);
    else if (json_kind(line) == VALUE_OBJECT)
        on_object(oracle, line, 0);
    else if (json_kind(line) != VALUE_ARRAY || !oracle->batches || json_count(line) == 0)
        add_error(oracle, INVALID_REQUEST, &nobody);
    else {
        oracle->batch_count++;
        json_walk(line, visit_element, oracle);
    }
}

size_t oracle_sent(struct oracle *oracle, struct text line) {
    size_t before = oracle->count;
    if (oracle->phase != PHASE_ENDED)
        on_line(oracle, line);
    return oracle->count - before;
}
