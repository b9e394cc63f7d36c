/* The layer limits: lowers the resource limits to those of limits.def and of the policy. */
#include "policy/policy_internal.h"

#include <signal.h>
#include <sys/resource.h>

struct limit {
    const char *name;
    int resource;
    rlim_t value;
};

static const struct limit table[] = {
#define LIMIT(what, most, reason) {#what, RLIMIT_##what, most},
#include "policy/limits.def"
};

static rlim_t lesser(rlim_t one, rlim_t other) {
    return one < other ? one : other;
}

static bool lower(const struct limit *limit, struct error *error) {
    struct rlimit now, wanted;
    if (getrlimit((__rlimit_resource_t)limit->resource, &now))
        return error_set(error, errno, "cannot read RLIMIT_%s", limit->name);
    if (now.rlim_cur <= limit->value && now.rlim_max <= limit->value)
        return true;
    wanted.rlim_cur = lesser(now.rlim_cur, limit->value);
    wanted.rlim_max = lesser(now.rlim_max, limit->value);
    if (setrlimit((__rlimit_resource_t)limit->resource, &wanted) ||
        getrlimit((__rlimit_resource_t)limit->resource, &now))
        return error_set(error, errno, "cannot set RLIMIT_%s", limit->name);
    return (now.rlim_cur == wanted.rlim_cur && now.rlim_max == wanted.rlim_max) ||
           error_set(error, 0, "RLIMIT_%s is not in force", limit->name);
}

bool policy_limits_lower(struct error *error) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!lower(&table[i], error))
            return false;
    return true;
}

bool policy_enter_limits(const struct policy_context *context, struct error *error) {
    if (!policy_limits_lower(error))
        return false;
    const struct policy *policy = context->policy;
    const struct limit memory = {"AS", RLIMIT_AS, (rlim_t)policy->address_space_bytes};
    const struct limit file = {"FSIZE", RLIMIT_FSIZE, (rlim_t)policy->scratch_bytes};
    /* So that a write beyond the limit fails and does not kill the process. */
    if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR)
        return error_set(error, errno, "cannot ignore SIGXFSZ");
    return lower(&file, error) && (memory.value == 0 || lower(&memory, error));
}
