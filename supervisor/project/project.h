/* What users define, as one server has it: the registry of their files, the runs of their
 * definitions, and who is to be told of changes. Never evaluates anything itself. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_PROJECT_H
#define ECLAVE_SUPERVISOR_PROJECT_PROJECT_H

#include "common/error.h"
#include "supervisor/base/loop.h"
#include "supervisor/project/state.h"
#include "supervisor/registry/registry.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct question;
struct request;
struct invocation;
struct server;
struct telling;

struct project {
    struct server *server;
    struct registry *registry;
    struct registry_options options;
    struct state_key key;           /* of the states that this process gives out */
    struct invocation *invocations; /* all that have not ended */
    uint64_t last_invocation;       /* number of the newest */
    struct question *questions;     /* asked of a legacy client and not answered */
    uint64_t last_question;         /* number of the newest */
    struct json_object *subscribed; /* legacy: its members are the URIs */
    struct telling *telling;        /* what is still to be told of refreshes */
    unsigned untold_lists;          /* bits of notify.c's lists that changed since it was told */
    struct loop_timer telling_timer, lists_timer;
};

/* Opens the project of the settings and begins the first look at it. NULL with *error for want of
 * memory or of random bytes. SERVER must outlive it, and so must RESERVED_TOOLS, the names that no
 * tool of the project may have, NULL at the end. */
struct project *project_open(struct server *server, const char *const *reserved_tools,
                             struct error *error);
/* Frees what is left, when all sessions are closed. NULL does nothing. */
void project_close(struct project *project);

/* Has the first look ended? Without a project nothing is waited for. */
bool project_is_settled(const struct project *project);

/* No more input comes: whoever waits for the client's word waits no longer. NULL does nothing. */
void project_drain(struct project *project);

#endif
