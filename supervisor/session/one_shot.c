/* The loop, signals, pool and sessions of a shell command. */
#include "supervisor/session/one_shot.h"
#include "supervisor/base/status.h"
#include "supervisor/process/confinement.h"

#include <signal.h>
#include <unistd.h>

static void on_signal(void *context, uint32_t events) {
    (void)events;
    struct one_shot *one_shot = context;
    for (int number; (number = signals_next(one_shot->signal_fd)) != 0;) {
        if (number == SIGCHLD)
            pool_reap(&one_shot->pool);
        else if (one_shot->interrupted)
            one_shot->interrupted(one_shot->interrupted_context, number);
        else
            sessions_cancel_all(&one_shot->sessions, "Interrupted.");
    }
}

static bool open_parts(struct one_shot *one_shot, const struct settings *settings,
                       struct error *error) {
    struct loop *loop = &one_shot->loop;
    one_shot->signal_fd = signals_open(error);
    return one_shot->signal_fd >= 0 && loop_open(loop, error) &&
           loop_watch_add(loop, &one_shot->signal_watch, one_shot->signal_fd, EPOLLIN, on_signal,
                          one_shot, error) &&
           pool_open(&one_shot->pool, loop, &one_shot->log, settings, error);
}

static void close_parts(struct one_shot *one_shot) {
    loop_watch_remove(&one_shot->loop, &one_shot->signal_watch);
    if (one_shot->signal_fd >= 0)
        close(one_shot->signal_fd);
    log_close(&one_shot->log);
    loop_close(&one_shot->loop);
}

static bool can_evaluate(const struct settings *settings, struct error *error) {
    struct error why = {.text = "the setting minimal forbids it"};
    return (!settings->minimal && confinement_is_possible(settings, &why)) ||
           error_set(error, 0, "code cannot be evaluated here: %.180s", why.text);
}

bool one_shot_open(struct one_shot *one_shot, const struct settings *settings, int *status,
                   struct error *error) {
    *one_shot = (struct one_shot){.loop = {.epoll_fd = -1}, .signal_fd = -1};
    log_open(&one_shot->log, (enum log_level)settings->log_level,
             (enum log_format)settings->log_format);
    *status = STATUS_USAGE;
    if (open_parts(one_shot, settings, error)) {
        *status = STATUS_INTERNAL;
        /* The same lines at every run would hide the others; `eclave doctor` shows the layers. */
        one_shot->pool.layers_logged = !settings->log_level_set;
        if (can_evaluate(settings, error)) {
            sessions_open(&one_shot->sessions, &one_shot->loop, &one_shot->log, settings,
                          &one_shot->pool);
            one_shot->sessions.reports_usage = true;
            return true;
        }
    }
    pool_close(&one_shot->pool);
    close_parts(one_shot);
    return false;
}

bool one_shot_open_confined(struct one_shot *one_shot, const struct settings *settings, int *status,
                            struct error *error) {
    if (!one_shot_open(one_shot, settings, status, error))
        return false;
    if (sessions_confine_supervisor(&one_shot->sessions, error))
        return true;
    one_shot_close(one_shot);
    return false;
}

void one_shot_close(struct one_shot *one_shot) {
    sessions_close(&one_shot->sessions);
    pool_close(&one_shot->pool);
    close_parts(one_shot);
}

static void stop_when_idle(void *context) {
    struct one_shot *one_shot = context;
    if (one_shot->sessions.active == 0)
        loop_stop(&one_shot->loop);
}

bool one_shot_run(struct one_shot *one_shot, const struct call_request *request,
                  struct error *error) {
    struct loop *loop = &one_shot->loop;
    one_shot->call = session_submit_once(&one_shot->sessions, request);
    if (!one_shot->call)
        return error_set(error, 0, "out of memory");
    loop->before_wait = stop_when_idle;
    loop->before_wait_context = one_shot;
    loop->stopped = false;
    session_step(call_session(one_shot->call));
    if (loop_run(loop, error))
        return true;
    sessions_close(&one_shot->sessions); /* which drops the call */
    return false;
}

bool one_shot_run_alone(const struct settings *settings, const struct call_request *request,
                        int *status, struct error *error) {
    struct one_shot one_shot;
    if (!one_shot_open_confined(&one_shot, settings, status, error))
        return false;
    *status = STATUS_INTERNAL;
    one_shot.pool.spares_wanted = 0;
    if (!settings->log_level_set) {
        one_shot.log.least = LOG_WARNING_LEVEL;
        one_shot.sessions.unlogged = true;
    }
    bool good = one_shot_run(&one_shot, request, error);
    one_shot_close(&one_shot);
    return good;
}

int one_shot_status(const struct evaluation *evaluation) {
    return evaluation->outcome == OUTCOME_EXIT && evaluation->exit_code == 0
               ? STATUS_NO_VALUE
               : evaluation->exit_code;
}
