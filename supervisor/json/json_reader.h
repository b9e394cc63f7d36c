/* Reads a JSON text in slices: checks it as json_inspect does and parses it, without holding the
 * loop for long. */
#ifndef ECLAVE_SUPERVISOR_JSON_JSON_READER_H
#define ECLAVE_SUPERVISOR_JSON_JSON_READER_H

#include "common/buffer.h"
#include "supervisor/json/json_inspect.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

/* A text that is not longer may be read at once. */
enum { JSON_READER_SMALL_BYTES = 32 << 10 };

struct json_reader {
    struct json_inspector inspector;
    enum json_fault fault;
    struct json_shape shape;
    bool parsing;                 /* json_reader_read_object has checked the text */
    struct json_builder *builder; /* owned */
    struct json_shape parsed;     /* as `shape`; without meaning */
    struct json_object *root;     /* the caller's to take */
};

/* TEXT stays the caller's and valid until the end. */
void json_reader_begin(struct json_reader *reader, struct span text, struct json_limits limits);

/* Checks for a slice. False when the check has ended, with `fault` and `shape`. */
bool json_reader_check(struct json_reader *reader);

/* After a check without a fault: begins to parse the text, with null in place of the value WITHOUT,
 * which is a part of it (bytes NULL: none). */
void json_reader_parse(struct json_reader *reader, struct span without);
/* Parses for a slice. False when it has ended, with `root`: NULL for null and when out of memory.
 */
bool json_reader_step(struct json_reader *reader);

/* Checks the text and, if it is an object, parses it, for a slice. False when it has ended, with
 * `fault`, `shape` and `root`. */
bool json_reader_read_object(struct json_reader *reader);

/* Frees what the reader holds, `root` included, at once. */
void json_reader_free(struct json_reader *reader);

#endif
