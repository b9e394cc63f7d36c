/* The memory of sessions, limited from outside and whatever they do: a timer compares each process
 * with the size at which a worker is killed, and all processes of a session together with
 * session.total_mb, whether they run or are parked (doc/contract.md, section 8).
 *
 * Resident sizes are cheap to read, but count shared pages in each process. Only when their sum
 * exceeds the limit, and for list-sessions, are the processes weighed (process/weigher.h). */
#include "policy/policy.h"
#include "supervisor/process/confinement.h"
#include "supervisor/session/session_internal.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CHECK_MS = 250,
    WEIGH_PAUSE = 10,      /* between two weighings of a session, in times their duration */
    PATIENCE_MS = 2000,    /* of sessions_weigh: a hostile session can delay the figures */
    KERNEL_KILL_MS = 10000 /* a large process may end long after the kernel has killed it */
};

/* A caller of sessions_weigh. */
struct memory_waiter {
    void (*weighed)(void *context);
    void *context;
    TAILQ_ENTRY(memory_waiter) entry;
};

static const char worker_excess[] = "it used more memory than session.memory_mb allows";
static const char session_excess[] = "the session used more memory than session.total_mb allows";
static const char kernel_excess[] = "the kernel killed it because memory ran out";

static void answer(struct sessions *all);

/* --- the processes of a session --- */

static bool lives(const struct worker_process *worker) {
    return worker->pid > 1 && worker->state != WORKER_STARTING && worker->state != WORKER_ENDING;
}

/* Calls VISIT for the head and each checkpoint, newest first, that has not ended. */
static void for_each_process(const struct session *session,
                             void (*visit)(struct worker_process *worker, void *context),
                             void *context) {
    const struct checkpoint *checkpoint;
    if (session->head && lives(session->head))
        visit(session->head, context);
    LIST_FOREACH(checkpoint, &session->checkpoints, entry) {
        if (checkpoint->worker && lives(checkpoint->worker))
            visit(checkpoint->worker, context);
    }
}

/* One pass over the processes of a session, which may take several turns. */
struct pass {
    const struct session *session;
    int64_t until_ns; /* the end of this turn */
    bool complete;
    size_t resident_bytes;
};

/* The kernel kills parked processes first. A process that is not in the group of its session yet,
 * because it was forked before the session was or in another, enters it. */
static void put_in_place(const struct session *session, struct worker_process *worker) {
    enum worker_place place = worker == session->head ? PLACE_HEAD : PLACE_PARKED;
    if (worker->memory.place == place)
        return;
    if (worker->memory.place == PLACE_UNKNOWN)
        workers_group(worker->workers, worker->pid, session->serial);
    worker->memory.place = place;
    workers_prefer(worker->workers, worker->pid,
                   place == PLACE_HEAD ? POLICY_OOM_WORKER : POLICY_OOM_PARKED);
}

static void measure(struct worker_process *worker, void *context) {
    struct pass *pass = context;
    const uint32_t round = pass->session->all->memory.round;
    if (worker->memory.round != round) {
        if (clock_now_ns() >= pass->until_ns) {
            pass->complete = false;
            return;
        }
        put_in_place(pass->session, worker);
        const bool stopped = worker_is_stopped(worker);
        if (!stopped || !worker->memory.settled)
            worker_measure(worker);
        worker->memory.settled = stopped;
        worker->memory.round = round;
    }
    pass->resident_bytes += worker->memory.resident_bytes;
}

struct change {
    bool found;
    size_t processes;
};

/* A page that is new or was changed since has caused a fault. */
static void look_for_change(struct worker_process *worker, void *context) {
    struct change *change = context;
    const struct memory_use *memory = &worker->memory;
    change->processes++;
    change->found |= memory->weighed == UNWEIGHED || memory->faults != memory->weighed_faults;
}

/* Something has happened since the session was weighed; a process that ended leaves its shared
 * pages to the others. */
static bool has_changed(const struct session *session) {
    struct change change = {0};
    for_each_process(session, look_for_change, &change);
    return change.found || change.processes != session->memory.processes;
}

/* --- enforcing the limits --- */

