/* See working_set.h. The fork of the zygote shares every page with its parent, which waits. So the
 * pages that are its own after a call are those that the call has written. */
#include "worker/working_set.h"
#include "common/cleanup.h"
#include "worker/image_scan.h"
#include "worker/worker.h"

#include <fcntl.h>
#include <gc/gc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUNS_MAX = 96, RUN_PAGES_MAX = 16 };

static struct {
    struct page_run runs[RUNS_MAX];
    size_t count;
} set;

void working_set_hide_from_collector(void) {
    GC_exclude_static_roots(&set, &set + 1);
}

/* Shared with the fork, and unmapped afterwards: workers must not find a path of the host. */
struct findings {
    struct page_run runs[RUNS_MAX];
    size_t count;
    struct scan_mapping mapping;
    uint64_t pagemap[SCAN_PAGES];
    char maps[SCAN_MAPS_BYTES];
};

/* A run that is this long is data of the call and not what every call writes. */
static void add_run(struct findings *found, uint64_t start, uint64_t pages) {
    if (pages > 0 && pages <= RUN_PAGES_MAX && found->count < RUNS_MAX)
        found->runs[found->count++] = (struct page_run){start, pages};
}

/* Of the anonymous pages between START and END, which are at most SCAN_PAGES. */
static void add_own_pages(struct findings *found, int pagemap, uint64_t start, uint64_t end) {
    enum { OWN = 56, OF_FILE = 61, PRESENT = 63 };
    const size_t bytes = (end - start) / IMAGE_PAGE * sizeof *found->pagemap;
    uint64_t pages = 0;
    if (pread(pagemap, found->pagemap, bytes,
              (off_t)(start / IMAGE_PAGE * sizeof *found->pagemap)) != (ssize_t)bytes)
        return;
    for (uint64_t at = start; at < end; at += IMAGE_PAGE) {
        const uint64_t entry = found->pagemap[(at - start) / IMAGE_PAGE];
        if (entry >> PRESENT & entry >> OWN & ~(entry >> OF_FILE) & 1) {
            pages++;
        } else {
            add_run(found, at - pages * IMAGE_PAGE, pages);
            pages = 0;
        }
    }
    add_run(found, end - pages * IMAGE_PAGE, pages);
}

static void find_own_pages(struct findings *found) {
    cleanup_fd int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    const char *at = found->maps;
    const struct scan_mapping *mapping = &found->mapping;
    if (pagemap < 0 || !scan_read_maps(found->maps))
        return;
    while (scan_next_mapping(&at, &found->mapping)) {
        if (mapping->shared || !(mapping->protection & PROT_WRITE))
            continue;
        const uint64_t part = (uint64_t)SCAN_PAGES * IMAGE_PAGE;
        for (uint64_t start = mapping->start; start < mapping->end; start += part)
            add_own_pages(found, pagemap, start,
                          mapping->end - start < part ? mapping->end : start + part);
    }
}

/* By the system call, as workers fork: fork() itself writes a few pages. */
static bool in_fork(bool (*function)(const struct worker_configuration *, struct findings *),
                    const struct worker_configuration *configuration, struct findings *found) {
    int status = -1;
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(function(configuration, found) ? EXIT_SUCCESS : EXIT_FAILURE);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool call_and_find(const struct worker_configuration *configuration,
                          struct findings *found) {
    worker_rehearse(configuration);
    find_own_pages(found);
    return true;
}

/* The first call of a process writes more than those after it. */
static bool call_first(const struct worker_configuration *configuration, struct findings *found) {
    worker_rehearse(configuration);
    return in_fork(call_and_find, configuration, found);
}

void working_set_learn(const struct worker_configuration *configuration) {
    struct findings *found =
        mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED)
        return;
    if (in_fork(call_first, configuration, found)) {
        set.count = found->count;
        memcpy(set.runs, found->runs, sizeof set.runs);
    }
    munmap(found, sizeof *found);
}

void working_set_copy(void) {
    working_set_copy_runs(set.runs, set.count);
}

/* A page that the collector has unmapped since is left alone, and an older kernel does nothing. */
void working_set_copy_runs(const struct page_run *runs, size_t count) {
    for (size_t i = 0; i < count; i++)
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        madvise((void *)runs[i].start, runs[i].pages * IMAGE_PAGE, MADV_POPULATE_WRITE);
}
