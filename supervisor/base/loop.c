/* The event loop. */
#include "supervisor/base/loop.h"
#include "supervisor/base/clock.h"
#include "supervisor/base/turn.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

bool loop_open(struct loop *loop, struct error *error) {
    *loop = (struct loop){.epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
    return loop->epoll_fd >= 0 || error_set(error, errno, "event loop: epoll_create1");
}

void loop_close(struct loop *loop) {
    if (loop->epoll_fd >= 0)
        close(loop->epoll_fd);
    loop->epoll_fd = -1;
}

bool(loop_watch_add)(struct loop *loop, struct loop_watch *watch, int fd, uint32_t events,
                     loop_watch_callback callback, void *context, struct error *error) {
    *watch = (struct loop_watch){
        .fd = fd, .events = events, .callback = callback, .context = context, .active = true};
    struct epoll_event event = {.events = events, .data.ptr = watch};
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0)
        return true;
    if (errno != EPERM) {
        watch->active = false;
        return error_set(error, errno, "event loop: watch descriptor %d", fd);
    }
    watch->is_file = true;
    LIST_INSERT_HEAD(&loop->files, watch, files);
    return true;
}

/* Drops the events of this round that are not delivered to WATCH yet: the callback of another watch
 * may have freed it. */
static void forget_ready(struct loop *loop, const struct loop_watch *watch) {
    for (int i = 0; i < loop->ready_count; i++)
        if (loop->ready[i].data.ptr == watch)
            loop->ready[i].data.ptr = NULL;
}

void loop_watch_change(struct loop *loop, struct loop_watch *watch, uint32_t events) {
    if (!watch->active || watch->events == events)
        return;
    /* A paused watch leaves the set, because epoll reports hang-ups for an empty mask too. */
    int operation = events == 0          ? EPOLL_CTL_DEL
                    : watch->events == 0 ? EPOLL_CTL_ADD
                                         : EPOLL_CTL_MOD;
    watch->events = events;
    if (watch->is_file)
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
    if (watch->is_file) {
        LIST_REMOVE(watch, files);
        return;
    }
    if (watch->events)
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
    forget_ready(loop, watch);
}

int64_t loop_now_ns(const struct loop *loop) {
    return clock_now_ns() - loop->paused_ns;
}

void(loop_timer_start)(struct loop *loop, struct loop_timer *timer, int64_t delay_ms,
                       loop_timer_callback callback, void *context) {
    loop_timer_stop(loop, timer);
    *timer = (struct loop_timer){.deadline_ns = loop_now_ns(loop) + delay_ms * CLOCK_NS_PER_MS,
                                 .callback = callback,
                                 .context = context,
                                 .active = true};
    LIST_INSERT_HEAD(&loop->timers, timer, timers);
}

void loop_timer_stop(struct loop *loop, struct loop_timer *timer) {
    (void)loop;
    if (timer->active)
        LIST_REMOVE(timer, timers);
    timer->active = false;
}

static struct loop_timer *earliest_timer(const struct loop *loop) {
    struct loop_timer *earliest = LIST_FIRST(&loop->timers), *timer;
    LIST_FOREACH(timer, &loop->timers, timers) {
        if (timer->deadline_ns < earliest->deadline_ns)
            earliest = timer;
    }
    return earliest;
}

/* The time to wait, rounded up so that the loop does not spin until a deadline; -1: no limit. */
static int wait_ms(const struct loop *loop) {
    const struct loop_watch *watch;
    LIST_FOREACH(watch, &loop->files, files) {
        if (watch->events)
            return 0;
    }
    const struct loop_timer *earliest = earliest_timer(loop);
    if (!earliest)
        return -1;
    int64_t left_ns = earliest->deadline_ns - loop_now_ns(loop);
    if (left_ns <= 0)
        return 0;
    int64_t left_ms = (left_ns + CLOCK_NS_PER_MS - 1) / CLOCK_NS_PER_MS;
    return left_ms > INT32_MAX ? INT32_MAX : (int)left_ms;
}

static void flush(struct loop *loop) {
    if (!loop->before_wait || loop->stopped)
        return;
    loop->before_wait(loop->before_wait_context);
    TURN_COUNT(loop->before_wait);
}

static void call(const struct loop_watch *watch, uint32_t events) {
    const loop_watch_callback callback = watch->callback; /* it may free the watch */
    callback(watch->context, events);
    TURN_COUNT(callback);
}

/* If it is long since *since_ns, sends what the round produced and serves the first watch, which
 * begins another turn. */
static void take_turn(struct loop *loop, int64_t *since_ns) {
    if (clock_now_ns() - *since_ns < LOOP_TURN_NS)
        return;
    flush(loop);
    const struct loop_watch *first = loop->first;
    bool waits = first && first->events && !first->is_file && !loop->stopped;
    struct pollfd ready = {.fd = waits ? first->fd : -1, .events = POLLIN};
    if (waits) {
        turn_end();
        bool is_ready = poll(&ready, 1, 0) > 0;
        turn_begin();
        if (is_ready)
            call(first, (uint32_t)ready.revents);
    }
    *since_ns = clock_now_ns();
}

static struct loop_timer *due_timer(const struct loop *loop, int64_t now_ns) {
    struct loop_timer *timer = earliest_timer(loop);
    return timer && timer->deadline_ns <= now_ns && !loop->stopped ? timer : NULL;
}

