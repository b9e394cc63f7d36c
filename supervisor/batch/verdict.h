/* What was expected of a line against what came. */
#ifndef ECLAVE_SUPERVISOR_BATCH_VERDICT_H
#define ECLAVE_SUPERVISOR_BATCH_VERDICT_H

#include "common/buffer.h"
#include "supervisor/batch/line.h"
#include "supervisor/session/evaluation.h"
#include "supervisor/session/text.h"

enum verdict {
    VERDICT_NONE, /* nothing was expected */
    VERDICT_MET,
    VERDICT_UNMET
};

/* Compares, and appends to MISMATCHES the elements of a JSON array, one for each expectation that
 * is not met: {"expectation":NAME,"wanted":TEXT,"came":TEXT}. */
enum verdict verdict_of(const struct batch_line *line, const struct evaluation *evaluation,
                        const struct text_limits *limits, struct buffer *mismatches);

#endif
