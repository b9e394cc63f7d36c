/* Processes as shown by /proc. */
#ifndef ECLAVE_TESTS_SUPPORT_PROCESS_H
#define ECLAVE_TESTS_SUPPORT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Stores the descendants of ROOT that are not zombies, parents before children, at most MAXIMUM.
 * Returns their number. */
size_t process_descendants(pid_t root, pid_t *pids, size_t maximum);

/* Whether PID is the launcher of a server, or a process of its that executes nothing yet. */
bool process_is_launcher(pid_t pid);

/* Whether PID is a confined worker of a server. */
bool process_is_worker(pid_t pid);

/* The number after "FIELD:" in /proc/PID/status (memory in kB), or -1. */
long process_status(pid_t pid, const char *field);

/* The effective capabilities of PID, or all bits when there is no such process. */
uint64_t process_capabilities(pid_t pid);

/* Processor time used so far in clock ticks, or -1 when there is no such process. */
long process_ticks(pid_t pid);

/* True when PID has filters of its own, besides those that it has in common with this process. */
bool process_is_confined(pid_t pid);

/* The number of open descriptors, or -1. */
int process_descriptors(pid_t pid);

/* The page faults of PID so far that needed no input, or -1. */
long process_faults(pid_t pid);

/* The processor on which PID ran last, or -1. */
int process_processor(pid_t pid);

bool process_is_zombie(pid_t pid);
/* Waits for something in the kernel. */
bool process_sleeps(pid_t pid);
/* Stopped by a signal. */
bool process_is_stopped(pid_t pid);

/* Whether the name of the program that PID runs is NAME. */
bool process_is_named(pid_t pid, const char *name);

#endif