__attribute__((format(printf, 2, 3))) static void report(const struct session *session,
                                                         const char *format, ...) {
    char text[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const struct log_event event = {
        .level = LOG_WARNING_LEVEL, .name = "memory", .session = session->name};
    log_write(session->all->log, &event, "%s", text);
}

static void drop(struct session *session, const struct checkpoint *checkpoint, const char *excess) {
    report(session, "state number %llu is dropped: %s", (unsigned long long)checkpoint->number,
           excess);
    session->memory.dropped++;
    checkpoint->worker->memory.excess = excess;
    worker_kill(checkpoint->worker);
}

/* The head of a session that evaluates nothing. */
static void end_idle_head(struct session *session, const char *excess) {
    report(session, "the worker is killed between calls: %s", excess);
    session->head->memory.excess = excess;
    worker_kill(session->head);
}

static void end_call(struct session *session, const char *what, size_t limit_bytes) {
    call_decide(session->running, OUTCOME_MEMORY, "%s (%zu MiB) allows.", what, limit_bytes >> 20);
    worker_kill(session->head);
}

void memory_check_running(struct session *session) {
    const struct settings *settings = session->all->settings;
    if (worker_resident_bytes(session->head) > confinement_worker_bytes(settings))
        end_call(session, "The worker used more memory than session.memory_mb",
                 (size_t)settings->session_memory_mb << 20);
}

/* Kills each process that is too large, except that of a running call, which has a timer of its
 * own. */
static void check_processes(struct session *session) {
    const size_t limit_bytes = confinement_worker_bytes(session->all->settings);
    const struct checkpoint *checkpoint;
    if (session->head && session->state != SESSION_EVALUATING && lives(session->head) &&
        session->head->memory.resident_bytes > limit_bytes)
        end_idle_head(session, worker_excess);
    LIST_FOREACH(checkpoint, &session->checkpoints, entry) {
        if (checkpoint->worker && lives(checkpoint->worker) &&
            checkpoint->worker->memory.resident_bytes > limit_bytes)
            drop(session, checkpoint, worker_excess);
    }
}

/* The checkpoint with the process that the newest begins with, unless that has ended. */
static const struct checkpoint *newest_process(const struct session *session) {
    const struct checkpoint *checkpoint = history_base(session);
    return checkpoint && lives(checkpoint->worker) ? checkpoint : NULL;
}

/* The oldest checkpoint with a process that has not ended and is not needed for the newest. */
static const struct checkpoint *oldest_spare_state(const struct session *session) {
    const struct checkpoint *checkpoint, *oldest = NULL, *newest = newest_process(session);
    LIST_FOREACH(checkpoint, &session->checkpoints, entry) {
        if (checkpoint != newest && checkpoint->worker && lives(checkpoint->worker))
            oldest = checkpoint;
    }
    return oldest;
}

/* The newest checkpoint is the state before the running call, which returns to it; between calls it
 * is the same state as the head and is useless without it. */
static void relieve(struct session *session) {
    const struct checkpoint *oldest = oldest_spare_state(session);
    const struct checkpoint *newest = newest_process(session);
    if (oldest) {
        drop(session, oldest, session_excess);
        return;
    }
    if (!session->head || !lives(session->head))
        return;
    if (session->state == SESSION_EVALUATING) {
        end_call(session, "The session used more memory than session.total_mb",
                 confinement_session_bytes(session->all->settings));
        return;
    }
    end_idle_head(session, session_excess);
    if (newest)
        drop(session, newest, session_excess);
}

/* --- weighing --- */

/* A process that cannot be weighed shares at least what the zygote has loaded, which is counted
 * once for the machine and not here. */
struct total {
    size_t bytes, shared_bytes;
};

static void add(struct worker_process *worker, void *context) {
    struct total *total = context;
    const struct memory_use *memory = &worker->memory;
    if (memory->weighed == WEIGHED)
        total->bytes += memory->weighed_bytes;
    else if (memory->resident_bytes > total->shared_bytes)
        total->bytes += memory->resident_bytes - total->shared_bytes;
}

static void judge(struct session *session) {
    const struct worker_process zygote = {.pid = session->all->pool->zygote_pid};
    struct memory_watch *watch = &session->all->memory;
    size_t image_bytes = worker_resident_bytes(&zygote);
    if (image_bytes)
        watch->image_bytes = image_bytes;
    struct total total = {.bytes = history_bytes(session), .shared_bytes = watch->image_bytes};
    for_each_process(session, add, &total);
    if (total.bytes > confinement_session_bytes(session->all->settings))
        relieve(session);
}

static void make_due(struct worker_process *worker, void *context) {
    size_t *processes = context;
    ++*processes;
    worker->memory.weighed_faults = worker->memory.faults;
    worker->memory.due = true;
}

static void begin_weighing(struct session *session) {
    session->memory.due = true;
    session->memory.begun_ns = clock_now_ns();
    session->memory.processes = 0;
    for_each_process(session, make_due, &session->memory.processes);
}

static void find_due(struct worker_process *worker, void *context) {
    struct worker_process **due = context;
    if (worker->memory.due && !*due)
        *due = worker;
}

static void end_weighing(struct session *session) {
    int64_t now_ns = clock_now_ns();
    session->memory.due = false;
    session->memory.not_before_ns = now_ns + WEIGH_PAUSE * (now_ns - session->memory.begun_ns);
    judge(session);
}

static void on_check(void *context);

static void end_patience(void *context) {
    answer(context);
}

/* For the callers that came last: all sessions are checked now, and weighed. */
static void begin_round(struct sessions *all) {
    struct memory_watch *watch = &all->memory;
    struct session *session;
    TAILQ_CONCAT(&watch->waiting, &watch->newcomers, entry);
    loop_timer_start(all->loop, &watch->patience, PATIENCE_MS, end_patience, all);
    TAILQ_FOREACH(session, &all->list, entry) {
        session->memory.wanted = !session_is_anonymous(session);
    }
    watch->round++;
    watch->checking = true;
    loop_timer_start(all->loop, &watch->timer, 0, on_check, all);
}

/* Calls the callers of sessions_weigh that wait for this round. */
static void answer(struct sessions *all) {
    struct memory_watch *watch = &all->memory;
    loop_timer_stop(all->loop, &watch->patience);
    while (!TAILQ_EMPTY(&watch->waiting)) {
        struct memory_waiter *waiter = TAILQ_FIRST(&watch->waiting);
        TAILQ_REMOVE(&watch->waiting, waiter, entry);
        waiter->weighed(waiter->context);
        free(waiter);
    }
    if (!TAILQ_EMPTY(&watch->newcomers))
        begin_round(all);
}

void memory_answer_all(struct sessions *all) {
    TAILQ_CONCAT(&all->memory.waiting, &all->memory.newcomers, entry);
    answer(all);
}

/* Asks for the next process that is due. When there is none, the round is over. */
static void continue_weighing(struct sessions *all) {
    struct memory_watch *watch = &all->memory;
    struct session *session;
    while (!weigher_is_busy(&watch->weigher)) {
        struct worker_process *worker = NULL;
        TAILQ_FOREACH(session, &all->list, entry) {
            if (session->memory.due)
                break;
        }
        if (!session) {
            if (!watch->checking && !TAILQ_EMPTY(&watch->waiting))
                answer(all);
            return;
        }
        for_each_process(session, find_due, &worker);
        if (!worker) {
            end_weighing(session);
        } else if (!weigher_ask(&watch->weigher, worker->pid)) {
            worker->memory.due = false;
            worker->memory.weighed = WEIGHED_IN_VAIN;
        }
    }
}

static void on_weighed(void *context, const struct weight *weight) {
    struct sessions *all = context;
    struct worker_process *worker = workers_find(&all->pool->workers, weight->pid);
    if (worker) {
        worker->memory.due = false;
        worker->memory.weighed = weight->known ? WEIGHED : WEIGHED_IN_VAIN;
        /* Sealed code counts even if it is mapped and was never touched. */
        worker->memory.weighed_bytes = weight->bytes + worker->native.bytes;
    }
    continue_weighing(all);
}

static void on_tracked(void *context, pid_t pid, bool done, const struct tracker_parts *parts) {
    history_on_tracked(context, pid, done, parts);
    continue_weighing(context);
}

void sessions_weigh(struct sessions *all, void (*weighed)(void *context), void *context) {
    struct memory_watch *watch = &all->memory;
    struct memory_waiter *waiter = malloc(sizeof *waiter);
    if (!waiter) {
        weighed(context);
        return;
    }
    *waiter = (struct memory_waiter){.weighed = weighed, .context = context};
    TAILQ_INSERT_TAIL(&watch->newcomers, waiter, entry);
    if (TAILQ_EMPTY(&watch->waiting))
        begin_round(all);
}

/* --- the kernel's kills --- */

static void count_kernel_kills(struct memory_watch *watch) {
    uint64_t kills = watch->kills_fd >= 0 ? policy_oom_kills(watch->kills_fd) : 0;
    int64_t now_ns = clock_now_ns();
    if (kills > watch->kills) {
        watch->unexplained += kills - watch->kills;
        watch->killed_ns = now_ns;
    } else if (clock_elapsed_ms(watch->killed_ns) > KERNEL_KILL_MS) {
        watch->unexplained = 0;
    }
    watch->kills = kills;
}

/* The kernel killed WORKER because memory ran out. */
static bool is_kernel_kill(struct memory_watch *watch, const struct worker_process *worker,
                           int status) {
    if (worker->killed || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        return false;
    count_kernel_kills(watch);
    if (!watch->unexplained)
        return false;
    watch->unexplained--;
    return true;
}

void memory_on_ended(struct session *session, struct worker_process *worker, int status) {
    if (!is_kernel_kill(&session->all->memory, worker, status))
        return;
    worker->memory.excess = kernel_excess;
    if (worker == session->head && session->state == SESSION_EVALUATING)
        call_decide(session->running, OUTCOME_MEMORY,
                    "The kernel killed the worker because memory ran out. Another session or "
                    "another program may have used it.");
    else if (worker != session->head)
        session->memory.dropped++;
    report(session, "a process of the session has ended: %s", kernel_excess);
}

/* --- the timer --- */

/* Whether the processes of the session are to be weighed. */
static bool is_to_be_weighed(const struct session *session, size_t resident_bytes) {
    const bool suspect = resident_bytes > confinement_session_bytes(session->all->settings) &&
                         clock_now_ns() >= session->memory.not_before_ns;
    return (suspect || session->memory.wanted) && !session->memory.due && has_changed(session);
}

/* False if the turn is over before the session is checked. */
static bool check(struct session *session, int64_t until_ns) {
    struct pass pass = {.session = session, .until_ns = until_ns, .complete = true};
    for_each_process(session, measure, &pass);
    pass.resident_bytes += history_bytes(session);
    if (!pass.complete)
        return false;
    check_processes(session);
    if (is_to_be_weighed(session, pass.resident_bytes))
        begin_weighing(session);
    session->memory.wanted = false;
    session->memory.round = session->all->memory.round;
    return true;
}

/* One session after the other, in turns. */
static void on_check(void *context) {
    struct sessions *all = context;
    struct memory_watch *watch = &all->memory;
    const int64_t until_ns = clock_now_ns() + LOOP_TURN_NS;
    struct session *session;
    bool used = false;
    if (!watch->checking)
        watch->round++;
    watch->checking = true;
    TAILQ_FOREACH(session, &all->list, entry) {
        used |= session->head != NULL;
        if (session->memory.round != watch->round && !check(session, until_ns)) {
            loop_timer_start(all->loop, &watch->timer, 0, on_check, all);
            return;
        }
    }
    watch->checking = false;
    count_kernel_kills(watch);
    if (used)
        loop_timer_start(all->loop, &watch->timer, CHECK_MS, on_check, all);
    continue_weighing(all);
}

void memory_start(struct sessions *all) {
    struct memory_watch *watch = &all->memory;
    if (watch->kills_fd < 0) {
        watch->kills_fd = workers_open_oom(&all->pool->workers);
        watch->kills = watch->kills_fd >= 0 ? policy_oom_kills(watch->kills_fd) : 0;
    }
    if (!watch->timer.active)
        loop_timer_start(all->loop, &watch->timer, CHECK_MS, on_check, all);
}

void memory_open(struct sessions *all) {
    struct memory_watch *watch = &all->memory;
    TAILQ_INIT(&watch->waiting);
    TAILQ_INIT(&watch->newcomers);
    watch->kills_fd = -1;
    weigher_open(&watch->weigher, all->loop, on_weighed, on_tracked, all);
}

bool sessions_confine_supervisor(struct sessions *all, struct error *error) {
    if (all->pool->launcher.pid)
        weigher_settle(&all->memory.weigher);
    return pool_confine_supervisor(all->pool, error);
}

void memory_close(struct sessions *all) {
    struct memory_watch *watch = &all->memory;
    TAILQ_CONCAT(&watch->waiting, &watch->newcomers, entry);
    while (!TAILQ_EMPTY(&watch->waiting)) {
        struct memory_waiter *waiter = TAILQ_FIRST(&watch->waiting);
        TAILQ_REMOVE(&watch->waiting, waiter, entry);
        free(waiter);
    }
    loop_timer_stop(all->loop, &watch->timer);
    loop_timer_stop(all->loop, &watch->patience);
    weigher_close(&watch->weigher);
    if (watch->kills_fd >= 0)
        close(watch->kills_fd);
    watch->kills_fd = -1;
}

/* --- reporting --- */

static void add_fact(struct worker_process *worker, void *context) {
    struct session_facts *facts = context;
    const struct memory_use *memory = &worker->memory;
    bool exact = memory->weighed == WEIGHED;
    facts->memory_bytes += exact ? memory->weighed_bytes : memory->resident_bytes;
    facts->memory_is_proportional &= exact;
}

void memory_add_facts(const struct session *session, struct session_facts *facts) {
    facts->memory_is_proportional = true;
    facts->states_dropped = session->memory.dropped;
    facts->memory_bytes += history_bytes(session);
    for_each_process(session, add_fact, facts);
}
