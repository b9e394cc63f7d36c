/* The layer seccomp: builds the filter programs from the table with libseccomp, loads the one for
 * all calls in each worker, and after the listener is sent the seal. Arguments are compared for
 * equality and masked equality only: libseccomp before 2.6.1 can lose a branch when it merges
 * ordered comparisons (GHSA-4q85-33p6-j5g6). */
#include "common/cleanup.h"
#include "policy/policy_internal.h"
#include "policy/syscalls.h"

#include <seccomp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Older kernel headers lack it. */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/* --- building --- */

static void cleanup_context_value(const scmp_filter_ctx *context) {
    if (*context)
        seccomp_release(*context);
}
#define cleanup_context __attribute__((cleanup(cleanup_context_value)))

/* The action that a row adds to a program, or NO_ACTION, which is no action of libseccomp's. */
typedef uint32_t row_action(const struct policy_row *row);

enum { NO_ACTION = 0 };

static uint32_t allowed(const struct policy_row *row) {
    return row->verdict == POLICY_ALLOW || row->setup ? SCMP_ACT_ALLOW : NO_ACTION;
}

/* Forks inherit the filter, which does not know their process ids; calls that depend on it, and
 * those that the supervisor must see, are left to the default action, a notification. */
static uint32_t action_with_listener(const struct policy_row *row) {
    return policy_row_is_notified(row) ? NO_ACTION : allowed(row);
}

/* Without a listener there are no forks, so the process id is in the filter. */
static uint32_t action_degraded(const struct policy_row *row) {
    if (row->verdict == POLICY_REFUSE && !row->setup)
        return SCMP_ACT_ERRNO((uint16_t)row->error);
    return allowed(row);
}

static uint32_t action_of_seal(const struct policy_row *row) {
    return row->setup ? SCMP_ACT_ERRNO((uint16_t)row->error) : NO_ACTION;
}

static struct scmp_arg_cmp comparison(const struct policy_term *term) {
    struct scmp_arg_cmp out = {.arg = term->argument, .op = SCMP_CMP_EQ, .datum_a = term->value};
    if (term->kind == TERM_SELF) {
        out.datum_a = POLICY_SELF_MARK;
    } else if (term->mask != UINT64_MAX) {
        out.op = SCMP_CMP_MASKED_EQ;
        out.datum_a = term->mask;
        out.datum_b = term->value;
    }
    return out;
}

static bool add_row(scmp_filter_ctx context, uint32_t action, const struct policy_row *row,
                    struct error *error) {
    struct scmp_arg_cmp comparisons[POLICY_TERMS_MAX];
    unsigned count = 0;
    while (count < POLICY_TERMS_MAX && row->terms[count].kind != TERM_NONE) {
        comparisons[count] = comparison(&row->terms[count]);
        count++;
    }
    int outcome = seccomp_rule_add_exact_array(context, action, row->number, count, comparisons);
    return outcome == 0 || error_set(error, -outcome, "cannot add the rule for %s", row->name);
}

/* Copies the finished program out of CONTEXT; its instructions are the caller's to free. */
static bool export_program(scmp_filter_ctx context, struct sock_fprog *program,
                           struct error *error) {
    cleanup_fd int file = memfd_create("policy", MFD_CLOEXEC);
    if (file < 0)
        return error_set(error, errno, "cannot create a memfd for the filter");
    int outcome = seccomp_export_bpf(context, file);
    /* libseccomp does not say why it could not write. */
    if (outcome && ftruncate(file, BPF_MAXINSNS * sizeof *program->filter) != 0 && errno == EFBIG)
        return error_set(
            error, EFBIG,
            "cannot build the filter, since the limit of file sizes (ulimit -f) is too "
            "low");
    if (outcome)
        return error_set(error, -outcome, "cannot build the filter");
    off_t size = lseek(file, 0, SEEK_END);
    size_t length = size > 0 ? (size_t)size / sizeof *program->filter : 0;
    if (length == 0 || length > BPF_MAXINSNS || (size_t)size % sizeof *program->filter)
        return error_set(error, 0, "libseccomp built a filter of %lld bytes", (long long)size);
    program->filter = malloc((size_t)size);
    if (!program->filter)
        return error_set(error, ENOMEM, "cannot build the filter");
    program->len = (unsigned short)length;
    if (pread(file, program->filter, (size_t)size, 0) != (ssize_t)size)
        return error_set(error, errno, "cannot read the filter back");
    return true;
}

