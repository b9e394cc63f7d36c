/* `eclave batch` and `eclave grade`: evaluates the lines of a file, each in a fresh process.
 * doc/batch.md describes input and output. */
#ifndef ECLAVE_SUPERVISOR_BATCH_BATCH_H
#define ECLAVE_SUPERVISOR_BATCH_BATCH_H

#include "common/buffer.h"
#include "supervisor/session/evaluation.h"
#include "supervisor/settings/settings.h"
#include <stdbool.h>
#include <stdint.h>

enum { BATCH_JOBS_MAX = 1024 };

enum batch_format { FORMAT_JSONL, FORMAT_TABLE, FORMAT_CSV, FORMAT_TAP, FORMAT_EXERCISM, FORMATS };

struct batch_options {
    int64_t jobs;            /* 1 to BATCH_JOBS_MAX */
    const char *skip_done;   /* path or NULL */
    const char *junit;       /* path or NULL */
    const char *format_word; /* one of enum batch_format, or NULL: the default */
    enum batch_format format;
    int64_t total; /* lines of the input; 0: unknown */
    bool unordered, fail_fast, tap, each;
    int64_t max_cpu_s;  /* of all processes together; 0: no limit */
    int64_t test_cpu_s; /* of a test, a setup or a line that has no limit of its own; 0: none */
    int64_t submission_timeout_s; /* of its setup, tests and comparisons together; 0: no limit */
    int64_t submission_cpu_s;     /* of all processes of a submission together; 0: no limit */
    bool no_costs;                /* leaves out what differs from run to run */
    bool for_student;             /* of hidden tests, shows name, outcome and points only */
    const char *framework;        /* of eclave grade: a word of framework.c, or NULL */
};

/* Runs the batch in FILE, or on standard input if FILE is NULL or "-". Returns the exit status. */
int batch_command(const struct settings *settings, const struct batch_options *given,
                  const char *file);

/* Grades the COUNT submissions, files or directories, by the tests in the file or directory TESTS.
 * Returns the exit status. */
int grade_command(const struct settings *settings, const struct batch_options *options,
                  const char *tests, char **submissions, size_t count);

/* Appends the output line of EVALUATION, which belongs to no line of a batch, with a null id and
 * without its newline. False when out of memory. */
bool batch_append_record(struct buffer *out, const struct evaluation *evaluation,
                         const struct settings *settings);

#endif
