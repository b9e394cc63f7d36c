/* Exit statuses that more than one command has. */
#ifndef ECLAVE_SUPERVISOR_BASE_STATUS_H
#define ECLAVE_SUPERVISOR_BASE_STATUS_H

enum {
    STATUS_FAILED = 1,       /* the command worked, and what it examined is not in order */
    STATUS_USAGE = 2,        /* nothing was done: bad options, settings or input files */
    STATUS_CORRUPT = 2,      /* serve: corruption.threshold was reached */
    STATUS_INTERNAL = 70,    /* eclave itself failed, or its output was lost */
    STATUS_INTERRUPTED = 130 /* by SIGINT or SIGTERM */
};

#endif
