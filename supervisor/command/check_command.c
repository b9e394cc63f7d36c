/* `eclave check`: prints what clients see of a project and what is refused, loads the sources, and
 * runs the tests. */
#include "common/cleanup.h"
#include "common/utf8.h"
#include "supervisor/base/terminal.h"
#include "supervisor/command/commands.h"
#include "supervisor/command/project_commands.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/registry/metadata.h"

enum { SHOWN_BYTES = 100 };

/* --- the outline --- */

/* Prints the first line of TEXT, shortened to SHOWN_BYTES bytes. */
static void print_text(const char *text) {
    size_t length = strcspn(text, "\r\n"), shown = length;
    if (shown > SHOWN_BYTES)
        for (shown = SHOWN_BYTES; shown && utf8_is_continuation((unsigned char)text[shown]);)
            shown--;
    shown_print(stdout, (struct span){(const unsigned char *)text, shown}, "");
    if (shown < strlen(text))
        fputs(" …", stdout);
}

static void print_part(const char *before, const char *text) {
    if (!text)
        return;
    fputs(before, stdout);
    print_text(text);
}

static bool contains(struct json_object *names, const char *name) {
    for (size_t i = 0; names && i < json_object_array_length(names); i++) {
        const char *one = json_object_get_string(json_object_array_get_idx(names, i));
        if (one && strcmp(one, name) == 0)
            return true;
    }
    return false;
}

/* ": string", or the JSON of a `type` that is not one word. */
static void print_type(struct json_object *schema) {
    struct json_object *type = json_tree_member(schema, "type");
    const char *text = metadata_text(schema, "type");
    print_part(": ", text   ? text
                     : type ? json_object_to_json_string_ext(type, JSON_C_TO_STRING_PLAIN)
                            : "any");
}

/* "(name: string, age?: integer)" */
static void print_schema(struct json_object *schema) {
    struct json_object *members = json_tree_member(schema, "properties");
    putchar('(');
    if (json_object_is_type(members, json_type_object)) {
        const char *between = "";
        json_object_object_foreach(members, name, member) {
            print_part(between, name);
            fputs(contains(json_tree_member(schema, "required"), name) ? "" : "?", stdout);
            print_type(member);
            between = ", ";
        }
    }
    fputs(schema ? ")" : "any arguments)", stdout);
}

static void print_arguments(struct json_object *arguments) {
    putchar('(');
    for (size_t i = 0; arguments && i < json_object_array_length(arguments); i++) {
        struct json_object *argument = json_object_array_get_idx(arguments, i);
        print_part(i ? ", " : "", metadata_text(argument, "name"));
        fputs(json_object_get_boolean(json_tree_member(argument, "required")) ? "" : "?", stdout);
    }
    putchar(')');
}

static void print_tool(const struct registry_entry *entry) {
    struct json_object *result = json_tree_member(entry->metadata, "outputSchema");
    print_schema(json_tree_member(entry->metadata, "inputSchema"));
    if (result) {
        fputs(" => ", stdout);
        print_schema(result);
    }
}

static void print_mime_type(const struct registry_entry *entry) {
    print_part("  ", entry->mime_type);
}

static void print_prompt(const struct registry_entry *entry) {
    print_arguments(json_tree_member(entry->metadata, "arguments"));
}

static const struct outline_kind {
    enum registry_kind kind;
    const char *title;
    void (*print)(const struct registry_entry *entry);
} kinds[] = {
    {REGISTRY_TOOL, "Tools", print_tool},
    {REGISTRY_RESOURCE, "Resources", print_mime_type},
    {REGISTRY_TEMPLATE, "Resource templates", print_mime_type},
    {REGISTRY_PROMPT, "Prompts", print_prompt},
};

static void print_kind(const struct outline_kind *kind, const struct entry_list *list) {
    if (list->count)
        printf("%s\n", kind->title);
    for (size_t i = 0; i < list->count; i++) {
        const struct registry_entry *entry = list->entries[i];
        print_part("  ", entry_shown(entry));
        kind->print(entry);
        putchar('\n');
        print_part("      ", metadata_text(entry->metadata, "description"));
        fputs(metadata_text(entry->metadata, "description") ? "\n" : "", stdout);
    }
}

