/* Content blocks as a revision has them. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_CONTENT_H
#define ECLAVE_SUPERVISOR_PROJECT_CONTENT_H

#include "common/buffer.h"
#include "supervisor/mcp/revision.h"
#include <json-c/json.h>

/* Appends BLOCK; what the revision has no such block for, it is told of in a text. */
void content_append(struct buffer *out, const struct revision *revision, struct json_object *block);

/* Appends the array BLOCKS, with what is behind its "[" left open for more. */
void content_append_all(struct buffer *out, const struct revision *revision,
                        struct json_object *blocks);

/* Appends the array MESSAGES of a prompt. */
void content_append_messages(struct buffer *out, const struct revision *revision,
                             struct json_object *messages);

#endif
