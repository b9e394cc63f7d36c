/* A slice takes a few milliseconds at most: parsing, about 0.15 us a byte; checking, 0.01. */
#include "supervisor/json/json_reader.h"

#include <json-c/linkhash.h>

enum { CHECK_BYTES = 256 << 10, PARSE_BYTES = 16 << 10, FREED_VALUES = 8192 };

void json_reader_begin(struct json_reader *reader, struct span text, struct json_limits limits) {
    *reader = (struct json_reader){.parts[0] = text};
    json_inspector_begin(&reader->inspector, text.bytes, text.length, limits, &reader->shape);
}

bool json_reader_check(struct json_reader *reader) {
    return json_inspector_step(&reader->inspector, CHECK_BYTES, &reader->fault);
}

void json_reader_parse(struct json_reader *reader, struct span without) {
    static const unsigned char null[] = {'n', 'u', 'l', 'l'};
    const struct span text = reader->parts[0];
    reader->tokener = json_tokener_new_ex(JSON_DEPTH_MAX + 1);
    if (!without.bytes)
        return;
    const unsigned char *rest = without.bytes + without.length;
    reader->parts[0] = (struct span){text.bytes, (size_t)(without.bytes - text.bytes)};
    reader->parts[1] = (struct span){null, sizeof null};
    reader->parts[2] = (struct span){rest, (size_t)(text.bytes + text.length - rest)};
}

bool json_reader_step(struct json_reader *reader) {
    while (reader->part < 3 && reader->at == reader->parts[reader->part].length) {
        reader->part++;
        reader->at = 0;
    }
    if (reader->tokener && reader->part < 3) {
        const struct span part = reader->parts[reader->part];
        size_t left = part.length - reader->at, size = left < PARSE_BYTES ? left : PARSE_BYTES;
        reader->root = json_tokener_parse_ex(reader->tokener, (const char *)part.bytes + reader->at,
                                             (int)size);
        reader->at += size;
        if (json_tokener_get_error(reader->tokener) == json_tokener_continue)
            return true;
    } else if (reader->tokener) { /* the end of a number shows only at the next byte */
        reader->root = json_tokener_parse_ex(reader->tokener, " ", 1);
    }
    if (reader->tokener)
        json_tokener_free(reader->tokener);
    reader->tokener = NULL;
    return false;
}

void json_reader_free(struct json_reader *reader) {
    if (reader->tokener)
        json_tokener_free(reader->tokener);
    json_object_put(reader->root);
    *reader = (struct json_reader){0};
}

/* --- freeing --- */

static struct lh_entry *first_member(struct json_object *value) {
    return json_object_is_type(value, json_type_object) ? json_object_get_object(value)->head
                                                        : NULL;
}

static size_t element_count(struct json_object *value) {
    return json_object_is_type(value, json_type_array) ? json_object_array_length(value) : 0;
}

void json_free_begin(struct json_free *freeing, struct json_object *value) {
    freeing->depth = value ? 1 : 0;
    freeing->stack[0] = value;
}

/* Frees the last element or a member of CONTAINER, or enters it if it has elements or members. */
static void free_item(struct json_free *freeing, struct json_object *container) {
    struct lh_entry *member = first_member(container);
    const size_t count = element_count(container);
    struct json_object *item = member ? (struct json_object *)(uintptr_t)lh_entry_v(member)
                                      : json_object_array_get_idx(container, count - 1);
    if (first_member(item) || element_count(item))
        freeing->stack[freeing->depth++] = json_object_get(item);
    if (member)
        lh_table_delete_entry(json_object_get_object(container), member);
    else
        json_object_array_del_idx(container, count - 1, 1);
}

bool json_free_step(struct json_free *freeing) {
    for (int i = 0; i < FREED_VALUES && freeing->depth; i++) {
        struct json_object *top = freeing->stack[freeing->depth - 1];
        if (first_member(top) || element_count(top)) {
            free_item(freeing, top);
        } else {
            freeing->depth--;
            json_object_put(top);
        }
    }
    return freeing->depth > 0;
}

void json_free_rest(struct json_free *freeing) {
    while (freeing->depth)
        json_object_put(freeing->stack[--freeing->depth]);
}
