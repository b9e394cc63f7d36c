/* Prints a snapshot of a project. Lets no text of it reach a terminal but through terminal.h. */
#include "supervisor/command/outline.h"
#include "supervisor/base/terminal.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/registry/metadata.h"

#include <string.h>

enum { SHOWN_BYTES = 100 };

/* The first line of TEXT, or its first SHOWN_BYTES bytes and some of them. */
static void print_text(FILE *out, const char *text) {
    size_t length = strcspn(text, "\r\n"), shown = length;
    if (shown > SHOWN_BYTES)
        for (shown = SHOWN_BYTES; shown && ((unsigned char)text[shown] & 0xC0) == 0x80;)
            shown--;
    shown_print(out, (struct span){(const unsigned char *)text, shown}, "");
    if (shown < strlen(text))
        fputs(" …", out);
}

static void print_part(FILE *out, const char *before, const char *text) {
    if (!text)
        return;
    fputs(before, out);
    print_text(out, text);
}

static bool is_among(struct json_object *names, const char *name) {
    for (size_t i = 0; names && i < json_object_array_length(names); i++) {
        const char *one = json_object_get_string(json_object_array_get_idx(names, i));
        if (one && strcmp(one, name) == 0)
            return true;
    }
    return false;
}

/* "string", or the JSON of what says what the value may be. */
static void print_type(FILE *out, struct json_object *schema) {
    struct json_object *type = json_tree_member(schema, "type");
    const char *text = metadata_text(schema, "type");
    print_part(out, ": ",
               text   ? text
               : type ? json_object_to_json_string_ext(type, JSON_C_TO_STRING_PLAIN)
                      : "any");
}

/* "(name: string, age?: integer)" */
static void print_schema(FILE *out, struct json_object *schema) {
    struct json_object *members = json_tree_member(schema, "properties");
    putc('(', out);
    if (json_object_is_type(members, json_type_object)) {
        const char *between = "";
        json_object_object_foreach(members, name, member) {
            print_part(out, between, name);
            fputs(is_among(json_tree_member(schema, "required"), name) ? "" : "?", out);
            print_type(out, member);
            between = ", ";
        }
    }
    fputs(schema ? ")" : "any arguments)", out);
}

static void print_arguments(FILE *out, struct json_object *arguments) {
    putc('(', out);
    for (size_t i = 0; arguments && i < json_object_array_length(arguments); i++) {
        struct json_object *argument = json_object_array_get_idx(arguments, i);
        print_part(out, i ? ", " : "", metadata_text(argument, "name"));
        fputs(json_object_get_boolean(json_tree_member(argument, "required")) ? "" : "?", out);
    }
    putc(')', out);
}

static void print_tool(FILE *out, const struct registry_entry *entry) {
    struct json_object *result = json_tree_member(entry->metadata, "outputSchema");
    print_schema(out, json_tree_member(entry->metadata, "inputSchema"));
    if (result) {
        fputs(" => ", out);
        print_schema(out, result);
    }
}

static void print_mime_type(FILE *out, const struct registry_entry *entry) {
    print_part(out, "  ", entry->mime_type);
}

static void print_prompt(FILE *out, const struct registry_entry *entry) {
    print_arguments(out, json_tree_member(entry->metadata, "arguments"));
}

static const struct outline_kind {
    enum registry_kind kind;
    const char *title;
    void (*print)(FILE *out, const struct registry_entry *entry);
} kinds[] = {
    {REGISTRY_TOOL, "Tools", print_tool},
    {REGISTRY_RESOURCE, "Resources", print_mime_type},
    {REGISTRY_TEMPLATE, "Templates of resources", print_mime_type},
    {REGISTRY_PROMPT, "Prompts", print_prompt},
};

static void print_kind(FILE *out, const struct outline_kind *kind, const struct entry_list *list) {
    if (list->count)
        fprintf(out, "%s\n", kind->title);
    for (size_t i = 0; i < list->count; i++) {
        const struct registry_entry *entry = list->entries[i];
        print_part(out, "  ", entry->key);
        kind->print(out, entry);
        putc('\n', out);
        print_part(out, "      ", metadata_text(entry->metadata, "description"));
        fputs(metadata_text(entry->metadata, "description") ? "\n" : "", out);
    }
}

static void print_notices(FILE *out, const char *title, const char *colour,
                          const struct notice_list *list) {
    if (list->count)
        fprintf(out, "%s%s%s\n", colour, title, colours_of(out).end);
    for (size_t i = 0; i < list->count; i++) {
        const char *text = list->items[i].text;
        fputs("  ", out);
        shown_print_text(out, list->items[i].file);
        fputs(": ", out);
        shown_print(out, (struct span){(const unsigned char *)text, strlen(text)}, "      ");
        putc('\n', out);
    }
}

void outline_print(FILE *out, const struct snapshot *snapshot) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        print_kind(out, &kinds[i], &snapshot->lists[kinds[i].kind]);
    const struct colours colours = colours_of(out);
    print_notices(out, "Warnings", colours.odd, &snapshot->warnings);
    print_notices(out, "Refused", colours.bad, &snapshot->refusals);
}
