/* The event loop. Never calls a watch that was removed earlier in the same round. */
#include "supervisor/base/loop.h"
#include "supervisor/base/clock.h"

#include <poll.h>
#include <unistd.h>

bool loop_open(struct loop *loop, struct error *error) {
    *loop = (struct loop){.epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
    return loop->epoll_fd >= 0 || error_set(error, errno, "epoll_create1");
}

void loop_close(struct loop *loop) {
    if (loop->epoll_fd >= 0)
        close(loop->epoll_fd);
    loop->epoll_fd = -1;
}

bool loop_watch_add(struct loop *loop, struct loop_watch *watch, int fd, uint32_t events,
                    loop_watch_callback callback, void *context, struct error *error) {
    *watch = (struct loop_watch){
        .fd = fd, .events = events, .callback = callback, .context = context, .active = true};
    struct epoll_event event = {.events = events, .data.ptr = watch};
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0)
        return true;
    if (errno != EPERM) {
        watch->active = false;
        return error_set(error, errno, "watching descriptor %d", fd);
    }
    watch->always_ready = true;
    watch->next_ready = loop->always_ready;
    loop->always_ready = watch;
    return true;
}

/* Drops the events of this round that are still to be delivered to WATCH. */
static void forget_ready(struct loop *loop, const struct loop_watch *watch) {
    for (int i = 0; i < loop->ready_count; i++)
        if (loop->ready[i].data.ptr == watch)
            loop->ready[i].data.ptr = NULL;
}

void loop_watch_change(struct loop *loop, struct loop_watch *watch, uint32_t events) {
    if (!watch->active || watch->events == events)
        return;
    /* A paused watch leaves the set: epoll reports hang-ups even to who asked for nothing. */
    int operation = events == 0          ? EPOLL_CTL_DEL
                    : watch->events == 0 ? EPOLL_CTL_ADD
                                         : EPOLL_CTL_MOD;
    watch->events = events;
    if (watch->always_ready)
        return;
    struct epoll_event event = {.events = events, .data.ptr = watch};
    epoll_ctl(loop->epoll_fd, operation, watch->fd, &event);
    if (events == 0)
        forget_ready(loop, watch);
}

void loop_put_first(struct loop *loop, const struct loop_watch *watch) {
    loop->first = watch;
}

void loop_watch_remove(struct loop *loop, struct loop_watch *watch) {
    if (!watch->active)
        return;
    watch->active = false;
    if (loop->first == watch)
        loop->first = NULL;
    if (!watch->always_ready) {
        if (watch->events)
            epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
        forget_ready(loop, watch);
        return;
    }
    for (struct loop_watch **link = &loop->always_ready; *link; link = &(*link)->next_ready)
        if (*link == watch) {
            *link = watch->next_ready;
            return;
        }
}

void loop_timer_start(struct loop *loop, struct loop_timer *timer, int64_t delay_ms,
                      loop_timer_callback callback, void *context) {
    loop_timer_stop(loop, timer);
    *timer = (struct loop_timer){.deadline_ns = clock_now_ns() + delay_ms * CLOCK_NS_PER_MS,
                                 .callback = callback,
                                 .context = context,
                                 .active = true,
                                 .next = loop->timers};
    if (loop->timers)
        loop->timers->previous = timer;
    loop->timers = timer;
}

void loop_timer_stop(struct loop *loop, struct loop_timer *timer) {
    if (!timer->active)
        return;
    timer->active = false;
    if (timer->previous)
        timer->previous->next = timer->next;
    else
        loop->timers = timer->next;
    if (timer->next)
        timer->next->previous = timer->previous;
}

static struct loop_timer *earliest_timer(const struct loop *loop) {
    struct loop_timer *earliest = loop->timers;
    for (struct loop_timer *timer = earliest; timer; timer = timer->next)
        if (timer->deadline_ns < earliest->deadline_ns)
            earliest = timer;
    return earliest;
}

/* Milliseconds to wait, rounded up so that no deadline is met by spinning; -1 for ever. */
static int wait_ms(const struct loop *loop) {
    for (const struct loop_watch *watch = loop->always_ready; watch; watch = watch->next_ready)
        if (watch->events)
            return 0;
    const struct loop_timer *earliest = earliest_timer(loop);
    if (!earliest)
        return -1;
    int64_t left_ns = earliest->deadline_ns - clock_now_ns();
    if (left_ns <= 0)
        return 0;
    int64_t left_ms = (left_ns + CLOCK_NS_PER_MS - 1) / CLOCK_NS_PER_MS;
    return left_ms > INT32_MAX ? INT32_MAX : (int)left_ms;
}

static void flush(struct loop *loop) {
    if (loop->before_wait && !loop->stopped)
        loop->before_wait(loop->before_wait_context);
}

/* Within a round that has taken long since *since_ns: what it produced leaves, and whoever comes
 * first is not kept waiting. */
static void take_turn(struct loop *loop, int64_t *since_ns) {
    if (clock_now_ns() - *since_ns < LOOP_TURN_NS)
        return;
    flush(loop);
    const struct loop_watch *first = loop->first;
    bool waits = first && first->events && !first->always_ready && !loop->stopped;
    struct pollfd ready = {.fd = waits ? first->fd : -1, .events = POLLIN};
    if (waits && poll(&ready, 1, 0) > 0)
        first->callback(first->context, (uint32_t)ready.revents);
    *since_ns = clock_now_ns();
}

static struct loop_timer *due_timer(const struct loop *loop, int64_t now_ns) {
    struct loop_timer *timer = earliest_timer(loop);
    return timer && timer->deadline_ns <= now_ns && !loop->stopped ? timer : NULL;
}

/* Those that were due when the round began: what it starts anew is for the next one. */
static void run_due_timers(struct loop *loop, int64_t now_ns) {
    int64_t since_ns = now_ns;
    while (due_timer(loop, now_ns)) {
        take_turn(loop, &since_ns);
        struct loop_timer *timer = due_timer(loop, now_ns); /* it may have been stopped */
        if (!timer)
            return;
        loop_timer_stop(loop, timer);
        timer->callback(timer->context);
    }
}

/* One call for each regular file that is not paused; it may remove itself, and only itself (stdin
 * and stdout are the only ones there can be). */
static void run_always_ready(struct loop *loop) {
    struct loop_watch *watch = loop->always_ready;
    while (watch) {
        struct loop_watch *next = watch->next_ready;
        if (watch->events)
            watch->callback(watch->context, watch->events);
        watch = next;
    }
}

static void run_ready(struct loop *loop, int64_t since_ns) {
    for (int i = 0; i < loop->ready_count && !loop->stopped; i++) {
        take_turn(loop, &since_ns); /* in which the next one may go away */
        const struct loop_watch *watch = loop->ready[i].data.ptr;
        if (watch && !loop->stopped)
            watch->callback(watch->context, loop->ready[i].events);
    }
    loop->ready_count = 0;
}

bool loop_run(struct loop *loop, struct error *error) {
    while (!loop->stopped) {
        flush(loop);
        if (loop->stopped)
            break;
        int count = epoll_wait(loop->epoll_fd, loop->ready, LOOP_EVENTS_MAX, wait_ms(loop));
        if (count < 0 && errno != EINTR)
            return error_set(error, errno, "epoll_wait");
        loop->ready_count = count < 0 ? 0 : count;
        int64_t now_ns = clock_now_ns();
        run_ready(loop, now_ns);
        run_always_ready(loop);
        run_due_timers(loop, now_ns);
    }
    return true;
}

void loop_stop(struct loop *loop) {
    loop->stopped = true;
}
