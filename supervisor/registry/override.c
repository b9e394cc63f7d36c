/* Reads register.json, all or nothing. */
#include "supervisor/registry/override.h"
#include "common/utf8.h"
#include "supervisor/content/shape.h"
#include "supervisor/json/json_inspect.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/registry/beneath.h"

#include <stdlib.h>
#include <string.h>

const char override_file[] = "register.json";

enum { SHOWN = 60 };

void override_end(struct override *override) {
    file_content_free(&override->text);
    *override = (struct override){0};
}

static bool span_is(struct span span, const char *text) {
    return span.length == strlen(text) && memcmp(span.bytes, text, span.length) == 0;
}

/* The folder whose quoted name is NAME; FOLDER_COUNT if it is another name. */
static enum project_folder folder_of(struct span name) {
    enum project_folder folder = 0;
    for (; folder < FOLDER_COUNT; folder++) {
        char quoted[32];
        snprintf(quoted, sizeof quoted, "\"%s\"", folder_name(folder));
        if (span_is(name, quoted))
            break;
    }
    return folder;
}

static bool take_member(struct override *override, bool seen[FOLDER_COUNT + 1], struct span name,
                        struct span value, struct error *error) {
    enum project_folder folder = folder_of(name);
    bool version = span_is(name, "\"version\"");
    int shown = name.length < SHOWN ? (int)name.length : SHOWN;
    if (folder == FOLDER_COUNT && !version)
        return error_set(error, 0, "has the unknown member %.*s", shown, (const char *)name.bytes);
    if (seen[folder])
        return error_set(error, 0, "has the member %.*s twice", shown, (const char *)name.bytes);
    seen[folder] = true;
    if (version)
        return span_is(value, "1") || error_set(error, 0, "\"version\" must be 1");
    if (value.bytes[0] == '[')
        override->lists[folder] = value;
    return value.bytes[0] == '[' || span_is(value, "null") ||
           error_set(error, 0, "%.*s must be an array", shown, (const char *)name.bytes);
}

bool override_begin(struct override *override, struct file_content *text, size_t maximum,
                    struct error *error) {
    *override = (struct override){.text = *text, .maximum = maximum};
    *text = (struct file_content){0};
    const struct span whole = {override->text.bytes, override->text.size};
    return json_file_check(whole, OVERRIDE_VALUES_MAX, error);
}

bool override_find_lists(struct override *override, struct error *error) {
    const struct span whole =
        utf8_without_mark((struct span){override->text.bytes, override->text.size});
    bool seen[FOLDER_COUNT + 1] = {false};
    struct json_token name;
    struct span value;
    for (size_t offset = 0; json_next_member(whole, &offset, &name, &value);)
        if (!take_member(override, seen, name.text, value, error))
            return false;
    return seen[FOLDER_COUNT] || error_set(error, 0, "lacks the member \"version\"");
}

static bool check_path(struct json_object *value, struct error *error) {
    if (!shape_nonempty_string(value, error))
        return false;
    const char *path = json_object_get_string(value);
    return path[0] == '/' ? error_set(error, 0, "must be relative to the project")
                          : beneath_path_is_plain(path, error);
}

/* Takes `name` and `file` from METADATA. False with *error if one is missing or malformed. */
static bool take_names(struct candidate *candidate, struct json_object *metadata,
                       struct error *error) {
    static const struct shape of_resource = {
        .members = {{"file", check_path, true}, {"name", shape_nonempty_string, false}},
        .open = true};
    static const struct shape of_others = {
        .members = {{"file", check_path, false}, {"name", shape_nonempty_string, true}},
        .open = true};
    bool is_resource = candidate->folder == FOLDER_RESOURCES;
    if (!shape_fits(metadata, is_resource ? &of_resource : &of_others, error))
        return false;
    const char *path = metadata_text(metadata, "file"), *name = metadata_text(metadata, "name");
    bool needs_body = path || !json_object_object_get_ex(metadata, "messages", NULL);
    if (path)
        candidate->body = strdup(path);
    else if (needs_body &&
             asprintf(&candidate->body, "%s/%s.lisp", folder_name(candidate->folder), name) < 0)
        candidate->body = NULL;
    candidate->stem = strdup(name ? name : path ? path : "");
    return (candidate->stem && (candidate->body || !needs_body)) ||
           error_set(error, ENOMEM, "cannot be loaded");
}

static bool read_entry(const struct override *override, struct span text,
                       struct candidate *candidate, struct error *error) {
    *candidate = (struct candidate){.folder = override->folder, .inline_metadata = text};
    if (text.length > METADATA_MAX_BYTES)
        return error_set(error, 0, "has more than %d bytes", METADATA_MAX_BYTES);
    struct json_object *metadata = json_file_parse(text, error);
    bool fine = metadata && take_names(candidate, metadata, error);
    if (fine) {
        json_object_object_del(metadata, "file");
        fine = metadata_check(candidate->folder, metadata, error);
    }
    json_object_put(metadata);
    return fine;
}

enum override_progress override_step(struct override *override, struct candidate *candidate,
                                     struct error *error) {
    for (; override->folder < FOLDER_COUNT; override->folder++) {
        struct span list = override->lists[override->folder], element;
        const char *kind = folder_name(override->folder);
        struct error why = {0};
        if (!list.bytes || !json_next_element(list, &override->offset, &element)) {
            override->offset = override->entries = 0;
            continue;
        }
        while (element.length && strchr(" \t\r\n", element.bytes[element.length - 1]))
            element.length--;
        size_t index = override->entries++;
        if (override->entries > override->maximum)
            error_set(error, 0, "\"%s\" has more than %zu entries", kind, override->maximum);
        else if (read_entry(override, element, candidate, &why))
            return OVERRIDE_CANDIDATE;
        else
            error_set(error, 0, "entry %zu of \"%s\": %.180s", index + 1, kind, why.text);
        candidate_free(candidate);
        return OVERRIDE_REFUSED;
    }
    return OVERRIDE_DONE;
}
