/* See oracle.h: the answers that a line calls for, in the steps of doc/contract.md. referee.c
 * compares them with the lines received. */
#include "tests/support/oracle.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BATCH_REVISION  "2025-03-26"
#define NEWEST_REVISION "2025-11-25"
#define MODERN_REVISION "2026-07-28"

enum {
    PARSE_ERROR = -32700,
    INVALID_REQUEST = -32600,
    METHOD_NOT_FOUND = -32601,
    INVALID_PARAMS = -32602,
    INTERNAL_ERROR = -32603,
    MISSING_CAPABILITY = -32021,
    NOT_INITIALIZED = -32002,
    SHUTTING_DOWN = -32003,
    TIMED_OUT = -32004,
    EXIT_TOO_EARLY = -32005,
    UNSUPPORTED_VERSION = -32022,

    RUNNING_MAX = 16, /* call.running_max */
    SUBSCRIPTIONS_MAX = 16
};

static const struct text null_id = {"null", 4};

struct oracle oracle_make(void) {
    return (struct oracle){.line_max = 16 << 20, .depth_max = 128, .queue_max = 4096};
}

static void free_answer(struct answer *answer) {
    free(answer->id);
    free(answer->method);
    free(answer->text);
    free(answer->token);
}

void oracle_free(struct oracle *oracle) {
    for (size_t i = 0; i < oracle->count; i++)
        free_answer(&oracle->answers[i]);
    free(oracle->answers);
    free(oracle->fault);
    *oracle = (struct oracle){0};
}

void oracle_strike(struct oracle *oracle, struct answer *answer) {
    size_t after = oracle->count - (size_t)(answer - oracle->answers) - 1;
    free_answer(answer);
    memmove(answer, answer + 1, after * sizeof *answer);
    oracle->count--;
}

static char *copy_text(struct text text) {
    char *copy = strndup(text.bytes, text.length);
    if (!copy)
        abort();
    return copy;
}

/* The string VALUE decoded, malloc'd; NULL when it is not a string or holds a zero byte. */
static char *plain_string(struct text value) {
    size_t length;
    if (json_kind(value) != VALUE_STRING)
        return NULL;
    char *decoded = json_decode(value, &length);
    if (strlen(decoded) == length)
        return decoded;
    free(decoded);
    return NULL;
}

bool oracle_decodes_to(struct text value, const char *string) {
    char *decoded = plain_string(value);
    bool same = decoded && strcmp(decoded, string) == 0;
    free(decoded);
    return same;
}

/* The current message. */
struct incoming {
    struct text id;     /* JSON text; null_id when there is none to echo */
    struct text params; /* null_id when there are none */
    char *method;       /* NULL: a name with a zero byte in it */
    bool modern;
    size_t batch;
};

static struct answer *add(struct oracle *oracle, const struct incoming *incoming,
                          struct answer answer) {
    if (oracle->count == oracle->capacity) {
        oracle->capacity = oracle->capacity ? 2 * oracle->capacity : 64;
        oracle->answers = realloc(oracle->answers, oracle->capacity * sizeof *oracle->answers);
        if (!oracle->answers)
            abort();
    }
    if (oracle->confused)
        answer = (struct answer){.kind = ANSWER_OPEN};
    oracle->any_notification = oracle->any_notification || answer.kind == ANSWER_OPEN;
    answer.id = copy_text(incoming->id);
    answer.batch = incoming->batch;
    answer.modern = incoming->modern;
    oracle->added++;
    oracle->answers[oracle->count] = answer;
    return &oracle->answers[oracle->count++];
}

static void add_error(struct oracle *oracle, const struct incoming *incoming, int code) {
    add(oracle, incoming, (struct answer){.kind = ANSWER_ERROR, .code = code});
}

static struct answer *add_result(struct oracle *oracle, const struct incoming *incoming,
                                 enum answer_shape shape) {
    return add(oracle, incoming, (struct answer){.kind = ANSWER_RESULT, .shape = shape});
}

static void add_open(struct oracle *oracle, const struct incoming *incoming) {
    add(oracle, incoming, (struct answer){.kind = ANSWER_OPEN});
}

