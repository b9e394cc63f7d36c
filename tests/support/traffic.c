/* See traffic.h. */
#include "tests/support/traffic.h"
#include "tests/support/eras.h"
#include "tests/support/ledger.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { ID_BYTES = 40, LINE_BYTES = 1024, SUBSCRIPTIONS_MAX = 20, ENDLESS_LINES = 8 };

struct traffic {
    struct random *random;
    struct script *script;
    unsigned long serial;
    char subscriptions[SUBSCRIPTIONS_MAX][ID_BYTES]; /* open, as far as this knows */
    size_t subscription_count;
    char endless[ID_BYTES]; /* to be cancelled; empty: none */
    size_t endless_lines;   /* before that */
};

__attribute__((format(printf, 2, 3))) static void emit(struct traffic *traffic, const char *format,
                                                       ...) {
    char *line;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&line, format, arguments) < 0)
        abort();
    va_end(arguments);
    script_add_line(traffic->script, line);
    free(line);
}

/* An id that no other line has. */
static const char *new_id(struct traffic *traffic, char id[ID_BYTES]) {
    static const char *const around[][2] = {{"", ""},
                                            {"", ""},
                                            {"-", ""},
                                            {"90071992547", ""},
                                            {"\"", "\""},
                                            {"\"listen:", "\""},
                                            {"\"\xCE\xBB ", "\""}};
    const char *const *form = random_pick(traffic->random, around);
    snprintf(id, ID_BYTES, "%s%lu%s", form[0], ++traffic->serial, form[1]);
    return id;
}

static const char *const bad_params[] = {"[1]", "\"x\"", "5", "[]"};

/* Requests that are answered at once, into LINE. */

static void put_legacy(struct traffic *traffic, const char *id, char *line) {
    static const char *const methods[] = {
        "ping", "ping",      "tools/list", "no/such", "server/discover", "subscriptions/listen",
        "",     "tools/call"};
    static const char *const cursors[] = {"\"\"", "5", "null", "\"x\""};
    if (random_percent(traffic->random, 10))
        snprintf(line, LINE_BYTES, REQUEST_WITH("%s", "ping", "%s"), id,
                 random_pick(traffic->random, bad_params));
    else if (random_percent(traffic->random, 10))
        snprintf(line, LINE_BYTES, REQUEST_WITH("%s", "tools/list", "{\"cursor\":%s}"), id,
                 random_pick(traffic->random, cursors));
    else
        snprintf(line, LINE_BYTES, REQUEST("%s", "%s"), id, random_pick(traffic->random, methods));
}

static void put_modern(struct traffic *traffic, const char *id, char *line) {
    static const char *const methods[] = {"tools/list",       "server/discover", "ping",
                                          "initialize",       "no/such",         "tools/call",
                                          "logging/setLevel", "shutdown"};
    static const char *const envelopes[] = {
        "\"" KEY_VERSION "\":\"2026-07-28\"",
        "\"" KEY_VERSION "\":\"2027-01-01\",\"" KEY_CLIENT "\":{}",
        "\"" KEY_VERSION "\":\"2025-11-25\",\"" KEY_CLIENT "\":{}",
        "\"" KEY_VERSION "\":20260728,\"" KEY_CLIENT "\":{}",
        "\"" KEY_VERSION "\":\"2026-07-28\",\"" KEY_CLIENT "\":[]",
        "\"" KEY_CLIENT "\":{},\"" KEY_VERSION "\":\"2026-07-28\",\"x\":1",
    };
    const char *method = random_pick(traffic->random, methods);
    if (random_percent(traffic->random, 25))
        snprintf(line, LINE_BYTES, REQUEST_WITH("%s", "%s", "{\"_meta\":{%s}}"), id, method,
                 random_pick(traffic->random, envelopes));
    else
        snprintf(line, LINE_BYTES, MODERN("%s", "%s"), id, method);
}

/* Evaluations. */

static void put_evaluation(struct traffic *traffic, bool modern, const char *id, const char *code,
                           char *line) {
    char meta[200] = "", session[40] = "";
    if (random_percent(traffic->random, 20))
        snprintf(meta, sizeof meta, "\"progressToken\":\"token %lu\",", ++traffic->serial);
    if (!modern && meta[0])
        meta[strlen(meta) - 1] = '\0';
    if (random_percent(traffic->random, modern ? 30 : 10))
        snprintf(session, sizeof session, ",\"session\":\"main\"");
    if (modern && random_percent(traffic->random, 20))
        snprintf(meta + strlen(meta), sizeof meta - strlen(meta),
                 "\"" KEY_LOG_LEVEL "\":\"debug\",");
    if (modern)
        snprintf(line, LINE_BYTES,
                 REQUEST_WITH("%s", "tools/call",
                              "{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":\"%s\"%s},"
                              "\"_meta\":{%s\"" KEY_VERSION "\":\"" MODERN_REVISION
                              "\",\"" KEY_CLIENT "\":{}}}"),
                 id, code, session, meta);
    else
        snprintf(line, LINE_BYTES,
                 REQUEST_WITH("%s", "tools/call",
                              "{\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":\"%s\"%s},"
                              "\"_meta\":{%s}}"),
                 id, code, session, meta);
}

static void put_quick(struct traffic *traffic, bool modern, bool countable, const char *id,
                      char *line) {
    static const char *const fixed[] = {LEDGER_FAIL, LEDGER_UNKNOWN, LEDGER_COUNT};
    char code[80];
    if (random_percent(traffic->random, 50))
        snprintf(code, sizeof code, LEDGER_LIST, ++traffic->serial);
    else
        snprintf(code, sizeof code, "%s", fixed[random_below(traffic->random, countable ? 3 : 2)]);
    put_evaluation(traffic, modern, id, code, line);
}

