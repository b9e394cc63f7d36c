/* A project without a server and a client: reads it with the server's registry, and runs its tools
 * by the path of a client's call. */
#include "supervisor/base/status.h"
#include "supervisor/base/terminal.h"
#include "supervisor/command/project_commands.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/project/capabilities.h"
#include "supervisor/project/invocation.h"
#include "supervisor/project/project_tool.h"
#include "supervisor/registry/registry.h"
#include "supervisor/schema/schema.h"
#include "supervisor/server/builtins.h"
#include "supervisor/session/text.h"

enum { TEXT_MAX_BYTES = 1 << 30, MESSAGE_BYTES = ERROR_TEXT_BYTES + 160 };

/* --- reading --- */

struct reading {
    struct loop loop;
    struct registry *registry;
};

static void stop_when_settled(void *context) {
    struct reading *reading = context;
    if (registry_is_settled(reading->registry))
        loop_stop(&reading->loop);
}

static const struct snapshot *wait_for_snapshot(struct reading *reading, struct error *error) {
    reading->loop.before_wait = stop_when_settled;
    reading->loop.before_wait_context = reading;
    if (!loop_run(&reading->loop, error) || registry_take_failure(reading->registry, error))
        return NULL;
    return snapshot_ref(registry_snapshot(reading->registry));
}

const struct snapshot *offline_read(const struct settings *settings, struct error *error) {
    struct reading reading = {.loop = {.epoll_fd = -1}};
    struct log silent = {.out = {.fd = -1, .restore_flags = -1}, .least = LOG_LEVEL_COUNT};
    const struct registry_options options = {.is_reserved = builtins_have};
    const struct snapshot *snapshot = NULL;
    if (loop_open(&reading.loop, error)) {
        reading.registry = registry_open(&reading.loop, &silent, settings, &options, error);
        if (reading.registry)
            snapshot = wait_for_snapshot(&reading, error);
    }
    registry_close(reading.registry);
    loop_close(&reading.loop);
    return snapshot;
}

/* --- events of a running tool --- */

static void log_progress(struct offline_call *call, struct json_object *json) {
    const struct log_event event = {.level = LOG_INFO_LEVEL, .name = "progress"};
    struct json_object *total = json_tree_member(json, "total");
    struct json_object *message = json_tree_member(json, "message");
    log_write(&call->one_shot->log, &event, "%s%s%s%s%s",
              json_object_get_string(json_tree_member(json, "progress")), total ? " of " : "",
              total ? json_object_get_string(total) : "", message ? ": " : "",
              message ? json_object_get_string(message) : "");
}

static void log_message(struct offline_call *call, struct json_object *json) {
    const char *level = json_object_get_string(json_tree_member(json, "level"));
    struct json_object *data = json_tree_member(json, "data");
    const struct log_event event = {.level = (enum log_level)log_level_of(level), .name = "tool"};
    log_write(&call->one_shot->log, &event, "%s",
              json_object_is_type(data, json_type_string)
                  ? json_object_get_string(data)
                  : json_object_to_json_string_ext(data, JSON_C_TO_STRING_PLAIN));
}

static void on_event(void *context, const struct run_event *event) {
    struct offline_call *call = context;
    if (call->quiet)
        return;
    if (event->kind == RUN_PROGRESS)
        log_progress(call, event->json);
    else if (event->kind == RUN_LOG)
        log_message(call, event->json);
}

static void on_ask(void *context, struct json_object *questions) {
    struct offline_call *call = context;
    (void)questions;
    call_answer(call->one_shot->call,
                string_span("{\"error\":{\"code\":-32601,\"message\":"
                            "\"Nobody can be asked: the tool runs without a client.\"}}"));
}

/* --- its result --- */

static void refuse(struct offline_call *call, const char *type, int status, const char *message) {
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

/* A tool that returns only a structured value has the same JSON as text content. */
static bool is_structured_alone(const struct offline_call *call) {
    size_t length = call->structured_text.length;
    return length && call->text.length == length + 1 &&
           memcmp(call->text.data, call->structured_text.data, length) == 0;
}

static void take_result(struct offline_call *call, const struct run_result *result) {
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
        call->structured = json_object_get(result->value);
    }
    if (is_structured_alone(call))
        call->text.length = 0;
    call->failed = result->is_error;
    call->status = result->is_error ? outcome_table[OUTCOME_CONDITION].exit_code : 0;
}

static void print_captured(const struct offline_call *call, const struct evaluation *evaluation) {
    cleanup_buffer struct buffer printed = buffer_make(TEXT_MAX_BYTES);
    size_t shown = (size_t)call->settings->text_max_chars;
    text_append_captured(&printed, evaluation->output, shown);
    text_append_errors(&printed, evaluation, shown);
    if (printed.length && printed.data[printed.length - 1] != '\n')
        buffer_append_text(&printed, "\n");
    shown_write(stderr, (struct span){printed.data, printed.length});
}

static void on_done(void *context, const struct evaluation *evaluation) {
    struct offline_call *call = context;
    call->interrupted = evaluation->outcome == OUTCOME_CANCELLED;
    if (evaluation->run) {
        take_result(call, evaluation->run);
        if (!call->quiet)
            print_captured(call, evaluation);
    } else {
        const struct text_limits limits = text_limits_of(call->settings);
        text_append_evaluation(&call->text, evaluation, &limits);
        buffer_append_text(&call->text, "\n");
        call->failed = true;
        call->status = one_shot_status(evaluation);
    }
}

/* --- its start --- */

static bool may_run(struct offline_call *call) {
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
               "The tool requires capabilities of a client, and there is no client.");
        return false;
    }
    return true;
}

void offline_call_run(struct offline_call *call) {
    const struct registry_entry *entry = call->entry;
    struct error error = {.text = "out of memory"};
    size_t length = 0;
    call->text = buffer_make(TEXT_MAX_BYTES);
    call->structured_text = buffer_make(TEXT_MAX_BYTES);
    if (!may_run(call))
        return;
    cleanup_json struct json_object *own = entry_own_arguments(entry, call->arguments);
    const char *json =
        own ? json_object_to_json_string_length(
                  own, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &length)
            : NULL;
    const struct call_request request = {
        .kind = CALL_RUN,
        .code = {entry->body.bytes, entry->body.size},
        .timeout_ms = invocation_timeout_ms(call->settings, entry, 0),
        .run = {.kind = RUN_TOOL,
                .name = string_span(entry->name),
                .arguments = {(const unsigned char *)json, length},
                .wants_value = entry->output != NULL || call->quiet},
        .event = on_event,
        .ask = on_ask,
        .done = on_done,
        .context = call};
    if (!json || !one_shot_run(call->one_shot, &request, &error))
        refuse(call, "NO-WORKER", STATUS_INTERNAL, error.text);
}

void offline_call_free(struct offline_call *call) {
    buffer_free(&call->text);
    buffer_free(&call->structured_text);
    json_object_put(call->structured);
}
