/* tools/call of a project's tools: checks the arguments and the result against the schemas. */
#include "supervisor/project/project_tool.h"
#include "supervisor/base/status.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/blocks.h"
#include "supervisor/mcp/server.h"
#include "supervisor/mcp/tool_call.h"
#include "supervisor/project/capabilities.h"
#include "supervisor/project/invocation.h"
#include "supervisor/project/methods.h"
#include "supervisor/schema/schema.h"
#include "supervisor/session/text.h"

#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = ERROR_TEXT_BYTES + 160 };

bool project_tool_check_result(const struct registry_entry *entry, const struct run_result *result,
                               struct error *error) {
    if (!entry->output || result->is_error)
        return true;
    if (!result->structured.bytes)
        return error_set(error, 0, "it has no structured result");
    if (!result->is_whole)
        return error_set(error, 0, "it has a member twice in one object");
    return schema_check(entry->output, result->value, error);
}

/* The result is replaced by an error, and logged. */
static void refuse_result(struct invocation *invocation, const struct evaluation *evaluation,
                          const struct error *why) {
    struct request *request = invocation->request;
    char message[MESSAGE_BYTES];
    const struct log_event event = {.level = LOG_ERROR_LEVEL, .name = "tool-output"};
    log_write(&invocation->server->log, &event, "%s: %s", invocation->name, why->text);
    snprintf(message, sizeof message, "The result of %s does not match its outputSchema: %s",
             invocation->name, why->text);
    cleanup_buffer struct buffer text = buffer_make(8192);
    text_append_error(&text, "MALFORMED-OUTPUT", message);
    tool_result(request, text.data, text.length, true, STATUS_INTERNAL);
    tool_append_facts(request, evaluation);
    request_end(request);
}

static bool has_structured(const struct run_result *result) {
    return result->structured.bytes != NULL;
}

/* As the worker wrote it, which keeps integers of any size. */
static void append_structured(struct buffer *out, const struct run_result *result) {
    json_write_raw(out, result->structured.bytes, result->structured.length);
}

/* Is the content one text? That is then the structured value, which need not be repeated for a
 * revision without structuredContent. */
static bool is_in_text(struct json_object *content) {
    struct json_object *first = json_object_array_get_idx(content, 0);
    return json_object_array_length(content) == 1 && json_tree_member(first, "text");
}

static void append_text_block(struct request *request, size_t before, const struct buffer *text) {
    struct buffer *out = request->out;
    buffer_append_text(out, before ? "," : "");
    buffer_append_text(out, "{\"type\":\"text\",\"text\":");
    json_write_bytes(out, text->data, text->length);
    buffer_append_text(out, "}");
    out->failed |= text->failed;
}

static void append_content(struct invocation *invocation, const struct evaluation *evaluation,
                           bool structured) {
    const struct run_result *result = evaluation->run;
    struct request *request = invocation->request;
    struct json_object *content = json_tree_member(result->json, "content");
    size_t count = json_object_array_length(content);
    cleanup_buffer struct buffer text = buffer_make(request->out->maximum);
    blocks_append_all(request->out, revision_of(request), content);
    if (has_structured(result) && !structured && !is_in_text(content)) {
        append_structured(&text, result);
        append_text_block(request, count++, &text);
        text.length = 0;
    }
    if (request->new_session) {
        tool_append_session(&text, request, evaluation);
        append_text_block(request, count, &text);
    }
    buffer_append_text(request->out, "]");
}

static void answer(struct invocation *invocation, const struct evaluation *evaluation) {
    struct request *request = invocation->request;
    const struct run_result *result = evaluation->run;
    const struct revision *revision = revision_of(request);
    struct error error;
    if (!project_tool_check_result(invocation->entry, result, &error)) {
        refuse_result(invocation, evaluation, &error);
        return;
    }
    bool structured = has_structured(result) && revision->since >= SINCE_2025_06 &&
                      (revision->modern || result->structured.bytes[0] == '{');
    struct buffer *out = request_result(request);
    request_member(request, "content");
    append_content(invocation, evaluation, structured);
    if (structured) {
        request_member(request, "structuredContent");
        append_structured(out, result);
    }
    request_member(request, "isError");
    buffer_append_text(out, result->is_error ? "true" : "false");
    request_meta(request);
    request_member(request, "exitCode");
    buffer_append_format(out, "%d", result->is_error ? 1 : 0);
    if (evaluation->output.length) {
        request_member(request, "stdout");
        text_write_captured(out, evaluation->output,
                            (size_t)invocation->server->settings->text_max_chars);
    }
    tool_append_facts(request, evaluation);
    request_end(request);
}

static const struct invocation_form form = {
    .kind = RUN_TOOL, .subject = "Tool", .method = "tools/call", .asks = true, .answer = answer};

void project_call_tool(struct server *server, struct request *request,
                       const struct registry_entry *entry, struct json_object *arguments,
                       struct json_object *params) {
    (void)server;
    struct error error;
    char message[MESSAGE_BYTES];
    cleanup_json struct json_object *none = json_object_new_object();
    cleanup_json struct json_object *passed = entry_own_arguments(entry, arguments);
    if (!passed || !none) {
        request_error(request, RPC_INTERNAL_ERROR, "Out of memory.");
    } else if (entry->input && !schema_check(entry->input, arguments ? arguments : none, &error)) {
        snprintf(message, sizeof message, "Invalid arguments for %s: %s", entry->name, error.text);
        tool_refuse(request, "TYPE-ERROR", message);
    } else if (!capabilities_refuse_entry(request, entry, params)) {
        /* NOLINTNEXTLINE(readability-suspicious-call-argument): bound as they were sent */
        invocation_begin(request, entry, &form, entry->name, arguments, passed, params);
    }
}
