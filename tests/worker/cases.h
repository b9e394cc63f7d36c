/* Code and its expected result in a worker, as a table. */
#ifndef ECLAVE_TESTS_WORKER_CASES_H
#define ECLAVE_TESTS_WORKER_CASES_H

#include <stdbool.h>
#include <stddef.h>

struct worker_case {
    const char *code;
    bool same;            /* in the session of the previous row, otherwise in a new worker */
    const char *argument; /* the `package` argument of the call */

    /* The expected result: values, a condition, or the end of the process. A member that is not set
     * is not checked, except that without `type` there must be no condition. */
    const char *values;  /* all of them, one a line; "" for none */
    const char *value;   /* a part of the first */
    const char *type;    /* of the condition */
    const char *message; /* a part of it */
    const char *frame;   /* the innermost, in full; "" when there must be none */
    const char *frame1;  /* the one after it */
    const char *warning; /* all of them, a line each; "" when there must be none */
    const char *output;  /* on standard output, in full */
    const char *error;   /* on standard error, in full */
    const char *package; /* the session's, afterwards */
    bool ends;           /* by itself, with `status` */
    int status;
    int dies;             /* signal */
    const char *violates; /* name of the system call */
    bool endless;         /* still running at the limit */
};

extern const struct worker_case worker_cases[];
extern const size_t worker_case_count;

#endif