static bool param(const struct incoming *incoming, const char *name, struct text *value) {
    return json_kind(incoming->params) == VALUE_OBJECT &&
           json_member(incoming->params, name, value);
}

/* A subscription that the client has not cancelled. */
static bool is_subscription(const struct answer *answer) {
    return answer->kind == ANSWER_RESULT && answer->shape == SHAPE_SUBSCRIPTION && !answer->closing;
}

/* The methods, after the checks that they have in common. */

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
        if (oracle_decodes_to(version, served[i]))
            return served[i];
    char *requested = plain_string(version);
    bool later = requested && is_date(requested) && strcmp(requested, NEWEST_REVISION) > 0;
    free(requested);
    return later ? NEWEST_REVISION : NULL;
}

static void on_initialize(struct oracle *oracle, const struct incoming *incoming) {
    struct text version, capabilities, name, client_version;
    const char *revision = NULL;
    if (param(incoming, "protocolVersion", &version))
        revision = negotiate(version);
    if (!revision || !param(incoming, "capabilities", &capabilities) ||
        json_kind(capabilities) != VALUE_OBJECT ||
        !json_at(incoming->params, &name, "clientInfo", "name", NULL) ||
        json_kind(name) != VALUE_STRING ||
        !json_at(incoming->params, &client_version, "clientInfo", "version", NULL) ||
        json_kind(client_version) != VALUE_STRING) {
        add_error(oracle, incoming, INVALID_PARAMS);
        return;
    }
    add_result(oracle, incoming, SHAPE_INITIALIZE)->revision = revision;
    oracle->phase = PHASE_READY;
    oracle->batches = oracle->batches || strcmp(revision, BATCH_REVISION) == 0;
}

static void on_ping(struct oracle *oracle, const struct incoming *incoming) {
    add_result(oracle, incoming, SHAPE_EMPTY);
}

static void on_discover(struct oracle *oracle, const struct incoming *incoming) {
    add_result(oracle, incoming, SHAPE_DISCOVERY);
}

static bool is_level(struct text level) {
    static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                         "error", "critical", "alert",  "emergency"};
    char *name = plain_string(level);
    bool found = false;
    for (size_t i = 0; name && i < sizeof levels / sizeof levels[0]; i++)
        found = found || strcasecmp(name, levels[i]) == 0;
    free(name);
    return found;
}

static void on_set_level(struct oracle *oracle, const struct incoming *incoming) {
    struct text level;
    if (param(incoming, "level", &level) && is_level(level)) {
        oracle->any_notification = true;
        add_result(oracle, incoming, SHAPE_EMPTY);
    } else {
        add_error(oracle, incoming, INVALID_PARAMS);
    }
}

static void on_any_list(struct oracle *oracle, const struct incoming *incoming,
                        enum answer_shape shape) {
    struct text cursor;
    if (!param(incoming, "cursor", &cursor))
        add_result(oracle, incoming, shape);
    else
        add_error(oracle, incoming, INVALID_PARAMS); /* the server has handed out no cursor */
}

static void on_tools_list(struct oracle *oracle, const struct incoming *incoming) {
    on_any_list(oracle, incoming, SHAPE_TOOLS);
}

static void on_list(struct oracle *oracle, const struct incoming *incoming) {
    on_any_list(oracle, incoming, SHAPE_LIST);
}

/* A subscription is answered at its end; how many are open is not known while an answer is open. */
static void on_listen(struct oracle *oracle, const struct incoming *incoming) {
    struct text filter;
    size_t subscriptions = 0, open = 0;
    for (size_t i = 0; i < oracle->count; i++) {
        subscriptions += is_subscription(&oracle->answers[i]);
        open += oracle->answers[i].kind == ANSWER_OPEN;
    }
    if (!param(incoming, "notifications", &filter) || json_kind(filter) != VALUE_OBJECT)
        add_error(oracle, incoming, INVALID_PARAMS);
    else if (subscriptions >= SUBSCRIPTIONS_MAX)
        add_error(oracle, incoming, INTERNAL_ERROR);
    else if (subscriptions + open >= SUBSCRIPTIONS_MAX)
        add_open(oracle, incoming);
    else
        add_result(oracle, incoming, SHAPE_SUBSCRIPTION)->silent = true;
}

/* Calls. */

