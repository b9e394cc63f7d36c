/* The layer cgroup: one control group for all processes that this program launches, which limits
 * their number and their memory together. It is made below the program's own group, which requires
 * root or a delegated group.
 *
 * In version 2 it has leaves, since processes may be in nothing else: one for the processes that
 * belong to no session, and one for each session, which limits its memory. Version 1 has none:
 * entering a group takes 10 ms and more there. */
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "policy/policy_internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A controller; it has its own hierarchy in version 1 and shares one in version 2. */
struct control {
    const char *controller;
    const char *file_1; /* of the limit, in version 1 */
    const char *file_2; /* and in version 2 */
};

static const struct control memory_control = {"memory", "memory.limit_in_bytes", "memory.max"};
static const struct control process_control = {"pids", "pids.max", "pids.max"};

static const char prefix[] = "eclave-";
static const char workers_leaf[] = "workers"; /* those of no session */
static const char session_prefix[] = "session-";

/* PARENT/LEAF into PATH. False with *error if it is too long. */
static bool join_path(char path[PATH_MAX], const char *parent, const char *leaf,
                      struct error *error) {
    int length = snprintf(path, PATH_MAX, "%s/%s", parent, leaf);
    return (length > 0 && length < PATH_MAX) ||
           error_set(error, ENAMETOOLONG, "cannot use %.100s", parent);
}

static bool write_file(const char *directory, const char *name, const char *text,
                       struct error *error) {
    char path[PATH_MAX];
    if (!join_path(path, directory, name, error))
        return false;
    cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
    return (fd >= 0 && write_all(fd, text, strlen(text))) ||
           error_set(error, errno, "cannot write %s of %.100s", name, directory);
}

/* Is WORD in the comma-separated LIST? */
static bool lists(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ',') && (at[length] == 0 || at[length] == ','))
            return true;
    return false;
}

/* The mount point of the hierarchy of CONTROLLER (version 1), or of the unified one (NULL). */
static bool find_mount(const char *controller, char mount[PATH_MAX]) {
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    bool found = false;
    char text[PATH_MAX];
    struct mntent entry;
    while (mounts && !found && getmntent_r(mounts, &entry, text, sizeof text)) {
        found = controller
                    ? strcmp(entry.mnt_type, "cgroup") == 0 && lists(entry.mnt_opts, controller)
                    : strcmp(entry.mnt_type, "cgroup2") == 0;
        if (found)
            snprintf(mount, PATH_MAX, "%s", entry.mnt_dir);
    }
    if (mounts)
        endmntent(mounts);
    return found;
}

/* The path of this process's group in that hierarchy, from a line "id:controllers:path". */
static bool find_own(const char *controller, char own[PATH_MAX]) {
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[PATH_MAX + 64];
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        char *list = strchr(line, ':');
        char *path = list ? strchr(list + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = 0;
        list++;
        found = controller ? lists(list, controller) : *list == 0;
        if (found)
            snprintf(own, PATH_MAX, "%s", strcmp(path, "/") == 0 ? "" : path);
    }
    if (file)
        fclose(file);
    return found;
}

/* The directory of this process's group. */
static bool find_directory(const char *controller, char directory[PATH_MAX], struct error *error) {
    char mount[PATH_MAX], own[PATH_MAX];
    if (!find_mount(controller, mount) || !find_own(controller, own))
        return error_set(error, 0, "no %s hierarchy to create a control group in",
                         controller ? controller : "cgroup2");
    int length = snprintf(directory, PATH_MAX, "%s%s", mount, own);
    return (length > 0 && length < PATH_MAX) ||
           error_set(error, ENAMETOOLONG, "cannot use %.100s", own);
}

/* --- groups of earlier programs --- */

static unsigned long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec;
}

/* Is NAME that of a group whose program has ended? The pid in it may belong to another pid
 * namespace and so only seem dead; therefore a group younger than a minute, which may be about to
 * be joined, is left alone. */
static bool is_stale(const char *name) {
    const unsigned long long minute_ns = 60000000000ULL;
    char *end;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return false;
    long pid = strtol(name + sizeof prefix - 1, &end, 10);
    if (pid <= 1 || *end != '-' || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
        return false;
    return strtoull(end + 1, NULL, 16) + minute_ns < now_ns();
}

/* Calls REMOVE for the groups in PARENT whose names are WANTED. */
static void remove_each(const char *parent, bool (*wanted)(const char *name),
                        bool (*remove)(const char *group)) {
    DIR *entries = opendir(parent);
    if (!entries)
        return;
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        char path[PATH_MAX];
        if (wanted(entry->d_name) && join_path(path, parent, entry->d_name, NULL))
            remove(path);
    }
    closedir(entries);
}

