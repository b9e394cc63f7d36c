/* Where workers come from: the zygote process, which booted Lisp once, and confined workers kept
 * ready, one unless more are wanted, so that a new session or a respawn costs no boot. The pool
 * reaps every child. */
#ifndef ECLAVE_SUPERVISOR_PROCESS_POOL_H
#define ECLAVE_SUPERVISOR_PROCESS_POOL_H

#include "policy/policy.h"
#include "supervisor/base/log.h"
#include "supervisor/base/loop.h"
#include "supervisor/process/pipes.h"
#include "supervisor/process/worker_process.h"
#include "supervisor/settings/settings.h"
#include <stdbool.h>
#include <sys/types.h>

enum zygote_state { ZYGOTE_ABSENT, ZYGOTE_BOOTING, ZYGOTE_UP };

enum { POOL_LIVES_MAX = 8 };

struct pool_waiter {
    /* WORKER is READY and with its OUTLET the waiter's to own (worker_set_owner), or NULL when none
     * can be had; REASON then says why. */
    void (*served)(void *context, struct worker_process *worker, struct pipes *pipes,
                   const char *reason);
    void *context;
    bool waiting;
    struct pool_waiter *next;
};

/* A worker that is nobody's yet, STARTING or READY. */
struct pool_spare {
    struct worker_process *worker;
    struct pipes *pipes;
    struct pool_spare *next;
};

struct pool {
    struct loop *loop;
    struct log *log;
    const struct settings *settings;
    char worker_path[4096];
    enum zygote_state zygote;
    pid_t zygote_pid;
    struct policy_launched launched; /* the zygote */
    int lives[POOL_LIVES_MAX];       /* of the last zygotes' namespaces; -1: none */
    size_t lives_next;
    struct policy_report report; /* how the layers of the last zygote were put on */
    int zygote_channel, zygote_stderr;
    struct loop_watch zygote_watch, zygote_stderr_watch;
    struct loop_timer boot_timer;
    struct workers workers;    /* all that are not destroyed */
    struct pool_spare *spares; /* oldest first */
    size_t spare_count;
    size_t spares_wanted; /* started ahead of who will ask; 0: only for those who wait */
    struct pool_waiter *waiters;
    size_t waiter_count;
    size_t failures; /* in a row; a worker that becomes ready clears them */
    char last_failure[240];
    bool layers_told; /* missing layers were logged */
    bool closing;
};

/* Finds the worker executable; one spare is wanted. False with *error when there is none. */
bool pool_open(struct pool *pool, struct loop *loop, struct log *log,
               const struct settings *settings, struct error *error);
/* Kills and reaps all that is left, waiting a moment for it. */
void pool_close(struct pool *pool);

/* Boots the zygote and then keeps the wanted spares ready. Cheap when that is so already. */
void pool_start(struct pool *pool);

/* Asks for a worker; `served` is called once, perhaps before this returns. */
void pool_take(struct pool *pool, struct pool_waiter *waiter);
/* Withdraws a request that was not served yet. */
void pool_withdraw(struct pool *pool, struct pool_waiter *waiter);

/* Reaps whatever has died. For SIGCHLD. */
void pool_reap(struct pool *pool);

#endif
