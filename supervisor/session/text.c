/* Formats evaluations. Texts are cut between characters. */
#include "supervisor/session/text.h"
#include "common/utf8.h"
#include "supervisor/json/json_write.h"

struct text_limits text_limits_of(const struct settings *settings) {
    return (struct text_limits){.shown_chars = (size_t)settings->output_shown_chars,
                                .value_max_chars = (size_t)settings->value_max_chars};
}

static void append_span(struct buffer *out, struct span span) {
    buffer_append(out, span.bytes, span.length);
}

/* CAPTURED, or a copy in REPAIRED with its ill-formed parts replaced. */
static struct span well_formed(struct span captured, struct buffer *repaired) {
    if (utf8_is_valid(captured.bytes, captured.length))
        return captured;
    utf8_append_repaired(repaired, captured.bytes, captured.length);
    return (struct span){repaired->data, repaired->length};
}

/* Appends the head and the tail of CAPTURED, which is longer than SHOWN_CHARS characters can be.
 * The work is that for what is shown, and a count of the rest. */
static void append_ends(struct buffer *out, struct span captured, size_t shown_chars) {
    cleanup_buffer struct buffer repaired_head = buffer_make(out->maximum);
    cleanup_buffer struct buffer repaired_tail = buffer_make(out->maximum);
    const size_t tail_chars = shown_chars / 2, head_chars = shown_chars - tail_chars;
    const size_t tail_room = tail_chars * UTF8_MAX_BYTES, tail_from = captured.length - tail_room;
    size_t head_end = utf8_offset(captured.bytes, head_chars * UTF8_MAX_BYTES, head_chars);
    size_t tail_start =
        tail_from + utf8_offset_from_end(captured.bytes + tail_from, tail_room, tail_chars);
    /* Where the bytes are not UTF-8, these may be inside a character. */
    for (int i = 1; i < UTF8_MAX_BYTES && utf8_is_continuation(captured.bytes[head_end]); i++)
        head_end++;
    for (int i = 1; i < UTF8_MAX_BYTES && tail_start < captured.length &&
                    utf8_is_continuation(captured.bytes[tail_start]);
         i++)
        tail_start--;
    struct span head = well_formed((struct span){captured.bytes, head_end}, &repaired_head),
                tail = well_formed(
                    (struct span){captured.bytes + tail_start, captured.length - tail_start},
                    &repaired_tail);
    const size_t head_shown = utf8_offset(head.bytes, head.length, head_chars),
                 tail_hidden = utf8_offset_from_end(tail.bytes, tail.length, tail_chars);
    const size_t left_out = utf8_count(head.bytes + head_shown, head.length - head_shown) +
                            utf8_count(captured.bytes + head_end, tail_start - head_end) +
                            utf8_count(tail.bytes, tail_hidden);
    out->failed |= repaired_head.failed || repaired_tail.failed;
    buffer_append(out, head.bytes, head_shown);
    buffer_append_format(out, "\n[… %zu characters left out …]\n", left_out);
    buffer_append(out, tail.bytes + tail_hidden, tail.length - tail_hidden);
}

void text_append_captured(struct buffer *out, struct span captured, size_t shown_chars) {
    cleanup_buffer struct buffer repaired = buffer_make(out->maximum);
    if (captured.length / ((size_t)2 * UTF8_MAX_BYTES) > shown_chars) {
        append_ends(out, captured, shown_chars);
        return;
    }
    captured = well_formed(captured, &repaired);
    if (repaired.failed) {
        out->failed = true;
        return;
    }
    size_t count = captured.length <= shown_chars ? captured.length
                                                  : utf8_count(captured.bytes, captured.length);
    if (count <= shown_chars) {
        append_span(out, captured);
        return;
    }
    size_t head_chars = shown_chars - shown_chars / 2;
    size_t head = utf8_offset(captured.bytes, captured.length, head_chars);
    size_t tail = utf8_offset_from_end(captured.bytes, captured.length, shown_chars / 2);
    buffer_append(out, captured.bytes, head);
    buffer_append_format(out, "\n[… %zu characters left out …]\n", count - shown_chars);
    buffer_append(out, captured.bytes + tail, captured.length - tail);
}

/* The last CHARS characters of CAPTURED. */
static void append_tail(struct buffer *out, struct span captured, size_t chars) {
    cleanup_buffer struct buffer repaired = buffer_make(out->maximum);
    size_t room = chars * UTF8_MAX_BYTES;
    if (captured.length > room) {
        captured.bytes += captured.length - room;
        captured.length = room;
    }
    captured = well_formed(captured, &repaired);
    size_t from = utf8_offset_from_end(captured.bytes, captured.length, chars);
    buffer_append(out, captured.bytes + from, captured.length - from);
    out->failed |= repaired.failed;
}

void text_append_tails(struct buffer *out, const struct evaluation *evaluation, size_t chars) {
    const struct {
        const char *name;
        struct span captured;
    } streams[] = {{"stdout", evaluation->output}, {"stderr", evaluation->error_output}};
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        if (!streams[i].captured.length)
            continue;
        buffer_append_format(out, "\n\nThe end of [%s]:\n", streams[i].name);
        append_tail(out, streams[i].captured, chars);
    }
}

