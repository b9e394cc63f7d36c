/* Takes every privilege from the process: capabilities, supplementary groups, and root's identity
 * when the caller asks for another. Never keeps one for later. */
#include "policy/layers.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
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
           error_set(error, errno, "reading the capabilities");
}

/* What only a holder of CAP_SETPCAP can do, and only while it holds it. */
static bool may_drop_future_capabilities(bool *may, struct error *error) {
    struct __user_cap_data_struct sets[WORDS];
    if (!capabilities_get(sets, error))
        return false;
    *may = sets[CAP_TO_INDEX(CAP_SETPCAP)].effective & CAP_TO_MASK(CAP_SETPCAP);
    return true;
}

/* Two calls for each capability there is, so once for all forks, which inherit it. What this
 * process holds it keeps. */
bool policy_privileges_forbid_new(struct error *error) {
    bool may;
    if (!may_drop_future_capabilities(&may, error))
        return false;
    if (!may)
        return true;
    /* The first number the kernel does not know ends the list. */
    int held;
    for (unsigned long capability = 0; (held = prctl(PR_CAPBSET_READ, capability, 0, 0, 0)) >= 0;
         capability++)
        if (held && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0))
            return error_set(error, errno, "dropping capability %lu", capability);
    int bits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
    if (bits < 0 || prctl(PR_SET_SECUREBITS, (unsigned long)(bits | SECUREBITS), 0, 0, 0))
        return error_set(error, errno, "locking the secure bits");
    return true;
}

/* The secure bits were locked after the last capability was dropped, and nothing undoes either but
 * a user namespace, which would bring back CAP_SETPCAP with all the others. */
static bool inherited_no_future_capabilities(struct error *error) {
    bool may;
    if (!may_drop_future_capabilities(&may, error))
        return false;
    return !may ||
           ((prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) & SECUREBITS) == SECUREBITS &&
            prctl(PR_CAPBSET_READ, (unsigned long)CAP_SETPCAP, 0, 0, 0) == 0) ||
           error_set(error, 0, "the capabilities that could be won back were not dropped");
}

static bool drop_present_capabilities(struct error *error) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[WORDS] = {{0}};
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
        return error_set(error, errno, "dropping the ambient capabilities");
    if (syscall(SYS_capset, &header, sets))
        return error_set(error, errno, "dropping the capabilities");
    if (!capabilities_get(sets, error))
        return false;
    for (size_t i = 0; i < WORDS; i++)
        if (sets[i].effective || sets[i].permitted || sets[i].inheritable)
            return error_set(error, 0, "capabilities stayed after they were dropped");
    return true;
}

/* An ordinary user may not drop them and keeps what it has. */
static bool drop_groups(struct error *error) {
    return setgroups(0, NULL) == 0 || errno == EPERM ||
           error_set(error, errno, "dropping the supplementary groups");
}

/* Group before user: the change of user ends the right to change the group. */
static bool change_identity(uid_t user, struct error *error) {
    if (setresgid(user, user, user))
        return error_set(error, errno, "taking group %u", user);
    if (setresuid(user, user, user))
        return error_set(error, errno, "taking user %u", user);
    uid_t real, effective, saved;
    gid_t real_group, effective_group, saved_group;
    if (getresuid(&real, &effective, &saved) ||
        getresgid(&real_group, &effective_group, &saved_group))
        return error_set(error, errno, "reading the identity");
    if (real != user || effective != user || saved != user || real_group != user ||
        effective_group != user || saved_group != user || getgroups(0, NULL) != 0)
        return error_set(error, 0, "user %u was not taken", user);
    return true;
}

bool policy_no_new_privileges(struct error *error) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return error_set(error, errno, "giving up new privileges");
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
           error_set(error, 0, "giving up new privileges did not hold");
}

bool policy_enter_privileges(const struct policy_entry *entry, struct error *error) {
    uid_t user = entry->policy->user;
    /* Capabilities end with the change of user, so what needs one comes first. */
    return inherited_no_future_capabilities(error) && drop_groups(error) &&
           (user == 0 || geteuid() != 0 || change_identity(user, error)) &&
           drop_present_capabilities(error) && policy_no_new_privileges(error);
}
