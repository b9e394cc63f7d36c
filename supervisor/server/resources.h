/* Resources, prompts and completions: those that are built in, and those of the project. */
#ifndef ECLAVE_SUPERVISOR_SERVER_RESOURCES_H
#define ECLAVE_SUPERVISOR_SERVER_RESOURCES_H

#include <json-c/json.h>
#include <stdbool.h>

struct request;
struct server;

void resources_list(struct server *server, struct request *request, struct json_object *params);
void resources_list_templates(struct server *server, struct request *request,
                              struct json_object *params);
void resources_read(struct server *server, struct request *request, struct json_object *params);
void resources_subscribe(struct server *server, struct request *request,
                         struct json_object *params);
/* Is URI that of a built-in resource? Their changes are not reported. */
bool resource_is_builtin(const struct server *server, const char *uri);
void prompts_list(struct server *server, struct request *request, struct json_object *params);
void prompts_get(struct server *server, struct request *request, struct json_object *params);
void resources_complete(struct server *server, struct request *request, struct json_object *params);

#endif