void text_write_captured(struct buffer *out, struct span captured, size_t shown_chars) {
    cleanup_buffer struct buffer text = buffer_make(out->maximum);
    text_append_captured(&text, captured, shown_chars);
    json_write_bytes(out, text.data, text.length);
    out->failed |= text.failed;
}

static void append_warning_lines(struct buffer *out, const struct result_message *result) {
    for (size_t i = 0; i < result->warning_count; i++) {
        append_span(out, result->warnings[i]);
        buffer_append_text(out, "\n");
    }
}

void text_append_errors(struct buffer *out, const struct evaluation *evaluation,
                        size_t shown_chars) {
    size_t start = out->length;
    text_append_captured(out, evaluation->error_output, shown_chars);
    if (evaluation->result.warning_count && out->length > start &&
        out->data[out->length - 1] != '\n')
        buffer_append_text(out, "\n");
    append_warning_lines(out, &evaluation->result);
}

void text_write_errors(struct buffer *out, const struct evaluation *evaluation,
                       size_t shown_chars) {
    cleanup_buffer struct buffer text = buffer_make(out->maximum);
    text_append_errors(&text, evaluation, shown_chars);
    json_write_bytes(out, text.data, text.length);
    out->failed |= text.failed;
}

/* "[NAME]\n<captured>\n"; nothing if nothing was captured. */
static void append_stream(struct buffer *out, const char *name, struct span captured,
                          size_t shown_chars) {
    if (captured.length == 0)
        return;
    buffer_append_format(out, "[%s]\n", name);
    text_append_captured(out, captured, shown_chars);
    buffer_append_text(out, "\n");
}

static void append_warnings(struct buffer *out, const struct result_message *result) {
    if (result->warning_count == 0)
        return;
    buffer_append_text(out, "[warnings]\n");
    append_warning_lines(out, result);
}

static void append_sections(struct buffer *out, const struct evaluation *evaluation,
                            const struct text_limits *limits) {
    append_stream(out, "stdout", evaluation->output, limits->shown_chars);
    append_stream(out, "stderr", evaluation->error_output, limits->shown_chars);
    append_warnings(out, &evaluation->result);
}

/* Each section ends with a newline, which the end of the text omits. */
static void drop_last_newline(struct buffer *out, size_t sections_start) {
    if (!out->failed && out->length > sections_start)
        out->length--;
}

void text_append_value(struct buffer *out, struct span value, size_t max_chars) {
    /* The worker cuts values itself and appends a short mark. */
    enum { MARK_CHARS = 64 };
    size_t end = utf8_offset(value.bytes, value.length, max_chars + MARK_CHARS);
    if (end == value.length) {
        append_span(out, value);
        return;
    }
    end = utf8_offset(value.bytes, value.length, max_chars);
    buffer_append(out, value.bytes, end);
    buffer_append_format(out, "… [%zu more characters]",
                         utf8_count(value.bytes + end, value.length - end));
}

static void append_success(struct buffer *out, const struct evaluation *evaluation,
                           const struct text_limits *limits) {
    const struct result_message *result = &evaluation->result;
    append_sections(out, evaluation, limits);
    if (result->warning_count)
        buffer_append_text(out, "\n");
    if (result->value_count == 0)
        buffer_append_text(out, "; no values");
    for (size_t i = 0; i < result->value_count; i++) {
        if (i)
            buffer_append_text(out, "\n");
        if (!evaluation->inspects)
            buffer_append_text(out, "=> ");
        text_append_value(out, result->values[i], limits->value_max_chars);
    }
    if (evaluation->inspects && evaluation->stays)
        buffer_append_text(out,
                           "\n\nWithout checkpoints this call could not be undone: it counts as "
                           "a call of the session, and its effects stay.");
}

static void append_backtrace(struct buffer *out, const struct result_message *result) {
    buffer_append_text(out, "\n\n[Backtrace]");
    if (result->frame_count == 0)
        buffer_append_text(out, "\n(no frames)");
    for (size_t i = 0; i < result->frame_count; i++) {
        buffer_append_format(out, "\n%zu: ", i);
        append_span(out, result->frames[i]);
    }
}

static void append_failure(struct buffer *out, const struct evaluation *evaluation,
                           const struct text_limits *limits) {
    const char *type = outcome_table[evaluation->outcome].type;
    buffer_append_text(out, "[ERROR] ");
    if (type) {
        buffer_append_format(out, "%s\n%s", type, evaluation->cause);
    } else {
        append_span(out, evaluation->result.condition);
        buffer_append_text(out, "\n");
        append_span(out, evaluation->result.text);
    }
    append_backtrace(out, &evaluation->result);
    size_t before = out->length;
    buffer_append_text(out, "\n\n");
    size_t sections = out->length;
    append_sections(out, evaluation, limits);
    if (out->length == sections && !out->failed)
        out->length = before;
    drop_last_newline(out, sections);
}

void text_append_evaluation(struct buffer *out, const struct evaluation *evaluation,
                            const struct text_limits *limits) {
    if (evaluation->outcome == OUTCOME_VALUE)
        append_success(out, evaluation, limits);
    else
        append_failure(out, evaluation, limits);
}

void text_append_error(struct buffer *out, const char *type, const char *message) {
    buffer_append_format(out, "[ERROR] %s\n%s\n\n[Backtrace]\n(no frames)", type, message);
}
