/* From an input line to a handler. Each request is answered; nothing else is. */
#include "supervisor/server/rpc.h"
#include "supervisor/base/clock.h"
#include "supervisor/json/json_inspect.h"
#include "supervisor/json/json_reader.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/modern.h"
#include "supervisor/mcp/request.h"
#include "supervisor/mcp/server.h"
#include "supervisor/project/ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID_MAX_BYTES = 65536 }; /* of an id or a progress token, as raw JSON */

/* In minimal mode a project's methods are known, and not available. */
static bool has_project(const struct server *server) {
    return server->project || (server->minimal && server->settings->project.count);
}

static const struct method *find_method(const struct server *server, const char *name) {
    const struct method_table *table = server->methods;
    for (size_t i = 0; i < table->method_count; i++) {
        const struct method *method = &table->methods[i];
        if (strcmp(method->name, name) == 0)
            return (method->flags & METHOD_OF_PROJECT) && !has_project(server) ? NULL : method;
    }
    return NULL;
}

static const struct notification *find_notification(const struct server *server, const char *name) {
    const struct method_table *table = server->methods;
    for (size_t i = 0; i < table->notification_count; i++)
        if (strcmp(table->notifications[i].name, name) == 0)
            return &table->notifications[i];
    return NULL;
}

static bool has_member(struct json_object *object, const char *name) {
    return json_object_object_get_ex(object, name, NULL);
}

static void refuse_method(struct request *request, struct span name) {
    struct buffer *out = request_error_data(request, RPC_METHOD_NOT_FOUND, "Method not found.");
    buffer_append_text(out, "{\"method\":");
    json_write_bytes(out, name.bytes, name.length);
    buffer_append_text(out, "}");
    request_end(request);
}

/* Checks the state, and runs the handler. */
static void run_method(struct server *server, struct request *request, const struct method *method,
                       struct json_object *params) {
    if (server->shutting_down && !(method->flags & METHOD_AFTER_SHUTDOWN))
        request_error(request, RPC_SHUTTING_DOWN, "Server shutting down.");
    else if (!request->modern && !server->revision && !(method->flags & METHOD_BEFORE_INITIALIZE))
        request_error(request, RPC_NOT_INITIALIZED, "Server not initialized.");
    else if (server->minimal && !(method->flags & METHOD_IN_MINIMAL_MODE))
        request_error(request, RPC_METHOD_NOT_FOUND, "Method not available in minimal mode.");
    else if (params && !json_object_is_type(params, json_type_object))
        request_error(request, RPC_INVALID_PARAMS, "params must be an object.");
    else
        method->handle(server, request, params);
}

/* Steps 9 to 13 for a request with a valid envelope. METHOD: NULL if there is none of that NAME. */
static void dispatch(struct server *server, struct request *request, const struct method *method,
                     struct span name, struct json_object *params) {
    request->modern = modern_is_claimed(params);
    if (request->modern) {
        if (!modern_check_envelope(request, params))
            return;
        if (request->log_level >= 0) {
            log_hook_lower(&server->log, (enum log_level)request->log_level);
            client_log_send_held(server, (enum log_level)request->log_level);
        }
        if (method && (method->flags & METHOD_MODERN))
            run_method(server, request, method, params);
        else
            refuse_method(request, name);
    } else if (!method) {
        refuse_method(request, name);
    } else if (!(method->flags & METHOD_LEGACY)) {
        modern_refuse_bare(request);
    } else {
        run_method(server, request, method, params);
    }
}

/* Why ROOT is not a valid request or notification, or NULL. */
static const char *envelope_problem(struct json_object *root, const struct json_token *id) {
    const char *version = json_plain_string(json_tree_member(root, "jsonrpc"));
    if (!version || strcmp(version, "2.0") != 0)
        return "jsonrpc must be \"2.0\"";
    if (!json_object_is_type(json_tree_member(root, "method"), json_type_string))
        return "method must be a string";
    if (has_member(root, "result") || has_member(root, "error"))
        return "a message is either a request or a response";
    if (id->text.bytes && id->kind != JSON_STRING && !id->is_integer)
        return "id must be a string or an integer";
    if (id->has_lone_surrogate)
        return "id must be well-formed Unicode";
    if (id->text.length > ID_MAX_BYTES)
        return "id is longer than 65536 bytes"; /* every request in flight keeps its id */
    return NULL;
}

static void refuse_envelope(struct server *server, struct rpc_batch *batch,
                            const struct json_token *id, const char *reason) {
    static const char message[] = "Invalid Request";
    if (!id->text.bytes || id->has_lone_surrogate ||
        (id->kind != JSON_STRING && id->kind != JSON_NUMBER)) {
        request_refuse_unidentified(server, batch, RPC_INVALID_REQUEST, message, reason);
        return;
    }
    struct request request = {.id = *id, .batch = batch, .server = server};
    if (batch)
        batch->pending++;
    request_error_with(&request, RPC_INVALID_REQUEST, message, "reason", reason);
}

/* Answers a line, or an element of BATCH, that has FAULT. False if it has none that is answered for
 * the whole of it. */
