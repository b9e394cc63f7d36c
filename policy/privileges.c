/* The layer privileges: drops capabilities, supplementary groups and, if the policy names another
 * user, root's identity. */
#include "policy/policy_internal.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    WORDS = _LINUX_CAPABILITY_U32S_3,
    SECUREBITS = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                 SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED
};

static bool capabilities_get(struct __user_cap_data_struct sets[WORDS], struct error *error) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    return syscall(SYS_capget, &header, sets) == 0 ||
           error_set(error, errno, "cannot read the capabilities");
}

/* *MAY: does the process have CAP_SETPCAP, which dropping from the bounding set requires? */
static bool may_drop_bounding_set(bool *may, struct error *error) {
    struct __user_cap_data_struct sets[WORDS];
    if (!capabilities_get(sets, error))
        return false;
    *may = sets[CAP_TO_INDEX(CAP_SETPCAP)].effective & CAP_TO_MASK(CAP_SETPCAP);
    return true;
}

/* Takes a call for each capability and is therefore done once, before the forks, which inherit
 * it. The process keeps the capabilities that it has. */
bool policy_privileges_forbid_new(struct error *error) {
    bool may;
    if (!may_drop_bounding_set(&may, error))
        return false;
    if (!may)
        return true;
    /* The kernel refuses the first number after its last capability. */
    unsigned long capability = 0;
    while (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0)
        capability++;
    if (errno != EINVAL)
        return error_set(error, errno, "cannot drop capability %lu", capability);
    if (prctl(PR_CAPBSET_READ, (unsigned long)CAP_SETPCAP, 0, 0, 0) != 0)
        return error_set(error, 0, "the bounding set is not empty");
    int bits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
    if (bits < 0 || prctl(PR_SET_SECUREBITS, (unsigned long)(bits | SECUREBITS), 0, 0, 0))
        return error_set(error, errno, "cannot lock the secure bits");
    return true;
}

/* The secure bits were locked after the last capability had left the bounding set. Only a new user
 * namespace undoes either, and it would restore CAP_SETPCAP as well. */
static bool inherited_empty_bounding_set(struct error *error) {
    bool may;
    if (!may_drop_bounding_set(&may, error))
        return false;
    return !may ||
           ((prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) & SECUREBITS) == SECUREBITS &&
            prctl(PR_CAPBSET_READ, (unsigned long)CAP_SETPCAP, 0, 0, 0) == 0) ||
           error_set(error, 0, "the bounding set is not empty");
}

bool policy_privileges_retain(uint64_t capabilities, struct error *error) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[WORDS];
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
        return error_set(error, errno, "cannot drop the ambient capabilities");
    if (!capabilities_get(sets, error))
        return false;
    for (size_t i = 0; i < WORDS; i++) {
        sets[i].permitted &= (uint32_t)(capabilities >> (32 * i));
        sets[i].effective = sets[i].permitted;
        sets[i].inheritable = 0;
    }
    if (syscall(SYS_capset, &header, sets))
        return error_set(error, errno, "cannot drop the capabilities");
    if (!capabilities_get(sets, error))
        return false;
    for (size_t i = 0; i < WORDS; i++)
        if (sets[i].permitted & ~(uint32_t)(capabilities >> (32 * i)) || sets[i].inheritable ||
            sets[i].effective != sets[i].permitted)
            return error_set(error, 0, "capabilities remain after they were dropped");
    return true;
}

bool policy_privileges_reduce(const struct policy *policy, struct error *error) {
    uint64_t kept = 0;
    if (policy->user && geteuid() == 0)
        kept |= UINT64_C(1) << CAP_SETUID | UINT64_C(1) << CAP_SETGID;
    if (policy->scratch_bytes)
        kept |= UINT64_C(1) << CAP_SYS_ADMIN; /* to mount */
    return policy_privileges_retain(kept, error) && policy_no_new_privileges(error);
}

/* An ordinary user may not drop its groups and keeps them. */
static bool drop_groups(struct error *error) {
    return setgroups(0, NULL) == 0 || errno == EPERM ||
           error_set(error, errno, "cannot drop the supplementary groups");
}

/* Group before user: after the change of user the group cannot be changed. */
static bool change_identity(uid_t user, struct error *error) {
    if (setresgid(user, user, user))
        return error_set(error, errno, "cannot change to group %u", user);
    if (setresuid(user, user, user))
        return error_set(error, errno, "cannot change to user %u", user);
    uid_t real, effective, saved;
    gid_t real_group, effective_group, saved_group;
    if (getresuid(&real, &effective, &saved) ||
        getresgid(&real_group, &effective_group, &saved_group))
        return error_set(error, errno, "cannot read the identity");
    if (real != user || effective != user || saved != user || real_group != user ||
        effective_group != user || saved_group != user || getgroups(0, NULL) != 0)
        return error_set(error, 0, "the process is not user %u", user);
    return true;
}

bool policy_no_new_privileges(struct error *error) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return error_set(error, errno, "cannot set no_new_privs");
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
           error_set(error, 0, "no_new_privs is not set");
}

/* The file system ids, unlike the others, can be taken and returned without a trace. A user
 * namespace, such as that of a container, may map few numbers. */
static bool is_mapped(uint32_t user) {
    setfsuid(user);
    bool uid_mapped = (uint32_t)setfsuid(geteuid()) == user;
    setfsgid(user);
    return (uint32_t)setfsgid(getegid()) == user && uid_mapped;
}

void policy_privileges_choose_user(struct policy_prepared *prepared) {
    const struct policy *policy = &prepared->policy;
    prepared->user = geteuid() == 0 ? policy->user : 0;
    prepared->separate_users = prepared->user && policy->separate_users &&
                               is_mapped(POLICY_USERS_FIRST) &&
                               is_mapped(POLICY_USERS_FIRST + POLICY_USERS_COUNT - 1);
    uint32_t start;
    if (prepared->separate_users && getrandom(&start, sizeof start, 0) == (ssize_t)sizeof start)
        prepared->user = POLICY_USERS_FIRST + start % POLICY_USERS_COUNT;
}

/* Another server began at another random number, so that their workers hardly ever meet. */
void policy_next_fork(struct policy_prepared *prepared) {
    if (prepared->separate_users)
        prepared->user =
            POLICY_USERS_FIRST + (prepared->user - POLICY_USERS_FIRST + 1) % POLICY_USERS_COUNT;
}

bool policy_enter_privileges(const struct policy_context *context, struct error *error) {
    /* The change of user drops the capabilities, so whatever needs one comes first. */
    return inherited_empty_bounding_set(error) && drop_groups(error) &&
           (context->user == 0 || change_identity(context->user, error)) &&
           policy_privileges_retain(0, error) && policy_no_new_privileges(error);
}
