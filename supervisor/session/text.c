/* Formats evaluations. Texts are cut between characters. */
#include "supervisor/session/text.h"
#include "common/utf8.h"
#include "supervisor/json/json_write.h"

#include <ctype.h>

struct text_limits text_limits_of(const struct settings *settings) {
    return (struct text_limits){.max_chars = (size_t)settings->text_max_chars,
                                .value_max_chars = (size_t)settings->value_max_chars};
}

const char *const text_stream_names[TEXT_STREAMS] = {"stdout", "stderr", "values"};

static void append_span(struct buffer *out, struct span span) {
    buffer_append(out, span.bytes, span.length);
}

static size_t chars_of(struct span span) {
    return utf8_count(span.bytes, span.length);
}

/* CAPTURED, or a copy in REPAIRED with its ill-formed parts replaced. */
static struct span well_formed(struct span captured, struct buffer *repaired) {
    if (utf8_is_valid(captured.bytes, captured.length))
        return captured;
    utf8_append_repaired(repaired, captured.bytes, captured.length);
    return (struct span){repaired->data, repaired->length};
}

/* Is CAPTURED longer than SHOWN_CHARS characters, whatever its bytes are? */
static bool is_long(struct span captured, size_t shown_chars) {
    return captured.length / ((size_t)2 * UTF8_MAX_BYTES) > shown_chars;
}

/* Where the part of a stream that a text leaves out can be read. */
struct source {
    const char *stream; /* NULL: nowhere */
    const char *session;
    uint32_t call;
};

static void append_read_output(struct buffer *out, const struct source *source, size_t from) {
    buffer_append_format(out, "read-output {\"call\":%lu,\"session\":\"%s\",\"stream\":\"%s\"",
                         (unsigned long)source->call, source->session, source->stream);
    if (from)
        buffer_append_format(out, ",\"from\":%zu", from);
    buffer_append_text(out, "}");
}

/* The line between a head of FROM characters and a tail. At most CUT_LINE_CHARS. */
static void append_cut_line(struct buffer *out, const struct source *source, size_t from,
                            size_t left_out) {
    buffer_append_format(out, "\n[… %zu characters left out", left_out);
    if (source->stream) {
        buffer_append_text(out, "; to read them: ");
        append_read_output(out, source, from);
    }
    buffer_append_text(out, " …]\n");
}

/* Appends the head and the tail of CAPTURED, which is longer than SHOWN_CHARS characters can be.
 * The work is that for what is shown, and a count of the rest. */
static void append_ends(struct buffer *out, struct span captured, size_t shown_chars,
                        const struct source *source) {
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
    append_cut_line(out, source, head_chars, left_out);
    buffer_append(out, tail.bytes + tail_hidden, tail.length - tail_hidden);
}

