/* Exit statuses that several commands share. */
#ifndef ECLAVE_SUPERVISOR_BASE_STATUS_H
#define ECLAVE_SUPERVISOR_BASE_STATUS_H

enum {
    STATUS_FAILED = 1,       /* the command ran, and what it examined has a fault */
    STATUS_USAGE = 2,        /* bad options, settings or input files; nothing was done */
    STATUS_CORRUPT = 2,      /* serve: corruption.threshold was reached */
    STATUS_NO_VALUE = 3,     /* eval, tool: the code ended its process with status 0 */
    STATUS_INTERNAL = 70,    /* eclave itself failed, or its output was lost */
    STATUS_INTERRUPTED = 130 /* by SIGINT or SIGTERM */
};

#endif