/* Calls that may run or wait when the next line is read; OWN: in the connection's own session. */
static size_t count_calls(const struct oracle *oracle, bool own) {
    size_t calls = own ? 0 : oracle->cancelled[0] + oracle->cancelled[1];
    for (size_t i = 0; i < oracle->count; i++) {
        const struct answer *answer = &oracle->answers[i];
        calls += answer->kind == ANSWER_OPEN || (answer->runs && (!own || answer->own_session));
    }
    return calls;
}

__attribute__((format(printf, 3, 4))) static void
foresee(struct answer *answer, enum answer_shape shape, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&answer->text, format, arguments) < 0)
        abort();
    va_end(arguments);
    answer->shape = shape;
}

/* The result of CODE, which runs without further arguments. */
static void foresee_value(struct oracle *oracle, struct answer *answer, const char *code) {
    unsigned long number = strncmp(code, "(list ", 6) == 0 ? strtoul(code + 6, NULL, 10) : 0;
    char list[40];
    snprintf(list, sizeof list, ORACLE_LIST, number);
    if (strcmp(code, ORACLE_ENDLESS) == 0) {
        answer->kind = ANSWER_ERROR;
        answer->code = TIMED_OUT;
        answer->endless = true;
    } else if (strcmp(code, ORACLE_FAIL) == 0) {
        foresee(answer, SHAPE_TOOL_ERROR, "[ERROR] TYPE-ERROR\n");
    } else if (strcmp(code, ORACLE_UNKNOWN) == 0) {
        foresee(answer, SHAPE_TOOL_ERROR, "[ERROR] UNDEFINED-FUNCTION\n");
    } else if (strcmp(code, ORACLE_COUNT) == 0) {
        foresee(answer, SHAPE_VALUE, "=> %lu", answer->own_session ? ++oracle->counted : 1);
    } else if (strcmp(code, list) == 0) {
        foresee(answer, SHAPE_VALUE, "=> (%lu)", number);
    }
}

static void on_run(struct oracle *oracle, const struct incoming *incoming, struct text code,
                   bool own, bool plain) {
    struct text token, level;
    bool full = count_calls(oracle, own) >= oracle->queue_max;
    struct answer *answer = add_result(oracle, incoming, SHAPE_CALL);
    if (answer->kind == ANSWER_OPEN)
        return;
    answer->runs = true;
    answer->own_session = own;
    answer->may_overflow = full;
    if (json_at(incoming->params, &token, "_meta", "progressToken", NULL) &&
        (json_kind(token) == VALUE_STRING || json_is_integer(token)))
        answer->token = copy_text(token);
    oracle->messages += incoming->modern &&
                        json_at(incoming->params, &level, "_meta", ORACLE_PREFIX "logLevel", NULL);
    if (plain && !oracle->no_lisp) {
        char *text = json_decode(code, NULL);
        foresee_value(oracle, answer, text);
        free(text);
    }
}

static bool visit_argument(struct text whole, struct text name, struct text value, void *context) {
    (void)whole, (void)value;
    static const char *const known[] = {"code", "package", "timeout", "session"};
    bool *unknown = context, found = false;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        found = found || oracle_decodes_to(name, known[i]);
    *unknown = !found;
    return found;
}

static bool has_unknown_argument(struct text arguments) {
    bool unknown = false;
    json_walk(arguments, visit_argument, &unknown);
    return unknown;
}

