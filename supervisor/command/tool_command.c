/* `eclave tool`: one tool of the project from a shell. The same path as a client's call, without
 * the protocol. */
#include "supervisor/base/nearest.h"
#include "supervisor/base/stdio.h"
#include "supervisor/base/terminal.h"
#include "supervisor/base/whole_file.h"
#include "supervisor/command/commands.h"
#include "supervisor/command/look.h"
#include "supervisor/command/shell_call.h"
#include "supervisor/json/json_inspect.h"
#include "supervisor/json/json_tree.h"

#include <stdio.h>
#include <string.h>

static void interrupted(void *context) {
    sessions_cancel_all(&((struct one_shot *)context)->sessions, "Interrupted.");
}

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
    return error_set(error, 0, "the project has no tool %.64s%s%s%s", name,
                     nearest.name[0] ? "; did you mean " : "", nearest.name,
                     nearest.name[0] ? "?" : "");
}

/* The text of --args: what it is, or what a file or standard input holds. */
static bool read_arguments(const char *given, struct buffer *text, struct error *error) {
    struct error why;
    if (given[0] != '@' && strcmp(given, "-") != 0)
        return buffer_append_text(text, given) ||
               error_set(error, 0, "--args is longer than request.max_bytes (%zu)", text->maximum);
    return whole_file_read(given[0] == '@' ? given + 1 : given, text, &why) ||
           error_set(error, 0, "--args: %.200s", why.text);
}

/* The arguments as an object, the caller's; NULL with *error. */
static struct json_object *parse_arguments(const struct settings *settings, const char *given,
                                           struct error *error) {
    const struct json_limits limits = {.depth = (size_t)settings->json_max_depth,
                                       .values = (size_t)settings->json_max_values};
    cleanup_buffer struct buffer text = buffer_make((size_t)settings->request_max_bytes);
    if (!read_arguments(given, &text, error))
        return NULL;
    struct json_shape shape;
    struct json_object *parsed = NULL;
    enum json_fault fault = json_inspect(text.data, text.length, limits, &shape);
    if (fault != JSON_FINE)
        error_set(error, 0, "--args: %s, at byte %zu", json_fault_text(fault), shape.fault_at);
    else if (shape.kind != JSON_OBJECT)
        error_set(error, 0, "--args must be a JSON object");
    else if (!(parsed = json_tree_parse((struct span){text.data, text.length})))
        error_set(error, 0, "--args: there is no memory for it");
    return parsed;
}

static bool print(const struct tool_call *call) {
    const struct buffer *text = &call->text, *structured = &call->structured_text;
    return shown_write(stdout, (struct span){text->data, text->length}) &&
           (!structured->length ||
            (shown_write(stdout, (struct span){structured->data, structured->length}) &&
             putchar('\n') != EOF)) &&
           fflush(stdout) == 0;
}

/* Fails before anything is run. */
static int usage_error(const struct error *error) {
    shown_complain(error->text);
    return STATUS_USAGE;
}

static int run(const struct settings *settings, const struct registry_entry *entry,
               struct json_object *arguments) {
    struct one_shot one_shot;
    struct error error;
    int status;
    if (!one_shot_open(&one_shot, settings, interrupted, &one_shot, &status, &error)) {
        fprintf(stderr, "eclave: %s\n", error.text);
        return status;
    }
    become_undumpable();
    one_shot.pool.spares_wanted = 0;
    struct tool_call call = {
        .one_shot = &one_shot, .settings = settings, .entry = entry, .arguments = arguments};
    tool_call_run(&call);
    status = call.status;
    if (!print(&call)) {
        fprintf(stderr, "eclave: writing the result: %s\n", strerror(errno));
        status = STATUS_INTERNAL;
    }
    tool_call_free(&call);
    one_shot_close(&one_shot);
    return status;
}

int command_tool(const struct settings *settings, const struct project_options *options, int count,
                 char **arguments) {
    struct error error;
    if (count != 1 || !settings->project.count) {
        error_set(&error, 0,
                  "usage: eclave tool --project DIR [OPTIONS] NAME [--args JSON|@FILE|-]");
        return usage_error(&error);
    }
    if (!stdio_fill(&error))
        return usage_error(&error);
    cleanup_json struct json_object *given =
        parse_arguments(settings, options->args ? options->args : "{}", &error);
    if (!given)
        return usage_error(&error);
    const struct snapshot *snapshot = project_look(settings, &error);
    if (!snapshot)
        return usage_error(&error);
    const struct registry_entry *entry = snapshot_find(snapshot, REGISTRY_TOOL, arguments[0]);
    int status = STATUS_USAGE;
    if (entry)
        status = run(settings, entry, given);
    else if (!explain_missing(snapshot, arguments[0], &error))
        usage_error(&error);
    snapshot_unref(snapshot);
    return status;
}
