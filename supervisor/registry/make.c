/* From files to an entry, all or nothing. Reads no file. */
#include "supervisor/registry/make.h"
#include "common/buffer.h"
#include "common/cleanup.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/registry/header.h"
#include "supervisor/registry/place_arguments.h"
#include "supervisor/registry/uri_template.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void job_free(struct job *job) {
    free(job->stem);
    free(job->body);
    free(job->sidecar);
    *job = (struct job){0};
}

const char *job_file(const struct job *job) {
    return job->body ? job->body : job->sidecar ? job->sidecar : "register.json";
}

struct digest job_inline_digest(const struct job *job, const struct digest_key *key) {
    struct digester digester = digest_begin(key);
    digest_add(&digester, job->inline_metadata.bytes, job->inline_metadata.length);
    return digest_end(&digester);
}

static bool ends_with(const char *text, const char *ending) {
    size_t length = strlen(text), size = strlen(ending);
    return length > size && strcmp(text + length - size, ending) == 0;
}

static const char *mime_type_of(const struct file_content *body, const char *file) {
    static const struct {
        const char *ending, *type;
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
        if (strcasecmp(dot + 1, types[i].ending) == 0)
            return types[i].type;
    return body->is_text ? "text/plain" : "application/octet-stream";
}

/* Says in which file the metadata is that *error is about. */
static void locate(const struct job *job, struct error *error) {
    const struct error why = *error;
    if (job->sidecar && job->body)
        error_set(error, 0, "%.80s: %.150s", job->sidecar, why.text);
}

static struct json_object *read_sidecar(const struct job *job, const struct file_content *sidecar,
                                        struct error *error) {
    struct json_object *parsed =
        json_file_parse((struct span){sidecar->bytes, sidecar->size}, error);
    if (!parsed)
        locate(job, error);
    return parsed;
}

/* The header that begins in LINE; 0: there is none. */
static struct json_object *read_header(struct span source, size_t line, struct error *error) {
    cleanup_buffer struct buffer header = buffer_make(METADATA_MAX_BYTES);
    struct json_object *metadata = line ? NULL : json_object_new_object();
    if (line > HEADER_LINE_MAX)
        error_set(error, 0, "has a header in line %zu; it must begin in the first %d lines", line,
                  HEADER_LINE_MAX);
    else if (!line && !metadata)
        error_set(error, ENOMEM, "cannot be held");
    else if (line && header_take(source, &header) && header.failed)
        error_set(error, 0, "has a header that is too long");
    else if (line)
        metadata = json_file_parse((struct span){header.data, header.length}, error);
    return metadata;
}

/* The metadata that comes with the entry; a new reference. NULL with *error. */
static struct json_object *find_metadata(const struct job *job, const struct file_content *body,
                                         const struct file_content *sidecar, size_t *bytes,
                                         struct error *error) {
    *bytes = job->inline_metadata.bytes ? job->inline_metadata.length : sidecar->size;
    if (job->inline_metadata.bytes) {
        struct json_object *parsed = json_file_parse(job->inline_metadata, error);
        if (parsed)
            json_object_object_del(parsed, "file");
        return parsed;
    }
    bool may_have = job->folder != FOLDER_RESOURCES && job->body && ends_with(job->body, ".lisp");
    const struct span source = {body->bytes, body->size};
    size_t line = may_have ? header_line(source) : 0;
    if (sidecar->bytes && line) {
        error_set(error, 0, "has metadata twice: in its header (line %zu) and in %.120s", line,
                  job->sidecar);
        return NULL;
    }
    return sidecar->bytes ? read_sidecar(job, sidecar, error) : read_header(source, line, error);
}

static enum registry_kind kind_of(const struct job *job, struct json_object *metadata) {
    static const enum registry_kind kinds[FOLDER_COUNT] = {
        [FOLDER_TOOLS] = REGISTRY_TOOL,
        [FOLDER_RESOURCES] = REGISTRY_RESOURCE,
        [FOLDER_PROMPTS] = REGISTRY_PROMPT,
        [FOLDER_COMPLETIONS] = REGISTRY_COMPLETION,
    };
    return metadata_text(metadata, "uriTemplate") ? REGISTRY_TEMPLATE : kinds[job->folder];
}

/* Is there what an entry of its kind is made of? */
static bool check_body(const struct registry_entry *entry, const struct job *job,
                       struct error *error) {
    bool prompt = entry->kind == REGISTRY_PROMPT;
    if (prompt && !job->body && json_object_object_get(entry->metadata, "messages"))
        return true;
    if (!job->body && prompt)
        return error_set(error, 0, "has neither a .txt nor a .lisp beside it, nor \"messages\"");
    if (!job->body)
        return error_set(error, 0, "has no file beside it that it could belong to");
    if (entry->kind == REGISTRY_RESOURCE)
        return true;
    if (!entry->is_lisp && !(prompt && ends_with(job->body, ".txt")))
        return error_set(error, 0, "must end in .lisp%s", prompt ? " or .txt" : "");
    return entry->body.is_text || error_set(error, 0, "is not UTF-8");
}

static bool check_reserved(const struct maker *maker, const struct registry_entry *entry,
                           struct error *error) {
    const char *const *reserved = entry->kind == REGISTRY_TOOL ? maker->reserved_tools : NULL;
    for (; reserved && *reserved; reserved++)
        if (strcmp(*reserved, entry->name) == 0)
            return error_set(error, 0, "may not be called as the built-in tool %s", *reserved);
    return true;
}

static bool name_entry(struct registry_entry *entry, const struct job *job, struct error *error) {
    const char *given = metadata_text(entry->metadata, "name");
    const char *uri = metadata_text(entry->metadata, "uri");
    char made[URI_MAX_BYTES + 1] = "";
    entry->owned_name = strdup(given ? given : job->stem);
    entry->name = entry->owned_name;
    if (entry->kind == REGISTRY_TEMPLATE)
        uri = metadata_text(entry->metadata, "uriTemplate");
    else if (entry->kind != REGISTRY_RESOURCE)
        uri = entry->name;
    else if (!uri && !uri_of_file("eclave:///", job->stem, made))
        return error_set(error, 0, "has a name that is too long for a URI");
    entry->owned_key = entry->name ? strdup(uri ? uri : made) : NULL;
    entry->key = entry->owned_key;
    return entry->key || error_set(error, ENOMEM, "cannot be held");
}

static bool declare_places(const struct registry_entry *entry, struct error *error) {
    const struct span text = {entry->body.bytes, entry->body.size};
    return entry->kind != REGISTRY_PROMPT || entry->is_lisp ||
           places_declare(entry->metadata, text, error);
}

/* The member NAME of OBJECT, made as an empty object when there is none. NULL without memory. */
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

/* Of a tool that runs in its caller's session that is an argument, as of the built-in ones. */
static bool declare_session(const struct registry_entry *entry, struct error *error) {
    if (entry->kind != REGISTRY_TOOL || !entry->in_caller_session)
        return true;
    struct json_object *schema = member_object(entry->metadata, "inputSchema");
    struct json_object *properties = schema ? member_object(schema, "properties") : NULL;
    if (properties && json_object_object_get_ex(properties, "session", NULL))
        return error_set(error, 0,
                         "has an argument \"session\" of its own, which with \"session\": "
                         "\"caller\" names the session to run in");
    struct json_object *session = properties ? member_object(properties, "session") : NULL;
    return (set_text(schema, "type", "object") && set_text(session, "type", "string") &&
            set_text(session, "description",
                     "Session to run in: what an earlier answer named, or open-session made.")) ||
           error_set(error, ENOMEM, "cannot be held");
}

static bool take_metadata(struct registry_entry *entry, const struct maker *maker,
                          const struct job *job, struct error *error) {
    struct json_object *timeout;
    if (!job->inline_metadata.bytes && !metadata_check(job->folder, entry->metadata, error)) {
        locate(job, error);
        return false;
    }
    entry->kind = kind_of(job, entry->metadata);
    entry->is_lisp = entry->kind != REGISTRY_RESOURCE && job->body && ends_with(job->body, ".lisp");
    if (json_object_object_get_ex(entry->metadata, "timeout", &timeout))
        entry->timeout_s = json_object_get_double(timeout);
    const char *session = metadata_text(entry->metadata, "session");
    entry->in_caller_session = session && strcmp(session, "caller") == 0;
    entry->schemas = maker->schemas;
    return check_body(entry, job, error) && declare_places(entry, error) &&
           declare_session(entry, error) && name_entry(entry, job, error) &&
           check_reserved(maker, entry, error);
}

static void set_mime_type(struct registry_entry *entry) {
    entry->mime_type = metadata_text(entry->metadata, "mimeType");
    if (!entry->mime_type && entry->kind == REGISTRY_RESOURCE)
        entry->mime_type = mime_type_of(&entry->body, entry->file);
}

/* Can there be an answer that has all of the resource? One with a longer id may still be too long.
 */
static bool check_size(const struct maker *maker, const struct registry_entry *entry,
                       struct error *error) {
    static const char around[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"contents\":[{\"uri\":\"\","
        "\"mimeType\":\"\",\"text\":\"\"}]}}";
    const struct file_content *body = &entry->body;
    if (entry->kind != REGISTRY_RESOURCE || !entry->key || !maker->response_bytes)
        return true;
    size_t size = body->is_text ? body->size + body->escapes : (body->size + 2) / 3 * 4;
    const char *type = entry->mime_type ? entry->mime_type : "";
    size_t whole = sizeof around - 1 + strlen(entry->key) + strlen(type) + size;
    return whole <= maker->response_bytes ||
           error_set(error, 0,
                     "has %zu bytes, which are %zu %s: too many for an answer "
                     "(response.max_bytes, %zu)",
                     body->size, size, body->is_text ? "in a JSON string" : "as base64",
                     maker->response_bytes);
}

/* Lisp and prompts are read without a byte order mark, which some editors write. */
static void drop_mark(struct registry_entry *entry) {
    struct file_content *body = &entry->body;
    const struct span text = {body->bytes, body->size};
    if (entry->kind == REGISTRY_RESOURCE || !body->bytes || !header_has_mark(text))
        return;
    body->size -= HEADER_MARK_BYTES;
    memmove(body->bytes, body->bytes + HEADER_MARK_BYTES, body->size + 1);
}

static void digest_entry(struct registry_entry *entry, const struct digest_key *key) {
    struct digester listing = digest_begin(key), content = listing;
    json_object_object_foreach(entry->metadata, name, value) {
        struct digester *digester = metadata_is_listed(name) ? &listing : &content;
        digest_add_text(digester, name);
        digest_add_json(digester, value);
    }
    digest_add_text(&listing, entry->key);
    digest_add_text(&listing, entry->name);
    digest_add_text(&listing, entry->mime_type);
    if (entry->kind == REGISTRY_RESOURCE)
        digest_add_number(&listing, entry->body.size);
    digest_add(&content, entry->body.digest.bytes, sizeof entry->body.digest.bytes);
    digest_add_number(&content, entry->is_lisp);
    entry->listing = digest_end(&listing);
    entry->content = digest_end(&content);
}

struct registry_entry *entry_make(const struct maker *maker, const struct job *job,
                                  struct file_content *body, const struct file_content *sidecar,
                                  struct error *error) {
    struct registry_entry *entry = calloc(1, sizeof *entry);
    char *file = strdup(job_file(job));
    size_t metadata_bytes = 0;
    if (!entry || !file) {
        error_set(error, ENOMEM, "cannot be held");
        free(file);
        free(entry);
        return NULL;
    }
    entry->references = 1;
    entry->file = file;
    entry->folder = job->folder;
    entry->is_inline = job->inline_metadata.bytes;
    entry->inline_digest = job_inline_digest(job, maker->key);
    entry->body = *body;
    *body = (struct file_content){0};
    entry->metadata_stamp = sidecar->stamp;
    entry->metadata = find_metadata(job, &entry->body, sidecar, &metadata_bytes, error);
    if (!entry->metadata || !take_metadata(entry, maker, job, error)) {
        entry_unref(entry);
        return NULL;
    }
    drop_mark(entry);
    set_mime_type(entry);
    if (!check_size(maker, entry, error)) {
        entry_unref(entry);
        return NULL;
    }
    digest_entry(entry, maker->key);
    entry->bytes = metadata_bytes + entry->body.size;
    if (json_object_object_length(entry->metadata) > 0) /* of a file, of a header, or made here */
        entry->bytes += json_held_bytes(entry->metadata);
    return entry;
}

static bool compile(struct registry_entry *entry, const char *member, struct schema **schema,
                    struct error *error) {
    struct json_object *value;
    struct error why = {0};
    const struct registry_schemas *schemas = entry->schemas;
    if (!schemas || !json_object_object_get_ex(entry->metadata, member, &value))
        return true;
    *schema = schemas->compile(value, &why);
    if (!*schema)
        return error_set(error, 0, "\"%s\": %s", member, why.text);
    entry->bytes += schemas->bytes ? schemas->bytes(*schema) : 0;
    return true;
}

bool entry_compile_input(struct registry_entry *entry, struct error *error) {
    return compile(entry, "inputSchema", &entry->input, error);
}

bool entry_compile_output(struct registry_entry *entry, struct error *error) {
    return compile(entry, "outputSchema", &entry->output, error);
}
