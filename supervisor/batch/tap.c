/* TAP: a test for each line, with a YAML block for one that did not pass. */
#include "common/cleanup.h"
#include "supervisor/base/terminal.h"
#include "supervisor/batch/batch_internal.h"
#include "supervisor/json/json_write.h"

void tap_begin(struct buffer *out) {
    buffer_append_text(out, "TAP version 13\n");
}

/* NAME on one line, and without a "#", which would begin a directive. */
static void append_name(struct buffer *out, struct span name) {
    cleanup_buffer struct buffer shown = buffer_make(FAILURE_BYTES);
    shown_append(&shown, name, SHOWN_AS_LINE);
    for (size_t i = 0; i < shown.length; i++) {
        const char byte = (char)shown.data[i];
        if (byte == '#' || byte == '\\')
            buffer_append_text(out, "\\");
        buffer_append(out, &byte, 1);
    }
}

/* "  LABEL: VALUE"; a JSON string is also a YAML string. */
static void append_field(struct buffer *out, const char *label, struct span value) {
    buffer_append_format(out, "  %s: ", label);
    json_write_bytes(out, value.bytes, value.length);
    buffer_append_text(out, "\n");
}

static void append_diagnosis(struct buffer *out, const struct record *record) {
    cleanup_buffer struct buffer why = buffer_make(FAILURE_BYTES);
    struct span reason = record_string(record, "reason"), text = record_string(record, "text");
    buffer_append_format(out, "  ---\n  outcome: %s\n", record->outcome);
    failure_append(&why, record);
    append_field(out, "message", (struct span){why.data, why.length});
    if (record_mismatch_count(record))
        buffer_append_text(out, "  mismatches:\n");
    for (size_t i = 0; i < record_mismatch_count(record); i++) {
        const struct mismatch mismatch = record_mismatch(record, i);
        append_field(out, "  - expectation", mismatch.expectation);
        append_field(out, "    wanted", mismatch.wanted);
        append_field(out, "    came", mismatch.came);
    }
    if (reason.length)
        append_field(out, "reason", reason);
    if (text.length)
        append_field(out, "text", text);
    buffer_append_text(out, "  ...\n");
}

void tap_add(struct buffer *out, uint64_t number, const struct record *record, struct span suite) {
    bool passed = record->standing == STANDING_PASSED;
    buffer_append_format(out, "%sok %llu - ", passed ? "" : "not ", (unsigned long long)number);
    if (suite.bytes) {
        append_name(out, suite);
        buffer_append_text(out, ": ");
    }
    append_name(out, record_name(record));
    buffer_append_text(out, "\n");
    if (!passed)
        append_diagnosis(out, record);
}

void tap_end(struct buffer *out, uint64_t count, bool cut_short) {
    if (cut_short)
        buffer_append_text(out, "Bail out! The run was cut short.\n");
    else
        buffer_append_format(out, "1..%llu\n", (unsigned long long)count);
}