/* One request of any kind that may be part of a batch. */
static void put_any(struct traffic *traffic, const char *id, char *line) {
    switch (random_below(traffic->random, 4)) {
    case 0:
        put_legacy(traffic, id, line);
        break;
    case 1:
        put_modern(traffic, id, line);
        break;
    default:
        put_quick(traffic, random_percent(traffic->random, 50), true, id, line);
        break;
    }
}

/* The kinds of lines. */

static void add_request(struct traffic *traffic) {
    char id[ID_BYTES], line[LINE_BYTES];
    put_any(traffic, new_id(traffic, id), line);
    emit(traffic, "%s", line);
}

static void add_batch(struct traffic *traffic) {
    static const char *const others[] = {NOTIFICATION("notifications/x"), "1", "[]", "{}",
                                         "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"};
    char id[ID_BYTES], line[LINE_BYTES], *batch = NULL;
    size_t count = 1 + random_below(traffic->random, 6), length;
    FILE *out = open_memstream(&batch, &length);
    if (!out)
        abort();
    for (size_t i = 0; i < count; i++) {
        put_any(traffic, new_id(traffic, id), line);
        fprintf(out, "%s%s", i ? "," : "[", line);
    }
    if (random_percent(traffic->random, 30))
        fprintf(out, ",%s", random_pick(traffic->random, others));
    if (random_percent(traffic->random, 10))
        fprintf(out, "," LISTEN("%s", "{}"), new_id(traffic, id));
    fputs("]", out);
    fclose(out);
    emit(traffic, "%s", batch);
    free(batch);
}

static void add_subscription(struct traffic *traffic) {
    char id[ID_BYTES];
    if (traffic->subscription_count == SUBSCRIPTIONS_MAX)
        return;
    emit(traffic, LISTEN("%s", "{\"toolsListChanged\":true}"), new_id(traffic, id));
    snprintf(traffic->subscriptions[traffic->subscription_count++], ID_BYTES, "%s", id);
}

static void use_subscription(struct traffic *traffic) {
    if (traffic->subscription_count == 0)
        return;
    size_t which = random_below(traffic->random, traffic->subscription_count);
    char *id = traffic->subscriptions[which];
    if (random_percent(traffic->random, 30)) {
        emit(traffic, LISTEN("%s", "{}"), id); /* it is open already */
        return;
    }
    emit(traffic, CANCEL("%s"), id);
    memmove(id, traffic->subscriptions[--traffic->subscription_count], ID_BYTES);
}

static void add_endless(struct traffic *traffic) {
    char line[LINE_BYTES];
    if (traffic->endless[0])
        return;
    put_evaluation(traffic, random_percent(traffic->random, 50), new_id(traffic, traffic->endless),
                   LEDGER_ENDLESS, line);
    emit(traffic, "%s", line);
    if (random_percent(traffic->random, 10))
        emit(traffic, PING("%s"), traffic->endless); /* its id is in flight */
    traffic->endless_lines = random_below(traffic->random, ENDLESS_LINES);
}

static void end_endless(struct traffic *traffic) {
    if (traffic->endless[0] && traffic->endless_lines-- == 0) {
        emit(traffic, CANCEL("%s"), traffic->endless);
        traffic->endless[0] = '\0';
    }
}

static void add_cancelled(struct traffic *traffic) {
    char id[ID_BYTES], line[LINE_BYTES];
    put_quick(traffic, random_percent(traffic->random, 50), false, new_id(traffic, id), line);
    emit(traffic, "%s", line);
    if (random_percent(traffic->random, 50))
        add_request(traffic);
    emit(traffic, CANCEL("%s"), id);
}

static void add_nonsense(struct traffic *traffic) {
    static const char *const lines[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":1,",
        "nonsense",
        "{}",
        "7",
        "[]",
        "[1,2]",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"1.0\",\"id\":\"old\",\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"x\"}}",
        NOTIFICATION("notifications/initialized"),
        NOTIFICATION("tools/list"),
        NOTIFICATION_WITH("notifications/roots/list_changed", "{" ENVELOPE "}"),
        NOTIFICATION_WITH("notifications/cancelled", "{}"),
        NOTIFICATION_WITH("notifications/cancelled", "[]"),
        CANCEL("\"nobody\""),
        CANCEL("null"),
        INITIALIZE("\"again\"", "\"2025-11-25\""),
        MODERN("\"unheard\"", "subscriptions/listen"),
    };
    emit(traffic, "%s", random_pick(traffic->random, lines));
}

static const struct {
    unsigned percent;
    void (*add)(struct traffic *traffic);
} kinds[] = {{63, add_request}, {7, add_batch},     {6, add_subscription}, {6, use_subscription},
             {4, add_endless},  {4, add_cancelled}, {10, add_nonsense}};

static void add_line(struct traffic *traffic) {
    size_t kind = 0, chance = random_below(traffic->random, 100);
    while (chance >= kinds[kind].percent)
        chance -= kinds[kind++].percent;
    kinds[kind].add(traffic);
    end_endless(traffic);
}

void traffic_generate(struct random *random, const char *revision, size_t count,
                      struct script *script) {
    enum { BEFORE_HANDSHAKE = 40 };
    struct traffic traffic = {.random = random, .script = script, .serial = 100};
    size_t before = random_below(random, BEFORE_HANDSHAKE);
    while (script->count < before) {
        char id[ID_BYTES], line[LINE_BYTES];
        put_any(&traffic, new_id(&traffic, id), line);
        emit(&traffic, "%s", line);
    }
    emit(&traffic, INITIALIZE("\"hello\"", "\"%s\""), revision);
    while (script->count < count)
        add_line(&traffic);
    while (traffic.endless[0])
        end_endless(&traffic);
}
