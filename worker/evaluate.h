/* One evaluation, as doc/contract.md defines it: forms are read one at a time and evaluated as they
 * are read. Whatever the code does, these functions return, or the process ends. */
#ifndef ECLAVE_WORKER_EVALUATE_H
#define ECLAVE_WORKER_EVALUATE_H

#include "worker/result.h"

#include <stdint.h>

/* Makes the objects that evaluations share. ECL must be booted. */
void evaluate_initialize(void);

/* Evaluates MESSAGE and fills RESULT, which stays the caller's, keeping VALUE_MAX_CHARS characters
 * of each printed value. */
void evaluate(const struct evaluate_message *message, uint64_t value_max_chars,
              struct result *result);

/* Evaluates the code of RUN likewise, in package CL-USER, and then calls the definition that RUN
 * names. Its result becomes the JSON of RESULT. */
void evaluate_run(const struct run_message *run, struct result *result);

/* The Lisp function ECLAVE:KEEP-WARNING: adds WARNING to the result of the current evaluation. */
cl_object evaluate_keep_warning(cl_object warning);

/* Drops references to objects of the last evaluation, so that the collector can free them. */
void evaluate_forget(void);

#endif
