/* Runs one tool from its arguments to its result, by the path that calls of clients take. Never
 * runs one on arguments that its schema refuses, and answers no question. */
#include "supervisor/command/shell_call.h"
#include "supervisor/base/terminal.h"
#include "supervisor/command/commands.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/project/capabilities.h"
#include "supervisor/project/invocation.h"
#include "supervisor/project/project_tool.h"
#include "supervisor/schema/schema.h"
#include "supervisor/session/text.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX_BYTES = 1 << 30, MESSAGE_BYTES = 400 };

/* --- what it says while it runs --- */

static void tell_progress(struct tool_call *call, struct json_object *json) {
    const struct log_event event = {.level = LOG_INFO_LEVEL, .name = "progress"};
    struct json_object *total = json_tree_member(json, "total");
    struct json_object *message = json_tree_member(json, "message");
    log_write(&call->one_shot->log, &event, "%s%s%s%s%s",
              json_object_get_string(json_tree_member(json, "progress")), total ? " of " : "",
              total ? json_object_get_string(total) : "", message ? ": " : "",
              message ? json_object_get_string(message) : "");
}

static void tell_log(struct tool_call *call, struct json_object *json) {
    const char *level = json_object_get_string(json_tree_member(json, "level"));
    struct json_object *data = json_tree_member(json, "data");
    const struct log_event event = {.level = (enum log_level)log_level_of(level), .name = "tool"};
    log_write(&call->one_shot->log, &event, "%s",
              json_object_is_type(data, json_type_string)
                  ? json_object_get_string(data)
                  : json_object_to_json_string_ext(data, JSON_C_TO_STRING_PLAIN));
}

static void on_event(void *context, const struct run_event *event) {
    struct tool_call *call = context;
    if (call->quiet)
        return;
    if (event->kind == RUN_PROGRESS)
        tell_progress(call, event->json);
    else if (event->kind == RUN_LOG)
        tell_log(call, event->json);
}

static void on_ask(void *context, struct json_object *questions) {
    (void)questions;
    static const char nobody[] = "{\"error\":{\"code\":-32601,\"message\":"
                                 "\"Nobody can be asked: the tool runs without a client.\"}}";
    struct tool_call *call = context;
    call_answer(call->call, (struct span){(const unsigned char *)nobody, sizeof nobody - 1});
}

/* --- its end --- */

static void refuse(struct tool_call *call, const char *type, int status, const char *message) {
    text_append_error(&call->text, type, message);
    buffer_append_text(&call->text, "\n");
    call->status = status;
    call->failed = true;
}

static void append_block(struct buffer *out, struct json_object *block) {
    const char *type = json_object_get_string(json_tree_member(block, "type"));
    const struct span text = json_tree_string(json_tree_member(block, "text"));
    if (type && strcmp(type, "text") == 0 && text.bytes) {
        buffer_append(out, text.bytes, text.length);
        if (text.length && text.bytes[text.length - 1] == '\n')
            return;
    } else {
        json_write_tree(out, block);
    }
    buffer_append_text(out, "\n");
}

/* A value for programs alone is its text for people, too: that is told once. */
static bool is_structured_alone(const struct tool_call *call) {
    size_t length = call->structured_text.length;
    return length && call->text.length == length + 1 &&
           memcmp(call->text.data, call->structured_text.data, length) == 0;
}

static void take_result(struct tool_call *call, const struct run_result *result) {
    struct error error;
    if (!project_tool_check_result(call->entry, result, &error)) {
        char message[MESSAGE_BYTES];
        snprintf(message, sizeof message, "The result of %s does not match its outputSchema: %s",
                 call->entry->name, error.text);
        refuse(call, outcome_table[OUTCOME_MALFORMED].type,
               outcome_table[OUTCOME_MALFORMED].exit_code, message);
        return;
    }
    struct json_object *content = json_tree_member(result->json, "content");
    for (size_t i = 0; content && i < json_object_array_length(content); i++)
        append_block(&call->text, json_object_array_get_idx(content, i));
    if (result->structured.bytes) {
        buffer_append(&call->structured_text, result->structured.bytes, result->structured.length);
        call->structured = run_result_structured(result);
    }
    if (is_structured_alone(call))
        call->text.length = 0;
    call->failed = result->is_error;
    call->status = result->is_error ? outcome_table[OUTCOME_CONDITION].exit_code : 0;
}

