/* Loads each Lisp source of a project as a call would, without calling its definitions. */
#include "supervisor/base/terminal.h"
#include "supervisor/command/project_commands.h"
#include "supervisor/project/invocation.h"

enum { ARGUMENTS_BYTES = 64 };

static const char indent[] = "          "; /* of further lines: below the file name */

struct sources {
    struct one_shot *one_shot;
    const struct settings *settings;
    const struct registry_entry *entry; /* being loaded */
    bool has_title;
    struct sources_tally tally;
};

/* TEXT without PREFIX, which repeats the word that begins the line. */
static struct span without(const char *prefix, struct span text) {
    size_t length = strlen(prefix);
    if (text.length >= length && memcmp(text.bytes, prefix, length) == 0)
        return (struct span){text.bytes + length, text.length - length};
    return text;
}

static void print_line(struct sources *sources, bool failed, struct span type, struct span text) {
    const struct colours colours = colours_of(stdout);
    if (!sources->has_title)
        puts("Sources");
    sources->has_title = true;
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
        fail(sources, string_span(outcome_table[outcome].type), string_span(evaluation->cause));
}

static void load(struct sources *sources) {
    static const enum run_kind kinds[REGISTRY_KINDS] = {
        [REGISTRY_TOOL] = RUN_TOOL,
        [REGISTRY_RESOURCE] = RUN_RESOURCE,
        [REGISTRY_TEMPLATE] = RUN_RESOURCE,
        [REGISTRY_PROMPT] = RUN_PROMPT,
        [REGISTRY_COMPLETION] = RUN_COMPLETION,
    };
    const struct registry_entry *entry = sources->entry;
    char arguments[ARGUMENTS_BYTES];
    struct error error;
    snprintf(arguments, sizeof arguments, "{\"kind\":\"%s\"}", run_kind_word(kinds[entry->kind]));
    const struct call_request request = {.kind = CALL_RUN,
                                         .code = {entry->body.bytes, entry->body.size},
                                         .timeout_ms =
                                             invocation_timeout_ms(sources->settings, entry, 0),
                                         .run = {.kind = RUN_LOAD,
                                                 .name = string_span(entry->key),
                                                 .arguments = string_span(arguments)},
                                         .done = on_done,
                                         .context = sources};
    if (!one_shot_run(sources->one_shot, &request, &error))
        fail(sources, (struct span){0}, string_span(error.text));
}

bool check_has_sources(const struct snapshot *snapshot) {
    for (size_t i = 0; i < snapshot->total; i++)
        if (snapshot->by_file[i]->is_lisp)
            return true;
    return false;
}

struct sources_tally check_sources(struct one_shot *one_shot, const struct settings *settings,
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
