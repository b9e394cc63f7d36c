/* The signal handlers of workers. A handler of a fault does not return to the faulting instruction:
 * it unwinds to the guard, as ECL itself does, or writes the output and lets the process die. */
#include "worker/fault.h"
#include "worker/backtrace.h"
#include "worker/guard.h"
#include "worker/lisp.h"
#include "worker/streams.h"

#include <ecl/ecl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

enum {
    HANDLER_STACK_BYTES = 64 * 1024,
    STACK_SLACK_BYTES = 1024 * 1024, /* how far below the stack's end a large frame reaches */
    FAULTS_MAX = 4                   /* on the way to one guard */
};

static unsigned char handler_stack[HANDLER_STACK_BYTES];
static struct sigaction ecl_trap; /* ECL's handler of SIGFPE */
static sigset_t lisp_mask;        /* the signals blocked while Lisp runs: none of ours */
static size_t stack_bytes;
static unsigned faults; /* since a guard has ended */

/* The limits of the C stack before any overflow. */
static struct {
    cl_index c_stack_bytes;
    char *c_stack_limit;
    char *c_stack_barrier;
} limits;

static bool is_stack_overflow(const void *address) {
    uintptr_t end = (uintptr_t)ecl_process_env()->cs_org;
    uintptr_t at = (uintptr_t)address;
    return at < end && end - at < stack_bytes + STACK_SLACK_BYTES;
}

/* ECL signals a condition for a floating-point trap, without the operation. */
static void on_trap(int number, siginfo_t *info, void *context) {
    backtrace_note_trap();
    ecl_trap.sa_sigaction(number, info, context);
}

/* Dies of the signal that is being handled: it is blocked, and the kernel kills a process that
 * faults while the signal is blocked. */
static void die_of_fault(void) {
    streams_write_rest();
    volatile int *volatile nowhere = NULL;
    // cppcheck-suppress nullPointer
    *nowhere = 0; // NOLINT(clang-analyzer-core.NullDereference)
    _exit(128 + SIGSEGV);
}

static void on_fault(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    bool sent = info->si_code <= 0;
    /* ECL disables interrupts while the collector or the allocator runs; unwinding out of them
     * would corrupt the heap or keep its lock. And if unwinding itself faults, as where code has
     * unmapped libraries, it would for ever. */
    if (sent || ++faults > FAULTS_MAX || ecl_process_env()->disable_interrupts || !guard_may_end())
        die_of_fault();
    enum guard_end end = is_stack_overflow(info->si_addr) ? GUARD_OVERFLOW : GUARD_VIOLATION;
    sigprocmask(SIG_SETMASK, &lisp_mask, NULL);
    guard_end_now(end);
}

/* SA_RESETHAND has restored the default, so the second signal kills. */
static void on_abort(int number) {
    streams_write_rest();
    raise(number);
}

static void on_end(int number) {
    (void)number;
    streams_write_rest();
    _exit(0);
}

void fault_handled(void) {
    faults = 0;
}

bool fault_start_clean(struct error *error) {
    for (int number = 1; number <= SIGRTMAX; number++)
        signal(number, number == SIGPIPE ? SIG_IGN : SIG_DFL); /* fails for SIGKILL and SIGSTOP */
    sigset_t none;
    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL) == 0 ||
           error_set(error, errno, "fault: cannot unblock signals");
}

static bool install(int number, struct sigaction *action, struct error *error) {
    sigfillset(&action->sa_mask);
    sigdelset(&action->sa_mask, SIGABRT);
    action->sa_flags |= SA_ONSTACK;
    return sigaction(number, action, NULL) == 0 ||
           error_set(error, errno, "fault: cannot install a handler for signal %d", number);
}

bool fault_install(size_t size, struct error *error) {
    const cl_env_ptr env = ecl_process_env();
    stack_bytes = size;
    limits.c_stack_bytes = env->cs_size;
    limits.c_stack_limit = env->cs_limit;
    limits.c_stack_barrier = env->cs_barrier;
    sigemptyset(&lisp_mask);
    stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof handler_stack};
    if (sigaltstack(&stack, NULL) != 0)
        return error_set(error, errno, "fault: cannot set the stack of the handlers");
    if (sigaction(SIGFPE, NULL, &ecl_trap) != 0 || !(ecl_trap.sa_flags & SA_SIGINFO))
        return error_set(error, errno, "fault: cannot find ECL's handler of SIGFPE");
    struct sigaction trap = ecl_trap;
    trap.sa_sigaction = on_trap;
    struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    struct sigaction aborted = {.sa_handler = on_abort, .sa_flags = (int)SA_RESETHAND | SA_NODEFER};
    struct sigaction end = {.sa_handler = on_end};
    return install(SIGSEGV, &fault, error) && install(SIGBUS, &fault, error) &&
           sigaction(SIGFPE, &trap, NULL) == 0 && install(SIGABRT, &aborted, error) &&
           install(STREAMS_END_SIGNAL, &end, error) &&
           sigprocmask(SIG_SETMASK, &lisp_mask, NULL) == 0;
}

/* --- the lock of ECL's names --- */

static pthread_rwlock_t *names_lock(void) {
    return &cl_core.global_env_lock->rwlock.mutex;
}

enum { WRITING = -1 };

int fault_unlock_names(void) {
    int held = 0;
    while (pthread_rwlock_trywrlock(names_lock()) != 0) {
        bool writing = pthread_rwlock_tryrdlock(names_lock()) != 0;
        if (!writing)
            pthread_rwlock_unlock(names_lock()); /* the one just taken */
        pthread_rwlock_unlock(names_lock());
        held = writing ? WRITING : held + 1;
    }
    pthread_rwlock_unlock(names_lock());
    return held;
}

void fault_lock_names(int held) {
    if (held == WRITING)
        pthread_rwlock_wrlock(names_lock());
    for (int i = 0; i < held; i++)
        pthread_rwlock_rdlock(names_lock());
}

/* --- the stacks --- */

/* ECL reserves two areas beyond each limit: one for the handlers of an overflow, one for those of
 * an overflow in them. */
static size_t margin(int option) {
    return 2 * (size_t)ecl_get_option(option);
}

void fault_reset_stacks(void) {
    const cl_env_ptr env = ecl_process_env();
    env->cs_size = limits.c_stack_bytes;
    env->cs_limit = limits.c_stack_limit;
    env->cs_barrier = limits.c_stack_barrier;
    env->bds_limit = env->bds_org + env->bds_size - margin(ECL_OPT_BIND_STACK_SAFETY_AREA);
    env->frs_limit = env->frs_org + env->frs_size - margin(ECL_OPT_FRAME_STACK_SAFETY_AREA);
}
