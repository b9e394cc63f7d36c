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
struct run;
struct server;
struct telling;

struct project {
    struct server *server;
    struct registry *registry;
    struct registry_options options;
    struct state_key key;           /* of the states that this process gives out */
    struct run *runs;               /* all that have not ended */
    uint64_t last_run;              /* number of the newest */
    struct question *questions;     /* asked of a legacy client and not answered */
    uint64_t last_question;         /* number of the newest */
    struct json_object *subscribed; /* legacy: its members are the URIs */
    struct telling *telling;        /* what is still to be told of refreshes */
    unsigned untold_lists;          /* bits of notify.c's lists that changed since it was told */
    struct loop_timer telling_timer, lists_timer;
};

/* Opens the project of the settings and begins the first look at it. NULL with *error for want of
 * memory or of random bytes. SERVER must outlive it. */
struct project *project_open(struct server *server, struct error *error);
/* Frees what is left, when all sessions are closed. NULL does nothing. */
void project_close(struct project *project);

/* Has the first look ended? Without a project nothing is waited for. */
bool project_is_settled(const struct project *project);

/* The entry of that kind and key in the present snapshot, borrowed; NULL: there is none, or no
 * project. */
const struct registry_entry *project_find(const struct project *project, enum registry_kind kind,
                                          const char *key);

/* No more input comes: whoever waits for the client's word waits no longer. NULL does nothing. */
void project_drain(struct project *project);

/* Answers REQUEST, which is a list's or asks for what is not known, with the newest failure of a
 * refresh (spec/003, Operational Safeguards). False when there is none that was not told of. */
bool project_refuse_unread(struct project *project, struct request *request);

#endif
