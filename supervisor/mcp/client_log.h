/* The log as the client has it: notifications/message. An event of a call is told to who made that
 * call, any other to the legacy session; what lasts (a project that cannot be read) and comes while
 * nobody is there to hear it is held for who comes first. */
#ifndef ECLAVE_SUPERVISOR_MCP_CLIENT_LOG_H
#define ECLAVE_SUPERVISOR_MCP_CLIENT_LOG_H

#include "supervisor/base/log.h"
#include <stddef.h>

struct server;

enum { HELD_EVENTS_MAX = 32, HELD_CAUSE_BYTES = 400 };

struct client_log {
    enum log_level least; /* of the legacy session: what it wants to hear of */
    struct rate rate;
    struct held_event {
        enum log_level level;
        const char *name;
        char cause[HELD_CAUSE_BYTES];
    } held[HELD_EVENTS_MAX]; /* the oldest first */
    size_t held_count;
};

struct client_log client_log_make(void);

/* A log_hook; the context is the server. */
void client_log_event(void *context, const struct log_event *event, const char *cause);

/* Tells what is held, of LEAST or above, and keeps the rest. */
void client_log_tell_held(struct server *server, enum log_level least);

#endif
