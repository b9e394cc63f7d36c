/* Makes an entry from the files of a candidate, all or nothing. */
#include "common/utf8.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/registry/entry_internal.h"
#include "supervisor/registry/placeholders.h"
#include "supervisor/registry/uri_template.h"
#include "supervisor/schema/schema.h"

#include <stdlib.h>
#include <strings.h>

/* --- candidates --- */

void candidate_free(struct candidate *candidate) {
    free(candidate->stem);
    free(candidate->body);
    free(candidate->sidecar);
    *candidate = (struct candidate){0};
}

const char *candidate_file(const struct candidate *candidate) {
    return candidate->body      ? candidate->body
           : candidate->sidecar ? candidate->sidecar
                                : "register.json";
}

struct digest candidate_inline_digest(const struct candidate *candidate,
                                      const struct digest_key *key) {
    struct digester digester = digest_begin(key);
    digest_add(&digester, candidate->inline_metadata.bytes, candidate->inline_metadata.length);
    return digest_end(&digester);
}

/* --- the life of an entry --- */

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
    schema_free(entry->input);
    schema_free(entry->output);
    json_object_put(entry->metadata);
    file_content_free(&entry->body);
    free(entry->key);
    free(entry->uri);
    free(entry->name);
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

/* --- making an entry --- */

static const char *mime_type_of(const struct file_content *body, const char *file) {
    static const struct {
        const char *suffix, *type;
    } types[] = {
        {"md", "text/markdown"},    {"html", "text/html"},          {"css", "text/css"},
        {"csv", "text/csv"},        {"js", "text/javascript"},      {"json", "application/json"},
        {"xml", "application/xml"}, {"yaml", "application/yaml"},   {"svg", "image/svg+xml"},
        {"png", "image/png"},       {"jpg", "image/jpeg"},          {"jpeg", "image/jpeg"},
        {"gif", "image/gif"},       {"webp", "image/webp"},         {"wav", "audio/wav"},
        {"mp3", "audio/mpeg"},      {"ogg", "audio/ogg"},           {"pdf", "application/pdf"},
        {"zip", "application/zip"}, {"lisp", "text/x-common-lisp"},
    };
    const char *dot = strrchr(file, '.');
    for (size_t i = 0; dot && i < sizeof types / sizeof *types; i++)
        if (strcasecmp(dot + 1, types[i].suffix) == 0)
            return types[i].type;
    return body->is_text ? "text/plain" : "application/octet-stream";
}

static enum registry_kind kind_of(const struct candidate *candidate, struct json_object *metadata) {
    static const enum registry_kind kinds[FOLDER_COUNT] = {
        [FOLDER_TOOLS] = REGISTRY_TOOL,
        [FOLDER_RESOURCES] = REGISTRY_RESOURCE,
        [FOLDER_PROMPTS] = REGISTRY_PROMPT,
        [FOLDER_COMPLETIONS] = REGISTRY_COMPLETION,
    };
    return metadata_text(metadata, "uriTemplate") ? REGISTRY_TEMPLATE : kinds[candidate->folder];
}

/* Is there text in the body, unless it is that of a prompt? Some editors empty a file before they
 * write it. */
static bool check_text(const struct registry_entry *entry, struct error *error) {
    static const char blanks[] = " \t\r\n\f";
    const struct file_content *body = &entry->body;
    if (!body->is_text)
        return error_set(error, 0, "is not UTF-8");
    return !entry->is_lisp || strspn((const char *)body->bytes, blanks) < body->size ||
           error_set(error, 0, "is empty");
}

/* Does CANDIDATE have the body that an entry of this kind needs? */
static bool check_body(const struct registry_entry *entry, const struct candidate *candidate,
                       struct error *error) {
    bool prompt = entry->kind == REGISTRY_PROMPT;
    if (prompt && !candidate->body && json_object_object_get(entry->metadata, "messages"))
        return true;
    if (!candidate->body && prompt)
        return error_set(error, 0,
                         "has neither a .txt nor a .lisp file beside it, nor \"messages\"");
    if (!candidate->body)
        return error_set(error, 0, "has no file beside it to which it could belong");
    if (entry->kind == REGISTRY_RESOURCE)
        return true;
    if (!entry->is_lisp && !(prompt && has_suffix(candidate->body, ".txt")))
        return error_set(error, 0, "must end in .lisp%s", prompt ? " or .txt" : "");
    return check_text(entry, error);
}

