/* The tables of methods and notifications, and the small handlers. */
#include "supervisor/project/methods.h"
#include "supervisor/json/json_inspect.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/modern.h"
#include "supervisor/mcp/revision.h"
#include "supervisor/mcp/server.h"
#include "supervisor/server/describe.h"
#include "supervisor/server/methods.h"
#include "supervisor/server/resources.h"
#include "supervisor/server/serve.h"
#include "supervisor/server/subscriptions.h"
#include "supervisor/server/tasks.h"
#include "supervisor/server/tools.h"

#include <stdio.h>
#include <string.h>

/* --- initialize --- */

enum { ECHO_MAX_BYTES = 100, INSTRUCTIONS_MAX_BYTES = 64 << 10 };

static void refuse_version(struct request *request, struct json_object *version) {
    struct buffer *out =
        request_error_data(request, RPC_INVALID_PARAMS, "Unsupported protocol version.");
    buffer_append_text(out, "{\"supported\":");
    revision_append_dates(out, true, false);
    buffer_append_text(out, ",\"requested\":");
    const char *text = json_object_to_json_string_ext(version, JSON_C_TO_STRING_PLAIN |
                                                                   JSON_C_TO_STRING_NOSLASHESCAPE);
    buffer_append_text(out, text && strlen(text) <= ECHO_MAX_BYTES ? text : "null");
    buffer_append_text(out, "}");
    request_end(request);
}

/* Has PARAMS what MCP's schema requires of them in each revision? If not, answers with the place of
 * the first member that is missing or has another type. */
static bool check_handshake(struct request *request, struct json_object *params) {
    static const struct {
        const char *place, *outer, *name;
        enum json_type type;
    } required[] = {
        {"protocolVersion", NULL, "protocolVersion", json_type_string},
        {"capabilities", NULL, "capabilities", json_type_object},
        {"clientInfo", NULL, "clientInfo", json_type_object},
        {"clientInfo.name", "clientInfo", "name", json_type_string},
        {"clientInfo.version", "clientInfo", "version", json_type_string},
    };
    for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
        struct json_object *object =
            required[i].outer ? json_tree_member(params, required[i].outer) : params;
        if (json_object_is_type(json_tree_member(object, required[i].name), required[i].type))
            continue;
        char message[64];
        snprintf(message, sizeof message, "%s must be %s.", required[i].place,
                 required[i].type == json_type_string ? "a string" : "an object");
        request_error_invalid(request, required[i].place, message);
        return false;
    }
    return true;
}

/* Claude Code closes the connection when it receives an answer to a call that it has cancelled. */
static bool closes_on_late_reply(struct json_object *params) {
    const char *name =
        json_plain_string(json_tree_member(json_tree_member(params, "clientInfo"), "name"));
    return name && strcmp(name, "claude-code") == 0;
}

static void append_instructions(const struct server *server, struct request *request) {
    cleanup_buffer struct buffer text = buffer_make(INSTRUCTIONS_MAX_BYTES);
    describe_instructions(&text, server, request);
    request_member(request, "instructions");
    json_write_bytes(request->out, text.data, text.length);
}

static void handle_initialize(struct server *server, struct request *request,
                              struct json_object *params) {
    struct json_object *version = NULL;
    if (server->revision) {
        request_error(request, RPC_INVALID_REQUEST, "Server already initialized.");
        return;
    }
    bool named = params && json_object_object_get_ex(params, "protocolVersion", &version);
    const struct revision *revision = revision_negotiate(version);
    if (named && !revision) {
        refuse_version(request, version);
        return;
    }
    if (!check_handshake(request, params))
        return;
    server->revision = revision;
    server->declared_project = server->offers_project;
    server->client_closes_on_late_reply = closes_on_late_reply(params);
    server->client_capabilities = json_object_get(json_tree_member(params, "capabilities"));
    struct buffer *out = request_result(request);
    request_member(request, "protocolVersion");
    json_write_string(out, revision->date);
    request_member(request, "capabilities");
    revision_append_capabilities(out, server, revision);
    request_member(request, "serverInfo");
    revision_append_server_info(out, revision);
    append_instructions(server, request);
    request_end(request);
    server_warm_up(server);
}

/* --- the other requests --- */

/* For tests: a response that the output gate must stop. */
static void spoil(struct buffer *out, enum fault fault) {
    switch (fault) {
    case FAULT_NEWLINE:
        buffer_append_text(out, "\n");
        break;
    case FAULT_UTF8:
        buffer_append_text(out, "\"x\":\"\xC3\x28\"");
        break;
    case FAULT_JSON:
        buffer_append_text(out, "\"x\":");
        break;
    case FAULT_OVERSIZE:
        buffer_reserve(out, out->maximum);
        break;
    case FAULT_EMPTY:
        out->length--; /* removes the opening brace */
        break;
    case FAULT_NONE:
        break;
    }
}

static void handle_ping(struct server *server, struct request *request,
                        struct json_object *params) {
    (void)params;
    if (server->faults_left == 0) {
        request_acknowledge(request);
        return;
    }
    server->faults_left--;
    spoil(request_result(request), (enum fault)server->settings->fault);
    request_end(request);
}

