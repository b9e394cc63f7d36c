/* A row for each line: for people on a terminal, and for spreadsheets. */
#include "common/utf8.h"
#include "supervisor/base/terminal.h"
#include "supervisor/batch/batch_internal.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { ROW_BYTES = 1 << 20, NAME_COLUMNS = 24, POINTS_COLUMNS = 12, WIDTH = 100, WIDTH_MIN = 60 };

static size_t width_of_terminal(void) {
    struct winsize size;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col;
    return !known ? WIDTH : size.ws_col > WIDTH_MIN ? size.ws_col : WIDTH_MIN;
}

/* At least the columns that a character takes: a row that was longer than the terminal is wide
 * would go on where the next one begins, and could look like one. */
static size_t columns_of(uint32_t code) {
    enum { FIRST_WIDE = 0x1100, FIRST_NARROW = 0x1E00, LAST_NARROW = 0x22FF };
    return code < FIRST_WIDE || (code >= FIRST_NARROW && code <= LAST_NARROW) ? 1 : 2;
}

/* The bytes at the beginning of TEXT that take at most *COLUMNS, which becomes what they take. */
static size_t fitting(struct span text, size_t *columns) {
    size_t used = 0, at = 0;
    while (at < text.length) {
        const size_t more = columns_of(utf8_decode(text.bytes + at));
        if (used + more > *columns)
            break;
        used += more;
        at += utf8_sequence_length(text.bytes + at, text.length - at);
    }
    *columns = used;
    return at;
}

/* TEXT on one line, which cannot control the terminal, in at most COLUMNS. Returns how many. */
static size_t append_cell(struct buffer *out, struct span text, size_t columns) {
    cleanup_buffer struct buffer shown = buffer_make(ROW_BYTES);
    shown_append(&shown, text, SHOWN_AS_LINE);
    const struct span whole = {shown.data, utf8_valid_prefix(shown.data, shown.length)};
    size_t used = columns, length = fitting(whole, &used);
    const bool is_cut = length < whole.length;
    if (is_cut) {
        used = columns - 1;
        length = fitting(whole, &used);
    }
    buffer_append(out, whole.bytes, length);
    if (is_cut)
        buffer_append_text(out, "\xe2\x80\xa6"); /* an ellipsis */
    return used + is_cut;
}

static void append_padded(struct buffer *out, struct span text, size_t columns) {
    size_t used = append_cell(out, text, columns);
    buffer_append_format(out, "%*s", (int)(columns - used) + 2, "");
}

static struct span first_failure(struct buffer *out, const struct record *record) {
    failure_append_first(out, record);
    return (struct span){out->data ? out->data : (const unsigned char *)"", out->length};
}

void table_begin(struct buffer *out) {
    append_padded(out, string_span("who"), NAME_COLUMNS);
    append_padded(out, string_span("points"), POINTS_COLUMNS);
    buffer_append_text(out, "first failure\n");
}

void table_add(struct buffer *out, const struct record *record) {
    cleanup_buffer struct buffer failure = buffer_make(ROW_BYTES);
    char points[64];
    snprintf(points, sizeof points, "%.10g/%.10g", record_number(record, "points"),
             record_number(record, "pointsMax"));
    append_padded(out, record_name(record), NAME_COLUMNS);
    append_padded(out, string_span(points), POINTS_COLUMNS);
    append_cell(out, first_failure(&failure, record),
                width_of_terminal() - NAME_COLUMNS - POINTS_COLUMNS - 4);
    buffer_append_text(out, "\n");
}

/* --- CSV: RFC 4180 --- */

/* Spreadsheets evaluate a field that begins so. */
static bool is_formula(struct span text) {
    return text.length && memchr("=+-@\t\r", text.bytes[0], 6);
}

/* On one line: such a file is also looked at on a terminal, and searched for lines. */
static void append_field(struct buffer *out, struct span text) {
    cleanup_buffer struct buffer shown = buffer_make(ROW_BYTES);
    shown_append(&shown, text, SHOWN_AS_LINE);
    out->failed |= shown.failed;
    buffer_append_text(out, is_formula(text) ? "\"'" : "\"");
    for (size_t i = 0; i < shown.length; i++) {
        if (shown.data[i] == '"')
            buffer_append_text(out, "\"");
        buffer_append(out, shown.data + i, 1);
    }
    buffer_append_text(out, "\"");
}

void csv_begin(struct buffer *out) {
    buffer_append_text(out, "who,outcome,points,pointsMax,passed,tests,firstFailure\r\n");
}

void csv_add(struct buffer *out, const struct record *record) {
    cleanup_buffer struct buffer failure = buffer_make(ROW_BYTES);
    size_t passed = 0, tests = record_test_count(record);
    struct record test;
    for (size_t i = 0; record_test(record, i, &test); i++)
        passed += test.standing == STANDING_PASSED;
    append_field(out, record_name(record));
    buffer_append_format(out, ",%s,%.10g,%.10g,%zu,%zu,", record->outcome,
                         record_number(record, "points"), record_number(record, "pointsMax"),
                         passed, tests);
    append_field(out, first_failure(&failure, record));
    buffer_append_text(out, "\r\n");
}