/* Runs the timers that were due when the round began. A timer started since waits for the next. */
static void run_due_timers(struct loop *loop, int64_t now_ns) {
    int64_t since_ns = clock_now_ns();
    while (due_timer(loop, now_ns)) {
        take_turn(loop, &since_ns);
        struct loop_timer *timer = due_timer(loop, now_ns); /* the turn may have stopped it */
        if (!timer)
            return;
        loop_timer_stop(loop, timer);
        const loop_timer_callback callback = timer->callback; /* it may free the timer */
        callback(timer->context);
        TURN_COUNT(callback);
    }
}

/* Calls each regular file that is not paused. A callback may remove its own watch but no other of
 * this list: only stdin and stdout can be in it. */
static void run_files(struct loop *loop) {
    struct loop_watch *watch = LIST_FIRST(&loop->files);
    while (watch) {
        struct loop_watch *next = LIST_NEXT(watch, files);
        if (watch->events)
            call(watch, watch->events);
        watch = next;
    }
}

static void run_ready(struct loop *loop, int64_t since_ns) {
    for (int i = 0; i < loop->ready_count && !loop->stopped; i++) {
        take_turn(loop, &since_ns); /* may remove the next watch */
        const struct loop_watch *watch = loop->ready[i].data.ptr;
        if (watch && !loop->stopped)
            call(watch, loop->ready[i].events);
    }
    loop->ready_count = 0;
}

/* Called after a wait of up to LIMIT_MS. Takes a pause of the process out of the time of the loop.
 * Returns whether there was one. Some time counts in each round, so that timers become due even if
 * every round is late. */
static bool note_pause(struct loop *loop, int limit_ms) {
    const int64_t now_ns = loop_now_ns(loop);
    const int64_t wait_ns = limit_ms < 0 ? INT64_MAX / 2 : limit_ms * (int64_t)CLOCK_NS_PER_MS;
    const int64_t late_ns = now_ns - loop->round_ns - wait_ns - LOOP_LATE_NS;
    loop->paused_ns += late_ns > 0 ? late_ns : 0;
    loop->round_ns = late_ns > 0 ? now_ns - late_ns : now_ns;
    return late_ns > 0;
}

/* Whether the timers may run after a wait that returned COUNT events. What happened during a pause,
 * or before a wait was interrupted (SIGCONT does that, and a debugger), comes first: a call whose
 * answer is here has not run out of time. The rounds for that are bounded. */
static bool may_run_timers(struct loop *loop, int count, bool paused) {
    if (count < 0 || paused)
        loop->looks_left = LOOP_LOOKS_MAX;
    else if (count < LOOP_EVENTS_MAX)
        loop->looks_left = 0;
    else if (loop->looks_left)
        loop->looks_left--;
    return loop->looks_left == 0;
}

bool loop_run(struct loop *loop, struct error *error) {
    turn_begin();
    loop->round_ns = loop_now_ns(loop);
    TURN_NAME(loop->before_wait, "before_wait");
    while (!loop->stopped && !loop->failed) {
        flush(loop);
        if (loop->stopped)
            break;
        const int limit_ms = wait_ms(loop);
        turn_end();
        int count = epoll_wait(loop->epoll_fd, loop->ready, LOOP_EVENTS_MAX, limit_ms);
        turn_begin();
        if (count < 0 && errno != EINTR)
            return error_set(error, errno, "event loop: epoll_wait");
        loop->ready_count = count < 0 ? 0 : count;
        const bool timers = may_run_timers(loop, count, note_pause(loop, limit_ms));
        const int64_t now_ns = loop_now_ns(loop);
        run_ready(loop, clock_now_ns());
        run_files(loop);
        if (timers)
            run_due_timers(loop, now_ns);
    }
    turn_end();
    turn_log();
    if (loop->failed && error)
        *error = loop->failure;
    return !loop->failed;
}

void loop_stop(struct loop *loop) {
    loop->stopped = true;
}

void loop_fail(struct loop *loop, const struct error *error) {
    if (!loop->failed)
        loop->failure = *error;
    loop->failed = loop->stopped = true;
}

/* A signal that was ignored when the program started (nohup, trap '' INT, a job in the background)
 * remains so. The kernel queues blocked signals even if they are ignored. */
static void add_unless_ignored(sigset_t *set, int number) {
    struct sigaction inherited;
    if (sigaction(number, NULL, &inherited) != 0 || inherited.sa_handler != SIG_IGN)
        sigaddset(set, number);
}

int signals_open(struct error *error) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    add_unless_ignored(&set, SIGTERM);
    add_unless_ignored(&set, SIGINT);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a write at the file size limit fails with EFBIG instead */
    /* If inherited as ignored, the kernel would reap the workers. That a child stops, as each idle
     * worker does, is no event. */
    const struct sigaction child = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP};
    sigaction(SIGCHLD, &child, NULL);
    int fd = sigprocmask(SIG_BLOCK, &set, NULL) == 0
                 ? signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC)
                 : -1;
    if (fd < 0)
        error_set(error, errno, "event loop: signalfd");
    return fd;
}

int signals_next(int fd) {
    struct signalfd_siginfo info;
    return read(fd, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}
