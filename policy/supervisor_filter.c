/* The filters of the supervisor, from supervisor.def, and of its imager. libseccomp would take a
 * third of a millisecond at each start for what is a search for the number of the call and a
 * comparison of its arguments.
 *
 * The program loads the number and searches it by halves. Each call has a block, in which the rows
 * of the call are tried in their order; a row that holds returns, and after the last one the
 * process is killed. */
#include "policy/policy_internal.h"
#include "policy/syscalls.h"

#include <seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALLS_MAX = 160, PROGRAM_MAX = 2048, LINEAR_MAX = 3 };

struct builder {
    struct sock_filter *filter;
    size_t length;
    const struct policy_row *rows;
    size_t count;
    uint32_t grants;
    pid_t self;
    int calls[CALLS_MAX]; /* the numbers, ascending */
    size_t call_count;
};

/* Beyond the maximum it only counts, which fails the build. Returns the place of the instruction.
 */
static size_t emit(struct builder *builder, struct sock_filter instruction) {
    if (builder->length < PROGRAM_MAX)
        builder->filter[builder->length] = instruction;
    return builder->length++;
}

static void emit_return(struct builder *builder, uint32_t action) {
    emit(builder, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

/* Lets the jump at PLACE, if its condition is false, go to the next instruction to be emitted. */
static void land_if_false(struct builder *builder, size_t place) {
    size_t distance = builder->length - place - 1;
    if (distance > UINT8_MAX)
        builder->length = PROGRAM_MAX + 1;
    else if (place < PROGRAM_MAX)
        builder->filter[place].jf = (unsigned char)distance;
}

/* Compares one half of an argument. Returns the place of the jump, whose condition is true if the
 * bits under MASK are VALUE. */
static size_t emit_comparison(struct builder *builder, size_t offset, uint32_t mask,
                              uint32_t value) {
    emit(builder, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
    if (mask != UINT32_MAX)
        emit(builder, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
    return emit(builder, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 0));
}

static uint32_t action_of(const struct policy_row *row) {
    return row->verdict == POLICY_ALLOW    ? SECCOMP_RET_ALLOW
           : row->verdict == POLICY_REFUSE ? SECCOMP_RET_ERRNO | (uint32_t)row->error
                                           : SECCOMP_RET_KILL_PROCESS;
}

static void emit_row(struct builder *builder, const struct policy_row *row) {
    const size_t low = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : sizeof(uint32_t);
    size_t jumps[2 * POLICY_TERMS_MAX], count = 0;
    for (size_t i = 0; i < POLICY_TERMS_MAX && row->terms[i].kind != TERM_NONE; i++) {
        const struct policy_term *term = &row->terms[i];
        const bool self = term->kind == TERM_SELF;
        const uint64_t mask = self ? UINT64_MAX : term->mask;
        const uint64_t value = self ? (uint64_t)builder->self : term->value;
        const size_t offset =
            offsetof(struct seccomp_data, args) + term->argument * sizeof(uint64_t);
        jumps[count++] = emit_comparison(builder, offset + low, (uint32_t)mask, (uint32_t)value);
        jumps[count++] = emit_comparison(builder, offset + (sizeof(uint32_t) - low),
                                         (uint32_t)(mask >> 32), (uint32_t)(value >> 32));
    }
    emit_return(builder, action_of(row));
    while (count)
        land_if_false(builder, jumps[--count]);
}

static void emit_call(struct builder *builder, int number) {
    for (size_t i = 0; i < builder->count; i++) {
        const struct policy_row *row = &builder->rows[i];
        if (row->number != number || !policy_row_applies(row, builder->grants))
            continue;
        emit_row(builder, row);
        if (row->terms[0].kind == TERM_NONE)
            return; /* no later row can apply */
    }
    emit_return(builder, SECCOMP_RET_KILL_PROCESS);
}

/* The search among COUNT calls from the one at FIRST on, and their blocks.
 * NOLINTNEXTLINE(misc-no-recursion): each step halves COUNT */
static void emit_search(struct builder *builder, size_t first, size_t count) {
    if (count <= LINEAR_MAX) {
        for (size_t i = first; i < first + count; i++) {
            size_t jump =
                emit(builder, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                           (uint32_t)builder->calls[i], 0, 0));
            emit_call(builder, builder->calls[i]);
            land_if_false(builder, jump);
        }
        emit_return(builder, SECCOMP_RET_KILL_PROCESS);
        return;
    }
    size_t half = count / 2;
    emit(builder, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K,
                                               (uint32_t)builder->calls[first + half], 0, 1));
    /* A conditional jump reaches 255 instructions only. */
    size_t jump = emit(builder, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0));
    emit_search(builder, first, half);
    if (jump < PROGRAM_MAX)
        builder->filter[jump].k = (uint32_t)(builder->length - jump - 1);
    emit_search(builder, first + half, count - half);
}

static int compare_numbers(const void *one, const void *other) {
    return *(const int *)one - *(const int *)other;
}

/* The numbers of the calls of this architecture, each once. */
static void collect_calls(struct builder *builder) {
    size_t count = 0;
    for (size_t i = 0; i < builder->count && count < CALLS_MAX; i++)
        if (builder->rows[i].number >= 0)
            builder->calls[count++] = builder->rows[i].number;
    qsort(builder->calls, count, sizeof *builder->calls, compare_numbers);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || builder->calls[i] != builder->calls[i - 1])
            builder->calls[builder->call_count++] = builder->calls[i];
}

static struct sock_fprog make_program(const struct policy_row *rows, size_t count, uint32_t grants,
                                      pid_t self) {
    struct builder builder = {.rows = rows, .count = count, .grants = grants, .self = self};
    builder.filter = calloc(PROGRAM_MAX, sizeof *builder.filter);
    if (!builder.filter)
        return (struct sock_fprog){.len = 0};
    collect_calls(&builder);
    emit(&builder, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                offsetof(struct seccomp_data, arch)));
    emit(&builder,
         (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, seccomp_arch_native(), 1, 0));
    emit_return(&builder, SECCOMP_RET_KILL_PROCESS);
    emit(&builder,
         (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    emit_search(&builder, 0, builder.call_count);
    if (builder.length > PROGRAM_MAX) {
        free(builder.filter);
        return (struct sock_fprog){.len = 0};
    }
    return (struct sock_fprog){.len = (unsigned short)builder.length, .filter = builder.filter};
}

struct sock_fprog policy_supervisor_program(uint32_t grants, pid_t self) {
    size_t count;
    const struct policy_row *rows = policy_supervisor_rows(&count);
    return make_program(rows, count, grants, self);
}

struct sock_fprog policy_imager_program(pid_t self) {
    size_t count;
    const struct policy_row *rows = policy_imager_rows(&count);
    return make_program(rows, count, 0, self);
}

static bool load(struct sock_fprog program, struct error *error) {
    if (!program.filter)
        return error_set(error, ENOMEM, "cannot build the filter");
    /* There should be one thread only; if not, the others must not escape the filter. */
    long outcome =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    int code = outcome > 0 ? ESRCH : errno;
    free(program.filter);
    if (outcome)
        return error_set(error, code, "cannot load the filter");
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER ||
           error_set(error, 0, "the filter is not in force");
}

bool policy_seccomp_supervisor(uint32_t grants, struct error *error) {
    return load(policy_supervisor_program(grants, getpid()), error);
}

bool policy_seccomp_imager(struct error *error) {
    return load(policy_imager_program(getpid()), error);
}
