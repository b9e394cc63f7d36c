/* The tools and their calls. */
#ifndef ECLAVE_SUPERVISOR_SERVER_TOOLS_H
#define ECLAVE_SUPERVISOR_SERVER_TOOLS_H

#include "common/buffer.h"
#include <json-c/json.h>

struct request;
struct server;

/* The names of the built-in tools, NULL at the end. */
const char *const *tools_names(void);

/* Serves `tools/list`: the built-in tools, then those of the project. */
void tools_list(struct server *server, struct request *request, struct json_object *params);

/* Serves `tools/call`. */
void tools_call(struct server *server, struct request *request, struct json_object *params);

#endif
