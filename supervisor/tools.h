/* The tools and their calls. */
#ifndef ECLAVE_SUPERVISOR_TOOLS_H
#define ECLAVE_SUPERVISOR_TOOLS_H

#include "common/buffer.h"
#include <json-c/json.h>

struct request;
struct server;

/* Appends the JSON array of tools as the session's revision knows them. */
void tools_append_list(struct buffer *out, const struct server *server);

/* Serves `tools/call`. */
void tools_call(struct server *server, struct request *request, struct json_object *params);

#endif