/* The optional arguments of evaluate-lisp. */
static void on_evaluate(struct oracle *oracle, const struct incoming *incoming, struct text code,
                        struct text arguments) {
    struct text package, timeout, session;
    bool has_package = json_member(arguments, "package", &package);
    bool has_timeout = json_member(arguments, "timeout", &timeout);
    bool has_session = json_member(arguments, "session", &session);
    bool main = has_session && oracle_decodes_to(session, "main");
    if ((has_package && json_kind(package) == VALUE_NULL) ||
        (has_timeout && json_kind(timeout) == VALUE_NULL) ||
        (has_session && !main &&
         (json_kind(session) == VALUE_NULL || json_kind(session) == VALUE_STRING))) {
        add_open(oracle, incoming);
        return;
    }
    bool bad = (has_package && json_kind(package) != VALUE_STRING) || (has_session && !main) ||
               has_unknown_argument(arguments);
    if (has_timeout && json_kind(timeout) == VALUE_NUMBER) {
        double seconds = strtod(timeout.bytes, NULL);
        bad = bad || !(seconds > 0 && seconds <= 600);
    } else {
        bad = bad || has_timeout;
    }
    if (bad) {
        add_result(oracle, incoming, SHAPE_TOOL_ERROR);
        return;
    }
    if (main && incoming->modern && oracle->closes) {
        add_open(oracle, incoming);
        return;
    }
    bool opens = main && incoming->modern && !oracle->own_session;
    oracle->own_session = oracle->own_session || main || !incoming->modern;
    on_run(oracle, incoming, code, main || !incoming->modern, !has_package && !has_timeout);
    oracle->answers[oracle->count - 1].opens = opens;
}

/* The other tools are not modelled. */
static bool is_session_tool(struct text name) {
    static const char *const tools[] = {"open-session",  "rollback-session", "close-session",
                                        "list-sessions", "reset-session",    "inspect-lisp",
                                        "read-output"};
    for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
        if (oracle_decodes_to(name, tools[i]))
            return true;
    return false;
}

static void on_tools_call(struct oracle *oracle, const struct incoming *incoming) {
    struct text name, arguments, code;
    bool named = param(incoming, "name", &name);
    oracle->closes = oracle->closes || (named && is_session_tool(name));
    if (named && is_session_tool(name))
        add_open(oracle, incoming);
    else if (!named || !oracle_decodes_to(name, "evaluate-lisp") ||
             !param(incoming, "arguments", &arguments) || json_kind(arguments) != VALUE_OBJECT ||
             !json_member(arguments, "code", &code) || json_kind(code) != VALUE_STRING)
        add_error(oracle, incoming, INVALID_PARAMS);
    else
        on_evaluate(oracle, incoming, code, arguments);
}

/* What a resource, prompt or completion has in it is not modelled. */
static void on_named(struct oracle *oracle, const struct incoming *incoming, const char *member,
                     enum value_kind kind) {
    struct text value;
    if (param(incoming, member, &value) && json_kind(value) == kind)
        add_open(oracle, incoming);
    else
        add_error(oracle, incoming, INVALID_PARAMS);
}

static void on_read(struct oracle *oracle, const struct incoming *incoming) {
    on_named(oracle, incoming, "uri", VALUE_STRING);
}

static void on_get(struct oracle *oracle, const struct incoming *incoming) {
    on_named(oracle, incoming, "name", VALUE_STRING);
}

static void on_complete(struct oracle *oracle, const struct incoming *incoming) {
    on_named(oracle, incoming, "ref", VALUE_OBJECT);
}

/* No generated client declares the extension. */
static void on_tasks(struct oracle *oracle, const struct incoming *incoming) {
    add_error(oracle, incoming, MISSING_CAPABILITY);
}

/* Calls in flight have the grace time to finish; how many do is not foreseen. */
static void on_shutdown(struct oracle *oracle, const struct incoming *incoming) {
    for (size_t i = 0; i < oracle->count; i++) {
        oracle->answers[i].may_be_cancelled = true;
        oracle->answers[i].endless = false;
    }
    add_result(oracle, incoming, SHAPE_EMPTY);
    oracle->phase = PHASE_SHUTDOWN;
}

static void on_exit_request(struct oracle *oracle, const struct incoming *incoming) {
    oracle_end(oracle);
    add_result(oracle, incoming, SHAPE_EMPTY);
    oracle->phase = PHASE_ENDED;
}