static bool check_reserved(const struct entry_options *options, const struct registry_entry *entry,
                           struct error *error) {
    if (!options->is_reserved || !options->is_reserved(entry->kind, entry->key))
        return true;
    if (entry->kind == REGISTRY_RESOURCE || entry->kind == REGISTRY_TEMPLATE)
        return error_set(error, 0, "has the URI of a built-in resource, %.200s", entry->key);
    return error_set(error, 0, "has the name of the built-in %s %s",
                     registry_kind_word(entry->kind), entry->key);
}

static bool name_entry(struct registry_entry *entry, const struct candidate *candidate,
                       struct error *error) {
    const char *name = metadata_text(entry->metadata, "name");
    const char *uri = metadata_text(entry->metadata, "uri");
    char made[URI_MAX_BYTES + 1] = "";
    entry->name = strdup(name ? name : candidate->stem);
    if (entry->kind == REGISTRY_TEMPLATE)
        uri = metadata_text(entry->metadata, "uriTemplate");
    else if (entry->kind != REGISTRY_RESOURCE)
        uri = entry->name;
    else if (!uri && !uri_of_file("eclave:///", candidate->stem, made))
        return error_set(error, 0, "has a name that is too long for a URI");
    uri = uri ? uri : made;
    if (entry->kind == REGISTRY_RESOURCE) {
        char normal[URI_MAX_BYTES + 1];
        entry->uri = strdup(uri);
        entry->key = strdup(uri_normal(uri, normal));
    } else {
        entry->key = strdup(uri);
    }
    bool complete = entry->name && entry->key && (entry->uri || entry->kind != REGISTRY_RESOURCE);
    return complete || error_set(error, ENOMEM, "cannot be loaded");
}

/* The member NAME of OBJECT, added as an empty object if it is absent. NULL when out of memory. */
static struct json_object *member_object(struct json_object *object, const char *name) {
    struct json_object *member;
    if (json_object_object_get_ex(object, name, &member))
        return member;
    member = json_object_new_object();
    if (member && json_object_object_add(object, name, member) == 0)
        return member;
    json_object_put(member);
    return NULL;
}

static bool set_text(struct json_object *object, const char *name, const char *text) {
    struct json_object *value = object ? json_object_new_string(text) : NULL;
    if (value && json_object_object_add(object, name, value) == 0)
        return true;
    json_object_put(value);
    return false;
}

/* Adds the argument `session`, as of the built-in tools, if the tool runs in its caller's session.
 */
static bool declare_session(const struct registry_entry *entry, struct error *error) {
    if (entry->kind != REGISTRY_TOOL || !entry->in_caller_session)
        return true;
    struct json_object *schema = member_object(entry->metadata, "inputSchema");
    struct json_object *properties = schema ? member_object(schema, "properties") : NULL;
    if (properties && json_object_object_get_ex(properties, "session", NULL))
        return error_set(error, 0,
                         "declares an argument \"session\", but \"session\": \"caller\" "
                         "adds one, which names the session to run in");
    struct json_object *session = properties ? member_object(properties, "session") : NULL;
    return (set_text(schema, "type", "object") && set_text(session, "type", "string") &&
            set_text(session, "description",
                     "Session to run in: what an earlier answer named, or open-session made.")) ||
           error_set(error, ENOMEM, "cannot be loaded");
}

static bool take_metadata(struct registry_entry *entry, const struct entry_options *options,
                          const struct candidate *candidate, struct error *error) {
    struct json_object *timeout;
    if (!candidate->inline_metadata.bytes &&
        !metadata_check(candidate->folder, entry->metadata, error)) {
        metadata_locate(candidate, error);
        return false;
    }
    entry->kind = kind_of(candidate, entry->metadata);
    entry->is_lisp =
        entry->kind != REGISTRY_RESOURCE && candidate->body && has_suffix(candidate->body, ".lisp");
    if (json_object_object_get_ex(entry->metadata, "timeout", &timeout))
        entry->timeout_s = json_object_get_double(timeout);
    const char *session = metadata_text(entry->metadata, "session");
    entry->in_caller_session = session && strcmp(session, "caller") == 0;
    const struct span text = {entry->body.bytes, entry->body.size};
    bool is_text = entry->kind == REGISTRY_PROMPT && !entry->is_lisp;
    return check_body(entry, candidate, error) &&
           (!is_text || placeholders_declare(entry->metadata, text, error)) &&
           declare_session(entry, error) && name_entry(entry, candidate, error) &&
           check_reserved(options, entry, error);
}

static void set_mime_type(struct registry_entry *entry) {
    entry->mime_type = metadata_text(entry->metadata, "mimeType");
    if (!entry->mime_type && entry->kind == REGISTRY_RESOURCE)
        entry->mime_type = mime_type_of(&entry->body, entry->file);
}

