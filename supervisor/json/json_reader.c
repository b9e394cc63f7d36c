/* A slice takes a few milliseconds at most: parsing, about 0.15 us a byte; checking, 0.01. */
#include "supervisor/json/json_reader.h"
#include "supervisor/json/json_build_internal.h"

#include <stdlib.h>

enum { CHECK_BYTES = 256 << 10, PARSE_BYTES = 16 << 10 };

static void free_builder(struct json_reader *reader) {
    free(reader->builder);
    reader->builder = NULL;
}

void json_reader_begin(struct json_reader *reader, struct span text, struct json_limits limits) {
    *reader = (struct json_reader){0};
    json_inspector_begin(&reader->inspector, text.bytes, text.length, limits, &reader->shape);
}

bool json_reader_check(struct json_reader *reader) {
    return json_inspector_step(&reader->inspector, CHECK_BYTES, &reader->fault);
}

void json_reader_parse(struct json_reader *reader, struct span without) {
    struct json_inspector *inspector = &reader->inspector;
    const struct span text = {inspector->text, inspector->size};
    reader->builder = malloc(sizeof *reader->builder);
    if (!reader->builder)
        return;
    json_builder_begin(reader->builder, inspector, text, &reader->parsed);
    reader->builder->omitted = without;
}

bool json_reader_step(struct json_reader *reader) {
    if (!reader->builder || json_builder_step(reader->builder, &reader->inspector, PARSE_BYTES))
        return reader->builder;
    reader->root = json_builder_take(reader->builder);
    free_builder(reader);
    return false;
}

bool json_reader_read_object(struct json_reader *reader) {
    if (reader->parsing)
        return json_reader_step(reader);
    if (json_reader_check(reader))
        return true;
    reader->parsing = reader->fault == JSON_FINE && reader->shape.kind == JSON_OBJECT;
    if (reader->parsing)
        json_reader_parse(reader, (struct span){0});
    return reader->parsing;
}

void json_reader_free(struct json_reader *reader) {
    if (reader->builder)
        json_object_put(json_builder_take(reader->builder));
    free_builder(reader);
    json_object_put(reader->root);
    *reader = (struct json_reader){0};
}
