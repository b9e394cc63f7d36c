/* Records calls and their answers. What a client or a worker sends is cut before it is kept. */
#include "supervisor/mcp/transcript.h"
#include "supervisor/session/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALL_MAX_BYTES = 64 << 10, SPARE_TRANSCRIPTS = 16 };

struct transcript_call {
    TAILQ_ENTRY(transcript_call) entry;
    enum call_kind kind;
    struct buffer text;
};

struct transcript {
    TAILQ_ENTRY(transcript) entry;
    char session[SESSION_NAME_BYTES];
    TAILQ_HEAD(, transcript_call) calls; /* oldest first */
    size_t kept;
    unsigned long long total;
};

static size_t held_bytes(const struct transcript_call *call) {
    return sizeof *call + call->text.capacity;
}

void transcripts_open(struct transcripts *transcripts) {
    TAILQ_INIT(&transcripts->list);
}

void transcript_call_free(struct transcript_call *call) {
    if (!call)
        return;
    buffer_free(&call->text);
    free(call);
}

static void drop_oldest(struct transcripts *transcripts, struct transcript *transcript) {
    struct transcript_call *call = TAILQ_FIRST(&transcript->calls);
    TAILQ_REMOVE(&transcript->calls, call, entry);
    transcript->kept--;
    transcripts->bytes -= held_bytes(call);
    transcript_call_free(call);
}

static void forget(struct transcripts *transcripts, struct transcript *transcript) {
    while (transcript->kept)
        drop_oldest(transcripts, transcript);
    TAILQ_REMOVE(&transcripts->list, transcript, entry);
    transcripts->count--;
    free(transcript);
}

void transcripts_close(struct transcripts *transcripts) {
    while (transcripts->count)
        forget(transcripts, TAILQ_FIRST(&transcripts->list));
}

static struct transcript *find(const struct transcripts *transcripts, const char *session) {
    struct transcript *transcript;
    TAILQ_FOREACH(transcript, &transcripts->list, entry)
    if (strcmp(transcript->session, session) == 0)
        return transcript;
    return NULL;
}

/* Forgets the sessions that are gone: unnamed ones end without a call. */
static void forget_closed(struct transcripts *transcripts, const struct sessions *sessions) {
    struct transcript *transcript = TAILQ_FIRST(&transcripts->list);
    while (transcript) {
        struct transcript *next = TAILQ_NEXT(transcript, entry);
        if (!sessions_find(sessions, string_span(transcript->session)))
            forget(transcripts, transcript);
        transcript = next;
    }
}

static struct transcript *find_or_make(struct transcripts *transcripts,
                                       const struct sessions *sessions, const char *session) {
    struct transcript *transcript = find(transcripts, session);
    if (transcript) {
        TAILQ_REMOVE(&transcripts->list, transcript, entry);
        TAILQ_INSERT_TAIL(&transcripts->list, transcript, entry);
        return transcript;
    }
    if (transcripts->count >= sessions_count(sessions) + SPARE_TRANSCRIPTS)
        forget_closed(transcripts, sessions);
    transcript = calloc(1, sizeof *transcript);
    if (!transcript)
        return NULL;
    snprintf(transcript->session, sizeof transcript->session, "%s", session);
    TAILQ_INIT(&transcript->calls);
    TAILQ_INSERT_TAIL(&transcripts->list, transcript, entry);
    transcripts->count++;
    return transcript;
}

void transcript_session_opened(struct transcripts *transcripts, const char *session) {
    struct transcript *transcript = find(transcripts, session);
    if (transcript)
        forget(transcripts, transcript);
}

struct transcript_call *transcript_call_begin(const struct call_request *wanted) {
    bool evaluates = wanted->kind == CALL_EVALUATE && !wanted->inspection.bytes;
    bool recorded = evaluates || wanted->kind == CALL_ROLLBACK || wanted->kind == CALL_RESET ||
                    wanted->kind == CALL_CLOSE;
    struct transcript_call *call = recorded ? calloc(1, sizeof *call) : NULL;
    if (!call)
        return NULL;
    call->kind = wanted->kind;
    call->text = buffer_make(CALL_MAX_BYTES);
    if (evaluates)
        text_append_captured(&call->text, wanted->code, TRANSCRIPT_CHARS);
    return call;
}

/* Returns the memory that TEXT, which is complete, does not use. */
static void trim(struct buffer *text) {
    unsigned char *smaller = text->length ? realloc(text->data, text->length) : NULL;
    if (!smaller)
        return;
    text->data = smaller;
    text->capacity = text->length;
}

/* Each line of ANSWER as a comment. */
static void append_comment(struct buffer *text, struct span answer) {
    cleanup_buffer struct buffer shown = buffer_make(CALL_MAX_BYTES);
    text_append_captured(&shown, answer, TRANSCRIPT_CHARS);
    const unsigned char *at = shown.data, *end = at + shown.length;
    while (at < end) {
        const unsigned char *line_end = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((line_end ? line_end : end) - at);
        buffer_append_text(text, text->length ? "\n; " : "; ");
        buffer_append(text, at, length);
        at += length + 1;
    }
}

void transcript_call_end(struct transcripts *transcripts, const struct sessions *sessions,
                         struct transcript_call *call, const char *session, struct span answer) {
    struct transcript *transcript = call ? find_or_make(transcripts, sessions, session) : NULL;
    if (!transcript || call->kind == CALL_CLOSE) {
        if (transcript)
            forget(transcripts, transcript);
        transcript_call_free(call);
        return;
    }
    append_comment(&call->text, answer);
    trim(&call->text);
    TAILQ_INSERT_TAIL(&transcript->calls, call, entry);
    transcript->kept++;
    transcript->total++;
    transcripts->bytes += held_bytes(call);
    if (transcript->kept > TRANSCRIPT_CALLS_MAX)
        drop_oldest(transcripts, transcript);
    struct transcript *idlest = TAILQ_FIRST(&transcripts->list);
    while (transcripts->bytes > TRANSCRIPTS_MAX_BYTES) {
        if (idlest->kept)
            drop_oldest(transcripts, idlest);
        else
            idlest = TAILQ_NEXT(idlest, entry);
    }
}

void transcript_append(const struct transcripts *transcripts, const char *session,
                       struct buffer *text) {
    const struct transcript *transcript = find(transcripts, session);
    const struct transcript_call *call;
    if (!transcript) {
        buffer_append_format(text, ";;; session %s: no calls yet\n", session);
        return;
    }
    buffer_append_format(text,
                         ";;; session %s: the last %zu of %llu calls; code and answers are cut at "
                         "%d characters\n",
                         session, transcript->kept, transcript->total, (int)TRANSCRIPT_CHARS);
    unsigned long long number = transcript->total - transcript->kept;
    TAILQ_FOREACH(call, &transcript->calls, entry) {
        buffer_append_format(text, "\n;; call %llu\n", ++number);
        buffer_append(text, call->text.data, call->text.length);
        buffer_append_text(text, "\n");
    }
}
