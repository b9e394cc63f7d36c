/* One input line, through the steps of doc/contract.md, section 2. */
#ifndef ECLAVE_SUPERVISOR_SERVER_RPC_H
#define ECLAVE_SUPERVISOR_SERVER_RPC_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

struct json_shape;
struct request;
struct server;

/* The eras that have a method, and the states in which it is served besides the ordinary one. */
enum method_flags {
    METHOD_LEGACY = 1 << 0,
    METHOD_MODERN = 1 << 1,
    METHOD_BOTH_ERAS = METHOD_LEGACY | METHOD_MODERN,
    METHOD_BEFORE_INITIALIZE = 1 << 2, /* legacy: also before `initialize` */
    METHOD_AFTER_SHUTDOWN = 1 << 3,    /* also after `shutdown` */
    METHOD_IN_MINIMAL_MODE = 1 << 4,   /* also in minimal mode */
    METHOD_IN_BATCH = 1 << 5,          /* also as an element of a batch */
    METHOD_OF_PROJECT = 1 << 6         /* only with a project */
};

/* A row of the method table. The handler answers the request, or keeps it and answers later. PARAMS
 * is an object or NULL. */
struct method {
    const char *name;
    unsigned flags; /* of enum method_flags */
    void (*handle)(struct server *server, struct request *request, struct json_object *params);
};

/* A row of the notification table. The handler sends no answer. */
struct notification {
    const char *name;
    void (*handle)(struct server *server, const struct json_shape *shape);
};

/* The methods and notifications that a server serves. */
struct method_table {
    const struct method *methods;
    size_t method_count;
    const struct notification *notifications;
    size_t notification_count;
};

/* Handles one line, trimmed and not empty. A long line or batch continues in later rounds of the
 * loop, with the input paused. CONTEXT is the struct server. */
void rpc_handle_line(void *context, const unsigned char *bytes, size_t size);
/* Handles the rest of the line or batch being read, if there is one, at once. */
void rpc_end_reading(struct server *server);
/* Forgets the long line being read, if there is one. */
void rpc_drop_line(struct server *server);
/* Answers a line over request.max_bytes. CONTEXT is the struct server. */
void rpc_handle_too_long(void *context);

#endif
