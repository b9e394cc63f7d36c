/* The project of a server: the registry of its files, the invocations of its definitions, and the
 * notifications of its changes. */
#ifndef ECLAVE_SUPERVISOR_PROJECT_PROJECT_H
#define ECLAVE_SUPERVISOR_PROJECT_PROJECT_H

#include "common/error.h"
#include "supervisor/base/loop.h"
#include "supervisor/registry/registry.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct server;
struct update;

struct project {
    struct server *server;
    struct registry *registry;
    struct registry_options options;
    struct digest_key key;               /* of request states */
    LIST_HEAD(, invocation) invocations; /* all that have not ended, the newest first */
    uint64_t last_invocation;            /* number of the newest */
    LIST_HEAD(, asked) asked;            /* requests to a legacy client without a response */
    uint64_t last_asked;                 /* number of the newest */
    struct json_object *subscribed;      /* legacy: URIs, each under its normal form */
    struct update *update, *next_update; /* resources/updated to be sent; or NULL */
    unsigned changed_lists;              /* list_changed to be sent: bits of notify.c's lists */
    struct loop_timer update_timer, lists_timer;
};

/* Opens the project of the settings and begins the first scan of it. IS_RESERVED as in struct
 * registry_options. NULL with *error only when out of memory. SERVER must outlive the project. */
struct project *project_open(struct server *server,
                             bool (*is_reserved)(enum registry_kind kind, const char *key),
                             struct error *error);
/* To be called when all sessions are closed. NULL does nothing. */
void project_close(struct project *project);

/* Has the first scan ended, or is there no project? */
bool project_is_settled(const struct project *project);

/* The client sends nothing any more: ends all waiting for it. NULL does nothing. */
void project_drain(struct project *project);

#endif
