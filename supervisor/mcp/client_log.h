/* Log events as notifications/message. An event of a call goes to the client that made the call,
 * any other to the legacy session. Events that stay true (a project that cannot be read) are held
 * until a client arrives. */
#ifndef ECLAVE_SUPERVISOR_MCP_CLIENT_LOG_H
#define ECLAVE_SUPERVISOR_MCP_CLIENT_LOG_H

#include "supervisor/base/log.h"
#include <stddef.h>

struct server;

enum { HELD_EVENTS_MAX = 32, HELD_CAUSE_BYTES = 400 };

struct client_log {
    enum log_level least; /* lowest level that the legacy session receives */
    struct rate rate;
    struct held_event {
        enum log_level level;
        const char *name;
        char cause[HELD_CAUSE_BYTES];
    } held[HELD_EVENTS_MAX]; /* oldest first */
    size_t held_count;
};

struct client_log client_log_make(void);

/* A log_hook; the context is the server. */
void client_log_event(void *context, const struct log_event *event, const char *cause);

/* Sends the held events of level LEAST and above, and keeps the others. */
void client_log_send_held(struct server *server, enum log_level least);

#endif
