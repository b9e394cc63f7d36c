/* Opening, changes and the end of a project. */
#include "supervisor/project/project.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/server.h"
#include "supervisor/project/ask.h"
#include "supervisor/project/invocation.h"
#include "supervisor/project/notify.h"

#include <stdlib.h>

static void on_scanned(void *context, const struct registry_change *change) {
    struct project *project = context;
    if (!change->first)
        notify_refresh(project, change);
}

struct project *project_open(struct server *server, const char *const *reserved_tools,
                             struct error *error) {
    struct project *project = calloc(1, sizeof *project);
    if (!project) {
        error_set(error, 0, "out of memory");
        return NULL;
    }
    project->server = server;
    project->subscribed = json_object_new_object();
    project->options = (struct registry_options){.reserved_tools = reserved_tools,
                                                 .scanned = on_scanned,
                                                 .context = project};
    state_key_make(&project->key);
    if (project->subscribed)
        project->registry =
            registry_open(&server->loop, &server->log, server->settings, &project->options, error);
    if (!project->registry) {
        project_close(project);
        return NULL;
    }
    return project;
}

void project_close(struct project *project) {
    if (!project)
        return;
    while (project->invocations)
        invocation_free(project->invocations);
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
