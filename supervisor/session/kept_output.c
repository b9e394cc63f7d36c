/* One list of all kept calls, oldest first: there are few. */
#include "supervisor/session/kept_output.h"
#include "common/utf8.h"
#include "supervisor/session/session_internal.h"

#include <stdlib.h>

#define NOT_COUNTED SIZE_MAX

struct kept_output {
    TAILQ_ENTRY(kept_output) entry;
    const struct session *session;
    uint32_t call;
    struct buffer streams[TEXT_STREAMS];
    size_t chars[TEXT_STREAMS]; /* NOT_COUNTED: few calls are ever read */
    size_t bytes;
};

static void drop(struct sessions *all, struct kept_output *kept) {
    TAILQ_REMOVE(&all->kept, kept, entry);
    all->kept_bytes -= kept->bytes;
    for (size_t i = 0; i < TEXT_STREAMS; i++)
        buffer_free(&kept->streams[i]);
    free(kept);
}

void kept_output_forget(struct session *session) {
    struct kept_output *kept = TAILQ_FIRST(&session->all->kept);
    while (kept) {
        struct kept_output *next = TAILQ_NEXT(kept, entry);
        if (kept->session == session)
            drop(session->all, kept);
        kept = next;
    }
}

/* Makes room for BYTES of SESSION. */
static void make_room(struct session *session, size_t bytes) {
    struct sessions *all = session->all;
    struct kept_output *kept = TAILQ_LAST(&all->kept, kept_outputs);
    size_t calls = 1, total = bytes;
    while (kept) { /* from the newest to the oldest */
        struct kept_output *older = TAILQ_PREV(kept, kept_outputs, entry);
        if (kept->session == session) {
            total += kept->bytes;
            if (++calls > KEPT_CALLS_MAX || total > KEPT_SESSION_BYTES)
                drop(all, kept);
        }
        kept = older;
    }
    while (all->kept_bytes + bytes > KEPT_TOTAL_BYTES)
        drop(all, TAILQ_FIRST(&all->kept));
}

/* An answer that is an error shows the ends of the streams, or nothing. */
static bool leaves_out(const struct session *session, const struct evaluation *evaluation) {
    struct text_limits limits = text_limits_of(session->all->settings);
    limits.reserved_chars = TEXT_RESERVED_MAX;
    switch (evaluation->outcome) {
    case OUTCOME_TIMEOUT:
    case OUTCOME_OUTPUT:
        return evaluation->output.length > TEXT_TAIL_CHARS ||
               evaluation->error_output.length > TEXT_TAIL_CHARS;
    case OUTCOME_CANCELLED:
        return evaluation->output.length || evaluation->error_output.length;
    default:
        return text_is_cut(evaluation, &limits);
    }
}

static void append_values(struct buffer *out, const struct evaluation *evaluation) {
    const struct result_message *result = &evaluation->result;
    for (size_t i = 0; i < result->value_count; i++) {
        buffer_append_text(out, i ? "\n" : "");
        buffer_append_text(out, evaluation->inspects ? "" : "=> ");
        buffer_append(out, result->values[i].bytes, result->values[i].length);
    }
}

static size_t values_bytes(const struct evaluation *evaluation) {
    const struct result_message *result = &evaluation->result;
    size_t bytes = 0;
    for (size_t i = 0; i < result->value_count; i++)
        bytes += result->values[i].length + sizeof "\n=> " - 1;
    return bytes;
}

/* Its values only. NULL when out of memory. */
static struct kept_output *make(const struct evaluation *evaluation) {
    struct kept_output *kept = calloc(1, sizeof *kept);
    if (!kept)
        return NULL;
    kept->call = evaluation->call;
    for (size_t i = 0; i < TEXT_STREAMS; i++) {
        kept->streams[i] = buffer_make(KEPT_SESSION_BYTES);
        kept->chars[i] = NOT_COUNTED;
    }
    append_values(&kept->streams[TEXT_VALUES], evaluation);
    if (!kept->streams[TEXT_VALUES].failed)
        return kept;
    buffer_free(&kept->streams[TEXT_VALUES]);
    free(kept);
    return NULL;
}

bool kept_output_keep(struct session *session, struct evaluation *evaluation, struct pipes *pipes) {
    struct sessions *all = session->all;
    if (!pipes || !all->keeps_output || session_is_anonymous(session) ||
        !leaves_out(session, evaluation))
        return false;
    const size_t streams = evaluation->output.length + evaluation->error_output.length;
    struct kept_output *kept =
        streams + values_bytes(evaluation) <= KEPT_SESSION_BYTES ? make(evaluation) : NULL;
    if (!kept)
        return false;
    kept->streams[TEXT_STDOUT] = pipes_take(&pipes->output);
    kept->streams[TEXT_STDERR] = pipes_take(&pipes->error_output);
    evaluation->output = kept_output_bytes(kept, TEXT_STDOUT);
    evaluation->error_output = kept_output_bytes(kept, TEXT_STDERR);
    for (size_t i = 0; i < TEXT_STREAMS; i++)
        kept->bytes += kept->streams[i].length;
    kept->session = session;
    make_room(session, kept->bytes);
    TAILQ_INSERT_TAIL(&all->kept, kept, entry);
    all->kept_bytes += kept->bytes;
    return true;
}

struct kept_output *kept_output_before(const struct session *session,
                                       const struct kept_output *before) {
    struct kept_output *kept = before ? TAILQ_PREV(before, kept_outputs, entry)
                                      : TAILQ_LAST(&session->all->kept, kept_outputs);
    while (kept && kept->session != session)
        kept = TAILQ_PREV(kept, kept_outputs, entry);
    return kept;
}

struct kept_output *kept_output_find(const struct session *session, uint32_t call) {
    struct kept_output *kept = kept_output_before(session, NULL);
    while (kept && call && kept->call != call)
        kept = kept_output_before(session, kept);
    return kept;
}

uint32_t kept_output_call(const struct kept_output *kept) {
    return kept->call;
}

struct span kept_output_bytes(const struct kept_output *kept, enum text_stream stream) {
    return (struct span){kept->streams[stream].data, kept->streams[stream].length};
}

size_t kept_output_chars(struct kept_output *kept, enum text_stream stream) {
    if (kept->chars[stream] == NOT_COUNTED)
        kept->chars[stream] = utf8_count(kept->streams[stream].data, kept->streams[stream].length);
    return kept->chars[stream];
}
