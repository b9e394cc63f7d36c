/* Fuzz target: a line of a batch. It has a fault or everything that a run needs; its record is one
 * line of strict JSON with the same meaning when read again, whatever the code printed. The input
 * is the line, then a zero byte and the output of the code. */
#include "common/utf8.h"
#include "supervisor/batch/batch_internal.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/json.h"

#include <string.h>

enum { DEPTH = 512, TEXT_MAX_BYTES = 1 << 26 };

static FILE *junit_file;

/* An evaluation that printed PRINTED and, where that is UTF-8, returned it. */
static struct evaluation evaluation_of(struct span printed) {
    struct evaluation evaluation = {.outcome = printed.length % 2 ? OUTCOME_VALUE : OUTCOME_CRASH,
                                    .output = printed,
                                    .error_output = printed};
    if (evaluation.outcome == OUTCOME_VALUE && utf8_is_valid(printed.bytes, printed.length)) {
        evaluation.result.values[0] = printed;
        evaluation.result.value_count = 1;
    }
    return evaluation;
}

static void check_record(const struct batch_line *line, const struct record *made) {
    struct buffer out = buffer_make(TEXT_MAX_BYTES);
    record_write(&out, made);
    FUZZ_CHECK(!out.failed, "no memory");
    struct span text = {out.data, out.length};
    struct record record;
    const char *fault = json_fault((struct text){(const char *)text.bytes, text.length}, DEPTH);
    FUZZ_CHECK(!fault, "%s", fault);
    FUZZ_CHECK(!memchr(text.bytes, '\n', text.length), "a newline");
    FUZZ_CHECK(record_read(&record, text), "%.*s", (int)text.length, text.bytes);
    FUZZ_CHECK(record.standing == made->standing && record.verdict == made->verdict,
               "another verdict");
    FUZZ_CHECK(record.key.length == line->key.length &&
                   memcmp(record.key.bytes, line->key.data, record.key.length) == 0,
               "another key");
    FUZZ_CHECK((strcmp(record.outcome, "invalid") == 0) == (line->fault[0] != 0), "%s",
               record.outcome);
    struct buffer tap = buffer_make(TEXT_MAX_BYTES);
    struct junit junit = {.file = junit_file};
    tap_add(&tap, 1, &record, (struct span){line->key.data, line->key.length});
    FUZZ_CHECK(utf8_is_valid(tap.data, tap.length), "TAP is not UTF-8");
    rewind(junit_file);
    junit_add(&junit, &record, (struct span){line->key.data, line->key.length});
    buffer_free(&tap);
    record_free(&record);
    buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const unsigned char nothing[1];
    struct settings settings;
    struct batch_line line;
    settings_default(&settings);
    if (!junit_file)
        junit_file = tmpfile();
    if (!size)
        return 0; /* nor is an empty one */
    const uint8_t *zero = memchr(data, 0, size);
    size_t length = zero ? (size_t)(zero - data) : size;
    struct span printed = {zero ? zero + 1 : nothing, zero ? size - length - 1 : 0};
    if (memchr(data, '\n', length))
        return 0; /* not one line */
    FUZZ_CHECK(batch_line_read(&line, (struct span){data, length}, 7, &settings), "no memory");
    FUZZ_CHECK(line.fault[0] || (line.timeout_ms > 0 && line.root &&
                                 (line.code.bytes ? !line.test_count : line.setup.bytes != NULL)),
               "neither good nor bad");
    for (size_t i = 0; i < line.test_count; i++)
        FUZZ_CHECK(line.fault[0] || line.tests[i].code.bytes, "a test without code");
    if (line.test_count) { /* its record is made of those of its tests, which a run alone has */
        batch_line_free(&line);
        return 0;
    }
    const struct evaluation evaluation = evaluation_of(printed);
    struct record record;
    FUZZ_CHECK(record_make(&record, &line, line.fault[0] ? NULL : &evaluation, &settings),
               "no memory");
    check_record(&line, &record);
    record_free(&record);
    batch_line_free(&line);
    return 0;
}
