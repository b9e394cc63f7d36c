/* The one place where the supervisor waits: an epoll loop over descriptors and deadlines, one
 * thread, no lock, no busy wait. It knows nothing of what it waits for.
 *
 * Watches and timers are owned by the caller and must outlive their time in the loop. A callback
 * may add and remove any watch or timer, its own included. */
#ifndef ECLAVE_SUPERVISOR_BASE_LOOP_H
#define ECLAVE_SUPERVISOR_BASE_LOOP_H

#include "common/error.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

enum {
    LOOP_EVENTS_MAX = 64,
    LOOP_TURN_NS = 1000000 /* what one kind of work may take before the others get a turn */
};

typedef void (*loop_watch_callback)(void *context, uint32_t events);
typedef void (*loop_timer_callback)(void *context);

struct loop_watch {
    int fd;
    uint32_t events; /* EPOLLIN, EPOLLOUT; 0 means paused */
    loop_watch_callback callback;
    void *context;
    bool active;
    bool always_ready; /* a regular file: epoll refuses it, and it never blocks */
    struct loop_watch *next_ready;
};

struct loop_timer {
    int64_t deadline_ns;
    loop_timer_callback callback;
    void *context;
    bool active;
    struct loop_timer *previous, *next;
};

struct loop {
    int epoll_fd;
    struct loop_timer *timers;
    struct loop_watch *always_ready;
    struct epoll_event ready[LOOP_EVENTS_MAX];
    int ready_count;
    const struct loop_watch *first; /* loop_put_first; or NULL */
    bool stopped;
    loop_timer_callback before_wait; /* called before each wait; flushes what the round produced */
    void *before_wait_context;
};

bool loop_open(struct loop *loop, struct error *error);
void loop_close(struct loop *loop);

/* Calls CALLBACK when FD is ready for EVENTS (or has an error or hang-up). */
bool loop_watch_add(struct loop *loop, struct loop_watch *watch, int fd, uint32_t events,
                    loop_watch_callback callback, void *context, struct error *error);
/* Changes what is waited for; 0 pauses without removing. */
void loop_watch_change(struct loop *loop, struct loop_watch *watch, uint32_t events);
/* WATCH, which is in the loop, does not wait behind the others of a round when they take long:
 * after each that does, it is looked at, and what was produced is flushed. */
void loop_put_first(struct loop *loop, const struct loop_watch *watch);
/* Does nothing when the watch is not in the loop. Does not close the descriptor. */
void loop_watch_remove(struct loop *loop, struct loop_watch *watch);

/* Starts or restarts a timer DELAY_MS from now. */
void loop_timer_start(struct loop *loop, struct loop_timer *timer, int64_t delay_ms,
                      loop_timer_callback callback, void *context);
void loop_timer_stop(struct loop *loop, struct loop_timer *timer);

/* Runs until loop_stop. False with *error when waiting itself fails. */
bool loop_run(struct loop *loop, struct error *error);
void loop_stop(struct loop *loop);

#endif
