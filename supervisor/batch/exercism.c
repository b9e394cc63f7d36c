/* results.json of exercism's test runners, an object for each submission. Version 3 links tests to
 * tasks; without tasks it is version 2. */
#include "common/utf8.h"
#include "supervisor/batch/batch_internal.h"
#include "supervisor/json/json_write.h"

enum { OUTPUT_CHARS = 500, MESSAGE_BYTES = 65535 };

static void append_member(struct buffer *out, const char *name, struct span text) {
    buffer_append_text(out, ",");
    json_write_name(out, name);
    json_write_bytes(out, text.bytes, text.length);
}

static void append_failure(struct buffer *out, const struct record *record) {
    cleanup_buffer struct buffer text = buffer_make(FAILURE_BYTES);
    failure_append(&text, record);
    size_t length = text.length < MESSAGE_BYTES ? text.length : MESSAGE_BYTES;
    append_member(out, "message", (struct span){text.data, utf8_valid_prefix(text.data, length)});
}

/* At most 500 characters, as that specification demands. */
static void append_output(struct buffer *out, struct span printed) {
    static const char note[] = "\nOutput was truncated. Please limit to 500 chars";
    cleanup_buffer struct buffer text = buffer_make(FAILURE_BYTES);
    if (!printed.length)
        return;
    bool is_cut = utf8_count(printed.bytes, printed.length) > OUTPUT_CHARS;
    size_t length =
        is_cut ? utf8_offset(printed.bytes, printed.length, OUTPUT_CHARS - (sizeof note - 1))
               : printed.length;
    buffer_append(&text, printed.bytes, length);
    if (is_cut)
        buffer_append_text(&text, note);
    append_member(out, "output", (struct span){text.data, text.length});
}

/* "fail": it ran and came to something else. */
static const char *status_of(const struct record *test) {
    if (test->standing == STANDING_PASSED)
        return "pass";
    return strcmp(test->outcome, "value") == 0 ? "fail" : "error";
}

static void append_test(struct buffer *out, const struct record *test) {
    const struct span code = record_string(test, "code");
    buffer_append_text(out, "{\"name\":");
    json_write_bytes(out, test->key.bytes, test->key.length);
    append_member(out, "status", string_span(status_of(test)));
    if (test->standing != STANDING_PASSED)
        append_failure(out, test);
    append_output(out, record_string(test, "stdout"));
    if (code.length)
        append_member(out, "test_code", code);
    if (record_number(test, "task") > 0)
        buffer_append_format(out, ",\"task_id\":%.0f", record_number(test, "task"));
    buffer_append_text(out, "}");
}

static bool has_tasks(const struct record *record) {
    struct record test;
    for (size_t i = 0; record_test(record, i, &test); i++)
        if (record_number(&test, "task") > 0)
            return true;
    return false;
}

void exercism_add(struct buffer *out, const struct record *record) {
    struct record test;
    bool ran = strcmp(record->outcome, "value") == 0;
    buffer_append_format(out, "{\"version\":%d,\"status\":\"%s\"", has_tasks(record) ? 3 : 2,
                         !ran                                  ? "error"
                         : record->standing == STANDING_PASSED ? "pass"
                                                               : "fail");
    if (ran)
        buffer_append_text(out, ",\"message\":null");
    else
        append_failure(out, record);
    buffer_append_text(out, ",\"tests\":[");
    for (size_t i = 0; ran && record_test(record, i, &test); i++) {
        buffer_append_text(out, i ? "," : "");
        append_test(out, &test);
    }
    buffer_append_text(out, "]}\n");
}
