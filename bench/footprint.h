/* What processes really take of the machine's memory: their proportional share (PSS) of each page,
 * which counts a page shared by many but once. Reads /proc and nothing else. */
#ifndef ECLAVE_TESTS_BENCH_FOOTPRINT_H
#define ECLAVE_TESTS_BENCH_FOOTPRINT_H

#include <sys/types.h>

/* Of ROOT and everything below it, in MiB; -1 when one of them may not be looked at, which takes
 * root for processes that are not dumpable. */
double footprint_mib(pid_t root);

/* How many processes ROOT and everything below it are. */
int footprint_processes(pid_t root);

/* Resident memory of PID alone, in MiB; -1 when there is no such process. */
double footprint_resident_mib(pid_t pid);
double footprint_resident_peak_mib(pid_t pid);

#endif
