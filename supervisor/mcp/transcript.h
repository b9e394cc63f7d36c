/* The transcripts of sessions: the code of the last calls and what was answered, as Lisp source
 * with the answers in comments. Kept by the supervisor, so that no code can change them. */
#ifndef ECLAVE_SUPERVISOR_MCP_TRANSCRIPT_H
#define ECLAVE_SUPERVISOR_MCP_TRANSCRIPT_H

#include "common/buffer.h"
#include "supervisor/session/session.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

enum {
    TRANSCRIPT_CALLS_MAX = 64,      /* of a session; the oldest are dropped */
    TRANSCRIPT_CHARS = 2000,        /* of the code of a call, and of its answer */
    TRANSCRIPTS_MAX_BYTES = 8 << 20 /* of all; the oldest call of the idlest session is dropped */
};

struct transcript;
struct transcript_call;

struct transcripts {
    TAILQ_HEAD(, transcript) list; /* the one used last is the last */
    size_t count, bytes;
};

void transcripts_open(struct transcripts *transcripts);
/* Does nothing to a zeroed struct, which was not opened. */
void transcripts_close(struct transcripts *transcripts);

/* Forgets the transcript of an earlier session of that name. */
void transcript_session_opened(struct transcripts *transcripts, const char *session);

/* Begins to record a call; NULL: calls of this kind are not recorded, or out of memory. */
struct transcript_call *transcript_call_begin(const struct call_request *wanted);
/* Frees a call that was not ended. NULL does nothing. */
void transcript_call_free(struct transcript_call *call);
/* Adds the call (NULL: none) with ANSWER, any bytes, to the transcript of SESSION. The call is then
 * freed. */
void transcript_call_end(struct transcripts *transcripts, const struct sessions *sessions,
                         struct transcript_call *call, const char *session, struct span answer);

/* Appends the transcript of SESSION, which may be empty. */
void transcript_append(const struct transcripts *transcripts, const char *session,
                       struct buffer *text);

#endif
