/* Input lines. An unknown member is a fault: a misspelt expectation must not be ignored. */
#include "supervisor/base/clock.h"
#include "supervisor/base/nearest.h"
#include "supervisor/batch/batch_internal.h"
#include "supervisor/json/json_number.h"
#include "supervisor/json/json_reader.h"
#include "supervisor/json/json_tree.h"

#include <math.h>
#include <stddef.h>

static const struct member {
    const char *name;
    bool is_string, required;
    size_t offset; /* of the span in struct batch_line */
} members[] = {
#define STRING(field, name, required)                                                              \
    {(name), true, (required), offsetof(struct batch_line, field)},
#define OTHER(name) {(name), false, false, 0},
#include "supervisor/batch/line.def"
#undef STRING
#undef OTHER
};

enum { MEMBER_COUNT = sizeof members / sizeof *members, NAME_SHOWN_BYTES = 40 };

__attribute__((format(printf, 2, 3))) static bool fault(struct batch_line *line, const char *format,
                                                        ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line->fault, sizeof line->fault, format, arguments);
    va_end(arguments);
    return false;
}

static bool is_member(const char *name) {
    for (size_t i = 0; i < MEMBER_COUNT; i++)
        if (strcmp(members[i].name, name) == 0)
            return true;
    return false;
}

static bool refuse_member(struct batch_line *line, const char *name) {
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; i < MEMBER_COUNT; i++)
        nearest_offer(&nearest, members[i].name);
    return fault(line, "unknown member \"%.*s\"%s", NAME_SHOWN_BYTES, name,
                 nearest_hint(&nearest, "").text);
}

static bool knows_every_member(struct batch_line *line) {
    json_object_object_foreach(line->root, name, value) {
        (void)value;
        if (!is_member(name))
            return refuse_member(line, name);
    }
    return true;
}

static bool read_strings(struct batch_line *line) {
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        const struct member *member = &members[i];
        struct json_object *value = json_tree_member(line->root, member->name);
        if (!value && member->required)
            return fault(line, "the member %s is missing", member->name);
        if (!value || !member->is_string)
            continue;
        struct span *slot = (struct span *)(void *)((char *)line + member->offset);
        *slot = json_tree_string(value);
        if (!slot->bytes)
            return fault(line, "the member %s must be a string", member->name);
    }
    return true;
}

static bool read_timeout(struct batch_line *line, const struct settings *settings) {
    struct json_object *value = json_tree_member(line->root, "timeout");
    line->timeout_ms = settings->call_timeout_s * CLOCK_MS_PER_S;
    if (!value)
        return true;
    double seconds = json_object_get_double(value);
    if (!json_is_number(value) || !(seconds > 0 && seconds <= (double)settings->call_timeout_max_s))
        return fault(line,
                     "the member timeout must be a number of seconds above 0 and at most %lld",
                     (long long)settings->call_timeout_max_s);
    line->timeout_ms = (int64_t)ceil(seconds * CLOCK_MS_PER_S);
    return true;
}

/* Makes the id the key of the line, in place of the number. */
static bool take_id(struct batch_line *line, const struct json_token *id) {
    if (!id->text.bytes)
        return true;
    if (id->has_lone_surrogate)
        return fault(line, "the id must be well-formed Unicode");
    line->key.length = 0;
    line->has_id = true;
    return buffer_append(&line->key, id->text.bytes, id->text.length);
}

/* Takes the root of READER. */
static void read_members(struct batch_line *line, struct json_reader *reader,
                         const struct settings *settings) {
    const struct json_shape *shape = &reader->shape;
    if (reader->fault != JSON_FINE) {
        fault(line, "%s, at byte %zu", json_fault_text(reader->fault), shape->fault_at);
    } else if (shape->kind != JSON_OBJECT) {
        fault(line, "a line must be a JSON object");
    } else if (take_id(line, &shape->id)) {
        line->root = reader->root;
        reader->root = NULL;
        if (!line->root)
            fault(line, "out of memory");
        else if (knows_every_member(line) && read_strings(line))
            read_timeout(line, settings);
    }
}

static bool begin(struct batch_line *line, uint64_t number, size_t size) {
    enum { NUMBER_BYTES = 32 };
    *line = (struct batch_line){
        .key = buffer_make(size + NUMBER_BYTES), .number = number, .size = size};
    return buffer_append_format(&line->key, "line %llu", (unsigned long long)number);
}

bool batch_line_from(struct batch_line *line, struct json_reader *reader, size_t size,
                     uint64_t number, const struct settings *settings) {
    bool begun = begin(line, number, size);
    if (begun)
        read_members(line, reader, settings);
    return begun && !line->key.failed;
}

bool batch_line_read(struct batch_line *line, struct span text, uint64_t number,
                     const struct settings *settings) {
    struct json_reader reader;
    json_reader_begin(&reader, text, settings_json_limits(settings));
    while (json_reader_read_object(&reader))
        continue;
    bool good = batch_line_from(line, &reader, text.length, number, settings);
    json_reader_free(&reader);
    return good;
}

bool batch_line_too_long(struct batch_line *line, uint64_t number,
                         const struct settings *settings) {
    bool begun = begin(line, number, 0);
    fault(line, "longer than request.max_bytes (%lld)", (long long)settings->request_max_bytes);
    return begun;
}

void batch_line_free(struct batch_line *line) {
    buffer_free(&line->key);
    json_object_put(line->root);
    line->root = NULL;
}