static bool is_session(const char *name) {
    return strncmp(name, session_prefix, sizeof session_prefix - 1) == 0;
}

static bool is_leaf(const char *name) {
    return is_session(name) || strcmp(name, workers_leaf) == 0;
}

static bool remove_empty_group(const char *group) {
    return rmdir(group) == 0 || errno != EBUSY;
}

bool policy_cgroup_remove_group(const char *group) {
    if (remove_empty_group(group))
        return true;
    remove_each(group, is_leaf, remove_empty_group);
    return remove_empty_group(group);
}

/* --- this program's group --- */

/* The pid, by which a later program can tell that this one has ended, and the time, since other pid
 * namespaces have the same pids. Empty until policy_cgroup_name. */
static char own_name[48];

void policy_cgroup_name(void) {
    if (!own_name[0])
        snprintf(own_name, sizeof own_name, "%s%d-%llx", prefix, getpid(), now_ns());
}

/* Of the program, besides the process that launches and its parent; 0: none. */
static pid_t companion;

void policy_cgroup_accompany(pid_t launcher) {
    companion = launcher;
}

/* PARENT/NAME, whose path is stored in MADE. */
static bool make_directory(char made[PATH_MAX], const char *parent, const char *name,
                           struct error *error) {
    return join_path(made, parent, name, error) &&
           (mkdir(made, 0755) == 0 || errno == EEXIST ||
            error_set(error, errno, "cannot create the control group %.100s", made));
}

static bool make_group(const char *parent, char group[PATH_MAX], struct error *error) {
    /* Of programs that were killed before they could. */
    remove_each(parent, is_stale, policy_cgroup_remove_group);
    return make_directory(group, parent, own_name, error);
}

/* Limits GROUP to MOST, unless that is 0. */
static bool limit(const char *group, const char *file, uint64_t most, struct error *error) {
    char number[24];
    snprintf(number, sizeof number, "%llu", (unsigned long long)most);
    return !most || write_file(group, file, number, error);
}

/* Its cgroup.procs. -1 with *error. */
static int open_group(const char *group, struct error *error) {
    char path[PATH_MAX];
    if (!join_path(path, group, "cgroup.procs", error))
        return -1;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        error_set(error, errno, "cannot open %.100s", path);
    return fd;
}

static int open_version_1(const struct control *control, uint64_t most, struct error *error) {
    char parent[PATH_MAX], group[PATH_MAX];
    return find_directory(control->controller, parent, error) && make_group(parent, group, error) &&
                   limit(group, control->file_1, most, error)
               ? open_group(group, error)
               : -1;
}

/* Are this process, its parent and their companion the only ones in the group PARENT? */
static bool is_alone(const char *parent) {
    char path[PATH_MAX];
    if (!join_path(path, parent, "cgroup.procs", NULL))
        return false;
    FILE *file = fopen(path, "re");
    char line[32];
    bool alone = file != NULL;
    while (file && fgets(line, sizeof line, file)) {
        long pid = strtol(line, NULL, 10);
        alone = alone && (pid == getpid() || pid == getppid() || pid == companion);
    }
    if (file)
        fclose(file);
    return alone;
}

static bool move_to(const char *group, pid_t pid, struct error *error) {
    char number[24];
    snprintf(number, sizeof number, "%d", pid);
    return write_file(group, "cgroup.procs", number, error);
}

/* Moves them into a group of their own: version 2 enables controllers only in groups without
 * processes. */
static bool move_aside(const char *parent, struct error *error) {
    char group[PATH_MAX];
    if (!is_alone(parent))
        return error_set(error, 0,
                         "other programs share its control group (systemd-run --user --scope "
                         "-p Delegate=yes provides one)");
    return make_directory(group, parent, "supervisor", error) && move_to(group, getppid(), error) &&
           (!companion || move_to(group, companion, error)) && move_to(group, getpid(), error);
}

/* An earlier launch may have moved this program aside already. */
static void strip_supervisor(char *group) {
    char *last = strrchr(group, '/');
    if (last && strcmp(last, "/supervisor") == 0)
        *last = 0;
}

