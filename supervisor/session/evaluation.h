/* What one evaluation came to: the outcome, set once by the supervisor, and what goes with it. */
#ifndef ECLAVE_SUPERVISOR_SESSION_EVALUATION_H
#define ECLAVE_SUPERVISOR_SESSION_EVALUATION_H

#include "common/buffer.h"
#include "common/message.h"
#include "supervisor/base/log.h"
#include "supervisor/base/usage.h"
#include "supervisor/session/run.h"
#include <stdbool.h>
#include <stdint.h>

enum outcome {
#define OUTCOME(name, ...) OUTCOME_##name,
#include "supervisor/session/outcome.def"
#undef OUTCOME
    OUTCOME_COUNT
};

struct outcome_facts {
    const char *word;
    const char *type; /* NULL: the condition's own */
    int exit_code;    /* -1: from the process */
    enum log_level level;
    bool ends_process;
};

extern const struct outcome_facts outcome_table[OUTCOME_COUNT];

struct evaluation {
    enum outcome outcome;
    int exit_code;                /* CONTRACT.md section 6 */
    char cause[200];              /* one sentence; empty for a value or a condition */
    const char *reply;            /* what a call that evaluates nothing answers; else "" */
    struct result_message result; /* with OUTCOME_VALUE and OUTCOME_CONDITION; not owned */
    const struct run_result *run; /* of a CALL_RUN with OUTCOME_VALUE, else NULL; not owned */
    size_t events_dropped;        /* of a CALL_RUN: progress and log messages beyond their rate */
    struct span output;           /* captured standard output, any bytes; not owned */
    struct span error_output;     /* captured error output */
    const char *limit_name;       /* with OUTCOME_OUTPUT: the setting or the limit of run.h */
    const char *limit_stream;     /* "stdout" or "stderr", if it is of one; else NULL */
    int64_t limit;
    int64_t timeout_ms;  /* the call's limit */
    int64_t elapsed_us;  /* from the start to the moment that decided the outcome */
    struct usage usage;  /* of a one-shot call: of its process; else zero */
    bool state_lost;     /* the session could not be put back to where it was before the call */
    const char *session; /* its name */
};

#endif
