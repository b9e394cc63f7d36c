/* The layer landlock: no file, no TCP, no abstract socket and no signal to a process outside,
 * whatever the system call; the exceptions are reading granted directories and using the scratch
 * directory. */
#include "common/cleanup.h"
#include "policy/policy_internal.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* struct landlock_ruleset_attr and the access rights, which the headers of Debian 12 lack in part.
 * An older kernel gets a shorter structure and fewer rights. */
struct ruleset {
    uint64_t files;
    uint64_t network; /* from ABI 4 */
    uint64_t scopes;  /* from ABI 6 */
};

enum {
    FILES_1 = (1 << 13) - 1, /* execute, write, read, list, remove, and create files of all types */
    FILES_2 = 1 << 13,       /* rename or link across directories */
    FILES_3 = 1 << 14,       /* truncate */
    FILES_5 = 1 << 15,       /* ioctl on devices */
    NETWORK_4 = 3,           /* bind, connect (TCP) */
    SCOPE_SOCKETS = 1,       /* abstract sockets; from ABI 6 */
    SCOPE_SIGNALS = 2,       /* from ABI 6 */
    QUIET_7 = 1 << 0 | 1 << 2 /* no audit records of this program and of its own rulesets */
};

static const uint64_t read_rights = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
/* No devices, sockets, pipes or symbolic links, and no execution. */
static const uint64_t scratch_rights =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_WRITE_FILE |
    LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
    LANDLOCK_ACCESS_FS_REMOVE_DIR | FILES_2 | FILES_3;

/* The ABI version of this kernel, or -1 with errno. */
static int abi(void) {
    return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

bool policy_landlock_available(const struct policy *policy, struct error *error) {
    (void)policy; /* every version can enforce every policy */
    return abi() >= 1 || error_set(error, errno, "the kernel does not provide Landlock");
}

static uint64_t handled_files(int version) {
    return FILES_1 | (version >= 2 ? FILES_2 : 0) | (version >= 3 ? FILES_3 : 0) |
           (version >= 5 ? FILES_5 : 0);
}

static int make_ruleset(int version, uint64_t scopes) {
    const struct ruleset rules = {.files = handled_files(version),
                                  .network = version >= 4 ? NETWORK_4 : 0,
                                  .scopes = version >= 6 ? scopes : 0};
    size_t size = version >= 6   ? sizeof rules
                  : version >= 4 ? offsetof(struct ruleset, scopes)
                                 : offsetof(struct ruleset, network);
    return (int)syscall(SYS_landlock_create_ruleset, &rules, size, 0);
}

static bool grant(int ruleset, const char *directory, uint64_t rights, struct error *error) {
    cleanup_fd int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_set(error, errno, "cannot grant %.100s", directory);
    const struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = fd};
    return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0 ||
           error_set(error, errno, "cannot grant %.100s", directory);
}

/* Without a ruleset every process may open the root directory. */
static bool is_in_force(struct error *error) {
    cleanup_fd int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return (root < 0 && errno == EACCES) ||
           error_set(error, 0, "the Landlock ruleset is not in force");
}

/* Quietly: code that is refused a file could fill the host's audit log. */
static bool enforce(int ruleset, struct error *error) {
    return policy_no_new_privileges(error) &&
           (syscall(SYS_landlock_restrict_self, ruleset, abi() >= 7 ? QUIET_7 : 0) == 0 ||
            error_set(error, errno, "cannot enforce the Landlock ruleset"));
}

bool policy_enter_landlock(const struct policy_context *context, struct error *error) {
    const struct policy *policy = context->policy;
    int version = abi();
    cleanup_fd int ruleset = make_ruleset(version, SCOPE_SOCKETS | SCOPE_SIGNALS);
    if (ruleset < 0)
        return error_set(error, errno, "cannot create a Landlock ruleset");
    uint64_t handled = handled_files(version);
    for (size_t i = 0; i < policy->readable_count; i++)
        if (!grant(ruleset, policy->readable[i], read_rights & handled, error))
            return false;
    if (policy->scratch_bytes && !grant(ruleset, POLICY_SCRATCH, scratch_rights & handled, error))
        return false;
    return enforce(ruleset, error) && is_in_force(error);
}

/* Grants the directory that DIRECTORY is in, unless that is the root. */
static bool grant_siblings(int ruleset, const char *directory, uint64_t rights,
                           struct error *error) {
    char parent[PATH_MAX];
    const char *slash = strrchr(directory, '/');
    if (!slash || slash == directory)
        return true;
    snprintf(parent, sizeof parent, "%.*s", (int)(slash - directory), directory);
    return grant(ruleset, parent, rights, error) || error->code == ENOENT;
}

bool policy_landlock_supervisor(const struct policy_supervisor *supervisor, struct error *error) {
    int version = abi();
    bool has_root = false;
    /* policy_supervisor_scope is for signals: here the scope would leave out the children, also
     * from their death signals. */
    cleanup_fd int ruleset = make_ruleset(version, SCOPE_SOCKETS);
    if (ruleset < 0)
        return error_set(error, errno, "cannot create a Landlock ruleset");
    uint64_t rights = read_rights & handled_files(version);
    if (!grant(ruleset, "/proc", rights, error) && error->code != ENOENT)
        return false;
    for (size_t i = 0; i < supervisor->readable_count; i++) {
        const char *directory = supervisor->readable[i];
        if (!grant(ruleset, directory, rights, error) && error->code != ENOENT)
            return false;
        has_root = has_root || strcmp(directory, "/") == 0;
    }
    if (supervisor->moving && !grant_siblings(ruleset, supervisor->moving, rights, error))
        return false;
    return enforce(ruleset, error) && (has_root || is_in_force(error));
}

bool policy_landlock_keeper(const char *directory, struct error *error) {
    int version = abi();
    cleanup_fd int ruleset = make_ruleset(version, SCOPE_SOCKETS | SCOPE_SIGNALS);
    if (ruleset < 0)
        return error_set(error, errno, "cannot create a Landlock ruleset");
    return grant(ruleset, directory, scratch_rights & handled_files(version), error) &&
           enforce(ruleset, error) && is_in_force(error);
}

bool policy_landlock_scope_signals(struct error *error) {
    const struct ruleset rules = {.scopes = SCOPE_SIGNALS};
    if (abi() < 6)
        return error_set(error, 0, "Landlock cannot restrict signals here");
    cleanup_fd int ruleset = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
    return (ruleset >= 0 || error_set(error, errno, "cannot create a Landlock ruleset")) &&
           enforce(ruleset, error);
}
