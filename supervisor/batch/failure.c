/* Why a test did not pass, from its record, in words that help who wrote the code. A record has no
 * address and no path of this machine, and one that is hidden has nothing to show. */
#include "supervisor/batch/batch_internal.h"

enum { OUTPUT_CHARS = 500, CODE_CHARS = 500, LINE_BYTES_MAX = 1 << 20 };

/* Cuts the text up to BREAK off *TEXT, and BREAK too. */
static struct span cut(struct span *text, const char *separator) {
    const unsigned char *at = memmem(text->bytes, text->length, separator, strlen(separator));
    struct span part = {text->bytes, at ? (size_t)(at - text->bytes) : text->length};
    size_t used = part.length + (at ? strlen(separator) : 0);
    *text = (struct span){text->bytes + used, text->length - used};
    return part;
}

/* Whether FRAME ends with ", line N of FILE": a function or a form of the submission. */
static bool has_place(struct span frame) {
    static const char line[] = ", line ", of[] = " of ";
    const unsigned char *at;
    bool found = false;
    while ((at = memmem(frame.bytes, frame.length, line, sizeof line - 1)) != NULL) {
        const unsigned char *end = frame.bytes + frame.length, *digits = at + sizeof line - 1;
        for (at = digits; at < end && *at >= '0' && *at <= '9'; at++)
            continue;
        found =
            at > digits && (size_t)(end - at) > sizeof of - 1 && memcmp(at, of, sizeof of - 1) == 0;
        frame = (struct span){digits, (size_t)(end - digits)};
    }
    return found;
}

/* The first of the numbered lines of the backtrace TEXT that is in a file of the submission, else
 * the first one. Empty for "(no frames)". */
static struct span frame_of(struct span text) {
    struct span first = string_span("");
    while (text.length) {
        struct span frame = cut(&text, "\n"), number = cut(&frame, ": ");
        if (number.length == 0 || number.length > 2 || !frame.length)
            break; /* the backtrace has ended */
        if (has_place(frame))
            return frame;
        if (!first.length)
            first = frame;
    }
    return first;
}

/* The parts of the text of a failure (doc/contract.md, section 5); empty for a value. */
struct ending {
    struct span type, message, frame;
};

static struct ending ending_of(const struct record *record) {
    static const char marker[] = "[ERROR] ";
    struct ending ending = {string_span(""), string_span(""), string_span("")};
    struct span text = record_string(record, "text");
    if (text.length < sizeof marker || memcmp(text.bytes, marker, sizeof marker - 1) != 0)
        return ending;
    text.bytes += sizeof marker - 1;
    text.length -= sizeof marker - 1;
    ending.type = cut(&text, "\n");
    ending.message = cut(&text, "\n\n[Backtrace]\n");
    ending.frame = frame_of(text);
    return ending;
}

static void append_span(struct buffer *out, struct span text) {
    buffer_append(out, text.bytes, text.length);
}

static void append_part(struct buffer *out, const char *label, struct span text) {
    if (!text.length)
        return;
    buffer_append_text(out, label);
    text_append_captured(out, text, CODE_CHARS);
    buffer_append_text(out, "\n");
}

static void append_mismatches(struct buffer *out, const struct record *record) {
    for (size_t i = 0; i < record_mismatch_count(record); i++) {
        const struct mismatch mismatch = record_mismatch(record, i);
        append_part(out, "expected: ", mismatch.wanted);
        append_part(out, "came:     ", mismatch.came);
    }
}

void failure_append(struct buffer *out, const struct record *record) {
    const struct ending ending = ending_of(record);
    append_part(out, "called:   ", record_string(record, "code"));
    append_mismatches(out, record);
    append_part(out, "error:    ", ending.type);
    append_part(out, "          ", ending.message);
    append_part(out, "in:       ", ending.frame);
    append_part(out, "printed:  ", record_string(record, "stdout"));
    append_part(out, "errors:   ", record_string(record, "stderr"));
    if (out->length == 0)
        append_part(out, "outcome:  ", string_span(record->outcome));
    append_part(out, "reason:   ", record_string(record, "reason"));
}

static void append_brief_ending(struct buffer *out, const struct record *record) {
    const struct ending ending = ending_of(record);
    struct span message = ending.message;
    struct span reason = record_string(record, "reason");
    if (ending.type.length) {
        append_span(out, ending.type);
        buffer_append_text(out, ": ");
        append_span(out, cut(&message, "\n"));
    } else {
        buffer_append_text(out, record->outcome);
        buffer_append_text(out, reason.length ? ": " : "");
        append_span(out, reason);
    }
    if (ending.frame.length) {
        buffer_append_text(out, ", in ");
        append_span(out, ending.frame);
    }
}

static void append_brief(struct buffer *out, const struct record *record) {
    if (record_mismatch_count(record) == 0 || ending_of(record).type.length) {
        append_brief_ending(out, record);
        return;
    }
    const struct mismatch mismatch = record_mismatch(record, 0);
    buffer_append_text(out, "expected ");
    append_span(out, mismatch.wanted);
    buffer_append_text(out, ", came ");
    append_span(out, mismatch.came);
}

void failure_append_first(struct buffer *out, const struct record *record) {
    struct record test;
    if (record->standing == STANDING_PASSED)
        return;
    if (record_test_count(record) == 0 || strcmp(record->outcome, "value") != 0) {
        append_brief(out, record); /* its setup */
        return;
    }
    for (size_t i = 0; record_test(record, i, &test); i++)
        if (test.standing != STANDING_PASSED) {
            append_span(out, test.key);
            buffer_append_text(out, ": ");
            append_brief(out, &test);
            return;
        }
}
