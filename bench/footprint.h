/* The memory of processes as their proportional share (PSS), which counts a shared page once. */
#ifndef ECLAVE_TESTS_BENCH_FOOTPRINT_H
#define ECLAVE_TESTS_BENCH_FOOTPRINT_H

#include <sys/types.h>

/* Of ROOT and its descendants, in MiB; -1 when one of them cannot be read, which needs root for
 * processes that are not dumpable. */
double footprint_mib(pid_t root);

/* The number of processes: ROOT and its descendants. */
int footprint_processes(pid_t root);

/* Resident memory of PID alone, in MiB; -1 when there is no such process. */
double footprint_resident_mib(pid_t pid);
double footprint_resident_peak_mib(pid_t pid);

#endif
