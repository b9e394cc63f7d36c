/* The table of what is built in besides the tools. */
#include "supervisor/server/builtins.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/server/guide.h"
#include "supervisor/server/tools.h"

#include <stdlib.h>
#include <string.h>

enum { PROMPT_MAX_BYTES = 1 << 20 };

static const struct {
    enum registry_kind kind;
    const char *key, *name, *mime_type, *metadata;
} rows[] = {
    {REGISTRY_RESOURCE, BUILTIN_GUIDE, "guide", "text/markdown",
     "{\"title\":\"Guide to this Lisp\",\"description\":\"One page: which Lisp this is, how calls "
     "and sessions work, what is kept and shown, and the limits in force.\"}"},
    {REGISTRY_RESOURCE, BUILTIN_POLICY, "policy", "text/plain",
     "{\"title\":\"Confinement in force\",\"description\":\"Layers, files, limits, and every "
     "system "
     "call with its verdict and reason, as eclave policy prints them.\"}"},
    {REGISTRY_TEMPLATE, BUILTIN_TRANSCRIPT, "transcript", "text/x-common-lisp",
     "{\"title\":\"Transcript of a session\",\"description\":\"The code of the last calls of a "
     "session, with the answers in comments.\"}"},
    {REGISTRY_PROMPT, BUILTIN_PROMPT, BUILTIN_PROMPT, NULL,
     "{\"title\":\"Work in a Lisp session\",\"description\":\"Work on a task in Common Lisp: small "
     "steps in one session, branches for experiments, rollback for mistakes.\",\"arguments\":["
     "{\"name\":\"task\",\"description\":\"What to do, or the code to look "
     "at.\",\"required\":true}]}"},
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

struct builtins {
    struct registry_entry *entries[ROW_COUNT];
};

/* Of the table's row ROW; NULL when out of memory. */
static struct registry_entry *make(size_t row) {
    struct registry_entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    entry->references = 1;
    entry->kind = rows[row].kind;
    entry->mime_type = rows[row].mime_type;
    entry->key = strdup(rows[row].key);
    entry->name = strdup(rows[row].name);
    entry->uri = entry->kind == REGISTRY_RESOURCE ? strdup(rows[row].key) : NULL;
    entry->metadata = json_tree_parse(string_span(rows[row].metadata));
    if (entry->key && entry->name && entry->metadata &&
        (entry->uri || entry->kind != REGISTRY_RESOURCE))
        return entry;
    entry_unref(entry);
    return NULL;
}

/* The text of the prompt holds in both eras. */
static bool write_prompt(struct registry_entry *prompt, const struct settings *settings) {
    const struct surroundings here = describe_settings(settings, NULL);
    struct buffer text = buffer_make(PROMPT_MAX_BYTES);
    guide_append_prompt(&text, &here);
    prompt->body = (struct file_content){.bytes = text.data, .size = text.length, .is_text = true};
    return !text.failed;
}

struct builtins *builtins_open(const struct settings *settings, struct error *error) {
    struct builtins *builtins = calloc(1, sizeof *builtins);
    bool made = builtins != NULL;
    for (size_t i = 0; i < ROW_COUNT && made; i++) {
        builtins->entries[i] = make(i);
        made = builtins->entries[i] &&
               (rows[i].kind != REGISTRY_PROMPT || write_prompt(builtins->entries[i], settings));
    }
    if (made)
        return builtins;
    error_set(error, ENOMEM, "cannot make the built-in resources");
    builtins_close(builtins);
    return NULL;
}

void builtins_close(struct builtins *builtins) {
    for (size_t i = 0; builtins && i < ROW_COUNT; i++)
        entry_unref(builtins->entries[i]);
    free(builtins);
}

bool builtins_have(enum registry_kind kind, const char *key) {
    for (const char *const *tool = tools_names(); *tool && kind == REGISTRY_TOOL; tool++)
        if (strcmp(*tool, key) == 0)
            return true;
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (rows[i].kind == kind && strcmp(rows[i].key, key) == 0)
            return true;
    return (kind == REGISTRY_RESOURCE || kind == REGISTRY_TEMPLATE) &&
           strncmp(key, BUILTIN_SESSIONS, strlen(BUILTIN_SESSIONS)) == 0;
}

struct registry_entry *builtins_at(const struct builtins *builtins, enum registry_kind kind,
                                   size_t index) {
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (rows[i].kind == kind && index-- == 0)
            return builtins->entries[i];
    return NULL;
}

struct registry_entry *builtins_find(const struct builtins *builtins, enum registry_kind kind,
                                     const char *key) {
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (rows[i].kind == kind && strcmp(rows[i].key, key) == 0)
            return builtins->entries[i];
    return NULL;
}
