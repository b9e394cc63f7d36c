/* The methods and notifications of the legacy revisions, as tables, and their small handlers. */
#include "supervisor/json_inspect.h"
#include "supervisor/json_write.h"
#include "supervisor/rpc.h"
#include "supervisor/server.h"
#include "supervisor/tools.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* --- initialize --- */

/* Newest first: the first is the answer to a client from the future and to one that names none. */
static const struct revision revisions[] = {
    {.date = "2025-11-25", .annotations = true, .titles = true, .descriptions = true},
    {.date = "2025-06-18", .annotations = true, .titles = true},
    {.date = "2025-03-26", .batches = true, .annotations = true},
    {.date = "2024-11-05"},
};

enum { REVISION_COUNT = sizeof revisions / sizeof *revisions };

static const char description[] = "Evaluates untrusted Common Lisp in confined processes.";

static void append_instructions(struct buffer *out, const struct server *server) {
    cleanup_buffer struct buffer text = buffer_make(2048);
    if (server->minimal)
        buffer_append_format(&text,
                             "eclave is in minimal mode: no code can be evaluated here. Reason: %s",
                             server->minimal_reason);
    else
        buffer_append_format(
            &text,
            "evaluate-lisp runs Common Lisp (ECL) in a process that can reach no file, no network "
            "and no other program. Definitions persist from call to call. A call that runs out of "
            "time (%lld s, or its `timeout`), crashes, exits or is cancelled ends that process: "
            "the session then starts afresh and the answer says so; send definitions again. A "
            "result with isError starts with a line `[ERROR] TYPE`.",
            (long long)server->settings->call_timeout_s);
    json_write_bytes(out, text.data, text.length);
}

