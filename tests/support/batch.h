/* Runs of `eclave batch` and what can be asked of their output lines. Never judges a time. */
#ifndef ECLAVE_TESTS_SUPPORT_BATCH_H
#define ECLAVE_TESTS_SUPPORT_BATCH_H

#include "tests/support/command.h"
#include "tests/support/json.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* One input line; ID is JSON text, CODE Lisp, MORE further members as JSON text with a leading
 * comma, or "". Malloc'd, with its newline. */
char *batch_input(const char *id, const char *code, const char *more);

/* Text that grows; NULL to begin with. Frees PIECE. */
void batch_append(char **text, char *piece);

/* `eclave batch ARGUMENTS...` on INPUT; the list ends with NULL. */
struct command_result batch_run(const char *const *arguments, const char *input);

/* The number of lines of OUTPUT, each of which must be one JSON object. */
size_t batch_lines(const char *output);
/* Line number INDEX, the first being 0; it must be there. */
struct text batch_line(const char *output, size_t index);
/* The line whose id is that JSON text; it must be there, once. */
struct text batch_line_of(const char *output, const char *id);

/* Members of a line, which must be there. */
char *batch_string(struct text line, const char *name); /* malloc'd */
double batch_number(struct text line, const char *name);
void batch_expect(struct text line, const char *name, const char *json);
void batch_expect_string(struct text line, const char *name, const char *value);
bool batch_has(struct text line, const char *name);

/* OUTPUT with every measurement replaced by 0, malloc'd: what two runs have in common. */
char *batch_without_costs(const char *output);

/* A run beside the test, its streams being these descriptors, which stay the caller's. */
pid_t batch_start(const char *const *arguments, int input, int output, int error);
/* Its exit status, or 128 + signal; ends the test when it does not end. */
int batch_wait(pid_t pid);

/* A fresh file's name below a directory of this test's own, which is removed at its end. */
const char *batch_file(const char *name);
void batch_write(const char *path, const char *text);
char *batch_read(const char *path); /* malloc'd */

#endif
