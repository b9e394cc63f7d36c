/* Content blocks for a revision of the protocol. */
#ifndef ECLAVE_SUPERVISOR_MCP_BLOCKS_H
#define ECLAVE_SUPERVISOR_MCP_BLOCKS_H

#include "common/buffer.h"
#include "supervisor/mcp/revision.h"
#include <json-c/json.h>

/* Appends BLOCK, or a text that describes it if the revision has no such block. */
void blocks_append(struct buffer *out, const struct revision *revision, struct json_object *block);

/* Appends the array BLOCKS without its closing bracket, so that more can follow. */
void blocks_append_all(struct buffer *out, const struct revision *revision,
                       struct json_object *blocks);

/* Appends the array MESSAGES of a prompt. */
void blocks_append_messages(struct buffer *out, const struct revision *revision,
                            struct json_object *messages);

#endif
