/* Building and sending answers, and the table of requests in flight. */
#include "supervisor/mcp/request.h"
#include "common/cleanup.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/revision.h"
#include "supervisor/mcp/server.h"
#include "supervisor/mcp/task.h"
#include "supervisor/mcp/transcript.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

enum {
    ERROR_ROOM_BYTES = 8192,
    ERROR_BYTES = 160 /* the error that replaces a response that does not fit, with a short id */
};

static const struct json_token null_id = {.text = {(const unsigned char *)"null", 4},
                                          .kind = JSON_LITERAL};

static const unsigned char *copy_token(const struct json_token *token) {
    unsigned char *copy = token->text.bytes ? malloc(token->text.length) : NULL;
    if (copy)
        memcpy(copy, token->text.bytes, token->text.length);
    return copy;
}

static void free_token(const unsigned char *bytes) {
    free((void *)(uintptr_t)bytes);
}

struct request *request_keep(struct server *server, const struct request *request) {
    struct request *kept = malloc(sizeof *kept);
    const unsigned char *id = copy_token(&request->id);
    const unsigned char *token = copy_token(&request->progress_token);
    if (!kept || !id || (request->progress_token.text.bytes && !token)) {
        free(kept);
        free_token(id);
        free_token(token);
        return NULL;
    }
    *kept = *request;
    kept->id.text.bytes = id;
    kept->progress_token.text.bytes = token;
    kept->next = server->requests.in_flight;
    server->requests.in_flight = kept;
    if (kept->takes_task)
        task_offer(kept);
    return kept;
}

struct request *request_find(const struct requests *requests, const struct json_token *id) {
    struct request *request = requests->in_flight;
    while (request && (request->silent || request->task || !json_token_equal(&request->id, id)))
        request = request->next;
    return request;
}

/* Frees a kept request. */
static void release(struct request *request) {
    for (struct request **link = &request->server->requests.in_flight; *link; link = &(*link)->next)
        if (*link == request) {
            *link = request->next;
            loop_timer_stop(&request->server->loop, &request->heartbeat);
            loop_timer_stop(&request->server->loop, &request->task_timer);
            if (request->task)
                task_end(request->task);
            free_token(request->id.text.bytes);
            free_token(request->progress_token.text.bytes);
            json_object_put(request->filter);
            json_object_put(request->watched);
            transcript_call_free(request->recorded);
            free(request);
            return;
        }
}

/* --- batches --- */

struct rpc_batch *rpc_batch_open(struct server *server, struct span text, size_t elements) {
    struct rpc_batch *batch = calloc(1, sizeof *batch);
    unsigned char *copy = malloc(text.length);
    if (!batch || !copy) {
        free(batch);
        free(copy);
        return NULL;
    }
    memcpy(copy, text.bytes, text.length);
    *batch =
        (struct rpc_batch){.to_come = elements, .open = true, .text = copy, .size = text.length};
    batch->responses = buffer_make((size_t)server->settings->response_max_bytes + ERROR_ROOM_BYTES);
    buffer_append_text(&batch->responses, "[");
    return batch;
}

static void batch_finish(struct server *server, struct rpc_batch *batch) {
    if (batch->open || batch->pending)
        return;
    if (batch->count) {
        struct buffer *line = output_line_begin(&server->output);
        buffer_append(line, batch->responses.data, batch->responses.length);
        buffer_append_text(line, "]");
        line->failed |= batch->responses.failed; /* the gate then answers that it is too long */
        output_line_end(&server->output, null_id.text);
    }
    buffer_free(&batch->responses);
    free(batch);
}

void rpc_batch_close(struct server *server, struct rpc_batch *batch) {
    batch->open = false;
    free(batch->text);
    batch->text = NULL;
    batch_finish(server, batch);
}

/* Adds one response. One that no longer fits into the line of the array is replaced by the error
 * for a response that is too long; room for such an error is reserved for each response to come. */
static void batch_add(struct server *server, struct rpc_batch *batch, const struct buffer *element,
                      struct span id) {
    size_t limit = (size_t)server->settings->response_max_bytes;
    if (batch->to_come)
        batch->to_come--;
    size_t reserved = (batch->to_come + 1) * ERROR_BYTES;
    bool fits = element->length <= ERROR_BYTES ||
                batch->responses.length + element->length + reserved <= limit;
    if (batch->count++)
        buffer_append_text(&batch->responses, ",");
    output_check(&server->output, &batch->responses, (struct span){element->data, element->length},
                 element->failed || !fits, id);
}

/* --- answers --- */