static void print_findings(const char *title, const char *colour, const struct notice_list *list) {
    if (list->count)
        printf("%s%s%s\n", colour, title, colours_of(stdout).end);
    for (size_t i = 0; i < list->count; i++) {
        fputs("  ", stdout);
        shown_print_text(stdout, list->items[i].file);
        fputs(": ", stdout);
        shown_print(stdout, string_span(list->items[i].text), "      ");
        putchar('\n');
    }
}

static void print_outline(const struct snapshot *snapshot) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        print_kind(&kinds[i], &snapshot->lists[kinds[i].kind]);
    const struct colours colours = colours_of(stdout);
    print_findings("Warnings", colours.odd, &snapshot->warnings);
    print_findings("Refused", colours.bad, &snapshot->refusals);
    if (snapshot->refusals.count)
        puts("  A running server keeps the last good version of such an entry, if it has one "
             "(stale).");
}

/* --- the check --- */

struct findings {
    struct sources_tally sources;
    struct tests_tally tests;
};

/* Loads the sources and runs the tests. Returns an exit status if that is not possible, or 0. */
static int evaluate(const struct settings *settings, const struct snapshot *snapshot,
                    struct findings *findings) {
    struct one_shot one_shot;
    struct error error;
    int status = 0;
    if (!check_has_sources(snapshot))
        return 0;
    if (!one_shot_open_confined(&one_shot, settings, &status, &error)) {
        shown_complain(error.text);
        return status;
    }
    one_shot.sessions.unlogged = true;
    findings->sources = check_sources(&one_shot, settings, snapshot);
    status = findings->sources.interrupted ? STATUS_INTERRUPTED : 0;
    if (!status && !check_tests(&one_shot, settings, snapshot, &findings->tests, &error)) {
        shown_complain(error.text);
        status = STATUS_FAILED;
    }
    one_shot_close(&one_shot);
    return findings->tests.interrupted ? STATUS_INTERRUPTED : status;
}

static void summarize(const struct snapshot *snapshot, const struct findings *findings) {
    printf("tools: %zu, resources: %zu, templates: %zu, prompts: %zu, completions: %zu; "
           "refused: %zu; sources: %zu loaded, %zu failed; tests: %zu passed, %zu failed\n",
           snapshot->lists[REGISTRY_TOOL].count, snapshot->lists[REGISTRY_RESOURCE].count,
           snapshot->lists[REGISTRY_TEMPLATE].count, snapshot->lists[REGISTRY_PROMPT].count,
           snapshot->lists[REGISTRY_COMPLETION].count, snapshot->refusals.count,
           findings->sources.loaded, findings->sources.failed, findings->tests.passed,
           findings->tests.failed);
}

static int check(const struct settings *settings) {
    struct error error;
    struct findings findings = {0};
    const struct snapshot *snapshot = offline_read(settings, &error);
    if (!snapshot) {
        shown_complain(error.text);
        return STATUS_FAILED;
    }
    print_outline(snapshot);
    fflush(stdout);
    int status = evaluate(settings, snapshot, &findings);
    if (!status && !check_stray_tests(settings, snapshot, &findings.tests, &error)) {
        shown_complain(error.text);
        status = STATUS_FAILED;
    }
    summarize(snapshot, &findings);
    if (!status && (snapshot->refusals.count || findings.sources.failed || findings.tests.failed))
        status = STATUS_FAILED;
    snapshot_unref(snapshot);
    return status;
}

int command_check(const struct command_line *line) {
    struct settings own = *line->settings; /* whose other paths remain those of *settings */
    struct error error;
    int code = 0;
    cleanup_free char *directory = NULL;
    if (!line->count && !own.project.count)
        return COMMAND_MISUSED;
    if (line->count) {
        directory = path_find(line->arguments[0], NULL, PATH_DIRECTORY, &code);
        own.project = (struct path_list){.paths = {directory}, .count = 1};
        if (!directory)
            error_set(&error, code ? code : ENOTDIR, "%.100s", line->arguments[0]);
    }
    if (line->count && !directory) {
        shown_complain(error.text);
        return STATUS_USAGE;
    }
    return check(&own);
}