static bool refuse_text(struct server *server, struct rpc_batch *batch, enum json_fault fault,
                        const struct json_shape *shape) {
    static const struct json_token none = {0};
    char reason[80];
    bool readable = fault == JSON_ZERO_IN_NAME;
    if (fault == JSON_FINE || (readable && shape->kind == JSON_ARRAY && !batch))
        return false; /* of an array, each element is answered for itself */
    snprintf(reason, sizeof reason, "%s, at byte %zu", json_fault_text(fault), shape->fault_at);
    if (readable) /* the id of a response must not come back */
        refuse_envelope(server, batch, shape->has_method ? &shape->id : &none, reason);
    else
        request_refuse_unidentified(server, batch, RPC_PARSE_ERROR, "Parse error", reason);
    return true;
}

/* Steps 5 to 8 for an object. */
static void handle_object(struct server *server, struct rpc_batch *batch, struct json_object *root,
                          const struct json_shape *shape) {
    if (!has_member(root, "method") && (has_member(root, "result") || has_member(root, "error"))) {
        project_take_response(server->project, root);
        return;
    }
    const char *problem = envelope_problem(root, &shape->id);
    if (problem) {
        refuse_envelope(server, batch, &shape->id, problem);
        return;
    }
    /* A string with U+0000 names no method. */
    const char *plain_name = json_plain_string(json_tree_member(root, "method"));
    const char *name = plain_name ? plain_name : "";
    struct json_object *params = json_tree_member(root, "params");
    if (!shape->id.text.bytes) {
        const struct notification *notification = find_notification(server, name);
        if (notification && (!params || json_object_is_type(params, json_type_object)))
            notification->handle(server, shape);
        return;
    }
    if (request_find(&server->requests, &shape->id)) {
        refuse_envelope(server, batch, &shape->id, "a request with this id is in flight");
        return;
    }
    const struct method *method = find_method(server, name);
    if (batch && method && !(method->flags & METHOD_IN_BATCH)) {
        refuse_envelope(server, batch, &shape->id, "this method must not be part of a batch");
        return;
    }
    struct request request = {.id = shape->id, .batch = batch, .server = server, .log_level = -1};
    const struct json_token *token = &shape->progress_token;
    if (token->text.bytes && token->text.length <= ID_MAX_BYTES && !token->has_lone_surrogate &&
        (token->kind == JSON_STRING || token->is_integer))
        request.progress_token = *token;
    if (batch)
        batch->pending++;
    dispatch(server, &request, method, json_tree_string(json_tree_member(root, "method")), params);
}

static bool batches_allowed(const struct server *server) {
    return server->settings->batches || (server->revision && server->revision->batches);
}

/* Handles a line or an element of BATCH. ROOT: NULL if it is null, or when out of memory. */
static void handle_message(struct server *server, struct rpc_batch *batch, struct json_object *root,
                           const struct json_shape *shape) {
    if (shape->kind == JSON_OBJECT && root)
        handle_object(server, batch, root, shape);
    else if (shape->kind == JSON_OBJECT)
        request_refuse_unidentified(server, batch, RPC_PARSE_ERROR, "Parse error", "out of memory");
    else
        request_refuse_unidentified(server, batch, RPC_INVALID_REQUEST, "Invalid Request",
                                    batch ? "an element of a batch must be an object"
                                          : "a message must be an object");
}

/* Handles one element of a batch that was inspected as a whole. */
static void handle_element(struct server *server, struct rpc_batch *batch, struct span element) {
    struct json_shape shape;
    enum json_fault fault =
        json_inspect(element.bytes, element.length, settings_json_limits(server->settings), &shape);
    if (refuse_text(server, batch, fault, &shape))
        return;
    cleanup_json struct json_object *root = json_tree_parse(element);
    handle_message(server, batch, root, &shape);
}

/* --- long lines and elements --- */

/* A line, or an element of a batch, that is checked, parsed, handled and freed in turns of the
 * loop. No line is read meanwhile. */
struct rpc_line {
    struct rpc_batch *batch; /* NULL for a line */
    unsigned char *copy;     /* of a line; an element is in the batch */
    struct span text;
    enum { LINE_READ, LINE_HANDLE, LINE_FREE } stage;
    struct json_reader reader;
};

static bool open_line(struct server *server, struct rpc_batch *batch, struct span text) {
    struct rpc_line *line = malloc(sizeof *line);
    unsigned char *copy = batch ? NULL : malloc(text.length);
    if (!line || (!batch && !copy)) {
        free(line);
        free(copy);
        return false;
    }
    if (copy)
        text.bytes = memcpy(copy, text.bytes, text.length);
    line->batch = batch;
    line->copy = copy;
    line->text = text;
    line->stage = LINE_READ;
    json_reader_begin(&line->reader, text, settings_json_limits(server->settings));
    server->line = line;
    return true;
}

void rpc_drop_line(struct server *server) {
    struct rpc_line *line = server->line;
    if (!line)
        return;
    json_reader_free(&line->reader);
    free(line->copy);
    free(line);
    server->line = NULL;
}

