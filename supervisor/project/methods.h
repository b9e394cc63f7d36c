/* The methods that a project adds to the table in supervisor/server/methods.c. They need a server
 * with a project; PARAMS is an object or NULL. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_METHODS_H
#define ECLAVE_SUPERVISOR_PROJECT_METHODS_H

#include <json-c/json.h>

struct registry_entry;
struct request;
struct server;

/* catalog.c */
void project_list_resources(struct server *server, struct request *request,
                            struct json_object *params);
void project_list_templates(struct server *server, struct request *request,
                            struct json_object *params);
void project_list_prompts(struct server *server, struct request *request,
                          struct json_object *params);

/* resource.c */
void project_read_resource(struct server *server, struct request *request,
                           struct json_object *params);

/* prompt.c */
void project_get_prompt(struct server *server, struct request *request, struct json_object *params);

/* complete.c */
void project_complete(struct server *server, struct request *request, struct json_object *params);

/* notify.c */
void project_subscribe(struct server *server, struct request *request, struct json_object *params);
void project_unsubscribe(struct server *server, struct request *request,
                         struct json_object *params);

/* project_tool.c: tools/call of ENTRY; ARGUMENTS is an object or NULL. */
void project_call_tool(struct server *server, struct request *request,
                       const struct registry_entry *entry, struct json_object *arguments,
                       struct json_object *params);

#endif
