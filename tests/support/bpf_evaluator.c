/* The classic BPF machine, as far as seccomp accepts it. */
#include "tests/support/bpf_evaluator.h"

#include <linux/bpf_common.h>
#include <stddef.h>
#include <string.h>

struct machine {
    uint32_t a, x;
    uint32_t memory[BPF_MEMWORDS];
};

static bool load(struct machine *machine, const struct sock_filter *at,
                 const struct seccomp_data *call) {
    switch (at->code) {
    case BPF_LD | BPF_W | BPF_ABS:
        if (at->k % sizeof machine->a || at->k + sizeof machine->a > sizeof *call)
            return false;
        memcpy(&machine->a, (const char *)call + at->k, sizeof machine->a);
        return true;
    case BPF_LD | BPF_W | BPF_LEN:
        machine->a = sizeof *call;
        return true;
    case BPF_LD | BPF_IMM:
        machine->a = at->k;
        return true;
    case BPF_LD | BPF_MEM:
        if (at->k >= BPF_MEMWORDS)
            return false;
        machine->a = machine->memory[at->k];
        return true;
    default:
        return false;
    }
}

static bool move(struct machine *machine, const struct sock_filter *at) {
    switch (at->code) {
    case BPF_LDX | BPF_IMM:
        machine->x = at->k;
        return true;
    case BPF_LDX | BPF_MEM:
        if (at->k >= BPF_MEMWORDS)
            return false;
        machine->x = machine->memory[at->k];
        return true;
    case BPF_ST:
    case BPF_STX:
        if (at->k >= BPF_MEMWORDS)
            return false;
        machine->memory[at->k] = at->code == BPF_ST ? machine->a : machine->x;
        return true;
    case BPF_MISC | BPF_TAX:
        machine->x = machine->a;
        return true;
    case BPF_MISC | BPF_TXA:
        machine->a = machine->x;
        return true;
    default:
        return false;
    }
}

static bool compute(struct machine *machine, const struct sock_filter *at) {
    uint32_t operand = BPF_SRC(at->code) == BPF_X ? machine->x : at->k;
    switch (BPF_OP(at->code)) {
    case BPF_ADD:
        machine->a += operand;
        return true;
    case BPF_SUB:
        machine->a -= operand;
        return true;
    case BPF_AND:
        machine->a &= operand;
        return true;
    case BPF_OR:
        machine->a |= operand;
        return true;
    case BPF_XOR:
        machine->a ^= operand;
        return true;
    case BPF_LSH:
        machine->a = operand < 32 ? machine->a << operand : 0;
        return true;
    case BPF_RSH:
        machine->a = operand < 32 ? machine->a >> operand : 0;
        return true;
    case BPF_NEG:
        machine->a = 0 - machine->a;
        return true;
    default:
        return false;
    }
}

/* The number of instructions to skip, or -1. */
static int64_t jump(const struct machine *machine, const struct sock_filter *at) {
    uint32_t operand = BPF_SRC(at->code) == BPF_X ? machine->x : at->k;
    switch (BPF_OP(at->code)) {
    case BPF_JA:
        return at->k;
    case BPF_JEQ:
        return machine->a == operand ? at->jt : at->jf;
    case BPF_JGT:
        return machine->a > operand ? at->jt : at->jf;
    case BPF_JGE:
        return machine->a >= operand ? at->jt : at->jf;
    case BPF_JSET:
        return (machine->a & operand) ? at->jt : at->jf;
    default:
        return -1;
    }
}

bool bpf_evaluate(const struct sock_fprog *program, const struct seccomp_data *call,
                  uint32_t *action) {
    struct machine machine = {0};
    int64_t skip;
    for (int64_t i = 0; i < program->len; i++) {
        const struct sock_filter *at = &program->filter[i];
        switch (BPF_CLASS(at->code)) {
        case BPF_RET:
            *action = BPF_RVAL(at->code) == BPF_A ? machine.a : at->k;
            return BPF_RVAL(at->code) == BPF_A || BPF_RVAL(at->code) == BPF_K;
        case BPF_JMP:
            skip = jump(&machine, at);
            if (skip < 0)
                return false;
            i += skip;
            break;
        case BPF_LD:
            if (!load(&machine, at, call))
                return false;
            break;
        case BPF_ALU:
            if (!compute(&machine, at))
                return false;
            break;
        default:
            if (!move(&machine, at))
                return false;
        }
    }
    return false;
}

uint32_t bpf_stricter(uint32_t earlier, uint32_t later) {
    /* Actions are ordered as signed numbers, the strictest lowest. */
    int32_t one = (int32_t)(earlier & SECCOMP_RET_ACTION_FULL);
    int32_t other = (int32_t)(later & SECCOMP_RET_ACTION_FULL);
    return one < other ? earlier : later;
}
