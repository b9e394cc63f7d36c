/* Tasks, the extension io.modelcontextprotocol/tasks of the modern era: calls whose client was told
 * that it will fetch the answer. A call becomes a task when it has run for task.after_ms and
 * its request declares the extension, so that only clients that can poll have to. */
#ifndef ECLAVE_SUPERVISOR_MCP_TASK_H
#define ECLAVE_SUPERVISOR_MCP_TASK_H

#include "common/buffer.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct request;
struct server;

#define TASK_EXTENSION "io.modelcontextprotocol/tasks"

/* Bytes that every answer leaves for what tasks/get says around it. */
enum { TASK_ROOM_BYTES = 1024, TASK_ID_BYTES = 33 };

enum task_status { TASK_WORKING, TASK_INPUT_REQUIRED, TASK_COMPLETED, TASK_FAILED, TASK_CANCELLED };

struct task {
    LIST_ENTRY(task) link;
    char id[TASK_ID_BYTES];
    enum task_status status;
    struct request *request;        /* that its answer goes to; NULL: it has ended */
    int64_t created_ms, changed_ms; /* since 1970 */
    int64_t expires_ns;             /* monotonic; an ended task is forgotten then */
    uint64_t asker;                 /* with questions: number of the invocation that asks */
    struct json_object *questions;  /* key -> question that has no response yet; NULL: none */
    struct buffer answer;           /* a member to append: ,"result":{…} or ,"error":{…} */
};

struct tasks {
    LIST_HEAD(, task) all;
    size_t count, held_bytes;
};

/* Is the extension among CAPABILITIES, which may be NULL? */
bool task_is_declared(struct json_object *capabilities);

/* REQUEST, just kept, becomes a task if it is not answered within task.after_ms. */
void task_offer(struct request *request);

/* The task of the client that has this id and is kept, or NULL. */
struct task *task_find(struct server *server, const char *id);

/* Appends the members of TASK to the result of REQUEST; WHOLE: with its questions and its answer.
 */
void task_append(struct request *request, const struct task *task, bool whole);

/* Takes the answer of the request of TASK, as request.c builds it for a task; FAILED: an error. It
 * is dropped if the task was cancelled. */
void task_answer(struct task *task, struct buffer *answer, bool failed);
/* The request of TASK is gone. */
void task_end(struct task *task);

/* TASK waits for responses to QUESTIONS, which it takes over, of the invocation ASKER; NULL: it
 * waits no more. Does nothing but free them if TASK was cancelled. */
void task_ask(struct task *task, uint64_t asker, struct json_object *questions);

/* Undoes the call of TASK. Does nothing if it has ended. */
void task_cancel(struct task *task);

/* Frees all tasks, whose requests are gone. */
void tasks_free(struct tasks *tasks);

#endif
