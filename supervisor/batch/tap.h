/* The results in the Test Anything Protocol, version 13: one test line for each line, and for one
 * that does not stand what was wrong with it, in YAML. */
#ifndef ECLAVE_SUPERVISOR_BATCH_TAP_H
#define ECLAVE_SUPERVISOR_BATCH_TAP_H

#include "common/buffer.h"
#include "supervisor/batch/record.h"
#include <stdint.h>

void tap_begin(struct buffer *out);
/* NUMBER is that of the test, the first being 1. */
void tap_add(struct buffer *out, uint64_t number, const struct record *record);
/* The plan, which stands at the end; WHOLE is false when the run was cut short. */
void tap_end(struct buffer *out, uint64_t count, bool whole);

#endif
