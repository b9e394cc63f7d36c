/* A slice takes a few milliseconds at most: parsing, about 0.15 us a byte; checking, 0.01. */
#include "supervisor/json/json_reader.h"

enum { CHECK_BYTES = 256 << 10, PARSE_BYTES = 16 << 10 };

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
    if (reader->tokener)
        json_tokener_free(reader->tokener);
    json_object_put(reader->root);
    *reader = (struct json_reader){0};
}
