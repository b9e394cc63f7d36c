/* Opens, drains and closes a project. */
#include "supervisor/project/project.h"
#include "supervisor/mcp/server.h"
#include "supervisor/project/ask.h"
#include "supervisor/project/invocation.h"
#include "supervisor/project/notify.h"

#include <stdlib.h>

static void on_scanned(void *context, const struct registry_change *change) {
    const struct project *project = context;
    project->server->offers_project = registry_was_read(project->registry);
    if (!change->first)
        notify_scan(context, change);
}

struct project *project_open(struct server *server,
                             bool (*is_reserved)(enum registry_kind kind, const char *key),
                             struct error *error) {
    struct project *project = calloc(1, sizeof *project);
    struct json_object *subscribed = json_object_new_object();
    if (!project || !subscribed) {
        error_set(error, ENOMEM, "cannot open the project");
        json_object_put(subscribed);
        free(project);
        return NULL;
    }
    project->server = server;
    project->subscribed = subscribed;
    project->options = (struct registry_options){
        .is_reserved = is_reserved, .scanned = on_scanned, .context = project};
    randombytes_buf(project->key.bytes, sizeof project->key.bytes);
    project->registry =
        registry_open(&server->loop, &server->log, server->settings, &project->options, error);
    if (project->registry)
        return project;
    project_close(project);
    return NULL;
}

void project_close(struct project *project) {
    if (!project)
        return;
    while (!LIST_EMPTY(&project->invocations))
        invocation_free(LIST_FIRST(&project->invocations));
    notify_stop(project);
    registry_close(project->registry);
    json_object_put(project->subscribed);
    free(project);
}

bool project_is_settled(const struct project *project) {
    return !project || registry_is_settled(project->registry);
}

void project_drain(struct project *project) {
    if (project)
        ask_give_up(project);
}
