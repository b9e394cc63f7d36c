/* Looks once and waits for nothing else. */
#include "supervisor/project_look.h"
#include "supervisor/schema.h"
#include "supervisor/tools.h"

struct look {
    struct loop *loop;
    const struct registry *registry;
};

static void stop_when_settled(void *context) {
    const struct look *look = context;
    if (registry_is_settled(look->registry))
        loop_stop(look->loop);
}

struct registry *project_look(struct loop *loop, struct log *log, const struct settings *settings,
                              struct error *error) {
    static const struct registry_schemas schemas = {.compile = schema_compile, .drop = schema_free};
    const struct registry_options options = {.reserved_tools = tools_names(), .schemas = &schemas};
    struct registry *registry = registry_open(loop, log, settings, &options, error);
    struct look look = {loop, registry};
    if (!registry)
        return NULL;
    loop->before_wait = stop_when_settled;
    loop->before_wait_context = &look;
    bool run = loop_run(loop, error);
    loop->before_wait = NULL;
    loop->stopped = false;
    if (run)
        return registry;
    registry_close(registry);
    return NULL;
}