static const struct method {
    const char *name;
    bool legacy, modern, before_initialize, after_shutdown, in_minimal_mode, in_batch;
    void (*serve)(struct oracle *oracle, const struct incoming *incoming);
} methods[] = {
    {"completion/complete", true, true, false, false, false, true, on_complete},
    {"exit", true, false, true, true, true, true, on_exit_request},
    {"initialize", true, false, true, false, true, false, on_initialize},
    {"logging/setLevel", true, false, false, false, true, true, on_set_level},
    {"ping", true, false, true, false, true, true, on_ping},
    {"prompts/get", true, true, false, false, false, true, on_get},
    {"prompts/list", true, true, false, false, false, true, on_list},
    {"resources/list", true, true, false, false, false, true, on_list},
    {"resources/read", true, true, false, false, false, true, on_read},
    {"resources/templates/list", true, true, false, false, false, true, on_list},
    {"server/discover", false, true, true, false, true, true, on_discover},
    {"shutdown", true, false, true, true, true, true, on_shutdown},
    {"subscriptions/listen", false, true, true, false, true, false, on_listen},
    {"tasks/cancel", false, true, false, false, false, true, on_tasks},
    {"tasks/get", false, true, false, false, false, true, on_tasks},
    {"tasks/update", false, true, false, false, false, true, on_tasks},
    {"tools/call", true, true, false, false, false, true, on_tools_call},
    {"tools/list", true, true, false, false, false, true, on_tools_list},
};

static const struct method *find_method(const char *name) {
    for (size_t i = 0; name && i < sizeof methods / sizeof methods[0]; i++)
        if (strcmp(methods[i].name, name) == 0)
            return &methods[i];
    return NULL;
}

/* Requests. */

/* The error in the envelope of a modern request, or 0. */
static int envelope_error(struct text params) {
    struct text value;
    json_at(params, &value, "_meta", ORACLE_PREFIX "protocolVersion", NULL);
    char *version = plain_string(value);
    bool capable = json_at(params, &value, "_meta", ORACLE_PREFIX "clientCapabilities", NULL) &&
                   json_kind(value) == VALUE_OBJECT;
    bool level_is_fine =
        !json_at(params, &value, "_meta", ORACLE_PREFIX "logLevel", NULL) || is_level(value);
    int error = INVALID_PARAMS;
    if (version && capable && strcmp(version, MODERN_REVISION) != 0)
        error = UNSUPPORTED_VERSION;
    else if (version && capable && level_is_fine)
        error = 0;
    free(version);
    return error;
}

/* Why METHOD is not served in this state, or 0. */
static int state_error(const struct oracle *oracle, const struct incoming *incoming,
                       const struct method *method) {
    if (oracle->phase >= PHASE_SHUTDOWN && !method->after_shutdown)
        return SHUTTING_DOWN;
    if (oracle->phase == PHASE_FRESH && !incoming->modern && !method->before_initialize)
        return NOT_INITIALIZED;
    if (oracle->minimal && !method->in_minimal_mode)
        return METHOD_NOT_FOUND;
    if (method->serve == on_exit_request && oracle->phase < PHASE_SHUTDOWN)
        return EXIT_TOO_EARLY;
    if (method->serve == on_initialize && oracle->phase == PHASE_READY)
        return INVALID_REQUEST;
    return 0;
}

/* Could the request with this id be in flight when the next line is read? CERTAIN: it must be. */
static bool may_be_in_flight(const struct oracle *oracle, struct text id, bool *certain) {
    bool found = false;
    *certain = false;
    for (size_t i = 0; i < oracle->count; i++) {
        const struct answer *answer = &oracle->answers[i];
        if (!(answer->kind == ANSWER_OPEN || answer->runs || is_subscription(answer)) ||
            !json_same_id(text_of(answer->id), id))
            continue;
        found = true;
        *certain = *certain || is_subscription(answer) ||
                   (answer->endless && !answer->may_be_cancelled && !answer->may_overflow);
    }
    return found;
}

static bool changes_phase(const char *method) {
    return method && (strcmp(method, "initialize") == 0 || strcmp(method, "shutdown") == 0 ||
                      strcmp(method, "exit") == 0);
}

static void refuse_method(struct oracle *oracle, const struct incoming *incoming) {
    struct answer *answer =
        add(oracle, incoming, (struct answer){.kind = ANSWER_ERROR, .code = METHOD_NOT_FOUND});
    if (incoming->method)
        answer->method = strdup(incoming->method);
}

