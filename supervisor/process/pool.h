/* Where workers come from: the zygote, which has booted Lisp, and the spares that it has forked,
 * which are confined and ready, so that a new session does not wait. The pool reaps all children
 * of the supervisor. */
#ifndef ECLAVE_SUPERVISOR_PROCESS_POOL_H
#define ECLAVE_SUPERVISOR_PROCESS_POOL_H

#include "policy/policy.h"
#include "supervisor/base/log.h"
#include "supervisor/base/loop.h"
#include "supervisor/process/compiler.h"
#include "supervisor/process/image_cache.h"
#include "supervisor/process/pipes.h"
#include "supervisor/process/program.h"
#include "supervisor/process/worker_process.h"
#include "supervisor/settings/settings.h"
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/types.h>

enum zygote_state { ZYGOTE_ABSENT, ZYGOTE_BOOTING, ZYGOTE_UP };

enum { POOL_NAMESPACES_MAX = 8 };

/* A request for a worker. */
struct pool_waiter {
    /* WORKER is READY. It and its PIPES belong to the waiter, which calls worker_set_owner. NULL if
     * no worker can be started, for REASON. */
    void (*served)(void *context, struct worker_process *worker, struct pipes *pipes,
                   const char *reason);
    void *context;
    bool waiting;
    TAILQ_ENTRY(pool_waiter) entry;
};

/* A worker without a session, STARTING or READY. */
struct pool_spare {
    struct worker_process *worker;
    struct pipes *pipes;
    TAILQ_ENTRY(pool_spare) entry;
};

struct pool {
    struct loop *loop;
    struct log *log;
    const struct settings *settings;
    struct pool_programs {
        char worker[INSTALLED_PATH_BYTES];
        char restorer[INSTALLED_PATH_BYTES];
        char compiler[INSTALLED_PATH_BYTES]; /* with native code */
        char ecl[INSTALLED_PATH_BYTES];      /* as installed_ecl() says */
        struct image_cache images;
    } programs;
    struct policy_launcher launcher;
    enum zygote_state zygote;
    pid_t zygote_pid;
    struct policy_launched launched;     /* the zygote */
    int namespaces[POOL_NAMESPACES_MAX]; /* init_life of the last zygotes; -1: none */
    size_t namespaces_next;
    struct policy_report report; /* the layers of the last zygote */
    int zygote_channel, zygote_stderr;
    struct loop_watch zygote_watch, zygote_stderr_watch;
    struct loop_timer boot_timer;
    struct compiler compiler;        /* with native code */
    struct compilation *compilation; /* of what the zygote preloads; NULL: none */
    struct workers workers;          /* all workers of the supervisor */
    TAILQ_HEAD(, pool_spare) spares;
    size_t spare_count;
    size_t spares_wanted; /* kept ready; 0: workers are started on request only */
    TAILQ_HEAD(, pool_waiter) waiters;
    size_t waiter_count;
    size_t failures;         /* since a worker last became ready */
    size_t failures_at_boot; /* of the zygote; those since may have come from its end */
    char last_failure[ERROR_TEXT_BYTES];
    bool explained;     /* why the present zygote ends is recorded */
    bool layers_logged; /* missing layers were logged, or are not to be logged */
    bool scoped;        /* the kernel confines the supervisor's signals to its descendants */
    bool confined;      /* the supervisor is */
    bool replaces;      /* the zygote is killed, so that one of its image comes in its place, */
    bool has_replaced;  /* which happens once */
    bool closing;
};

/* Finds the worker program and, but in minimal mode, starts the launcher; one spare is wanted. When
 * the launcher ends, nothing can be started or killed, so the loop fails. False with *error. */
bool pool_open(struct pool *pool, struct loop *loop, struct log *log,
               const struct settings *settings, struct error *error);
/* Ends the launcher, for a server that evaluates nothing. */
void pool_dismiss_launcher(struct pool *pool);
/* Confines the supervisor for good. Everything that it writes to must be open, and no untrusted
 * byte read. A stream cannot be opened after that. False with *error if a layer is missing that
 * must not be. */
bool pool_confine_supervisor(struct pool *pool, struct error *error);
/* Kills and reaps all children, within a time limit, which SIGTERM and SIGINT end. */
void pool_close(struct pool *pool);

/* Boots the zygote if there is none, and starts missing spares. */
void pool_start(struct pool *pool);

/* Requests a worker; `served` is called once, possibly before this returns. */
void pool_take(struct pool *pool, struct pool_waiter *waiter);
/* Withdraws a request. Does nothing if there is none. */
void pool_withdraw(struct pool *pool, struct pool_waiter *waiter);

/* Reaps the children that have ended. For SIGCHLD. */
void pool_reap(struct pool *pool);

#endif
