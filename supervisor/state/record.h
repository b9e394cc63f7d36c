/* The records of a journal. The calls that are in force are a list: a call appends one, a return
 * shortens the list, a drop takes one out. */
#ifndef ECLAVE_SUPERVISOR_STATE_RECORD_H
#define ECLAVE_SUPERVISOR_STATE_RECORD_H

#include "common/buffer.h"
#include <stdbool.h>
#include <stdint.h>

enum record_kind {
    RECORD_OPEN = 1, /* the first: names the session */
    RECORD_CALL,     /* a call that the session kept */
    RECORD_RETURN,   /* only the first `number` calls are in force */
    RECORD_DROP,     /* call `number`, from 1 on, could not be brought back */
    RECORD_IMAGE,    /* there is an image of the state after the first `number` calls */
    RECORD_KIND_END
};

/* The spans are not owned. */
struct journal_record {
    enum record_kind kind;
    uint64_t number;
    int64_t time_s;   /* when it was made; since 1970 */
    bool is_run;      /* RECORD_CALL: a run_message, else an evaluate_message: common/message.h */
    uint32_t run;     /* of a run: enum run_kind, as the session knows it */
    bool wants_value; /* of a run */
    struct span text; /* RECORD_OPEN: the name; RECORD_CALL: the payload of the frame;
                         RECORD_IMAGE: an adopt_message (common/session_image.h) */
    struct span condition; /* RECORD_CALL: the type of the condition; bytes NULL: a value */
    struct span answers;   /* RECORD_CALL: what the client answered, as record_put_answer */
};

/* Appends RECORD. False if OUT is full. */
bool record_encode(struct buffer *out, const struct journal_record *record);
/* False if BYTES are no record. The spans point into BYTES. */
bool record_decode(struct span bytes, struct journal_record *record);

/* Appends one answer to ANSWERS. False if that is full. */
bool record_put_answer(struct buffer *answers, struct span answer);
/* Takes the first answer out of *ANSWERS. False if there is none. */
bool record_take_answer(struct span *answers, struct span *answer);

#endif