static bool build(struct sock_fprog *program, const struct policy_row *rows, size_t count,
                  uint32_t otherwise, uint32_t grants, row_action *action_of, struct error *error) {
    cleanup_context scmp_filter_ctx context = seccomp_init(otherwise);
    if (!context)
        return error_set(error, 0, "the kernel lacks an action that the filter needs");
    /* A tree, not a list: at installation the kernel runs the program once for every call number,
     * which is most of the cost. */
    int outcome = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (!outcome)
        outcome = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (outcome)
        return error_set(error, -outcome, "cannot prepare the filter");
    for (size_t i = 0; i < count; i++) {
        uint32_t action = policy_row_applies(&rows[i], grants) ? action_of(&rows[i]) : NO_ACTION;
        if (action != NO_ACTION && rows[i].number >= 0 &&
            !add_row(context, action, &rows[i], error))
            return false;
    }
    return export_program(context, program, error);
}

static bool is_mark(const struct sock_filter *instruction) {
    return instruction->code == (BPF_JMP | BPF_JEQ | BPF_K) && instruction->k == POLICY_SELF_MARK;
}

/* Adjacent rows of one call share the comparisons that they have in common. */
static bool shares_self(const struct policy_row *row, const struct policy_row *before,
                        size_t term) {
    return row->number == before->number && row->terms[term].kind == before->terms[term].kind &&
           row->terms[term].argument == before->terms[term].argument;
}

/* Did libseccomp compile each SELF in the table to one mark? A filter with a listener has none. */
static bool marks_are_right(const struct sock_fprog *program, bool degraded, struct error *error) {
    size_t count, wanted = 0, found = 0;
    const struct policy_row *rows = policy_rows(&count);
    for (size_t i = 0; degraded && i < count; i++)
        for (size_t j = 0; j < POLICY_TERMS_MAX; j++)
            wanted += rows[i].number >= 0 && rows[i].terms[j].kind == TERM_SELF &&
                      !(i && shares_self(&rows[i], &rows[i - 1], j));
    for (size_t i = 0; i < program->len; i++)
        found += is_mark(&program->filter[i]);
    return found == wanted ||
           error_set(error, 0, "the filter has %zu process id marks instead of %zu", found, wanted);
}

static struct policy_program *begin_program(bool degraded, struct error *error) {
    /* libseccomp returns NULL without a reason, so the kernel is asked first. */
    uint32_t action = SECCOMP_RET_KILL_PROCESS;
    if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action)) {
        error_set(error, errno, "the kernel or an outer filter refuses seccomp");
        return NULL;
    }
    struct policy_program *program = calloc(1, sizeof *program);
    if (!program) {
        error_set(error, ENOMEM, "cannot build the filter");
        return NULL;
    }
    program->degraded = degraded;
    return program;
}

struct policy_program *policy_program_build(bool degraded, uint32_t grants, struct error *error) {
    size_t count;
    const struct policy_row *rows = policy_rows(&count);
    struct policy_program *program = begin_program(degraded, error);
    if (!program)
        return NULL;
    bool built = degraded ? build(&program->calls, rows, count, SCMP_ACT_KILL_PROCESS, 0,
                                  action_degraded, error)
                          : build(&program->calls, rows, count, SCMP_ACT_NOTIFY, grants,
                                  action_with_listener, error);
    if (built && marks_are_right(&program->calls, degraded, error) &&
        build(&program->seal, rows, count, SCMP_ACT_ALLOW, 0, action_of_seal, error))
        return program;
    policy_program_free(program);
    return NULL;
}

