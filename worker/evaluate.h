/* One evaluation, to the letter of CONTRACT.md section 5: forms are read one at a time and
 * evaluated as they are read. Nothing that the code does keeps this from returning, except that
 * the process ends. */
#ifndef ECLAVE_WORKER_EVALUATE_H
#define ECLAVE_WORKER_EVALUATE_H

#include "worker/answer.h"

#include <stdint.h>

/* Makes the objects that evaluations share. ECL is booted. */
void evaluate_initialize(void);

/* Evaluates MESSAGE and fills ANSWER, which stays the caller's. VALUE_MAX_CHARS is what is kept of
 * each printed value. */
void evaluate(const struct evaluate_message *message, uint64_t value_max_chars,
              struct answer *answer);

/* Evaluates the code of RUN in the same way, in package CL-USER, and then calls what it defines
 * under that name. What the call returns becomes the JSON text of ANSWER. */
void evaluate_run(const struct run_message *run, struct answer *answer);

/* The Lisp function ECLAVE:KEEP-WARNING: adds the text of a warning to the answer in work. */
cl_object evaluate_keep_warning(cl_object warning);

/* Drops what the last evaluation left behind, so that the collector may have it. */
void evaluate_forget(void);

#endif
