/* `eclave tool`: one call of a tool that users define, for a shell. The same path as a call of the
 * server, without the protocol; there is nobody to ask. */
#include "common/cleanup.h"
#include "supervisor/clock.h"
#include "supervisor/commands.h"
#include "supervisor/json_inspect.h"
#include "supervisor/json_tree.h"
#include "supervisor/one_shot.h"
#include "supervisor/project_look.h"
#include "supervisor/schema.h"
#include "supervisor/stdio.h"
#include "supervisor/text.h"
#include "supervisor/undumpable.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAX_BYTES = 1 << 30, STATUS_TOOL_FAILED = 1 };

struct tool_run {
    const struct settings *settings;
    struct one_shot one_shot;
    struct registry *registry;
    const struct registry_entry *entry;
    int status;
};

static void print_json(FILE *out, struct json_object *json) {
    fprintf(out, "%s\n",
            json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN |
                                                     JSON_C_TO_STRING_NOSLASHESCAPE));
}

/* Texts as they are, everything else as JSON. */
static void print_content(struct json_object *content) {
    for (size_t i = 0; i < json_object_array_length(content); i++) {
        struct json_object *block = json_object_array_get_idx(content, i);
        const struct span text = json_tree_string(json_tree_member(block, "text"));
        if (text.bytes) {
            fwrite(text.bytes, 1, text.length, stdout);
            putchar('\n');
        } else {
            print_json(stdout, block);
        }
    }
}

static void print_result(struct tool_run *run, const struct run_result *result) {
    struct json_object *structured = json_tree_member(result->json, "structuredContent");
    struct error error;
    print_content(json_tree_member(result->json, "content"));
    run->status = result->is_error ? STATUS_TOOL_FAILED : 0;
    if (run->entry->output && !result->is_error &&
        !schema_check(run->entry->output, structured, &error)) {
        fprintf(stderr, "eclave: the result is not what outputSchema demands: %s\n", error.text);
        run->status = STATUS_INTERNAL;
    }
}

static void on_event(void *context, const struct run_event *event) {
    (void)context;
    print_json(stderr, event->json);
}

static void done(void *context, const struct evaluation *evaluation) {
    struct tool_run *run = context;
    if (evaluation->run) {
        fwrite(evaluation->output.bytes, 1, evaluation->output.length, stderr);
        fwrite(evaluation->error_output.bytes, 1, evaluation->error_output.length, stderr);
        print_result(run, evaluation->run);
    } else {
        const struct text_limits limits = text_limits_of(run->settings);
        cleanup_buffer struct buffer text = buffer_make(TEXT_MAX_BYTES);
        text_append_evaluation(&text, evaluation, &limits);
        fwrite(text.data, 1, text.length, stdout);
        putchar('\n');
        run->status = evaluation->exit_code;
    }
    if (fflush(stdout) != 0)
        run->status = STATUS_INTERNAL;
    loop_stop(&run->one_shot.loop);
}

static void interrupted(void *context) {
    struct tool_run *run = context;
    sessions_cancel_all(&run->one_shot.sessions, "Interrupted.");
}

/* The arguments as an object, the caller's; NULL with *error. */
static struct json_object *read_arguments(const struct settings *settings, const char *text,
                                          struct error *error) {
    const struct json_limits limits = {.depth = (size_t)settings->json_max_depth,
                                       .values = (size_t)settings->json_max_values};
    const struct span span = {(const unsigned char *)text, strlen(text)};
    struct json_shape shape;
    enum json_fault fault = json_inspect(span.bytes, span.length, limits, &shape);
    if (fault != JSON_FINE)
        error_set(error, 0, "--args: %s, at byte %zu", json_fault_text(fault), shape.fault_at);
    else if (shape.kind != JSON_OBJECT)
        error_set(error, 0, "--args must be a JSON object");
    else
        return json_tree_parse(span);
    return NULL;
}

static void run_tool(struct tool_run *run, const char *arguments) {
    const struct registry_entry *entry = run->entry;
    double seconds =
        entry->timeout_s > 0 ? entry->timeout_s : (double)run->settings->call_timeout_s;
    const struct call_request wanted = {
        .kind = CALL_RUN,
        .code = {entry->body.bytes, entry->body.size},
        .timeout_ms = (int64_t)ceil(seconds * CLOCK_MS_PER_S),
        .run = {.kind = RUN_TOOL,
                .name = {(const unsigned char *)entry->name, strlen(entry->name)},
                .arguments = {(const unsigned char *)arguments, strlen(arguments)}},
        .event = on_event,
        .done = done,
        .context = run};
    struct error error;
    struct call *call = session_submit_once(&run->one_shot.sessions, &wanted);
    if (!call) {
        fputs("eclave: out of memory\n", stderr);
        return;
    }
    run->one_shot.pool.spares_wanted = 0;
    session_run(call_session(call));
    if (!run->one_shot.loop.stopped && !loop_run(&run->one_shot.loop, &error))
        fprintf(stderr, "eclave: %s\n", error.text);
}

/* Finds the tool and checks what it is called with. False with *error. */
static bool prepare(struct tool_run *run, const char *name, struct json_object *arguments,
                    struct error *error) {
    struct error why;
    run->registry = project_look(&run->one_shot.loop, &run->one_shot.log, run->settings, error);
    if (!run->registry)
        return false;
    if (registry_take_failure(run->registry, error))
        return false;
    run->entry = snapshot_find(registry_snapshot(run->registry), REGISTRY_TOOL, name);
    if (!run->entry)
        return error_set(error, 0, "the project has no tool %.64s; see eclave check", name);
    return !run->entry->input || schema_check(run->entry->input, arguments, &why) ||
           error_set(error, 0, "invalid arguments for %.64s: %.150s", name, why.text);
}

int command_tool(const struct settings *settings, const char *json, int count, char **arguments) {
    struct tool_run run = {.settings = settings};
    struct error error;
    const char *text = json ? json : "{}";
    if (count != 1 || !settings->project.count) {
        fputs("eclave: usage: eclave tool NAME --project DIR [--args JSON]\n", stderr);
        return STATUS_USAGE;
    }
    cleanup_json struct json_object *given = read_arguments(settings, text, &error);
    if (!given || !stdio_fill(&error) ||
        !one_shot_open(&run.one_shot, settings, interrupted, &run, &run.status, &error)) {
        fprintf(stderr, "eclave: %s\n", error.text);
        return STATUS_USAGE;
    }
    become_undumpable();
    run.one_shot.sessions.one_shot = false; /* the world ends with the call all the same */
    run.status = STATUS_INTERNAL;
    if (prepare(&run, arguments[0], given, &error)) {
        run_tool(&run, text);
    } else {
        fprintf(stderr, "eclave: %s\n", error.text);
        run.status = STATUS_USAGE;
    }
    one_shot_close(&run.one_shot);
    registry_close(run.registry);
    return run.status;
}
