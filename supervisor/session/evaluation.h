/* The end of a call: its outcome, and the data that belongs to it. */
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

extern const struct outcome_facts outcome_table[OUTCOME_COUNT]; /* call.c */

/* Plain data, valid until `done` returns. */
struct evaluation {
    enum outcome outcome;
    int exit_code;                      /* doc/contract.md, section 6 */
    char cause[ERROR_TEXT_BYTES + 160]; /* sentences; empty for a value or a condition */
    const char *reply;                  /* of a call that evaluates nothing; else "" */
    struct result_message result;       /* with OUTCOME_VALUE and OUTCOME_CONDITION */
    const struct run_result *run;       /* of a CALL_RUN with OUTCOME_VALUE, else NULL */
    struct json_object *content;        /* of a CALL_EVALUATE: the content blocks among its values,
                                           checked;        NULL: none */
    size_t events_dropped;    /* of a CALL_RUN: progress and log messages above their rate */
    uint32_t call;            /* its number in log events and for read-output */
    bool is_kept;             /* read-output can read its output and values: kept_output.h */
    struct span output;       /* captured standard output: any bytes */
    struct span error_output; /* captured error output: any bytes */
    const char *limit_name;   /* with OUTCOME_OUTPUT: the setting, or the limit of run.h */
    const char *limit_stream; /* "stdout" or "stderr"; NULL: the limit is not of a stream */
    int64_t limit;
    int64_t timeout_ms;  /* of the call */
    int64_t elapsed_us;  /* until the outcome was decided */
    struct usage usage;  /* of the process; zero without reports_usage */
    bool state_lost;     /* the session could not return to its state before the call */
    bool inspects;       /* the value is the answer of inspect-lisp, */
    bool stays;          /* which counts as a call, since its effects cannot be undone */
    const char *session; /* its name */
};

#endif
