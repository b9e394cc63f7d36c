/* The life of an entry. Never changes one. */
#include "supervisor/registry/entry.h"
#include "supervisor/json/json_tree.h"

#include <stdlib.h>
#include <string.h>

const char *registry_kind_word(enum registry_kind kind) {
    static const char *const words[REGISTRY_KINDS] = {
        [REGISTRY_TOOL] = "tool",
        [REGISTRY_RESOURCE] = "resource",
        [REGISTRY_TEMPLATE] = "template",
        [REGISTRY_PROMPT] = "prompt",
        [REGISTRY_COMPLETION] = "completion",
    };
    return words[kind];
}

struct registry_entry *entry_ref(struct registry_entry *entry) {
    entry->references++;
    return entry;
}

void entry_unref(struct registry_entry *entry) {
    if (!entry || --entry->references > 0)
        return;
    if (entry->input)
        entry->schemas->drop(entry->input);
    if (entry->output)
        entry->schemas->drop(entry->output);
    json_object_put(entry->metadata);
    file_content_free(&entry->body);
    free(entry->owned_key);
    free(entry->owned_name);
    free(entry->file);
    free(entry);
}

struct json_object *entry_own_arguments(const struct registry_entry *entry,
                                        struct json_object *arguments) {
    if (arguments && !(entry->in_caller_session && json_tree_member(arguments, "session")))
        return json_object_get(arguments);
    struct json_object *own = json_object_new_object();
    if (own && arguments) {
        json_object_object_foreach(arguments, name, value) {
            if (strcmp(name, "session") != 0)
                json_object_object_add(own, name, json_object_get(value));
        }
    }
    return own;
}
