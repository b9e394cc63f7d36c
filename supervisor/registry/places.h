/* {{places}} in the texts of prompts. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_PLACES_H
#define ECLAVE_SUPERVISOR_REGISTRY_PLACES_H

#include "common/buffer.h"
#include <json-c/json.h>
#include <stdbool.h>

/* What the places are filled with. */
struct filling {
    /* Appends what stands for NAME. False when it is no argument: its place stays as it is. */
    bool (*append)(const struct filling *filling, const char *name, struct buffer *out);
    struct json_object *values; /* for `append`: what stands for each name; may be NULL */
    size_t room; /* bytes that the filled texts may have, all together, from now on */
    bool full;   /* they have more: something was left out */
};

/* Fills each place with something that is a text, a URI and a MIME type. */
struct filling places_sample(size_t room);

/* TEXT with its places filled, once: what a value holds is never a place itself. The caller's. */
struct json_object *places_fill(struct filling *filling, struct span text);

/* A copy of VALUE, JSON_FILE_DEPTH_MAX deep at most, with the texts in it filled, but for what is
 * no text: `type`, `data` and `blob`. The caller's. */
struct json_object *places_filled(struct filling *filling, struct json_object *value);

#endif
