/* See server.h. */
#include "bench/server.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS_MAX = 8, ID_TEXT_MAX = 24 };

void server_start_eclave(struct server *server, struct bench *bench, const char *const *options) {
    const char *arguments[OPTIONS_MAX + 2] = {bench->binary};
    for (size_t i = 0; options && options[i] && i < OPTIONS_MAX; i++)
        arguments[i + 1] = options[i];
    *server = (struct server){.tool = "evaluate-lisp"};
    peer_start(&server->peer, "eclave", &bench->report, arguments);
}

void server_start_reference(struct server *server, struct bench *bench) {
    const char *arguments[] = {"node", bench->reference, "stdio", NULL};
    *server = (struct server){.tool = "echo"};
    peer_start(&server->peer, "reference server", &bench->report, arguments);
}

void server_finish(struct server *server) {
    peer_finish(&server->peer);
}

void server_ready_eclave(struct server *server, struct bench *bench, const char *const *options) {
    server_start_eclave(server, bench, options);
    server_initialize(server);
}

void server_ready_reference(struct server *server, struct bench *bench) {
    server_start_reference(server, bench);
    server_initialize(server);
}

/* Whether LINE is the answer to the last request, whatever the order of its members. */
static bool is_answer(const struct server *server, const char *line) {
    char id[ID_TEXT_MAX];
    int length = snprintf(id, sizeof id, "\"id\":%d", server->last_id);
    const char *found = strstr(line, id);
    return found && (found[length] == ',' || found[length] == '}');
}

/* Reads until the answer to the last request, and skips notifications. */
static bool await(struct server *server) {
    while ((server->answer = peer_line(&server->peer, &server->answer_length)) != NULL) {
        if (is_answer(server, server->answer))
            return true;
        if (server->awaited && strstr(server->answer, server->awaited))
            server->noticed = true;
    }
    return false;
}

static bool expect(struct server *server, const char *expected) {
    return strstr(server->answer, expected) ||
           peer_fail(&server->peer, "wanted %s, got %.300s", expected, server->answer);
}

/* Sends the LINE and waits for its answer. */
static double exchange(struct server *server, const char *line, size_t length,
                       const char *expected) {
    double begin = now_ms();
    if (!peer_send(&server->peer, line, length))
        return -1;
    /* Notifications are rare, so the check of the line does not affect the time. */
    bool answered = await(server);
    double end = now_ms();
    return answered && expect(server, expected) ? end - begin : -1;
}

/* The line of a new request, after the line BEFORE; malloc'd. */
static char *make_line(struct server *server, const char *before, const char *method,
                       const char *parameters) {
    char *line = NULL;
    if (asprintf(&line, "%s{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":%s}\n",
                 before, ++server->last_id, method, parameters) < 0)
        abort();
    return line;
}

static double request(struct server *server, const char *method, const char *parameters,
                      const char *expected) {
    char *line = make_line(server, "", method, parameters);
    double ms = exchange(server, line, strlen(line), expected);
    free(line);
    return ms;
}

double server_initialize(struct server *server) {
    static const char initialized[] =
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    double ms = request(server, "initialize",
                        "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                        "\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}",
                        "\"serverInfo\"");
    peer_send(&server->peer, initialized, sizeof initialized - 1);
    return ms;
}

double server_call_tool(struct server *server, const char *tool, const char *arguments,
                        const char *expected) {
    char *parameters = NULL;
    if (asprintf(&parameters, "{\"name\":\"%s\",\"arguments\":%s}", tool, arguments) < 0)
        abort();
    double ms = request(server, "tools/call", parameters, expected);
    free(parameters);
    return ms;
}

double server_call(struct server *server, const char *arguments, const char *expected) {
    return server_call_tool(server, server->tool, arguments, expected);
}

double server_ping(struct server *server) {
    return request(server, "ping", "{}", "\"result\"");
}

static char *list_parameters(const char *cursor) {
    char *parameters = NULL;
    if ((cursor ? asprintf(&parameters, "{\"cursor\":\"%s\"}", cursor)
                : asprintf(&parameters, "{}")) < 0)
        abort();
    return parameters;
}

double server_list_tools(struct server *server, const char *cursor) {
    char *parameters = list_parameters(cursor);
    double ms = request(server, "tools/list", parameters, "\"tools\":[");
    free(parameters);
    return ms;
}

double server_ping_behind_list(struct server *server, const char *cursor) {
    char *parameters = list_parameters(cursor);
    char *list = make_line(server, "", "tools/list", parameters);
    char *both = make_line(server, list, "ping", "{}");
    double ms = exchange(server, both, strlen(both), "\"result\"");
    free(both);
    free(list);
    free(parameters);
    return ms;
}

char *server_next_cursor(const struct server *server) {
    static const char label[] = "\"nextCursor\":\"";
    const char *value = server->answer ? strstr(server->answer, label) : NULL;
    if (!value)
        return NULL;
    value += sizeof label - 1;
    char *cursor = strndup(value, strcspn(value, "\""));
    if (!cursor)
        abort();
    return cursor;
}

bool server_await_notification(struct server *server, const char *method) {
    const char *line = peer_line(&server->peer, NULL);
    while (line && !strstr(line, method))
        line = peer_line(&server->peer, NULL);
    return line != NULL;
}

double server_open_session(struct server *server, const char *from, char name[SESSION_NAME_MAX]) {
    char arguments[SESSION_NAME_MAX + 16] = "{}";
    if (from)
        snprintf(arguments, sizeof arguments, "{\"from\":\"%s\"}", from);
    double ms = server_call_tool(server, "open-session", arguments, "\"isError\":false");
    const char *label = "\"session\":\"";
    const char *value = ms < 0 ? NULL : strstr(server->answer, label);
    name[0] = '\0';
    if (ms >= 0 && !value)
        peer_fail(&server->peer, "open-session names no session: %.200s", server->answer);
    if (value)
        snprintf(name, SESSION_NAME_MAX, "%.*s", (int)strcspn(value + strlen(label), "\""),
                 value + strlen(label));
    return value ? ms : -1;
}

double server_evaluate_in(struct server *server, const char *session, const char *code,
                          const char *expected) {
    char *arguments = NULL;
    if (asprintf(&arguments, "{\"session\":\"%s\",\"code\":\"%s\"}", session, code) < 0)
        abort();
    double ms = server_call(server, arguments, expected);
    free(arguments);
    return ms;
}
