/* Requests and their answers. The one way to answer is through the functions below, and they work
 * once per request: that is the whole of the exactly-once guarantee. */
#ifndef ECLAVE_SUPERVISOR_MCP_REQUEST_H
#define ECLAVE_SUPERVISOR_MCP_REQUEST_H

#include "common/buffer.h"
#include "supervisor/base/loop.h"
#include "supervisor/json/json_inspect.h"
#include "supervisor/mcp/output.h"
#include <stdbool.h>
#include <stddef.h>

struct call;
struct json_object;
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
    RPC_EXIT_BEFORE_SHUTDOWN = -32005,
    RPC_RESOURCE_NOT_FOUND = -32002, /* legacy; the modern era has RPC_INVALID_PARAMS there */
    RPC_MISSING_CAPABILITY = -32021,
    RPC_UNSUPPORTED_VERSION = -32022
};

/* A batch being answered: its responses leave together, as one array, when the last is there. */
struct rpc_batch {
    struct buffer responses; /* "[" and what is there so far */
    size_t count;            /* responses in it */
    size_t pending;          /* requests of it not yet answered */
    size_t to_come;          /* elements, at most, whose responses are still to come */
    bool open;               /* elements are still being read: */
    unsigned char *text;     /* a copy of its line, until then */
    size_t size, offset;     /* of the text, and how far it is read */
};

struct request {
    struct json_token id;    /* raw; its bytes are owned when the request is in flight */
    struct rpc_batch *batch; /* NULL for a message of its own */
    bool modern;             /* of the stateless era: it carries its own version */
    int log_level;           /* modern: least level of log events wanted for it, -1: none */
    struct json_token progress_token; /* raw, owned like id; bytes NULL: no progress wanted */
    bool answered;
    bool silent;                 /* cancelled where no answer is wanted */
    bool listening;              /* an open subscriptions/listen */
    struct json_object *filter;  /* with it: what it is told of, as acknowledged; owned */
    struct json_object *watched; /* with it: its members are the URIs of that; may be NULL; owned */
    bool transient;              /* its call has a world that ends with it, and no name */
    bool reports;                /* its own progress goes out under its token */
    const char *subject;         /* what a sentence about its failure begins with; NULL: "Tool" */
    bool new_session;            /* modern: runs in a session made for it */
    struct call *call;
    struct server *server;
    struct loop_timer heartbeat; /* of progress; in flight */
    /* The answer being built. */
    struct buffer *out;
    struct buffer element; /* with batch */
    enum { PART_NONE, PART_RESULT, PART_META, PART_ERROR } part;
    size_t members;       /* of the object being written */
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

/* Begins a successful answer. The caller adds the members of `result`, each with request_member and
 * its JSON value, and `_meta` last, if it has anything for it. */
struct buffer *request_result(struct request *request);
/* Begins the answer of the modern era that asks for more before there is a result. */
struct buffer *request_input_required(struct request *request);
/* Begins the next member of what is being written; its value is for the caller to append. */
void request_member(struct request *request, const char *name);
/* Begins `_meta`; further members go into it. */
void request_meta(struct request *request);
/* Begins an error; with DATA the caller appends the JSON value of `data`. */
struct buffer *request_error_data(struct request *request, enum rpc_code code, const char *message);
/* Answers with an error whose `data` is {MEMBER: VALUE}. */
void request_error_with(struct request *request, enum rpc_code code, const char *message,
                        const char *member, const char *value);
/* Answers -32602 for the member NAME of the params. */
void request_error_invalid(struct request *request, const char *name, const char *message);
/* Answers with an error whose `data` names the limit that was reached. */
void request_error_limit(struct request *request, enum rpc_code code, const char *message,
                         const char *name, int64_t limit);
/* Ends the answer begun; a kept request is freed. */
void request_end(struct request *request);

/* A whole error answer without data. */
void request_error(struct request *request, enum rpc_code code, const char *message);
/* The answer `{}`, or its equal in the modern era. */
void request_acknowledge(struct request *request);
/* Ends a kept request without an answer: cancelled, and silence is asked for. */
void request_drop(struct request *request);

/* A response to something that has no usable id. BATCH as in struct request. */
void respond_without_id(struct server *server, struct rpc_batch *batch, enum rpc_code code,
                        const char *message, const char *reason);

/* Batches. TEXT is an array that was inspected; it is copied. NULL with no memory. rpc_batch_close
 * is called when all elements were read. */
struct rpc_batch *rpc_batch_open(struct server *server, struct span text);
void rpc_batch_close(struct server *server, struct rpc_batch *batch);

#endif