static int open_version_2(const struct policy *policy, struct error *error) {
    char parent[PATH_MAX], group[PATH_MAX], workers[PATH_MAX];
    static const char controls[] = "+memory +pids";
    if (!find_directory(NULL, parent, error))
        return -1;
    strip_supervisor(parent);
    if (!write_file(parent, "cgroup.subtree_control", controls, error) &&
        (error->code != EBUSY || !move_aside(parent, error) ||
         !write_file(parent, "cgroup.subtree_control", controls, error)))
        return -1;
    if (!make_group(parent, group, error) ||
        !limit(group, memory_control.file_2, policy->all_memory_bytes, error) ||
        !limit(group, process_control.file_2, policy->all_processes, error) ||
        !make_directory(workers, group, workers_leaf, error))
        return -1;
    /* Where that fails, groups of sessions have no limit and are not entered. */
    write_file(group, "cgroup.subtree_control", "+memory", NULL);
    return open_group(workers, error);
}

bool policy_cgroup_open(const struct policy *policy, struct policy_cgroup *cgroup,
                        struct error *error) {
    char mount[PATH_MAX];
    *cgroup = (struct policy_cgroup){{-1, -1}};
    if (!find_mount(memory_control.controller, mount) &&
        !find_mount(process_control.controller, mount)) {
        cgroup->procs[0] = open_version_2(policy, error);
        return cgroup->procs[0] >= 0;
    }
    cgroup->procs[0] = open_version_1(&memory_control, policy->all_memory_bytes, error);
    if (cgroup->procs[0] < 0)
        return false;
    cgroup->procs[1] = open_version_1(&process_control, policy->all_processes, error);
    return cgroup->procs[1] >= 0;
}

bool policy_cgroup_join(const struct policy_cgroup *cgroup, pid_t pid, struct error *error) {
    char number[24];
    int length = snprintf(number, sizeof number, "%d", pid);
    for (size_t i = 0; i < sizeof cgroup->procs / sizeof *cgroup->procs; i++)
        if (cgroup->procs[i] >= 0 && write(cgroup->procs[i], number, (size_t)length) != length)
            return error_set(error, errno, "cannot join the control group");
    return true;
}

/* The directory of the group for all processes that this program launches. */
static bool find_group(const char *controller, char group[PATH_MAX]) {
    char parent[PATH_MAX];
    if (!own_name[0] || !find_directory(controller, parent, NULL))
        return false;
    strip_supervisor(parent);
    return join_path(group, parent, own_name, NULL);
}

/* FILE of this program's group, open for reading; -1 without a group. */
static int open_for_reading(const char *controller, const char *file) {
    char group[PATH_MAX], path[PATH_MAX];
    return find_group(controller, group) && join_path(path, group, file, NULL)
               ? open(path, O_RDONLY | O_CLOEXEC)
               : -1;
}

int policy_cgroup_open_events(void) {
    int fd = open_for_reading(memory_control.controller, "memory.oom_control");
    return fd >= 0 ? fd : open_for_reading(NULL, "memory.events");
}

static bool remove_group(const char *controller) {
    char group[PATH_MAX];
    return !find_group(controller, group) || policy_cgroup_remove_group(group);
}

bool policy_cgroup_remove(void) {
    bool memory = remove_group(memory_control.controller);
    bool processes = remove_group(process_control.controller);
    return remove_group(NULL) && memory && processes;
}

/* --- the groups of sessions --- */

/* Does the path of the group of the process PID end with that of GROUP/LEAF? */
static bool is_in(const char *group, const char *leaf, pid_t pid) {
    char path[64], line[PATH_MAX + 64], end[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
    const char *name = strrchr(group, '/');
    if (!name || !join_path(end, name, leaf, NULL))
        return false;
    FILE *file = fopen(path, "re");
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        size_t length = strcspn(line, "\n");
        line[length] = 0;
        found = strncmp(line, "0::", 3) == 0 && length > strlen(end) &&
                strcmp(line + length - strlen(end), end) == 0;
    }
    if (file)
        fclose(file);
    return found;
}

bool policy_cgroup_join_session(const char *group, uint64_t session, uint64_t most_bytes, pid_t pid,
                                struct error *error) {
    char name[40], leaf[PATH_MAX];
    snprintf(name, sizeof name, "%s%llu", session_prefix, (unsigned long long)session);
    if (is_in(group, name, pid))
        return true;
    remove_each(group, is_session, remove_empty_group);
    return make_directory(leaf, group, name, error) &&
           limit(leaf, memory_control.file_2, most_bytes, error) && move_to(leaf, pid, error);
}

const char *policy_cgroup_of_sessions(const struct policy *policy) {
    static char group[PATH_MAX]; /* empty: it is not there */
    static bool looked;
    char mount[PATH_MAX];
    if (!looked && policy_has_layer(policy, POLICY_LAYER_CGROUP) && policy->session_memory_bytes &&
        (find_mount(memory_control.controller, mount) || !find_group(NULL, group) ||
         access(group, F_OK) != 0))
        *group = 0;
    looked = true;
    return *group ? group : NULL;
}
