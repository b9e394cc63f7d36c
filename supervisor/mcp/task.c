/* Tasks: their beginning, what is kept of them, and for how long. */
#include "supervisor/mcp/task.h"
#include "supervisor/base/clock.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/mcp/server.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A task outlives the longest call by KEPT_MS. What it says of that is a promise, so nothing is
 * dropped before: past the limits a call stays an ordinary one, or its answer is not kept. */
enum { TASKS_MAX = 1024, HELD_MAX_BYTES = 128 << 20, KEPT_MS = 600000, POLL_MS = 1000 };

static const char *const status_names[] = {
    [TASK_WORKING] = "working",     [TASK_INPUT_REQUIRED] = "input_required",
    [TASK_COMPLETED] = "completed", [TASK_FAILED] = "failed",
    [TASK_CANCELLED] = "cancelled",
};

bool task_is_declared(struct json_object *capabilities) {
    struct json_object *extensions = json_tree_member(capabilities, "extensions");
    return json_object_is_type(json_tree_member(extensions, TASK_EXTENSION), json_type_object);
}

static void set_status(struct task *task, enum task_status status) {
    task->status = status;
    task->changed_ms = clock_realtime_ms();
}

static void forget(struct tasks *tasks, struct task *task) {
    LIST_REMOVE(task, link);
    tasks->count--;
    tasks->held_bytes -= task->answer.length;
    json_object_put(task->questions);
    buffer_free(&task->answer);
    free(task);
}

static void forget_expired(struct server *server) {
    const int64_t now_ns = clock_now_ns();
    for (struct task *task = LIST_FIRST(&server->tasks.all), *next; task; task = next) {
        next = LIST_NEXT(task, link);
        if (!task->request && task->expires_ns <= now_ns)
            forget(&server->tasks, task);
    }
}

static int64_t lifetime_ms(const struct settings *settings) {
    return settings->call_timeout_max_s * CLOCK_MS_PER_S + KEPT_MS;
}

/* A task of REQUEST; NULL: there is no room for it. */
static struct task *make(struct request *request) {
    struct server *server = request->server;
    unsigned char random[(TASK_ID_BYTES - 1) / 2];
    forget_expired(server);
    struct task *task = server->tasks.count < TASKS_MAX ? calloc(1, sizeof *task) : NULL;
    if (!task)
        return NULL;
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(task->id, sizeof task->id, random, sizeof random);
    task->request = request;
    set_status(task, TASK_WORKING);
    task->created_ms = task->changed_ms;
    task->expires_ns = clock_now_ns() + lifetime_ms(server->settings) * CLOCK_NS_PER_MS;
    LIST_INSERT_HEAD(&server->tasks.all, task, link);
    server->tasks.count++;
    return task;
}

/* A client that has said all that it will say cannot fetch an answer. */
static void on_due(void *context) {
    struct request *request = context;
    const struct server *server = request->server;
    const bool fetches = !request->silent && !server->shutting_down && !server->draining;
    struct task *task = fetches ? make(request) : NULL;
    if (task)
        request_become_task(request, task);
}

void task_offer(struct request *request) {
    struct server *server = request->server;
    loop_timer_start(&server->loop, &request->task_timer, server->settings->task_after_ms, on_due,
                     request);
}

struct task *task_find(struct server *server, const char *id) {
    struct task *task = NULL;
    forget_expired(server);
    LIST_FOREACH(task, &server->tasks.all, link) {
        if (id && strcmp(task->id, id) == 0)
            return task;
    }
    return NULL;
}

static void append_time(struct request *request, const char *name, int64_t time_ms) {
    char text[CLOCK_UTC_BYTES];
    clock_write_utc(text, time_ms);
    request_member(request, name);
    buffer_append_format(request->out, "\"%s\"", text);
}

void task_append(struct request *request, const struct task *task, bool whole) {
    struct buffer *out = request->out;
    request_member(request, "taskId");
    buffer_append_format(out, "\"%s\"", task->id);
    request_member(request, "status");
    buffer_append_format(out, "\"%s\"", status_names[task->status]);
    append_time(request, "createdAt", task->created_ms);
    append_time(request, "lastUpdatedAt", task->changed_ms);
    request_member(request, "ttlMs");
    buffer_append_format(out, "%lld", (long long)lifetime_ms(request->server->settings));
    request_member(request, "pollIntervalMs");
    buffer_append_format(out, "%d", POLL_MS);
    if (!whole)
        return;
    if (task->status == TASK_INPUT_REQUIRED) {
        request_member(request, "inputRequests");
        json_write_tree(out, task->questions);
    }
    buffer_append(out, task->answer.data, task->answer.length);
}

/* WHY is a sentence of plain letters. */
static void fail(struct task *task, const char *why) {
    task->answer = buffer_make(ERROR_TEXT_BYTES);
    buffer_append_format(&task->answer, ",\"error\":{\"code\":%d,\"message\":\"%s\"}",
                         (int)RPC_INTERNAL_ERROR, why);
    set_status(task, TASK_FAILED);
}

void task_answer(struct task *task, struct buffer *answer, bool failed) {
    struct tasks *tasks = &task->request->server->tasks;
    if (task->status == TASK_CANCELLED)
        return;
    task_ask(task, 0, NULL);
    if (answer->failed) {
        fail(task, "The response would exceed response.max_bytes.");
    } else if (tasks->held_bytes + answer->length > HELD_MAX_BYTES) {
        fail(task, "The call is done, but its answer is not kept: those of other tasks take "
                   "128 MiB already.");
    } else {
        answer->length--; /* the end of the message */
        task->answer = *answer;
        *answer = (struct buffer){0};
        set_status(task, failed ? TASK_FAILED : TASK_COMPLETED);
    }
    tasks->held_bytes += task->answer.length;
}

void task_end(struct task *task) {
    task->request = NULL;
}

void task_ask(struct task *task, uint64_t asker, struct json_object *questions) {
    if (task->status == TASK_CANCELLED) {
        json_object_put(questions);
        return;
    }
    json_object_put(task->questions);
    task->questions = questions;
    task->asker = asker;
    set_status(task, questions ? TASK_INPUT_REQUIRED : TASK_WORKING);
}

void task_cancel(struct task *task) {
    struct request *request = task->request;
    if (!request || task->status == TASK_CANCELLED)
        return;
    set_status(task, TASK_CANCELLED);
    request->silent = true;
    if (request->call)
        call_cancel(request->call, "The client cancelled the task.");
}

void tasks_free(struct tasks *tasks) {
    while (!LIST_EMPTY(&tasks->all))
        forget(tasks, LIST_FIRST(&tasks->all));
}