static void handle_set_level(struct server *server, struct request *request,
                             struct json_object *params) {
    struct json_object *level = NULL;
    if (params)
        json_object_object_get_ex(params, "level", &level);
    const char *name = json_plain_string(level);
    int wanted = name ? log_level_of(name) : -1;
    if (wanted < 0) {
        struct buffer *out = request_error_data(request, RPC_INVALID_PARAMS, "Invalid log level.");
        buffer_append_text(out, "{\"supported\":[");
        for (int i = 0; i < LOG_LEVEL_COUNT; i++)
            buffer_append_format(out, "%s\"%s\"", i ? "," : "", log_level_names[i]);
        buffer_append_text(out, "]}");
        request_end(request);
        return;
    }
    server->client_log.least = (enum log_level)wanted;
    log_hook_lower(&server->log, server->client_log.least);
    request_acknowledge(request);
    client_log_send_held(server, server->client_log.least);
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
    if (server->exit_request) { /* a second one in the same batch */
        request_acknowledge(request);
        return;
    }
    server->exit_request = request_keep(server, request); /* answered last */
    server_drain(server);
}

static void handle_discover(struct server *server, struct request *request,
                            struct json_object *params) {
    (void)params;
    struct buffer *out = request_result(request);
    request_member(request, "supportedVersions");
    revision_append_dates(out, true, true);
    request_member(request, "capabilities");
    revision_append_capabilities(out, server, revision_modern);
    append_instructions(server, request);
    modern_append_caching(request);
    request_end(request);
}

static const struct method methods[] = {
    {"completion/complete", METHOD_BOTH_ERAS | METHOD_IN_BATCH, resources_complete},
    {"exit",
     METHOD_LEGACY | METHOD_BEFORE_INITIALIZE | METHOD_AFTER_SHUTDOWN | METHOD_IN_MINIMAL_MODE |
         METHOD_IN_BATCH,
     handle_exit},
    {"initialize", METHOD_LEGACY | METHOD_BEFORE_INITIALIZE | METHOD_IN_MINIMAL_MODE,
     handle_initialize},
    {"logging/setLevel", METHOD_LEGACY | METHOD_IN_MINIMAL_MODE | METHOD_IN_BATCH,
     handle_set_level},
    {"ping", METHOD_LEGACY | METHOD_BEFORE_INITIALIZE | METHOD_IN_MINIMAL_MODE | METHOD_IN_BATCH,
     handle_ping},
    {"prompts/get", METHOD_BOTH_ERAS | METHOD_IN_BATCH, prompts_get},
    {"prompts/list", METHOD_BOTH_ERAS | METHOD_IN_BATCH, prompts_list},
    {"resources/list", METHOD_BOTH_ERAS | METHOD_IN_BATCH, resources_list},
    {"resources/read", METHOD_BOTH_ERAS | METHOD_IN_BATCH, resources_read},
    {"resources/subscribe", METHOD_LEGACY | METHOD_IN_BATCH | METHOD_OF_PROJECT,
     resources_subscribe},
    {"resources/templates/list", METHOD_BOTH_ERAS | METHOD_IN_BATCH, resources_list_templates},
    {"resources/unsubscribe", METHOD_LEGACY | METHOD_IN_BATCH | METHOD_OF_PROJECT,
     project_unsubscribe},
    {"server/discover",
     METHOD_MODERN | METHOD_BEFORE_INITIALIZE | METHOD_IN_MINIMAL_MODE | METHOD_IN_BATCH,
     handle_discover},
    {"shutdown",
     METHOD_LEGACY | METHOD_BEFORE_INITIALIZE | METHOD_AFTER_SHUTDOWN | METHOD_IN_MINIMAL_MODE |
         METHOD_IN_BATCH,
     handle_shutdown},
    {"subscriptions/listen", METHOD_MODERN | METHOD_BEFORE_INITIALIZE | METHOD_IN_MINIMAL_MODE,
     subscriptions_listen},
    {"tasks/cancel", METHOD_MODERN | METHOD_IN_BATCH, tasks_cancel},
    {"tasks/get", METHOD_MODERN | METHOD_IN_BATCH, tasks_get},
    {"tasks/update", METHOD_MODERN | METHOD_IN_BATCH, tasks_update},
    {"tools/call", METHOD_BOTH_ERAS | METHOD_IN_BATCH, tools_call},
    {"tools/list", METHOD_BOTH_ERAS | METHOD_IN_BATCH, tools_list},
};

/* --- notifications --- */

static bool expects_no_answer(const struct server *server, const struct request *request) {
    switch ((enum cancel_reply)server->settings->cancel_reply) {
    case CANCEL_REPLY_ERROR:
        return false;
    case CANCEL_REPLY_SILENT:
        return true;
    case CANCEL_REPLY_AUTO:
        break;
    }
    return request->modern || server->client_closes_on_late_reply;
}

static void handle_cancelled(struct server *server, const struct json_shape *shape) {
    struct request *request =
        shape->request_id.text.bytes ? request_find(&server->requests, &shape->request_id) : NULL;
    if (request && request->listening) {
        request_drop(request);
    } else if (request && request->call) {
        request->silent = expects_no_answer(server, request);
        call_cancel(request->call, "The client cancelled the call.");
    }
}

static void handle_exit_notification(struct server *server, const struct json_shape *shape) {
    (void)shape;
    if (server->shutting_down)
        server_drain(server);
}

static void handle_initialized(struct server *server, const struct json_shape *shape) {
    (void)shape;
    server->initialized = server->revision != NULL;
    if (server->initialized)
        client_log_send_held(server, server->client_log.least);
}

static const struct notification notifications[] = {
    {"exit", handle_exit_notification},
    {"notifications/cancelled", handle_cancelled},
    {"notifications/initialized", handle_initialized},
};

const struct method_table method_table = {.methods = methods,
                                          .method_count = sizeof methods / sizeof *methods,
                                          .notifications = notifications,
                                          .notification_count =
                                              sizeof notifications / sizeof *notifications};