struct policy_program *policy_program_build_compiler(struct error *error) {
    size_t count;
    const struct policy_row *rows = policy_compiler_rows(&count);
    struct policy_program *program = begin_program(true, error);
    if (program &&
        build(&program->calls, rows, count, SCMP_ACT_KILL_PROCESS, 0, action_degraded, error))
        return program;
    policy_program_free(program);
    return NULL;
}

void policy_program_free(struct policy_program *program) {
    if (!program)
        return;
    free(program->calls.filter);
    free(program->seal.filter);
    free(program);
}

struct sock_fprog policy_program_calls_for(const struct policy_program *program, pid_t self) {
    struct sock_fprog copy = {.len = program->calls.len};
    copy.filter = calloc(copy.len, sizeof *copy.filter);
    for (size_t i = 0; copy.filter && i < copy.len; i++) {
        copy.filter[i] = program->calls.filter[i];
        if (is_mark(&copy.filter[i]))
            copy.filter[i].k = (uint32_t)self;
    }
    return copy;
}

/* --- loading --- */

/* There should be one thread only; if not, the others must not escape the filter. */
static const unsigned long every_thread = SECCOMP_FILTER_FLAG_TSYNC;

/* With a listener, a failed TSYNC can only be reported as ESRCH. */
static const unsigned long with_listener =
    SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH | SECCOMP_FILTER_FLAG_NEW_LISTENER;

/* Installs PROGRAM. Returns the listener if FLAGS ask for one, else 0; -1 with errno. */
static int install(const struct sock_fprog *program, unsigned long flags) {
    long outcome = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
    if (outcome > 0 && !(flags & SECCOMP_FILTER_FLAG_NEW_LISTENER)) {
        errno = ESRCH; /* OUTCOME is the id of a thread that could not be synchronized */
        return -1;
    }
    return (int)outcome;
}

/* From Linux 5.19 a signal does not restart a call that waits for the supervisor's answer; nothing
 * depends on that. */
static int install_with_listener(const struct sock_fprog *program) {
    int listener = install(program, with_listener | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
    if (listener < 0 && errno == EINVAL)
        listener = install(program, with_listener);
    return listener;
}

/* This filter contains the process id, so each process loads its own copy. */
static bool load_degraded(const struct policy_program *program, struct error *error) {
    struct sock_fprog calls = policy_program_calls_for(program, getpid());
    if (!calls.filter)
        return error_set(error, ENOMEM, "cannot load the filter");
    int outcome = install(&calls, every_thread);
    int code = errno;
    free(calls.filter);
    return outcome >= 0 || error_set(error, code, "cannot load the filter");
}

static bool load_calls(const struct policy_context *context, struct error *error) {
    if (context->program->degraded)
        return load_degraded(context->program, error);
    *context->listener = install_with_listener(&context->program->calls);
    /* EBUSY: an outer filter has a listener, and there can be only one. */
    return *context->listener >= 0 ||
           error_set(error, errno, "cannot load the filter with notifications");
}

bool policy_enter_seccomp(const struct policy_context *context, struct error *error) {
    /* An ordinary user may install a filter only after this. */
    return policy_no_new_privileges(error) && load_calls(context, error) &&
           (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER ||
            error_set(error, 0, "the filter is not in force"));
}

bool policy_seal(const struct policy_prepared *prepared, struct error *error) {
    if (!prepared->program || !prepared->program->seal.filter)
        return true;
    if (install(&prepared->program->seal, every_thread) < 0)
        return error_set(error, errno, "layer seccomp: cannot load the seal");
    /* The seal refuses this query too. */
    return (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == -1 && errno == EPERM) ||
           error_set(error, 0, "layer seccomp: the seal is not in force");
}

bool policy_seccomp_wait_only(struct error *error) {
    /* A jump is over the instructions up to the last one, which kills. */
    struct sock_filter calls[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, seccomp_arch_native(), 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
    const struct sock_fprog program = {sizeof calls / sizeof *calls, calls};
    return install(&program, 0) >= 0 || error_set(error, errno, "cannot load the filter");
}
