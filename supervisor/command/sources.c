/* Has each Lisp source loaded, confined, as a call of it would. Never calls what it defines. */
#include "supervisor/command/sources.h"
#include "supervisor/base/terminal.h"
#include "supervisor/project/invocation.h"

#include <stdio.h>
#include <string.h>

enum { ARGUMENTS_BYTES = 64 };

static const char indent[] = "          "; /* below what stands behind the word of the line */

struct sources {
    struct one_shot *one_shot;
    const struct settings *settings;
    const struct registry_entry *entry; /* being loaded */
    bool titled;
    struct sources_tally tally;
};

static struct span span_of(const char *text) {
    return (struct span){(const unsigned char *)text, strlen(text)};
}

/* TEXT without the word for a type that says no more than the line does. */
static struct span without(const char *type, struct span text) {
    size_t length = strlen(type);
    if (text.length >= length && memcmp(text.bytes, type, length) == 0)
        return (struct span){text.bytes + length, text.length - length};
    return text;
}

static void print_line(struct sources *sources, bool failed, struct span type, struct span text) {
    const struct colours colours = colours_of(stdout);
    if (!sources->titled)
        puts("Sources");
    sources->titled = true;
    printf("  %s%-7s%s ", failed ? colours.bad : colours.odd, failed ? "FAILED" : "warning",
           colours.end);
    shown_print_text(stdout, sources->entry->file);
    fputs(": ", stdout);
    if (type.length) {
        shown_print(stdout, type, indent);
        fputs(": ", stdout);
    }
    shown_print(stdout, text, indent);
    putchar('\n');
}

static void fail(struct sources *sources, struct span type, struct span text) {
    sources->tally.failed++;
    print_line(sources, true, type, text);
}

static void on_done(void *context, const struct evaluation *evaluation) {
    struct sources *sources = context;
    const struct result_message *result = &evaluation->result;
    enum outcome outcome = evaluation->outcome;
    loop_stop(&sources->one_shot->loop);
    if (outcome == OUTCOME_CANCELLED) {
        sources->tally.interrupted = true;
        return;
    }
    for (size_t i = 0; i < result->warning_count; i++)
        print_line(sources, false, (struct span){0}, without("WARNING: ", result->warnings[i]));
    if (outcome == OUTCOME_VALUE)
        sources->tally.loaded++;
    else if (outcome == OUTCOME_CONDITION)
        fail(sources, without("SIMPLE-ERROR", result->condition), result->text);
    else
        fail(sources, span_of(outcome_table[outcome].type), span_of(evaluation->cause));
}

/* Resources are defined by their URI or template, all else by its name. */
static struct call *submit(struct sources *sources) {
    static const enum run_kind kinds[REGISTRY_KINDS] = {
        [REGISTRY_TOOL] = RUN_TOOL,
        [REGISTRY_RESOURCE] = RUN_RESOURCE,
        [REGISTRY_TEMPLATE] = RUN_RESOURCE,
        [REGISTRY_PROMPT] = RUN_PROMPT,
        [REGISTRY_COMPLETION] = RUN_COMPLETION,
    };
    const struct registry_entry *entry = sources->entry;
    char arguments[ARGUMENTS_BYTES];
    snprintf(arguments, sizeof arguments, "{\"kind\":\"%s\"}", run_kind_word(kinds[entry->kind]));
    const struct call_request wanted = {
        .kind = CALL_RUN,
        .code = {entry->body.bytes, entry->body.size},
        .timeout_ms = invocation_timeout_ms(sources->settings, entry, 0),
        .run = {.kind = RUN_LOAD, .name = span_of(entry->key), .arguments = span_of(arguments)},
        .done = on_done,
        .context = sources};
    return session_submit_once(&sources->one_shot->sessions, &wanted);
}

static void load(struct sources *sources) {
    struct error error;
    struct loop *loop = &sources->one_shot->loop;
    struct call *call = submit(sources);
    if (!call) {
        fail(sources, (struct span){0}, span_of("There is no memory for it."));
        return;
    }
    loop->stopped = false;
    session_step(call_session(call));
    if (!loop->stopped && !loop_run(loop, &error))
        fail(sources, (struct span){0}, span_of(error.text));
}

bool sources_are_there(const struct snapshot *snapshot) {
    for (size_t i = 0; i < snapshot->total; i++)
        if (snapshot->by_file[i]->is_lisp)
            return true;
    return false;
}

struct sources_tally sources_load(struct one_shot *one_shot, const struct settings *settings,
                                  const struct snapshot *snapshot) {
    struct sources sources = {.one_shot = one_shot, .settings = settings};
    for (size_t i = 0; i < snapshot->total && !sources.tally.interrupted; i++) {
        sources.entry = snapshot->by_file[i];
        if (sources.entry->is_lisp)
            load(&sources);
    }
    fflush(stdout);
    return sources.tally;
}
