/* The event loop: epoll over descriptors and deadlines, in one thread. It is the only place where
 * the supervisor waits.
 *
 * The caller owns watches and timers and keeps them valid while they are in the loop. A callback
 * may add and remove any watch or timer, its own included. */
#ifndef ECLAVE_SUPERVISOR_BASE_LOOP_H
#define ECLAVE_SUPERVISOR_BASE_LOOP_H

#include "common/error.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/queue.h>

enum {
    LOOP_EVENTS_MAX = 64,
    LOOP_TURN_NS = 1000000,   /* how long one kind of work may take before the others get a turn */
    LOOP_LATE_NS = 200000000, /* by how much a round may be late before that counts as a pause */
    LOOP_LOOKS_MAX = 64       /* rounds after a pause in which only descriptors are served */
};

typedef void (*loop_watch_callback)(void *context, uint32_t events);
typedef void (*loop_timer_callback)(void *context);

struct loop_watch {
    int fd;
    uint32_t events; /* EPOLLIN, EPOLLOUT; 0: paused */
    loop_watch_callback callback;
    void *context;
    bool active;
    bool is_file; /* a regular file, which epoll refuses and which is always ready */
    LIST_ENTRY(loop_watch) files;
};

struct loop_timer {
    int64_t deadline_ns; /* in the time of the loop */
    loop_timer_callback callback;
    void *context;
    bool active;
    LIST_ENTRY(loop_timer) timers;
};

struct loop {
    int epoll_fd;
    LIST_HEAD(, loop_timer) timers;
    LIST_HEAD(, loop_watch) files;
    struct epoll_event ready[LOOP_EVENTS_MAX]; /* of this round */
    int ready_count;
    int64_t round_ns;  /* when the last wait returned, in the time of the loop */
    int64_t paused_ns; /* of all pauses so far */
    int looks_left;
    const struct loop_watch *first; /* or NULL */
    bool stopped;
    bool failed;
    struct error failure;            /* if failed */
    loop_timer_callback before_wait; /* called before each wait; sends what the round produced */
    void *before_wait_context;
};

bool loop_open(struct loop *loop, struct error *error);
void loop_close(struct loop *loop);

/* Calls CALLBACK when FD is ready for EVENTS or has an error or hang-up. */
bool loop_watch_add(struct loop *loop, struct loop_watch *watch, int fd, uint32_t events,
                    loop_watch_callback callback, void *context, struct error *error);
/* Changes the events; 0 pauses the watch. */
void loop_watch_change(struct loop *loop, struct loop_watch *watch, uint32_t events);
/* Gives WATCH, which is in the loop, precedence: when other callbacks of a round take long, it is
 * polled after each of them, and before_wait is called. */
void loop_put_first(struct loop *loop, const struct loop_watch *watch);
/* Does nothing if the watch is not in the loop. Does not close the descriptor. */
void loop_watch_remove(struct loop *loop, struct loop_watch *watch);

/* The time of the loop: monotonic time without pauses, in which the process was stopped (SIGSTOP, a
 * debugger, a frozen control group, a halted virtual machine) and could not see what happened. The
 * clock is CLOCK_MONOTONIC and not CLOCK_BOOTTIME, since the code did not run either while the
 * machine was suspended. */
int64_t loop_now_ns(const struct loop *loop);

/* Starts or restarts a timer. */
void loop_timer_start(struct loop *loop, struct loop_timer *timer, int64_t delay_ms,
                      loop_timer_callback callback, void *context);
/* Does nothing if the timer does not run. */
void loop_timer_stop(struct loop *loop, struct loop_timer *timer);

/* Runs until loop_stop. False with *error if waiting fails, or after loop_fail. */
bool loop_run(struct loop *loop, struct error *error);
void loop_stop(struct loop *loop);
/* Stops the loop for good: every loop_run fails with ERROR, the first that was given. */
void loop_fail(struct loop *loop, const struct error *error);

/* Blocks SIGCHLD, and SIGTERM and SIGINT unless they are ignored. Ignores SIGPIPE and SIGXFSZ.
 * Returns a non-blocking descriptor that is readable when a blocked signal is pending; -1 with
 * *error. */
int signals_open(struct error *error);
/* The number of the next pending signal, or 0. */
int signals_next(int fd);

#ifdef ECLAVE_TURNS
/* Names the callbacks for turn.h. */
#include "supervisor/base/turn.h"
#define loop_watch_add(loop, watch, fd, events, callback, context, error)                          \
    loop_watch_add(loop, watch, fd, events, TURN_NAMED(callback), context, error)
#define loop_timer_start(loop, timer, delay_ms, callback, context)                                 \
    loop_timer_start(loop, timer, delay_ms, TURN_NAMED(callback), context)
#endif

#endif
