/* A disk that fails, tears or stops, for one process of a server: its calls that change files in a
 * directory are counted, and one of them, or every one from there on, is made to fail. By ptrace,
 * so that the program is what users run; the calls that fail are not made. */
#ifndef ECLAVE_TESTS_SUPPORT_DISK_FAULTS_H
#define ECLAVE_TESTS_SUPPORT_DISK_FAULTS_H

#include <stdbool.h>
#include <sys/types.h>

enum disk_fault {
    DISK_WORKS,        /* the calls are counted */
    DISK_FAILS_ONCE,   /* one call fails */
    DISK_FAILS_FROM,   /* that call and all that follow fail */
    DISK_TEARS,        /* one call writes half of its bytes, if it writes; all that follow fail */
    DISK_ENDS_PROCESS, /* the process is killed before that call */
    DISK_STOPS         /* that call waits for disk_faults_release */
};

struct disk_plan {
    const char *directory; /* an absolute path; what is below it counts */
    enum disk_fault fault;
    unsigned at; /* the number of the call, from 1 on */
    int error;   /* the errno of calls that fail */
};

struct disk_faults;

/* Skips the running test where this process cannot trace a server's. */
void disk_faults_skip(void);
/* Traces PID from now on. PLAN is copied. Fails the test if it cannot. */
struct disk_faults *disk_faults_begin(pid_t pid, const struct disk_plan *plan);
/* The number of calls so far. */
unsigned disk_faults_count(struct disk_faults *faults);
/* Whether the process waits in the call of the plan. */
bool disk_faults_is_stopped(struct disk_faults *faults);
void disk_faults_release(struct disk_faults *faults);
/* Lets the process go on without faults, if there is one still. Frees FAULTS, and returns the
 * number of calls. */
unsigned disk_faults_end(struct disk_faults *faults);

#endif
