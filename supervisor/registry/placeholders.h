/* {{placeholders}} in the text and the messages of prompts. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_PLACEHOLDERS_H
#define ECLAVE_SUPERVISOR_REGISTRY_PLACEHOLDERS_H

#include "common/buffer.h"
#include "common/error.h"
#include <json-c/json.h>
#include <stdbool.h>

/* Unless METADATA has `arguments`, adds them: a required one for each placeholder in TEXT and in
 * the strings of `messages`. False with *error, a phrase to follow the name of the file. */
bool placeholders_declare(struct json_object *metadata, struct span text, struct error *error);

/* The values that replace placeholders. */
struct filling {
    /* Appends the value of the argument NAME. False when there is no such argument: the placeholder
     * stays as it is. */
    bool (*append)(const struct filling *filling, const char *name, struct buffer *out);
    struct json_object *values; /* for `append`: argument -> string; may be NULL */
    size_t room;                /* bytes that all strings filled from now on may have together */
    bool full;                  /* the room did not suffice: something was left out */
};

/* Fills each placeholder with a string that is a URI and a MIME type as well. */
struct filling placeholders_sample(size_t room);

/* TEXT with its placeholders replaced; placeholders inside a value are not. The caller's. */
struct json_object *placeholders_fill(struct filling *filling, struct span text);

/* A copy of VALUE, at most JSON_FILE_DEPTH_MAX deep, in which all strings are filled except
 * members named `type`, `data` and `blob`. The caller's. */
struct json_object *placeholders_fill_all(struct filling *filling, struct json_object *value);

#endif
