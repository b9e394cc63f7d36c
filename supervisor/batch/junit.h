/* The results as JUnit XML, as Jenkins, GitLab and others read it: one testsuite, a testcase for
 * each line. Written line by line; the counts at its head are filled in at the end, so the file
 * must be one that can be written anywhere. */
#ifndef ECLAVE_SUPERVISOR_BATCH_JUNIT_H
#define ECLAVE_SUPERVISOR_BATCH_JUNIT_H

#include "common/error.h"
#include "supervisor/batch/record.h"
#include "supervisor/batch/tally.h"
#include <stdbool.h>
#include <stdio.h>

struct junit {
    FILE *file; /* NULL: no report was asked for */
};

/* False with *error when PATH cannot be written. */
bool junit_open(struct junit *junit, const char *path, struct error *error);
void junit_add(struct junit *junit, const struct record *record);
/* Ends the report with the counts of TALLY. False with *error when not all of it could be written.
 * Does nothing when there is none. */
bool junit_close(struct junit *junit, const struct tally *tally, struct error *error);

#endif
