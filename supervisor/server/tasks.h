/* The methods of the extension io.modelcontextprotocol/tasks: doc/contract.md, section 3. */
#ifndef ECLAVE_SUPERVISOR_SERVER_TASKS_H
#define ECLAVE_SUPERVISOR_SERVER_TASKS_H

#include <json-c/json.h>

struct request;
struct server;

/* Serves `tasks/get`: the state of a task, with its answer or its open questions. */
void tasks_get(struct server *server, struct request *request, struct json_object *params);
/* Serves `tasks/update`: responses to the questions of a task. */
void tasks_update(struct server *server, struct request *request, struct json_object *params);
/* Serves `tasks/cancel`. The call is undone; one that has ended stays as it is. */
void tasks_cancel(struct server *server, struct request *request, struct json_object *params);

#endif