static struct buffer *begin(struct request *request) {
    struct server *server = request->server;
    if (request->task) {
        request->element =
            buffer_make((size_t)server->settings->response_max_bytes - TASK_ROOM_BYTES);
        return request->out = &request->element;
    }
    if (request->batch) {
        request->element = buffer_make((size_t)server->settings->response_max_bytes);
        request->out = &request->element;
    } else {
        request->out = output_line_begin(&server->output);
    }
    buffer_append_text(request->out, "{\"jsonrpc\":\"2.0\",\"id\":");
    buffer_append(request->out, request->id.text.bytes, request->id.text.length);
    return request->out;
}

void request_member(struct request *request, const char *name) {
    if (request->members++)
        buffer_append_text(request->out, ",");
    json_write_name(request->out, name);
}

static struct buffer *begin_result(struct request *request, const char *type) {
    struct buffer *out = begin(request);
    buffer_append_text(out, ",\"result\":{");
    request->part = PART_RESULT;
    request->members = 0;
    if (request->modern) {
        request_member(request, "resultType");
        json_write_string(out, type);
    }
    return out;
}

struct buffer *request_result(struct request *request) {
    return begin_result(request, "complete");
}

struct buffer *request_input_required(struct request *request) {
    return begin_result(request, "input_required");
}

void request_meta(struct request *request) {
    request_member(request, "_meta");
    buffer_append_text(request->out, "{");
    request->part = PART_META;
    request->members = 0;
    if (request->modern) {
        request_member(request, "io.modelcontextprotocol/serverInfo");
        revision_append_server_info(request->out, revision_modern);
    }
}

static struct buffer *begin_error(struct request *request, enum rpc_code code,
                                  struct span message) {
    struct buffer *out = begin(request);
    buffer_append_format(out, ",\"error\":{\"code\":%d,\"message\":", (int)code);
    json_write_bytes(out, message.bytes, message.length);
    request->part = PART_ERROR;
    return out;
}

struct buffer *request_error_text(struct request *request, enum rpc_code code,
                                  struct span message) {
    struct buffer *out = begin_error(request, code, message);
    buffer_append_text(out, ",\"data\":");
    return out;
}

struct buffer *request_error_data(struct request *request, enum rpc_code code,
                                  const char *message) {
    return request_error_text(request, code, string_span(message));
}

/* Closes the open objects: `_meta` in `result`, `result` or `error`, and the message. */
static void close_parts(struct request *request) {
    if (request->part == PART_RESULT && request->modern)
        request_meta(request);
    buffer_append_text(request->out, request->part == PART_META ? "}}}" : "}}");
}

/* The client has its answer: its id is free again, and nothing more is sent for it. */
void request_become_task(struct request *request, struct task *task) {
    begin_result(request, "task");
    task_append(request, task, false);
    close_parts(request);
    output_line_end(&request->server->output, request->id.text);
    loop_timer_stop(&request->server->loop, &request->heartbeat);
    request->reports = false;
    request->log_level = -1;
    request->task = task;
}

void request_end(struct request *request) {
    struct server *server = request->server;
    struct rpc_batch *batch = request->batch;
    close_parts(request);
    if (request->task) {
        task_answer(request->task, &request->element, request->part == PART_ERROR);
        buffer_free(&request->element);
    } else if (batch) {
        batch_add(server, batch, &request->element, request->id.text);
        buffer_free(&request->element);
        batch->pending--;
    } else {
        output_line_end(&server->output, request->id.text);
    }
    release(request);
    if (batch)
        batch_finish(server, batch);
}

void request_error_with(struct request *request, enum rpc_code code, const char *message,
                        const char *member, const char *value) {
    struct buffer *out = request_error_data(request, code, message);
    buffer_append_format(out, "{\"%s\":", member);
    json_write_string(out, value);
    buffer_append_text(out, "}");
    request_end(request);
}

void request_error_invalid(struct request *request, const char *name, const char *message) {
    request_error_with(request, RPC_INVALID_PARAMS, message, "name", name);
}

void request_error_limit(struct request *request, enum rpc_code code, const char *message,
                         const char *name, int64_t limit) {
    struct buffer *out = request_error_data(request, code, message);
    buffer_append_format(out, "{\"limit\":%lld,\"name\":\"%s\"}", (long long)limit, name);
    request_end(request);
}

void request_error(struct request *request, enum rpc_code code, const char *message) {
    begin_error(request, code, string_span(message));
    request_end(request);
}

void request_acknowledge(struct request *request) {
    request_result(request);
    request_end(request);
}

void request_drop(struct request *request) {
    struct server *server = request->server;
    struct rpc_batch *batch = request->batch;
    release(request);
    if (batch) {
        batch->pending--;
        batch_finish(server, batch);
    }
}

void request_refuse_unidentified(struct server *server, struct rpc_batch *batch, enum rpc_code code,
                                 const char *message, const char *reason) {
    struct request request = {.id = null_id, .batch = batch, .server = server};
    if (batch)
        batch->pending++;
    request_error_with(&request, code, message, "reason", reason);
}
