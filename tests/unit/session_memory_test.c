/* supervisor/session/memory.c: however many processes there are, the loop gets its turns. */
#include "supervisor/session/session_internal.h"
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATES = 4000, TURNS_LEAST = 4, PATIENCE_MS = 60000 };

static void stop(void *context) {
    loop_stop(context);
}

/* All have the pid of one process, which sleeps. */
static struct worker_process *make_worker(struct pool *pool, pid_t pid) {
    struct worker_process *worker = calloc(1, sizeof *worker);
    cr_assert_not_null(worker);
    worker->workers = &pool->workers;
    worker->state = WORKER_READY;
    worker->pid = pid;
    return worker;
}

static void fill(struct session *session, pid_t pid) {
    session->head = make_worker(session->all->pool, pid);
    for (size_t i = 0; i < STATES; i++) {
        struct checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
        cr_assert_not_null(checkpoint);
        checkpoint->worker = make_worker(session->all->pool, pid);
        LIST_INSERT_HEAD(&session->checkpoints, checkpoint, entry);
    }
}

static bool is_measured(const struct session *session) {
    const struct checkpoint *checkpoint;
    LIST_FOREACH(checkpoint, &session->checkpoints, entry) {
        if (!checkpoint->worker->memory.resident_bytes)
            return false;
    }
    return session->head->memory.resident_bytes > 0;
}

static size_t turns; /* in which a check has begun and not ended */

static void on_round(void *context) {
    const struct session *session = context;
    turns += session->all->memory.checking;
    if (!session->all->memory.checking && is_measured(session))
        loop_stop(session->all->loop);
}

/* Frees the processes without ending them. */
static void empty(struct session *session) {
    free(session->head);
    session->head = NULL;
    while (!LIST_EMPTY(&session->checkpoints)) {
        struct checkpoint *checkpoint = LIST_FIRST(&session->checkpoints);
        LIST_REMOVE(checkpoint, entry);
        free(checkpoint->worker);
        free(checkpoint);
    }
}

Test(memory, a_check_of_many_processes_is_divided_into_turns) {
    struct loop loop;
    struct log log = {.out.fd = -1, .least = LOG_ERROR_LEVEL};
    struct settings settings;
    struct pool pool = {.loop = &loop, .log = &log};
    struct sessions sessions;
    struct loop_timer limit = {0};
    turns = 0;
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    cr_assert_gt(pid, 1);
    cr_assert(loop_open(&loop, NULL));
    settings_default(&settings);
    sessions_open(&sessions, &loop, &log, &settings, &pool);
    struct session *session = session_add(&sessions, string_span("many"), SESSION_KEPT);
    fill(session, pid);
    loop.before_wait = on_round;
    loop.before_wait_context = session;
    memory_start(&sessions);
    loop_timer_start(&loop, &limit, PATIENCE_MS, stop, &loop);
    cr_assert(loop_run(&loop, NULL));
    cr_assert(is_measured(session), "it was not checked in time");
    cr_assert_geq(turns, TURNS_LEAST, "%zu turns", turns);
    loop_timer_stop(&loop, &limit);
    empty(session);
    sessions_close(&sessions);
    loop_close(&loop);
    kill(pid, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0)
        ;
}
