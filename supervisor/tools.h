/* The tools and their calls. */
#ifndef ECLAVE_SUPERVISOR_TOOLS_H
#define ECLAVE_SUPERVISOR_TOOLS_H

#include "common/buffer.h"
#include <json-c/json.h>

struct request;
struct server;

/* Serves `tools/list`. */
void tools_list(struct server *server, struct request *request, struct json_object *params);

/* Serves `tools/call`. */
void tools_call(struct server *server, struct request *request, struct json_object *params);

#endif
