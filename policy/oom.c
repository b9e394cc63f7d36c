/* Out of memory: which process the kernel kills first, and whether it has killed one. */
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "policy/policy_internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Of oom_score_adj: 1000 is the first to be killed. A worker is below a parked one and far above
 * the supervisor. */
static const char *const scores[] = {[POLICY_OOM_WORKER] = "500", [POLICY_OOM_PARKED] = "1000"};

bool policy_oom_prefer(pid_t pid, enum policy_oom_order order) {
    char path[64];
    if (pid == 0)
        snprintf(path, sizeof path, "/proc/self/oom_score_adj");
    else
        snprintf(path, sizeof path, "/proc/%d/oom_score_adj", pid);
    cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write_all(fd, scores[order], strlen(scores[order]));
}

int policy_oom_open(void) {
    int fd = policy_cgroup_open_events();
    return fd >= 0 ? fd : open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
}

uint64_t policy_oom_kills(int fd) {
    enum { FILE_MAX_BYTES = 16384 };
    static const char label[] = "oom_kill ";
    char text[FILE_MAX_BYTES];
    size_t length = 0;
    ssize_t got;
    while (length < sizeof text - 1 &&
           (got = pread(fd, text + length, sizeof text - 1 - length, (off_t)length)) > 0)
        length += (size_t)got;
    text[length] = 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, label, sizeof label - 1) == 0)
            return strtoull(line + sizeof label - 1, NULL, 10);
    }
    return 0;
}
