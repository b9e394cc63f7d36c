/* Runs of `eclave batch` and queries of their output lines. */
#ifndef ECLAVE_TESTS_SUPPORT_BATCH_H
#define ECLAVE_TESTS_SUPPORT_BATCH_H

#include "tests/support/command.h"
#include "tests/support/json.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Adds a line to the input of the next run; ID is JSON, CODE Lisp, MORE further members as JSON
 * with a leading comma, or "". Or adds TEXT as it is. Once the input was used, the next addition
 * begins a new one. */
void batch_add(const char *id, const char *code, const char *more);
void batch_add_text(const char *text);
const char *batch_input(void);

/* Runs `eclave ARGUMENTS...` on the input; the list ends with NULL. The exit status must be STATUS.
 * The result is valid until the next run. */
const struct command_result *batch_run(int status, const char *const *arguments);
#define BATCH(status, ...) batch_run(status, (const char *const[]){"batch", ##__VA_ARGS__, NULL})

/* The number of lines of OUTPUT, each of which must be one JSON object. */
size_t batch_lines(const char *output);
/* Line number INDEX, from 0; it must exist. */
struct text batch_line(const char *output, size_t index);
/* The one line whose id is ID, as JSON. */
struct text batch_line_of(const char *output, const char *id);

/* Members of a line, which must exist. */
char *batch_string(struct text line, const char *name); /* malloc'd */
double batch_number(struct text line, const char *name);
void batch_expect(struct text line, const char *name, const char *json);
void batch_expect_string(struct text line, const char *name, const char *value);
bool batch_has(struct text line, const char *name);

/* OUTPUT with 0 for every measurement, which is the same in every run; malloc'd. */
char *batch_without_costs(const char *output);

/* Starts `eclave batch ARGUMENTS...` on these streams, which stay the caller's. */
pid_t batch_start(const char *const *arguments, int input, int output, int error);
/* The same with `eclave ARGUMENTS...`. */
pid_t batch_start_command(const char *const *arguments, int input, int output, int error);
/* The same on files. The output file is opened with FLAGS as well. */
pid_t batch_start_on(const char *const *arguments, const char *input, const char *output,
                     const char *error, int flags);
/* Waits for the exit status, or 128 + signal; fails the test when the run does not end. */
int batch_wait(pid_t pid);

/* The path of NAME in a temporary directory of this test. */
const char *batch_file(const char *name);
void batch_write(const char *path, const char *text);
char *batch_read(const char *path); /* malloc'd */

#endif
