/* Reads a project once, by the registry of the server. Never evaluates anything. */
#include "supervisor/command/look.h"
#include "supervisor/registry/registry.h"
#include "supervisor/server/tools.h"

#include <stdio.h>
#include <string.h>

struct look {
    struct loop loop;
    struct registry *registry;
};

static void stop_when_settled(void *context) {
    struct look *look = context;
    if (registry_is_settled(look->registry))
        loop_stop(&look->loop);
}

static const struct snapshot *finish(struct look *look, struct error *error) {
    look->loop.before_wait = stop_when_settled;
    look->loop.before_wait_context = look;
    if (!loop_run(&look->loop, error) || registry_take_failure(look->registry, error))
        return NULL;
    return snapshot_ref(registry_snapshot(look->registry));
}

const struct snapshot *project_look(const struct settings *settings, struct error *error) {
    struct look look = {.loop = {.epoll_fd = -1}};
    struct log silent = {.out = {.fd = -1, .restore_flags = -1}, .least = LOG_LEVEL_COUNT};
    const struct registry_options options = {.reserved_tools = tools_names()};
    const struct snapshot *snapshot = NULL;
    if (loop_open(&look.loop, error)) {
        look.registry = registry_open(&look.loop, &silent, settings, &options, error);
        if (look.registry)
            snapshot = finish(&look, error);
    }
    registry_close(look.registry);
    loop_close(&look.loop);
    return snapshot;
}