static void print_captured(const struct tool_call *call, const struct evaluation *evaluation) {
    cleanup_buffer struct buffer printed = buffer_make(TEXT_MAX_BYTES);
    size_t shown = (size_t)call->settings->output_shown_chars;
    text_append_captured(&printed, evaluation->output, shown);
    text_append_errors(&printed, evaluation, shown);
    if (printed.length && printed.data[printed.length - 1] != '\n')
        buffer_append_text(&printed, "\n");
    shown_write(stderr, (struct span){printed.data, printed.length});
}

static void on_done(void *context, const struct evaluation *evaluation) {
    struct tool_call *call = context;
    const struct text_limits limits = text_limits_of(call->settings);
    call->interrupted = evaluation->outcome == OUTCOME_CANCELLED;
    if (evaluation->run) {
        take_result(call, evaluation->run);
        if (!call->quiet)
            print_captured(call, evaluation);
    } else {
        text_append_evaluation(&call->text, evaluation, &limits);
        buffer_append_text(&call->text, "\n");
        call->failed = true;
        call->status = evaluation->exit_code;
    }
    loop_stop(&call->one_shot->loop);
}

/* --- its beginning --- */

static bool may_run(struct tool_call *call) {
    struct error error;
    const struct registry_entry *entry = call->entry;
    struct json_object *required = json_tree_member(entry->metadata, "requires");
    if (entry->input && !schema_check(entry->input, call->arguments, &error)) {
        char message[MESSAGE_BYTES];
        snprintf(message, sizeof message, "Invalid arguments for %s: %s", entry->name, error.text);
        refuse(call, "TYPE-ERROR", 1, message);
        return false;
    }
    if (required && !capabilities_include(NULL, required)) {
        refuse(call, "MISSING-CAPABILITY", 1,
               "The tool needs a client that can be asked; here is none.");
        return false;
    }
    return true;
}

static void wait_for(struct tool_call *call, const char *json, size_t length) {
    const struct registry_entry *entry = call->entry;
    struct one_shot *one_shot = call->one_shot;
    const struct call_request wanted = {
        .kind = CALL_RUN,
        .code = {entry->body.bytes, entry->body.size},
        .timeout_ms = invocation_timeout_ms(call->settings, entry, 0),
        .run = {.kind = RUN_TOOL,
                .name = {(const unsigned char *)entry->name, strlen(entry->name)},
                .arguments = {(const unsigned char *)json, length}},
        .event = on_event,
        .ask = on_ask,
        .done = on_done,
        .context = call};
    struct error error;
    call->call = json ? session_submit_once(&one_shot->sessions, &wanted) : NULL;
    if (!call->call) {
        refuse(call, "NO-WORKER", STATUS_INTERNAL, "Out of memory.");
        return;
    }
    one_shot->loop.stopped = false;
    session_step(call_session(call->call));
    if (!one_shot->loop.stopped && !loop_run(&one_shot->loop, &error))
        refuse(call, "NO-WORKER", STATUS_INTERNAL, error.text);
}

void tool_call_run(struct tool_call *call) {
    size_t length = 0;
    call->text = buffer_make(TEXT_MAX_BYTES);
    call->structured_text = buffer_make(TEXT_MAX_BYTES);
    if (!may_run(call))
        return;
    cleanup_json struct json_object *own = entry_own_arguments(call->entry, call->arguments);
    const char *json =
        own ? json_object_to_json_string_length(
                  own, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &length)
            : NULL;
    wait_for(call, json, length);
}

void tool_call_free(struct tool_call *call) {
    buffer_free(&call->text);
    buffer_free(&call->structured_text);
    json_object_put(call->structured);
}