/* Does the resource fit into an answer? One to a request with a long id may still be too large. */
static bool check_size(const struct entry_options *options, const struct registry_entry *entry,
                       struct error *error) {
    static const char around[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"contents\":[{\"uri\":\"\","
        "\"mimeType\":\"\",\"text\":\"\"}]}}";
    const struct file_content *body = &entry->body;
    if (!entry->uri || !options->response_bytes)
        return true;
    size_t size = body->is_text ? body->size + body->escapes : (body->size + 2) / 3 * 4;
    const char *type = entry->mime_type ? entry->mime_type : "";
    size_t whole = sizeof around - 1 + strlen(entry->uri) + strlen(type) + size;
    if (whole <= options->response_bytes)
        return true;
    error_set(error, 0,
              "has %zu bytes, which are %zu %s: too many for an answer "
              "(response.max_bytes, %zu)",
              body->size, size, body->is_text ? "in a JSON string" : "as base64",
              options->response_bytes);
    error->code = EFBIG; /* and no phrase of the system's for it */
    return false;
}

/* Removes the byte order mark that some editors write, except from resources. */
static void drop_mark(struct registry_entry *entry) {
    struct file_content *body = &entry->body;
    if (entry->kind == REGISTRY_RESOURCE || !body->bytes)
        return;
    const struct span text = utf8_without_mark((struct span){body->bytes, body->size});
    if (text.length == body->size)
        return;
    memmove(body->bytes, text.bytes, text.length + 1);
    body->size = text.length;
}

static void digest_entry(struct registry_entry *entry, const struct digest_key *key) {
    struct digester listing = digest_begin(key), content = listing;
    json_object_object_foreach(entry->metadata, name, value) {
        struct digester *digester = metadata_is_listed(name) ? &listing : &content;
        digest_add_text(digester, name);
        digest_add_json(digester, value);
    }
    digest_add_text(&listing, entry_shown(entry));
    digest_add_text(&listing, entry->name);
    digest_add_text(&listing, entry->mime_type);
    digest_add(&content, entry->body.digest.bytes, sizeof entry->body.digest.bytes);
    digest_add_number(&content, entry->is_lisp);
    entry->listing = digest_end(&listing);
    entry->content = digest_end(&content);
}

struct registry_entry *entry_make(const struct entry_options *options,
                                  const struct candidate *candidate, struct file_content *body,
                                  const struct file_content *sidecar, struct error *error) {
    struct registry_entry *entry = calloc(1, sizeof *entry);
    char *file = strdup(candidate_file(candidate));
    size_t metadata_bytes = 0;
    if (!entry || !file) {
        error_set(error, ENOMEM, "cannot be loaded");
        free(file);
        free(entry);
        return NULL;
    }
    entry->references = 1;
    entry->file = file;
    entry->folder = candidate->folder;
    entry->is_inline = candidate->inline_metadata.bytes;
    entry->inline_digest = candidate_inline_digest(candidate, options->key);
    entry->body = *body;
    *body = (struct file_content){0};
    entry->metadata_stamp = sidecar->stamp;
    entry->metadata = metadata_read(candidate, &entry->body, sidecar, &metadata_bytes, error);
    if (!entry->metadata || !take_metadata(entry, options, candidate, error)) {
        entry_unref(entry);
        return NULL;
    }
    drop_mark(entry);
    set_mime_type(entry);
    if (!check_size(options, entry, error)) {
        entry_unref(entry);
        return NULL;
    }
    digest_entry(entry, options->key);
    entry->bytes = metadata_bytes + entry->body.size;
    if (json_object_object_length(entry->metadata) > 0) /* also what was added here */
        entry->bytes += json_held_bytes(entry->metadata);
    return entry;
}

static bool compile(struct registry_entry *entry, const char *member, struct schema **schema,
                    struct error *error) {
    struct json_object *value;
    struct error why = {0};
    if (!json_object_object_get_ex(entry->metadata, member, &value))
        return true;
    *schema = schema_compile(value, &why);
    if (!*schema)
        return error_set(error, 0, "\"%s\": %s", member, why.text);
    entry->bytes += schema_bytes(*schema);
    return true;
}

bool entry_compile_input(struct registry_entry *entry, struct error *error) {
    return compile(entry, "inputSchema", &entry->input, error);
}

bool entry_compile_output(struct registry_entry *entry, struct error *error) {
    return compile(entry, "outputSchema", &entry->output, error);
}
