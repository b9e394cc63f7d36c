/* See footprint.h. */
#include "bench/footprint.h"
#include "tests/support/process.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES_MAX = 1024, KIB_PER_MIB = 1024 };

static double kib_to_mib(long kib) {
    return kib < 0 ? -1 : (double)kib / KIB_PER_MIB;
}

static long proportional_kib(pid_t pid) {
    static const char label[] = "Pss:";
    char path[64], line[256];
    long kib = -1;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    while (kib < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, label, sizeof label - 1) == 0)
            kib = strtol(line + sizeof label - 1, NULL, 10);
    fclose(file);
    return kib;
}

double footprint_mib(pid_t root) {
    pid_t pids[PROCESSES_MAX] = {root};
    size_t count = 1 + process_descendants(root, pids + 1, PROCESSES_MAX - 1);
    long total = 0;
    for (size_t i = 0; i < count; i++) {
        long kib = proportional_kib(pids[i]);
        if (kib < 0)
            return -1;
        total += kib;
    }
    return kib_to_mib(total);
}

int footprint_processes(pid_t root) {
    pid_t pids[PROCESSES_MAX];
    return 1 + (int)process_descendants(root, pids, PROCESSES_MAX);
}

double footprint_resident_mib(pid_t pid) {
    return kib_to_mib(process_status(pid, "VmRSS"));
}

double footprint_resident_peak_mib(pid_t pid) {
    return kib_to_mib(process_status(pid, "VmHWM"));
}