/* A request of either era, once its id is known to be free. */
static void on_free_request(struct oracle *oracle, struct incoming *incoming) {
    struct text version;
    const struct method *method = find_method(incoming->method);
    bool object = json_kind(incoming->params) == VALUE_OBJECT;
    bool bad_params = !object && json_kind(incoming->params) != VALUE_NULL;
    incoming->modern = object && json_at(incoming->params, &version, "_meta",
                                         ORACLE_PREFIX "protocolVersion", NULL);
    if (incoming->batch && method && !method->in_batch) {
        if (oracle->phase < PHASE_SHUTDOWN)
            add_error(oracle, incoming, INVALID_REQUEST);
        else
            add_open(oracle, incoming); /* two reasons to refuse it, in no order */
        return;
    }
    int error = incoming->modern ? envelope_error(incoming->params) : 0;
    if (!error && (!method || (incoming->modern && !method->modern))) {
        refuse_method(oracle, incoming);
        return;
    }
    if (!error && !incoming->modern && !method->legacy)
        error = INVALID_PARAMS; /* it has no envelope */
    if (!error)
        error = state_error(oracle, incoming, method);
    if (bad_params && (error == EXIT_TOO_EARLY || error == INVALID_REQUEST))
        add_open(oracle, incoming); /* again two reasons */
    else if (error || bad_params)
        add_error(oracle, incoming, error ? error : INVALID_PARAMS);
    else
        method->serve(oracle, incoming);
}

static void on_request(struct oracle *oracle, struct incoming *incoming) {
    bool certain;
    if (!may_be_in_flight(oracle, incoming->id, &certain)) {
        on_free_request(oracle, incoming);
    } else if (certain) {
        add_error(oracle, incoming, INVALID_REQUEST);
    } else {
        add_open(oracle, incoming);
        oracle->confused = oracle->confused || changes_phase(incoming->method);
    }
}

/* Notifications. */

/* A cancelled call is answered in a legacy session and not in the modern era. One that may have
 * ended before is answered as if it had not been cancelled. */
static void on_cancel(struct oracle *oracle, struct text id) {
    for (size_t i = 0; i < oracle->count; i++) {
        struct answer *answer = &oracle->answers[i];
        if (!(answer->runs || is_subscription(answer)) || !json_same_id(text_of(answer->id), id))
            continue;
        answer->endless = false;
        if (answer->runs && answer->modern && !oracle->reply_error) {
            answer->silent = true;
            oracle->cancelled[0]++;
        } else if (answer->runs) {
            answer->may_be_cancelled = true;
        } else if (answer->acknowledged) {
            oracle_strike(oracle, answer);
        } else {
            answer->closing = true;
        }
        return;
    }
}

static void on_notification(struct oracle *oracle, const struct incoming *incoming) {
    struct text id;
    const char *method = incoming->method ? incoming->method : "";
    if (strcmp(method, "notifications/cancelled") == 0 && param(incoming, "requestId", &id))
        on_cancel(oracle, id);
    /* A request method sent as a notification is not run; whether `exit` is one is left open. */
    if (strcmp(method, "exit") == 0 && oracle->phase == PHASE_SHUTDOWN)
        oracle->confused = true;
}

/* Objects, arrays, lines. */

static bool visit_phase_change(struct text whole, struct text name, struct text value,
                               void *context) {
    (void)whole, (void)name;
    bool *changes = context;
    char *method = plain_string(value);
    *changes = *changes || changes_phase(method);
    free(method);
    return !*changes;
}

/* An answer that the contract leaves open. OBJECT may be a request that changes the phase. */
static void on_unclear_object(struct oracle *oracle, const struct incoming *incoming,
                              struct text object) {
    bool changes = false;
    add_open(oracle, incoming);
    json_walk(object, visit_phase_change, &changes);
    oracle->confused = oracle->confused || changes;
}