static void append_captured(struct buffer *out, struct span captured, size_t shown_chars,
                            const struct source *source) {
    cleanup_buffer struct buffer repaired = buffer_make(out->maximum);
    if (is_long(captured, shown_chars)) {
        append_ends(out, captured, shown_chars, source);
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
    append_cut_line(out, source, head_chars, count - shown_chars);
    buffer_append(out, captured.bytes + tail, captured.length - tail);
}

void text_append_captured(struct buffer *out, struct span captured, size_t shown_chars) {
    append_captured(out, captured, shown_chars, &(struct source){NULL, NULL, 0});
}

/* Appends the last CHARS characters of CAPTURED, after a heading. */
static void append_tail(struct buffer *out, struct span captured, size_t chars, const char *name,
                        const struct source *source) {
    cleanup_buffer struct buffer repaired = buffer_make(out->maximum);
    const size_t count = utf8_count(captured.bytes, captured.length), room = chars * UTF8_MAX_BYTES;
    buffer_append_format(out, "\n\nThe end of [%s]", name);
    if (count > chars && source->stream) {
        buffer_append_format(out, ", which has %zu characters; to read them: ", count);
        append_read_output(out, source, 0);
    }
    buffer_append_text(out, ":\n");
    if (captured.length > room) {
        captured.bytes += captured.length - room;
        captured.length = room;
    }
    captured = well_formed(captured, &repaired);
    size_t from = utf8_offset_from_end(captured.bytes, captured.length, chars);
    buffer_append(out, captured.bytes + from, captured.length - from);
    out->failed |= repaired.failed;
}

/* --- the streams --- */

enum { STREAMS = 2 };

static struct span captured_of(const struct evaluation *evaluation, size_t stream) {
    return stream == 0 ? evaluation->output : evaluation->error_output;
}

static struct source source_of(const struct evaluation *evaluation, enum text_stream stream) {
    return (struct source){evaluation->is_kept ? text_stream_names[stream] : NULL,
                           evaluation->session, evaluation->call};
}

void text_append_tails(struct buffer *out, const struct evaluation *evaluation, size_t chars) {
    for (size_t i = 0; i < STREAMS; i++) {
        const struct span captured = captured_of(evaluation, i);
        const struct source source = source_of(evaluation, i);
        if (captured.length)
            append_tail(out, captured, chars, text_stream_names[i], &source);
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

/* --- what fits --- */

enum {
    CUT_LINE_CHARS = 208,
    MARK_CHARS = 40,   /* of "… [N more characters]" and the like */
    WHOLE_CHARS = 160, /* of the line that says how to read values that are cut */
    VALUE_LEAST_CHARS = 64
};

/* The words around the parts of a text, for their length. */
static const char stream_words[] = "[stdout]\n\n", warnings_words[] = "[warnings]\n\n",
                  no_values[] = "; no values", value_words[] = "=> \n", frame_words[] = "\n10: ",
                  error_words[] = "[ERROR] \n\n\n[Backtrace]\n(no frames)\n\n";

/* The characters that each part of a text may have, with the words around it. */
struct plan {
    size_t streams[STREAMS], warnings, values, type, message, backtrace;
    bool is_whole; /* everything fits */
    bool is_cut[STREAMS], values_are_cut;
};

static const char left_note[] =
    "\n\nWithout checkpoints this call could not be undone: it counts as a "
    "call of the session, and its effects stay.";

/* Is it an inspection that had to be kept? */
static bool is_left(const struct evaluation *evaluation) {
    return evaluation->inspects && evaluation->stays;
}

static size_t least(size_t left, size_t right) {
    return left < right ? left : right;
}

static size_t count_stream(struct span captured, size_t max_chars) {
    cleanup_buffer struct buffer repaired = buffer_make(SIZE_MAX);
    if (captured.length == 0)
        return 0;
    if (is_long(captured, max_chars))
        return captured.length; /* enough to know that it does not fit */
    return sizeof stream_words - 1 + chars_of(well_formed(captured, &repaired));
}

static size_t count_spans(const struct span *spans, size_t count, size_t around) {
    size_t chars = 0;
    for (size_t i = 0; i < count; i++)
        chars += around + chars_of(spans[i]);
    return chars;
}

static size_t count_warnings(const struct result_message *result) {
    return result->warning_count
               ? sizeof warnings_words - 1 + count_spans(result->warnings, result->warning_count, 1)
               : 0;
}

static size_t count_values(const struct result_message *result) {
    return result->value_count
               ? count_spans(result->values, result->value_count, sizeof value_words - 1)
               : sizeof no_values - 1;
}

/* The parts in full. */
static struct plan count_parts(const struct evaluation *evaluation, size_t max_chars) {
    const struct result_message *result = &evaluation->result;
    const char *type = outcome_table[evaluation->outcome].type;
    struct plan parts = {.warnings = count_warnings(result)};
    for (size_t i = 0; i < STREAMS; i++)
        parts.streams[i] = count_stream(captured_of(evaluation, i), max_chars);
    if (evaluation->outcome == OUTCOME_VALUE) {
        parts.values = count_values(result);
        return parts;
    }
    parts.type = type ? strlen(type) : chars_of(result->condition);
    parts.message = chars_of(type ? string_span(evaluation->cause) : result->text);
    parts.backtrace = count_spans(result->frames, result->frame_count, sizeof frame_words - 1);
    return parts;
}

/* Divides ROOM between the streams, each of which may have half. */
static void divide(struct plan *plan, size_t room) {
    const size_t wanted[STREAMS] = {plan->streams[0], plan->streams[1]};
    plan->streams[0] = least(wanted[0], room - least(wanted[1], room / 2));
    plan->streams[1] = least(wanted[1], room - plan->streams[0]);
    for (size_t i = 0; i < STREAMS; i++)
        plan->is_cut[i] = plan->streams[i] < wanted[i];
}

/* Captured output is cut first. A part of the text remains for it, in which there is room for the
 * lines that say what is left out. */
static struct plan plan_of(const struct evaluation *evaluation, const struct text_limits *limits) {
    struct plan plan = count_parts(evaluation, limits->max_chars);
    const bool is_value = evaluation->outcome == OUTCOME_VALUE;
    const size_t streams = plan.streams[0] + plan.streams[1];
    size_t room = limits->max_chars - limits->reserved_chars;
    if (!is_value)
        room -= sizeof error_words - 1;
    else if (is_left(evaluation))
        room -= sizeof left_note - 1;
    plan.is_whole =
        plan.type + plan.message + plan.backtrace + plan.warnings + plan.values + streams <= room;
    if (plan.is_whole)
        return plan;
    plan.type = least(plan.type, room / 16);
    plan.message = least(plan.message, room * 3 / 8);
    plan.backtrace = least(plan.backtrace, room / 4);
    plan.warnings = least(plan.warnings, room / 8);
    room -= plan.type + plan.message + plan.backtrace + plan.warnings;
    if (is_value) {
        const size_t values = plan.values;
        plan.values = least(values, room - least(streams, room / 4));
        plan.values_are_cut = plan.values < values;
        room -= plan.values;
    }
    divide(&plan, room);
    return plan;
}

bool text_is_cut(const struct evaluation *evaluation, const struct text_limits *limits) {
    const struct plan plan = plan_of(evaluation, limits);
    return plan.is_cut[0] || plan.is_cut[1] || plan.values_are_cut;
}

static const char mark_start[] = "… [", mark_end[] = " more characters]";

/* Removes the mark of the worker from the end of TEXT. Returns the number in it, 0: there is none.
 */
static size_t take_mark(struct span *text) {
    const size_t end = sizeof mark_end - 1, start = sizeof mark_start - 1;
    size_t number = 0, scale = 1, at = text->length;
    if (at < start + end || memcmp(text->bytes + at - end, mark_end, end) != 0)
        return 0;
    for (at -= end; at > start && isdigit(text->bytes[at - 1]) && scale < SIZE_MAX / 100;
         scale *= 10)
        number += scale * (size_t)(text->bytes[--at] - '0');
    if (at < start || memcmp(text->bytes + at - start, mark_start, start) != 0)
        return 0;
    text->length = at - start;
    return number;
}

/* Appends TEXT, or as much of it as fits into MAX_CHARS with a mark. */
static void append_cut(struct buffer *out, struct span text, size_t max_chars) {
    if (text.length <= max_chars || chars_of(text) <= max_chars) {
        append_span(out, text);
        return;
    }
    const size_t left_out = take_mark(&text);
    size_t end = utf8_offset(text.bytes, text.length, max_chars - least(max_chars, MARK_CHARS));
    buffer_append(out, text.bytes, end);
    buffer_append_format(out, "%s%zu%s", mark_start,
                         left_out + utf8_count(text.bytes + end, text.length - end), mark_end);
}

void text_append_value(struct buffer *out, struct span value, size_t max_chars) {
    /* The worker cuts values itself and appends a short mark. */
    enum { WORKER_MARK_CHARS = 64 };
    if (utf8_offset(value.bytes, value.length, max_chars + WORKER_MARK_CHARS) == value.length)
        append_span(out, value);
    else
        append_cut(out, value, max_chars + MARK_CHARS);
}

/* --- the sections --- */

/* "[NAME]\n<captured>\n"; nothing if nothing was captured. */
static void append_stream(struct buffer *out, const struct evaluation *evaluation, size_t stream,
                          const struct plan *plan) {
    const struct span captured = captured_of(evaluation, stream);
    const struct source source = source_of(evaluation, stream);
    size_t shown_chars = SIZE_MAX;
    if (captured.length == 0)
        return;
    if (plan->is_cut[stream])
        shown_chars = plan->streams[stream] - (sizeof stream_words - 1) - CUT_LINE_CHARS;
    buffer_append_format(out, "[%s]\n", text_stream_names[stream]);
    append_captured(out, captured, shown_chars, &source);
    buffer_append_text(out, "\n");
}

static void append_warnings(struct buffer *out, const struct result_message *result, size_t chars) {
    size_t shown = 0, used = sizeof warnings_words - 1 + MARK_CHARS;
    if (result->warning_count == 0)
        return;
    if (count_warnings(result) <= chars)
        used = 0;
    buffer_append_text(out, "[warnings]\n");
    for (; shown < result->warning_count; shown++) {
        const size_t size = chars_of(result->warnings[shown]) + 1;
        if (shown && used + size > chars)
            break;
        append_cut(out, result->warnings[shown], chars - used - 1);
        buffer_append_text(out, "\n");
        used += least(size, chars - used);
    }
    if (shown < result->warning_count)
        buffer_append_format(out, "WARNING: %zu more warnings\n", result->warning_count - shown);
}

static void append_sections(struct buffer *out, const struct evaluation *evaluation,
                            const struct plan *plan) {
    for (size_t i = 0; i < STREAMS; i++)
        append_stream(out, evaluation, i, plan);
    append_warnings(out, &evaluation->result, plan->warnings);
}

/* Each section ends with a newline, which the end of the text omits. */
static void drop_last_newline(struct buffer *out, size_t sections_start) {
    if (!out->failed && out->length > sections_start)
        out->length--;
}

/* The characters that each of the first COUNT values may have, so that they fit into CHARS. */
static size_t value_chars(const struct result_message *result, size_t count, size_t chars) {
    size_t most = 0, before;
    do { /* what short values do not need is for the others */
        size_t longer = 0, shorter_chars = 0;
        before = most;
        for (size_t i = 0; i < count; i++) {
            size_t size = chars_of(result->values[i]);
            if (size > before)
                longer++;
            else
                shorter_chars += size;
        }
        most = longer ? (chars - shorter_chars) / longer : before;
    } while (most > before);
    return most;
}

static void append_values(struct buffer *out, const struct evaluation *evaluation,
                          const struct text_limits *limits, const struct plan *plan) {
    const struct result_message *result = &evaluation->result;
    const size_t limit = evaluation->inspects ? limits->max_chars : limits->value_max_chars;
    size_t count = result->value_count, most = limit;
    if (count == 0)
        buffer_append_text(out, no_values);
    if (plan->values_are_cut) {
        const size_t room = plan->values - MARK_CHARS - WHOLE_CHARS;
        count = least(count, room / VALUE_LEAST_CHARS);
        most = value_chars(result, count, room - count * (sizeof value_words - 1));
        most = least(most, limit + MARK_CHARS);
    }
    for (size_t i = 0; i < count; i++) {
        buffer_append_text(out, i ? "\n" : "");
        buffer_append_text(out, evaluation->inspects ? "" : "=> ");
        if (plan->values_are_cut)
            append_cut(out, result->values[i], most);
        else
            text_append_value(out, result->values[i], most);
    }
    if (count < result->value_count)
        buffer_append_format(out, "\n; %zu more values", result->value_count - count);
    if (plan->values_are_cut && evaluation->is_kept) {
        const struct source source = source_of(evaluation, TEXT_VALUES);
        buffer_append_text(out, "\n; the whole: ");
        append_read_output(out, &source, 0);
    }
}

static void append_success(struct buffer *out, const struct evaluation *evaluation,
                           const struct text_limits *limits) {
    const struct result_message *result = &evaluation->result;
    const struct plan plan = plan_of(evaluation, limits);
    append_sections(out, evaluation, &plan);
    if (result->warning_count)
        buffer_append_text(out, "\n");
    append_values(out, evaluation, limits, &plan);
    if (is_left(evaluation))
        buffer_append_text(out, left_note);
}

static void append_backtrace(struct buffer *out, const struct result_message *result,
                             size_t chars) {
    const bool is_whole =
        count_spans(result->frames, result->frame_count, sizeof frame_words - 1) <= chars;
    size_t used = is_whole ? 0 : MARK_CHARS, shown = 0;
    buffer_append_text(out, "\n\n[Backtrace]");
    if (result->frame_count == 0)
        buffer_append_text(out, "\n(no frames)");
    for (; shown < result->frame_count; shown++) {
        const size_t size = chars_of(result->frames[shown]) + sizeof frame_words - 1;
        if (shown && used + size > chars)
            break;
        buffer_append_format(out, "\n%zu: ", shown);
        append_cut(out, result->frames[shown], chars - used - (sizeof frame_words - 1));
        used += least(size, chars - used);
    }
    if (shown < result->frame_count)
        buffer_append_format(out, "\n… %zu more frames", result->frame_count - shown);
}

static void append_failure(struct buffer *out, const struct evaluation *evaluation,
                           const struct text_limits *limits) {
    const struct plan plan = plan_of(evaluation, limits);
    const char *type = outcome_table[evaluation->outcome].type;
    buffer_append_text(out, "[ERROR] ");
    append_cut(out, type ? string_span(type) : evaluation->result.condition, plan.type);
    buffer_append_text(out, "\n");
    append_cut(out, type ? string_span(evaluation->cause) : evaluation->result.text, plan.message);
    append_backtrace(out, &evaluation->result, plan.backtrace);
    size_t before = out->length;
    buffer_append_text(out, "\n\n");
    size_t sections = out->length;
    append_sections(out, evaluation, &plan);
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
