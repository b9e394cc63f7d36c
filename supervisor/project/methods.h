/* The methods that a project adds to the table in supervisor/server/methods.c. They need a server
 * with a project; PARAMS is an object or NULL. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_METHODS_H
#define ECLAVE_SUPERVISOR_PROJECT_METHODS_H

#include <json-c/json.h>

struct registry_entry;
struct request;
struct server;

/* resource.c; these three also work without a project, which then has nothing */
void project_read_resource(struct server *server, struct request *request,
                           struct json_object *params);
/* Answers that the content of URI exceeds resource.max_bytes. */
void resource_refuse_size(struct request *request, const char *uri);

/* prompt.c */
void project_get_prompt(struct server *server, struct request *request, struct json_object *params);
/* Answers with the text and messages of ENTRY, whose body is no Lisp. ARGUMENTS: NULL, or an
 * object. */
void prompt_get_fixed(struct request *request, const struct registry_entry *entry,
                      struct json_object *arguments);

/* complete.c; BUILT_IN: the prompt or template that PARAMS refer to, or NULL if it is not built in.
 */
void project_complete(struct request *request, const struct registry_entry *built_in,
                      struct json_object *params);

/* notify.c */
void project_subscribe(struct server *server, struct request *request, struct json_object *params);
void project_unsubscribe(struct server *server, struct request *request,
                         struct json_object *params);

/* project_tool.c: tools/call of ENTRY; ARGUMENTS is an object or NULL. */
void project_call_tool(struct server *server, struct request *request,
                       const struct registry_entry *entry, struct json_object *arguments,
                       struct json_object *params);

#endif
