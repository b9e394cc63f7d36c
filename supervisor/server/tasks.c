/* tasks/get, tasks/update and tasks/cancel. */
#include "supervisor/server/tasks.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/mcp/server.h"
#include "supervisor/project/ask.h"
#include "supervisor/project/capabilities.h"

/* Answers that the client must declare the extension. */
static void refuse_undeclared(struct request *request, struct json_object *params) {
    cleanup_json struct json_object *required = json_object_new_object();
    struct json_object *extensions = json_object_new_object();
    json_object_object_add(extensions, TASK_EXTENSION, json_object_new_object());
    json_object_object_add(required, "extensions", extensions);
    capabilities_refuse(request, capabilities_of(request, params), required);
}

/* The task that a request names; NULL: the request has been answered. */
static struct task *find(struct server *server, struct request *request,
                         struct json_object *params) {
    if (!task_is_declared(capabilities_of(request, params))) {
        refuse_undeclared(request, params);
        return NULL;
    }
    struct json_object *id = json_tree_member(params, "taskId");
    struct task *task = task_find(server, json_plain_string(id));
    if (!task)
        request_error_invalid(request, "taskId",
                              json_object_is_type(id, json_type_string)
                                  ? "There is no task of this taskId: no call of this connection "
                                    "was given it, or its ttlMs have passed."
                                  : "taskId must be a string.");
    return task;
}

void tasks_get(struct server *server, struct request *request, struct json_object *params) {
    const struct task *task = find(server, request, params);
    if (!task)
        return;
    request_result(request);
    task_append(request, task, true);
    request_end(request);
}

void tasks_update(struct server *server, struct request *request, struct json_object *params) {
    struct task *task = find(server, request, params);
    struct json_object *responses = json_tree_member(params, "inputResponses");
    if (!task)
        return;
    if (!json_object_is_type(responses, json_type_object))
        request_error_invalid(request, "inputResponses", "inputResponses must be an object.");
    else if (project_answer_task(request, task, responses, params))
        request_acknowledge(request);
}

void tasks_cancel(struct server *server, struct request *request, struct json_object *params) {
    struct task *task = find(server, request, params);
    if (!task)
        return;
    task_cancel(task);
    request_acknowledge(request);
}
