/* Requests and their answers. Every answer goes through the functions below, which work once per
 * request: this is what guarantees exactly one answer. */
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
struct task;
struct transcript_call;

/* Error codes of JSON-RPC, MCP and this server: doc/contract.md, section 3. */
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
    RPC_RESOURCE_NOT_FOUND = -32002, /* legacy; the modern era uses RPC_INVALID_PARAMS */
    RPC_MISSING_CAPABILITY = -32021,
    RPC_UNSUPPORTED_VERSION = -32022
};

/* A JSON-RPC batch. Its responses are sent together, as one array, when the last is there. */
struct rpc_batch {
    struct buffer responses; /* "[" and the responses so far */
    size_t count;            /* number of responses */
    size_t pending;          /* requests of the batch that are not answered yet */
    size_t to_come;          /* upper bound of the responses still to come */
    bool open;               /* elements are still being read, from: */
    unsigned char *text;     /* a copy of the line */
    size_t size;
    struct json_search next; /* the element to read next */
};

struct request {
    struct json_token id;    /* raw JSON; owned once the request is in flight */
    struct rpc_batch *batch; /* NULL for a single message */
    bool modern;             /* the request carries its own revision */
    int log_level;           /* modern: lowest level of log events it asked for; -1: none */
    struct json_token
        progress_token;         /* raw JSON, owned like id; bytes NULL: no progress requested */
    bool silent;                /* cancelled, and the client expects no answer */
    bool listening;             /* an open subscriptions/listen */
    struct json_object *filter; /* with it: the notifications it selects, as acknowledged; owned */
    struct json_object
        *watched;   /* with it: an object whose members are the selected URIs; may be NULL; owned */
    bool transient; /* its call runs in a session that ends with the call */
    bool reports;   /* the code's own progress is sent under its token */
    const char *subject; /* first word of an error message: "Prompt", …; NULL: "Tool" */
    bool takes_task;     /* its client can fetch the answer later */
    struct task *task;   /* that gets the answer; NULL: the client */
    struct loop_timer task_timer;
    bool new_session;   /* its session was created for it */
    bool named_session; /* with it: under a name that the request gave */
    struct call *call;
    struct transcript_call *recorded; /* for the transcript of its session; NULL: it is not */
    struct server *server;
    struct loop_timer heartbeat; /* sends progress while the call runs */
    /* The answer being built. */
    struct buffer *out;
    struct buffer element; /* with batch or task */
    enum { PART_NONE, PART_RESULT, PART_META, PART_ERROR } part;
    size_t members;       /* of the object being written */
    struct request *next; /* in flight */
};

struct requests {
    struct request *in_flight;
};

/* Copies REQUEST into the table of requests in flight, which owns the copy until it is answered or
 * dropped. NULL when out of memory. */
struct request *request_keep(struct server *server, const struct request *request);
/* The request in flight that has this id and is still to be answered, or NULL: the id of one that
 * was cancelled silently is free again, because the client is not told when it ends. */
struct request *request_find(const struct requests *requests, const struct json_token *id);

/* Begins a result. The caller adds its members, each with request_member and a JSON value, and
 * `_meta` last. */
struct buffer *request_result(struct request *request);
/* Begins a modern result that asks the client for input. */
struct buffer *request_input_required(struct request *request);
/* Begins the next member of the object being written. The caller appends its value. */
void request_member(struct request *request, const char *name);
/* Begins `_meta`, to which further members are added. */
void request_meta(struct request *request);
/* Begins an error. The caller appends the JSON value of `data`. */
struct buffer *request_error_data(struct request *request, enum rpc_code code, const char *message);
/* The same with a message of any length, which is UTF-8. */
struct buffer *request_error_text(struct request *request, enum rpc_code code, struct span message);
/* Answers with an error whose `data` is {MEMBER: VALUE}. */
void request_error_with(struct request *request, enum rpc_code code, const char *message,
                        const char *member, const char *value);
/* Answers -32602 for the member NAME of the params. */
void request_error_invalid(struct request *request, const char *name, const char *message);
/* Answers with an error whose `data` names the limit that was reached. */
void request_error_limit(struct request *request, enum rpc_code code, const char *message,
                         const char *name, int64_t limit);
/* Answers the client with TASK, which gets the answer of REQUEST. */
void request_become_task(struct request *request, struct task *task);
/* Ends the answer and frees a kept request. */
void request_end(struct request *request);

/* Answers with an error without data. */
void request_error(struct request *request, enum rpc_code code, const char *message);
/* Answers `{}`, or its equivalent in the modern era. */
void request_acknowledge(struct request *request);
/* Ends a kept request without an answer. */
void request_drop(struct request *request);

/* Answers a message that has no usable id. BATCH as in struct request. */
void request_refuse_unidentified(struct server *server, struct rpc_batch *batch, enum rpc_code code,
                                 const char *message, const char *reason);

/* TEXT is an array that was inspected; it is copied. NULL when out of memory. rpc_batch_close is
 * called when all elements were read. */
struct rpc_batch *rpc_batch_open(struct server *server, struct span text, size_t elements);
void rpc_batch_close(struct server *server, struct rpc_batch *batch);

#endif
