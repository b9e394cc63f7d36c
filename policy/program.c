/* Builds the filter programs from the table with libseccomp. Compares arguments for equality and
 * masked equality only: libseccomp before 2.6.1 can lose a branch when it merges ordered
 * comparisons (GHSA-4q85-33p6-j5g6). Installs nothing. */
#include "policy/program.h"
#include "common/cleanup.h"
#include "policy/table.h"

#include <seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static void cleanup_context_value(const scmp_filter_ctx *context) {
    if (*context)
        seccomp_release(*context);
}
#define cleanup_context __attribute__((cleanup(cleanup_context_value)))

/* Which action a row adds to a program; 0 (no action of libseccomp's) when it adds none. */
typedef uint32_t row_action(const struct policy_row *row);

enum { NO_ACTION = 0 };

static uint32_t allowed(const struct policy_row *row) {
    return row->verdict == POLICY_ALLOW || row->setup ? SCMP_ACT_ALLOW : NO_ACTION;
}

/* A filter is inherited by forks, whose process id it does not know: who has a listener asks it,
 * and about what is to be seen. */
static uint32_t action_with_listener(const struct policy_row *row) {
    return policy_row_is_asked(row) ? NO_ACTION : allowed(row);
}

/* Without a listener there are no forks, and the process id stands in the filter. */
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
    return outcome == 0 || error_set(error, -outcome, "the rule for %s", row->name);
}

/* Takes the finished program out of CONTEXT; its instructions are the caller's. */
static bool export_program(scmp_filter_ctx context, struct sock_fprog *program,
                           struct error *error) {
    cleanup_fd int file = memfd_create("policy", MFD_CLOEXEC);
    if (file < 0)
        return error_set(error, errno, "a place to build the filter in");
    int outcome = seccomp_export_bpf(context, file);
    if (outcome)
        return error_set(error, -outcome, "building the filter");
    off_t size = lseek(file, 0, SEEK_END);
    size_t length = size > 0 ? (size_t)size / sizeof *program->filter : 0;
    if (length == 0 || length > BPF_MAXINSNS || (size_t)size % sizeof *program->filter)
        return error_set(error, 0, "a filter of %lld bytes came out", (long long)size);
    program->filter = malloc((size_t)size);
    if (!program->filter)
        return error_set(error, ENOMEM, "the filter");
    program->len = (unsigned short)length;
    if (pread(file, program->filter, (size_t)size, 0) != (ssize_t)size)
        return error_set(error, errno, "reading the filter back");
    return true;
}

static bool build(struct sock_fprog *program, uint32_t otherwise, uint32_t grants,
                  row_action *action_of, struct error *error) {
    cleanup_context scmp_filter_ctx context = seccomp_init(otherwise);
    if (!context)
        return error_set(error, 0, "this kernel lacks an action that the filter needs");
    /* A tree instead of a list: the kernel walks the program for every call number once when it
     * is installed, and that is most of what installing costs. */
    int outcome = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (!outcome)
        outcome = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (outcome)
        return error_set(error, -outcome, "preparing the filter");
    size_t count;
    const struct policy_row *rows = policy_rows(&count);
    for (size_t i = 0; i < count; i++) {
        uint32_t action = policy_row_counts(&rows[i], grants) ? action_of(&rows[i]) : NO_ACTION;
        if (action != NO_ACTION && rows[i].number >= 0 &&
            !add_row(context, action, &rows[i], error))
            return false;
    }
    return export_program(context, program, error);
}

static bool is_mark(const struct sock_filter *instruction) {
    return instruction->code == (BPF_JMP | BPF_JEQ | BPF_K) && instruction->k == POLICY_SELF_MARK;
}

/* One mark for each SELF in the table when degraded, else none: libseccomp compiled them as
 * foreseen. */
static bool marks_are_right(const struct sock_fprog *program, bool degraded, struct error *error) {
    size_t count, wanted = 0, found = 0;
    const struct policy_row *rows = policy_rows(&count);
    for (size_t i = 0; degraded && i < count; i++)
        for (size_t j = 0; j < POLICY_TERMS_MAX; j++)
            wanted += rows[i].number >= 0 && rows[i].terms[j].kind == TERM_SELF;
    for (size_t i = 0; i < program->len; i++)
        found += is_mark(&program->filter[i]);
    return found == wanted ||
           error_set(error, 0, "the filter names its process %zu times, not %zu", found, wanted);
}

struct policy_program *policy_program_build(bool degraded, uint32_t grants, struct error *error) {
    /* Ask directly first: libseccomp answers any refusal with a bare NULL. */
    uint32_t action = SECCOMP_RET_KILL_PROCESS;
    if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action)) {
        error_set(error, errno, "seccomp is refused here, by this kernel or by an outer filter");
        return NULL;
    }
    struct policy_program *program = calloc(1, sizeof *program);
    if (!program) {
        error_set(error, ENOMEM, "the filter");
        return NULL;
    }
    program->degraded = degraded;
    bool built = degraded
                     ? build(&program->calls, SCMP_ACT_KILL_PROCESS, 0, action_degraded, error)
                     : build(&program->calls, SCMP_ACT_NOTIFY, grants, action_with_listener, error);
    if (built && marks_are_right(&program->calls, degraded, error) &&
        build(&program->seal, SCMP_ACT_ALLOW, 0, action_of_seal, error))
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