static void on_object(struct oracle *oracle, struct text object, size_t batch) {
    struct text version, method, id, value;
    struct incoming incoming = {.id = null_id, .params = null_id, .batch = batch};
    bool has_id = json_member(object, "id", &id);
    bool echoed = has_id && (json_kind(id) == VALUE_STRING || json_kind(id) == VALUE_NUMBER);
    bool usable = echoed && (json_kind(id) == VALUE_STRING || json_is_integer(id));
    if (echoed)
        incoming.id = id;
    if (json_has_twins(object) || (echoed && json_has_lone_surrogate(id))) {
        on_unclear_object(oracle, &incoming, object);
        /* The answers of two batches could not be distinguished. */
        oracle->confused = oracle->confused || batch;
        return;
    }
    bool has_method = json_member(object, "method", &method);
    if (json_has_zero_name(object)) {
        if (!has_method)
            incoming.id = null_id;
        add_error(oracle, &incoming, INVALID_REQUEST);
        return;
    }
    bool has_outcome =
        json_member(object, "result", &value) || json_member(object, "error", &value);
    if (has_outcome && !has_method)
        return;
    if (has_outcome) { /* neither a clear request nor a response */
        on_unclear_object(oracle, &incoming, object);
        return;
    }
    if (!json_member(object, "jsonrpc", &version) || !oracle_decodes_to(version, "2.0") ||
        !has_method || json_kind(method) != VALUE_STRING || (has_id && !usable)) {
        add_error(oracle, &incoming, INVALID_REQUEST);
        return;
    }
    json_member(object, "params", &incoming.params);
    incoming.method = plain_string(method);
    if (has_id)
        on_request(oracle, &incoming);
    else
        on_notification(oracle, &incoming);
    free(incoming.method);
}

/* Each element of a batch is a message of its own; all are answered in one array. */
static bool visit_element(struct text whole, struct text name, struct text value, void *context) {
    (void)whole, (void)name;
    struct oracle *oracle = context;
    if (json_kind(value) == VALUE_OBJECT)
        on_object(oracle, value, oracle->batch_count);
    else
        add_error(oracle, &(struct incoming){.id = null_id, .batch = oracle->batch_count},
                  INVALID_REQUEST);
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
    struct incoming unknown = {.id = null_id};
    if (line.length > oracle->line_max) {
        add_error(oracle, &unknown, PARSE_ERROR);
        return;
    }
    line = trimmed(line);
    if (line.length == 0)
        return;
    if (json_fault(line, oracle->depth_max)) {
        add_error(oracle, &unknown, PARSE_ERROR);
    } else if (json_kind(line) == VALUE_OBJECT) {
        on_object(oracle, line, 0);
    } else if (json_kind(line) != VALUE_ARRAY || !oracle->batches || json_count(line) == 0) {
        add_error(oracle, &unknown, INVALID_REQUEST);
    } else {
        oracle->batch_count++;
        json_walk(line, visit_element, oracle);
    }
}

size_t oracle_sent(struct oracle *oracle, struct text line) {
    size_t before = oracle->added;
    if (oracle->phase != PHASE_ENDED)
        on_line(oracle, line);
    return oracle->added - before;
}

void oracle_end(struct oracle *oracle) {
    for (size_t i = 0; i < oracle->count; i++)
        if (is_subscription(&oracle->answers[i]))
            oracle->answers[i].silent = false;
}

/* The state of the account. */

static bool is_due(const struct answer *answer) {
    return answer->kind != ANSWER_OPEN && !answer->silent && !answer->endless;
}

const struct answer *oracle_first_due(const struct oracle *oracle) {
    for (size_t i = 0; i < oracle->count; i++)
        if (is_due(&oracle->answers[i]))
            return &oracle->answers[i];
    return NULL;
}

size_t oracle_due(const struct oracle *oracle) {
    size_t due = 0;
    for (size_t i = 0; i < oracle->count; i++)
        due += is_due(&oracle->answers[i]);
    return due;
}

const char *oracle_endless(const struct oracle *oracle) {
    for (size_t i = 0; i < oracle->count; i++)
        if (oracle->answers[i].endless)
            return oracle->answers[i].id;
    return NULL;
}

bool oracle_is_blocked(const struct oracle *oracle) {
    size_t endless = 0;
    for (size_t i = 0; i < oracle->count; i++) {
        endless += oracle->answers[i].endless;
        if (oracle->answers[i].endless && oracle->answers[i].own_session)
            return true;
    }
    return endless >= RUNNING_MAX;
}

void oracle_settle(struct oracle *oracle) {
    for (size_t i = oracle->count; i-- > 0;)
        if (oracle->answers[i].silent && oracle->answers[i].runs)
            oracle_strike(oracle, &oracle->answers[i]);
    oracle->cancelled[1] = oracle->cancelled[0];
    oracle->cancelled[0] = 0;
}
