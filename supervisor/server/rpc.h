/* One input line, through the steps of CONTRACT.md section 2. */
#ifndef ECLAVE_SUPERVISOR_SERVER_RPC_H
#define ECLAVE_SUPERVISOR_SERVER_RPC_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

struct json_shape;
struct request;
struct server;

/* What a request method needs; a row of the table in methods.c. PARAMS is an object or NULL. The
 * handler answers, or keeps the request and answers later. */
struct method {
    const char *name;
    bool legacy, modern;    /* the eras that have it */
    bool before_initialize; /* legacy: served although `initialize` is still to come */
    bool after_shutdown;    /* served although `shutdown` has been */
    bool in_minimal_mode;
    bool in_batch;   /* may be part of one */
    bool of_project; /* there is no such method without a project */
    void (*handle)(struct server *server, struct request *request, struct json_object *params);
};

/* What a notification does. Never answers. */
struct notification {
    const char *name;
    void (*handle)(struct server *server, const struct json_shape *shape);
};

/* NULL when there is no such method. */
const struct method *method_find(const struct server *server, const char *name);
const struct notification *notification_find(const char *name);

/* Handles one line, already trimmed and not empty. A batch that takes long goes on in turns of the
 * loop, with the input paused. */
void rpc_handle_line(struct server *server, const unsigned char *bytes, size_t size);
/* Handles now what is left of the batch being read, if there is one. */
void rpc_end_batch(struct server *server);
/* Answers a line over request.max_bytes. */
void rpc_handle_too_long(struct server *server);

#endif
