/* Requests and their answers. The one way to answer is through the functions below, and they work
 * once per request: that is the whole of the exactly-once guarantee. */
#ifndef ECLAVE_SUPERVISOR_REQUEST_H
#define ECLAVE_SUPERVISOR_REQUEST_H

#include "common/buffer.h"
#include "supervisor/json_inspect.h"
#include "supervisor/output.h"
#include <stdbool.h>
#include <stddef.h>

struct call;
struct server;

/* JSON-RPC's and this server's error codes: CONTRACT.md section 3. */
enum rpc_code {
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL_ERROR = -32603,
    RPC_CANCELLED = -32001,
    RPC_NOT_INITIALIZED = -32002,
    RPC_SHUTTING_DOWN = -32003,
    RPC_TIMED_OUT = -32004,
    RPC_EXIT_BEFORE_SHUTDOWN = -32005
};

/* A batch being answered: its responses leave together, as one array, when the last is there. */
struct batch {
    struct buffer responses; /* "[" and what is there so far */
    size_t count;            /* responses in it */
    size_t pending;          /* requests of it not yet answered */
    size_t to_come;          /* elements, at most, whose responses are still to come */
    bool open;               /* elements are still being read */
};

struct request {
    struct json_token id; /* raw; its bytes are owned when the request is in flight */
    struct batch *batch;  /* NULL for a message of its own */
    bool answered;
    bool silent; /* cancelled where no answer is wanted */
    struct call *call;
    struct server *server;
    /* The answer being built. */
    struct buffer *out;
    struct buffer element; /* with batch */
    const char *closing;
    struct request *next; /* in flight */
};

struct requests {
    struct request *in_flight;
};

/* Keeps REQUEST beyond the reading of its line: a copy in the table of requests in flight, owned
 * by the table until it is answered or dropped. NULL with no memory. */
struct request *request_keep(struct server *server, const struct request *request);
/* The request in flight with that id, or NULL. */
struct request *request_find(const struct requests *requests, const struct json_token *id);

/* Begins a successful answer; the caller appends the JSON value of `result`. */
struct buffer *request_result(struct request *request);
/* Begins an error; with DATA the caller appends the JSON value of `data`. */
struct buffer *request_error_data(struct request *request, enum rpc_code code, const char *message);
/* Ends the answer begun; a kept request is freed. */
void request_end(struct request *request);

/* A whole error answer without data. */
void request_error(struct request *request, enum rpc_code code, const char *message);
/* The answer `{}`. */
void request_acknowledge(struct request *request);
/* Ends a kept request without an answer: cancelled, and silence is asked for. */
void request_drop(struct request *request);

/* A response to something that has no usable id. BATCH as in struct request. */
void respond_without_id(struct server *server, struct batch *batch, enum rpc_code code,
                        const char *message, const char *reason);

/* Batches. batch_close is called when all elements were read. */
struct batch *batch_open(struct server *server);
void batch_close(struct server *server, struct batch *batch);

#endif