/* YYYY-MM-DD with a month and a day that exist in some year. */
static bool is_date(const char *text) {
    static const char shape[] = "dddd-dd-dd";
    if (strlen(text) != sizeof shape - 1)
        return false;
    for (size_t i = 0; i < sizeof shape - 1; i++)
        if (shape[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != shape[i])
            return false;
    int month = (text[5] - '0') * 10 + text[6] - '0', day = (text[8] - '0') * 10 + text[9] - '0';
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/* The revision to speak with a client that asks for VERSION (NULL: it names none), or NULL. */
static const struct revision *negotiate(struct json_object *version) {
    if (!version)
        return &revisions[0];
    const char *wanted = rpc_plain_string(version);
    if (!wanted)
        return NULL;
    for (size_t i = 0; i < REVISION_COUNT; i++)
        if (strcmp(revisions[i].date, wanted) == 0)
            return &revisions[i];
    return is_date(wanted) && strcmp(wanted, revisions[0].date) > 0 ? &revisions[0] : NULL;
}

static void refuse_version(struct request *request, struct json_object *version) {
    struct buffer *out =
        request_error_data(request, RPC_INVALID_PARAMS, "Unsupported protocol version.");
    buffer_append_text(out, "{\"supported\":[");
    for (size_t i = 0; i < REVISION_COUNT; i++)
        buffer_append_format(out, "%s\"%s\"", i ? "," : "", revisions[i].date);
    buffer_append_text(out, "],\"requested\":");
    /* As the client wrote it, but never deep or long. */
    const char *text = json_object_to_json_string_ext(version, JSON_C_TO_STRING_PLAIN |
                                                                   JSON_C_TO_STRING_NOSLASHESCAPE);
    if (text && strlen(text) <= 100)
        buffer_append_text(out, text);
    else
        buffer_append_text(out, "null");
    buffer_append_text(out, "}");
    request_end(request);
}

static void append_initialize_result(struct buffer *out, const struct server *server) {
    const struct revision *revision = server->revision;
    buffer_append_format(out, "{\"protocolVersion\":\"%s\",\"capabilities\":%s,\"serverInfo\":{",
                         revision->date,
                         server->minimal ? "{\"logging\":{}}" : "{\"logging\":{},\"tools\":{}}");
    buffer_append_text(out, "\"name\":\"eclave\",\"version\":\"" ECLAVE_VERSION "\"");
    if (revision->titles)
        buffer_append_text(out, ",\"title\":\"eclave: confined Common Lisp\"");
    if (revision->descriptions)
        buffer_append_format(out, ",\"description\":\"%s\"", description);
    buffer_append_text(out, "},\"instructions\":");
    append_instructions(out, server);
    buffer_append_text(out, "}");
}

/* Claude Code ends the connection when an answer comes for a call that it has cancelled. */
static bool closes_on_late_reply(struct json_object *params) {
    struct json_object *client, *name;
    return params && json_object_object_get_ex(params, "clientInfo", &client) &&
           json_object_is_type(client, json_type_object) &&
           json_object_object_get_ex(client, "name", &name) &&
           json_object_is_type(name, json_type_string) &&
           strcmp(json_object_get_string(name), "claude-code") == 0;
}

static void handle_initialize(struct server *server, struct request *request,
                              struct json_object *params) {
    struct json_object *version = NULL;
    if (server->revision) {
        request_error(request, RPC_INVALID_REQUEST, "Server already initialized.");
        return;
    }
    bool named = params && json_object_object_get_ex(params, "protocolVersion", &version);
    const struct revision *revision = named && !version ? NULL : negotiate(version);
    if (!revision) {
        refuse_version(request, version);
        return;
    }
    server->revision = revision;
    server->client_closes_on_late_reply = closes_on_late_reply(params);
    append_initialize_result(request_result(request), server);
    request_end(request);
    if (!server->minimal)
        pool_start(&server->pool); /* this client means to stay: boot beside the conversation */
}

/* --- the other requests --- */

static void handle_ping(struct server *server, struct request *request,
                        struct json_object *params) {
    (void)params;
    if (server->faults_left == 0) {
        request_acknowledge(request);
        return;
    }
    server->faults_left--;
    struct buffer *out = request_result(request);
    switch ((enum fault)server->settings->fault) {
    case FAULT_NEWLINE:
        buffer_append_text(out, "{\n}");
        break;
    case FAULT_UTF8:
        buffer_append_text(out, "{\"x\":\"\xC3\x28\"}");
        break;
    case FAULT_JSON:
        buffer_append_text(out, "{\"x\":}");
        break;
    case FAULT_OVERSIZE:
        buffer_reserve(out, out->maximum);
        break;
    case FAULT_EMPTY:
    case FAULT_NONE:
        break;
    }
    request_end(request);
}

static void handle_set_level(struct server *server, struct request *request,
                             struct json_object *params) {
    struct json_object *level = NULL;
    if (params)
        json_object_object_get_ex(params, "level", &level);
    const char *name = rpc_plain_string(level);
    int wanted = name ? log_level_of(name) : -1;
    if (wanted < 0) {
        struct buffer *out = request_error_data(request, RPC_INVALID_PARAMS, "Invalid log level.");
        buffer_append_text(out, "{\"supported\":[");
        for (int i = 0; i < LOG_LEVEL_COUNT; i++)
            buffer_append_format(out, "%s\"%s\"", i ? "," : "", log_level_name((enum log_level)i));
        buffer_append_text(out, "]}");
        request_end(request);
        return;
    }
    server->client_log_level = (enum log_level)wanted;
    request_acknowledge(request);
}

static void handle_shutdown(struct server *server, struct request *request,
                            struct json_object *params) {
    (void)params;
    request_acknowledge(request);
    server_begin_shutdown(server);
}

static void handle_exit(struct server *server, struct request *request,
                        struct json_object *params) {
    (void)params;
    if (!server->shutting_down) {
        request_error(request, RPC_EXIT_BEFORE_SHUTDOWN, "Shutdown not requested.");
        return;
    }
    server->exit_request = request_keep(server, request); /* answered last */
    server_drain(server);
}

static void handle_tools_list(struct server *server, struct request *request,
                              struct json_object *params) {
    if (params && json_object_object_get_ex(params, "cursor", NULL)) {
        /* One page holds all; no cursor was ever given out. */
        struct buffer *data = request_error_data(request, RPC_INVALID_PARAMS, "Invalid cursor.");
        buffer_append_text(data, "{\"name\":\"cursor\"}");
        request_end(request);
        return;
    }
    struct buffer *out = request_result(request);
    buffer_append_text(out, "{\"tools\":");
    tools_append_list(out, server);
    buffer_append_text(out, "}");
    request_end(request);
}

static const struct method methods[] = {
    /* name, before initialize, after shutdown, in minimal mode, handler */
    {"exit", true, true, true, handle_exit},
    {"initialize", true, false, true, handle_initialize},
    {"logging/setLevel", false, false, true, handle_set_level},
    {"ping", true, false, true, handle_ping},
    {"shutdown", true, true, true, handle_shutdown},
    {"tools/call", false, false, false, tools_call},
    {"tools/list", false, false, false, handle_tools_list},
};

const struct method *method_find(const char *name) {
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i].name, name) == 0)
            return &methods[i];
    return NULL;
}

/* --- notifications --- */

static bool wants_silence(const struct server *server) {
    switch ((enum cancel_reply)server->settings->cancel_reply) {
    case CANCEL_REPLY_ERROR:
        return false;
    case CANCEL_REPLY_SILENT:
        return true;
    case CANCEL_REPLY_AUTO:
        break;
    }
    return server->client_closes_on_late_reply;
}

static void handle_cancelled(struct server *server, struct json_object *params,
                             const struct json_shape *shape) {
    (void)params;
    struct request *request =
        shape->request_id.text.bytes ? request_find(&server->requests, &shape->request_id) : NULL;
    if (!request || !request->call)
        return;
    request->silent = wants_silence(server);
    call_cancel(request->call, "The client cancelled the call.");
}

static void handle_exit_notification(struct server *server, struct json_object *params,
                                     const struct json_shape *shape) {
    (void)params, (void)shape;
    if (server->shutting_down)
        server_drain(server);
}

static const struct notification notifications[] = {
    {"exit", handle_exit_notification},
    {"notifications/cancelled", handle_cancelled},
};

const struct notification *notification_find(const char *name) {
    for (size_t i = 0; i < sizeof notifications / sizeof *notifications; i++)
        if (strcmp(notifications[i].name, name) == 0)
            return &notifications[i];
    return NULL;
}
