/* What answers left out, for read-output: the captured output and the values of the last calls of
 * each session whose text was cut. It does not belong to the state of the session: it stays after a
 * rollback, and is freed when the session is reset or closed. */
#ifndef ECLAVE_SUPERVISOR_SESSION_KEPT_OUTPUT_H
#define ECLAVE_SUPERVISOR_SESSION_KEPT_OUTPUT_H

#include "supervisor/process/pipes.h"
#include "supervisor/session/session.h"
#include "supervisor/session/text.h"

enum {
    KEPT_CALLS_MAX = 4,            /* of one session */
    KEPT_SESSION_BYTES = 32 << 20, /* of one session; a call with more is not kept */
    KEPT_TOTAL_BYTES = 128 << 20   /* of all sessions; the oldest calls are dropped */
};

struct kept_output;

/* Keeps what the text of EVALUATION will leave out, unless it leaves out nothing. False if it is
 * not kept. Otherwise the output is taken from PIPES, where EVALUATION found it, and EVALUATION
 * refers to it here, until something is kept or forgotten again. */
bool kept_output_keep(struct session *session, struct evaluation *evaluation, struct pipes *pipes);

/* Frees everything that is kept for SESSION. */
void kept_output_forget(struct session *session);

/* What is kept for the call with this number; 0: for the newest one. NULL: nothing. */
struct kept_output *kept_output_find(const struct session *session, uint32_t call);
/* The one before BEFORE, NULL: the newest. NULL: there is none. */
struct kept_output *kept_output_before(const struct session *session,
                                       const struct kept_output *before);

uint32_t kept_output_call(const struct kept_output *kept);
/* Any bytes; of values, UTF-8. Valid until the loop continues. */
struct span kept_output_bytes(const struct kept_output *kept, enum text_stream stream);
/* Its characters, counted when they are first asked for; what is not UTF-8 is not counted exactly.
 */
size_t kept_output_chars(struct kept_output *kept, enum text_stream stream);

#endif
