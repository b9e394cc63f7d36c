/* `eclave tool`: calls a tool of a project from a shell. */
#include "common/utf8.h"
#include "supervisor/base/nearest.h"
#include "supervisor/base/terminal.h"
#include "supervisor/base/whole_file.h"
#include "supervisor/command/commands.h"
#include "supervisor/command/project_commands.h"
#include "supervisor/json/json_inspect.h"
#include "supervisor/json/json_tree.h"

/* Why the project does not offer the tool NAME. Returns false. */
static bool explain_missing(const struct snapshot *snapshot, const char *name,
                            struct error *error) {
    char file[80];
    const struct entry_list *tools = &snapshot->lists[REGISTRY_TOOL];
    struct nearest nearest = nearest_to(name);
    snprintf(file, sizeof file, "tools/%.64s.lisp", name);
    for (size_t i = 0; i < snapshot->refusals.count; i++)
        if (strcmp(snapshot->refusals.items[i].file, file) == 0)
            return error_set(error, 0, "%s is refused: %.160s", file,
                             snapshot->refusals.items[i].text);
    for (size_t i = 0; i < tools->count; i++)
        nearest_offer(&nearest, tools->entries[i]->name);
    return error_set(error, 0, "the project has no tool %.64s%s", name,
                     nearest_hint(&nearest, "").text);
}

/* Reads the JSON of --args: VALUE itself, or a file or standard input that it names. */
static bool read_arguments(const char *value, struct buffer *text, struct error *error) {
    struct error why;
    if (value[0] != '@' && strcmp(value, "-") != 0)
        return buffer_append_text(text, value) ||
               error_set(error, 0, "--args is longer than request.max_bytes (%zu)", text->maximum);
    return whole_file_read(value[0] == '@' ? value + 1 : value, text, &why) ||
           error_set(error, 0, "--args: %.200s", why.text);
}

/* The arguments as an object, which the caller owns; NULL with *error. */
static struct json_object *parse_arguments(const struct settings *settings, const char *value,
                                           struct error *error) {
    const struct json_limits limits = {.depth = (size_t)settings->json_max_depth,
                                       .values = (size_t)settings->json_max_values};
    cleanup_buffer struct buffer text = buffer_make((size_t)settings->request_max_bytes);
    if (!read_arguments(value, &text, error))
        return NULL;
    const struct span json = utf8_without_mark((struct span){text.data, text.length});
    struct json_shape shape;
    struct json_object *parsed = NULL;
    enum json_fault fault = json_inspect(json.bytes, json.length, limits, &shape);
    if (fault != JSON_FINE)
        error_set(error, 0, "--args: %s, at byte %zu", json_fault_text(fault), shape.fault_at);
    else if (shape.kind != JSON_OBJECT)
        error_set(error, 0, "--args must be a JSON object");
    else if (!(parsed = json_tree_parse(json)))
        error_set(error, 0, "--args: out of memory");
    return parsed;
}

static void print_result(const struct offline_call *call) {
    const struct buffer *text = &call->text, *structured = &call->structured_text;
    shown_write(stdout, (struct span){text->data, text->length});
    if (structured->length) {
        shown_write(stdout, (struct span){structured->data, structured->length});
        putchar('\n');
    }
}

static int usage_error(const struct error *error) {
    shown_complain(error->text);
    return STATUS_USAGE;
}

static int run(const struct settings *settings, const struct registry_entry *entry,
               struct json_object *arguments) {
    struct one_shot one_shot;
    struct error error;
    int status;
    if (!one_shot_open_confined(&one_shot, settings, &status, &error)) {
        shown_complain(error.text);
        return status;
    }
    one_shot.pool.spares_wanted = 0;
    one_shot.sessions.unlogged = !settings->log_level_set; /* it is in the result */
    struct offline_call call = {
        .one_shot = &one_shot, .settings = settings, .entry = entry, .arguments = arguments};
    offline_call_run(&call);
    print_result(&call);
    status = call.status;
    offline_call_free(&call);
    one_shot_close(&one_shot);
    return status;
}

int command_tool(const struct command_line *line) {
    const struct settings *settings = line->settings;
    const char *name = line->arguments[0];
    struct error error;
    if (!settings->project.count)
        return COMMAND_MISUSED;
    cleanup_json struct json_object *arguments =
        parse_arguments(settings, line->args ? line->args : "{}", &error);
    if (!arguments)
        return usage_error(&error);
    const struct snapshot *snapshot = offline_read(settings, &error);
    if (!snapshot)
        return usage_error(&error);
    const struct registry_entry *entry = snapshot_find(snapshot, REGISTRY_TOOL, name);
    int status = STATUS_USAGE;
    if (entry)
        status = run(settings, entry, arguments);
    else if (!explain_missing(snapshot, name, &error))
        usage_error(&error);
    snapshot_unref(snapshot);
    return status;
}
