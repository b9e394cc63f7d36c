/* What the supervisor says to one notified call. Pure: looks at the table and at the registers, and
 * never at the memory of the process, which is the attacker's. */
#include "policy/table.h"

#include <seccomp.h>

static const char unknown[] = "unknown";

/* The first row of call NUMBER, or NULL. */
static const struct policy_row *row_of(int number) {
    size_t count;
    const struct policy_row *rows = policy_rows(&count);
    for (size_t i = 0; number >= 0 && i < count; i++)
        if (rows[i].number == number)
            return &rows[i];
    return NULL;
}

static struct policy_answer killing(const char *name, const char *reason) {
    return (struct policy_answer){.verdict = POLICY_KILL, .name = name, .reason = reason};
}

struct policy_answer policy_judge(uint32_t grants, const struct seccomp_data *call, pid_t pid) {
    if (call->arch != seccomp_arch_native())
        return killing(unknown, "a call of another architecture");
    if (!row_of(call->nr))
        return killing(unknown, "a call that the policy does not know");
    size_t count;
    const struct policy_row *rows = policy_rows(&count);
    for (size_t i = 0; i < count; i++)
        if (rows[i].number == call->nr && policy_row_counts(&rows[i], grants) &&
            policy_row_fits(&rows[i], call, pid))
            return (struct policy_answer){.verdict = rows[i].verdict,
                                          .error = rows[i].error,
                                          .name = rows[i].name,
                                          .reason = rows[i].reason};
    return killing(policy_call_name(call->nr), "with arguments that the policy does not allow");
}

bool policy_judges_by_pid(int number) {
    size_t count;
    const struct policy_row *rows = policy_rows(&count);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < POLICY_TERMS_MAX; j++)
            if (rows[i].number == number && rows[i].terms[j].kind == TERM_SELF)
                return true;
    return false;
}

const char *policy_call_name(int number) {
    const struct policy_row *row = row_of(number);
    return row ? row->name : unknown;
}