static void handle_array(struct server *server, struct span text, size_t elements);

static void handle_line(struct server *server, struct rpc_line *line) {
    struct json_reader *reader = &line->reader;
    if (line->batch)
        handle_message(server, line->batch, reader->root, &reader->shape);
    else if (reader->shape.kind == JSON_ARRAY)
        handle_array(server, line->text, reader->shape.elements);
    else
        handle_message(server, NULL, reader->root, &reader->shape);
}

/* The next turn for the open line. False when it is done. */
static bool step_line(struct server *server) {
    struct rpc_line *line = server->line;
    struct json_reader *reader = &line->reader;
    switch (line->stage) {
    case LINE_READ:
        if (json_reader_read_object(reader))
            return true;
        if (refuse_text(server, line->batch, reader->fault, &reader->shape))
            break;
        line->stage = LINE_HANDLE;
        return true;
    case LINE_HANDLE:
        handle_line(server, line);
        line->stage = LINE_FREE;
        return true;
    case LINE_FREE:
        break;
    }
    rpc_drop_line(server);
    return false;
}

/* --- batches --- */

/* Handles elements until TURN_NS have passed, at least one, or up to a long one. True when none
 * remains. */
static bool handle_elements(struct server *server, struct rpc_batch *batch, int64_t turn_ns) {
    enum { SEARCH_BYTES = 1 << 20 };
    const struct span text = {batch->text, batch->size};
    const int64_t begun_ns = clock_now_ns();
    struct span element;
    do {
        switch (json_find_element(text, &batch->next, SEARCH_BYTES, &element)) {
        case JSON_FOUND_END:
            return true;
        case JSON_FOUND_NOTHING_YET:
            continue;
        case JSON_FOUND:
            break;
        }
        if (element.length > JSON_READER_SMALL_BYTES && open_line(server, batch, element))
            return false;
        handle_element(server, batch, element);
    } while (clock_now_ns() - begun_ns < turn_ns);
    return false;
}

static void on_read_turn(void *context);

/* What is being read continues in the loop's next round, and the lines after it wait. */
static void read_later(struct server *server) {
    input_pause(&server->input, true);
    loop_timer_start(&server->loop, &server->read_turn, 0, on_read_turn, server);
}

static void read_batch(struct server *server, int64_t turn_ns) {
    struct rpc_batch *batch = server->reading;
    if (!handle_elements(server, batch, turn_ns)) {
        read_later(server);
        return;
    }
    server->reading = NULL;
    rpc_batch_close(server, batch);
    server_read_done(server);
}

static void on_read_turn(void *context) {
    struct server *server = context;
    if (server->line && step_line(server))
        read_later(server);
    else if (server->reading)
        read_batch(server, LOOP_TURN_NS);
    else
        server_read_done(server);
}

void rpc_end_reading(struct server *server) {
    loop_timer_stop(&server->loop, &server->read_turn);
    while (server->line || server->reading) {
        while (server->line && step_line(server))
            continue;
        if (server->reading)
            read_batch(server, INT64_MAX);
    }
    loop_timer_stop(&server->loop, &server->read_turn);
}

static void handle_array(struct server *server, struct span text, size_t elements) {
    if (!batches_allowed(server)) {
        request_refuse_unidentified(server, NULL, RPC_INVALID_REQUEST, "Invalid Request",
                                    "batches are not part of this revision");
        return;
    }
    if (!elements) {
        request_refuse_unidentified(server, NULL, RPC_INVALID_REQUEST, "Invalid Request",
                                    "a batch must not be empty");
        return;
    }
    server->reading = rpc_batch_open(server, text, elements);
    if (server->reading && text.length > JSON_READER_SMALL_BYTES)
        read_later(server);
    else if (server->reading)
        read_batch(server, LOOP_TURN_NS);
    else
        request_refuse_unidentified(server, NULL, RPC_INTERNAL_ERROR, "Out of memory.", "batch");
}

void rpc_handle_line(void *context, const unsigned char *bytes, size_t size) {
    struct server *server = context;
    struct json_shape shape;
    if (size > JSON_READER_SMALL_BYTES && open_line(server, NULL, (struct span){bytes, size})) {
        read_later(server);
        return;
    }
    enum json_fault fault =
        json_inspect(bytes, size, settings_json_limits(server->settings), &shape);
    if (refuse_text(server, NULL, fault, &shape))
        return;
    if (shape.kind == JSON_ARRAY) {
        handle_array(server, (struct span){bytes, size}, shape.elements);
        return;
    }
    cleanup_json struct json_object *root = json_tree_parse((struct span){bytes, size});
    handle_message(server, NULL, root, &shape);
}

void rpc_handle_too_long(void *context) {
    struct server *server = context;
    char reason[80];
    snprintf(reason, sizeof reason, "a line over request.max_bytes (%lld)",
             (long long)server->settings->request_max_bytes);
    request_refuse_unidentified(server, NULL, RPC_PARSE_ERROR, "Parse error", reason);
}
