/* JUnit XML as Jenkins, GitLab and others read it: a test suite for each submission, and one for
 * lines without tests that follow each other. */
#include "common/cleanup.h"
#include "common/utf8.h"
#include "supervisor/base/clock.h"
#include "supervisor/batch/batch_internal.h"

enum { HEAD_BYTES = 200 };

/* XML 1.0 cannot represent most control characters, U+FFFE and U+FFFF. */
static bool is_xml(uint32_t character) {
    return character >= 0x20 ? character != 0xFFFE && character != 0xFFFF
                             : character == '\t' || character == '\n' || character == '\r';
}

static const char *reference_of(uint32_t character) {
    switch (character) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\t': /* in an attribute, the parser would turn these three into blanks */
        return "&#9;";
    case '\n':
        return "&#10;";
    case '\r':
        return "&#13;";
    default:
        return NULL;
    }
}

/* Writes TEXT as the content of an element or an attribute, in well-formed UTF-8. */
static void put_text(FILE *out, struct span text) {
    for (size_t at = 0; at < text.length;) {
        size_t length = utf8_sequence_length(text.bytes + at, text.length - at);
        uint32_t character = length ? utf8_decode(text.bytes + at) : 0;
        const char *reference = reference_of(character);
        if (reference)
            fputs(reference, out);
        else if (is_xml(character))
            fwrite(text.bytes + at, 1, length, out);
        else
            fputs("\xEF\xBF\xBD", out);
        at += length ? length : 1;
    }
}

static void put_attribute(FILE *out, const char *name, struct span value) {
    fprintf(out, " %s=\"", name);
    put_text(out, value);
    fputc('"', out);
}

static void put_element(FILE *out, const char *name, struct span content) {
    if (content.length == 0)
        return;
    fprintf(out, "<%s>", name);
    put_text(out, content);
    fprintf(out, "</%s>\n", name);
}

/* An element that is padded with blanks to HEAD_BYTES, so that it can be rewritten with its counts.
 * PADDED false: the counts are known. */
static void put_head(FILE *out, const char *element, struct span name,
                     const struct junit_counts *counts, bool padded) {
    char text[HEAD_BYTES];
    fprintf(out, "<%s", element);
    if (name.bytes)
        put_attribute(out, "name", name);
    int used = snprintf(
        text, sizeof text, " tests=\"%llu\" failures=\"%llu\" errors=\"%llu\" time=\"%.3f\"",
        counts->cases, counts->failed, counts->broken, counts->wall_ms / CLOCK_MS_PER_S);
    fprintf(out, "%s%*s>\n", text, padded ? HEAD_BYTES - used : 0, "");
}

static void put_root(FILE *out, const struct junit_counts *counts) {
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
    put_head(out, "testsuites", (struct span){0}, counts, true);
}

bool junit_open(struct junit *junit, const char *path, struct error *error) {
    static const struct junit_counts nothing;
    *junit = (struct junit){.file = fopen(path, "we")};
    if (!junit->file || fseek(junit->file, 0, SEEK_CUR) != 0) {
        error_set(error, errno, "--junit %.100s", path);
        if (junit->file)
            fclose(junit->file);
        junit->file = NULL;
        return false;
    }
    put_root(junit->file, &nothing);
    return true;
}

/* --- suites --- */

static void count(struct junit_counts *counts, const struct record *record) {
    counts->cases++;
    counts->failed += record->standing == STANDING_FAILED;
    counts->broken += record->standing == STANDING_BROKEN;
    counts->wall_ms += record_number(record, "wallMs");
}

static void put_lines_head(const struct junit *junit) {
    put_head(junit->file, "testsuite", string_span("eclave batch"), &junit->lines, true);
}

/* Ends the suite that is open; the counts of one of lines are known only now. */
static void end_suite(struct junit *junit) {
    if (!junit->in_suite)
        return;
    fputs("</testsuite>\n", junit->file);
    if (junit->in_lines && fseek(junit->file, junit->lines_at, SEEK_SET) == 0) {
        put_lines_head(junit);
        junit->seek_failed |= fseek(junit->file, 0, SEEK_END) != 0;
    }
    junit->in_suite = junit->in_lines = false;
}

static void begin_lines(struct junit *junit) {
    if (junit->in_lines)
        return;
    end_suite(junit);
    junit->lines_at = ftell(junit->file);
    junit->lines = (struct junit_counts){0};
    junit->in_suite = junit->in_lines = true;
    put_lines_head(junit);
}

void junit_begin_suite(struct junit *junit, const struct record *record) {
    struct junit_counts counts = {0};
    struct record test;
    if (!junit->file)
        return;
    if (record_test_count(record) == 0) {
        begin_lines(junit);
        return;
    }
    for (size_t i = 0; record_test(record, i, &test); i++)
        count(&counts, &test);
    end_suite(junit);
    put_head(junit->file, "testsuite", record_name(record), &counts, false);
    junit->in_suite = true;
}

/* Why it did not pass, and its whole text with all frames. */
static void put_failure(FILE *out, const struct record *record) {
    cleanup_buffer struct buffer why = buffer_make(FAILURE_BYTES);
    const struct span text = record_string(record, "text");
    failure_append(&why, record);
    put_text(out, (struct span){why.data, why.length});
    if (text.length) {
        fputc('\n', out);
        put_text(out, text);
    }
}

/* An element with how RECORD ended. */
static void put_end(FILE *out, const char *element, const struct record *record) {
    struct span reason = record_string(record, "reason");
    fprintf(out, "<%s", element);
    put_attribute(out, "type", string_span(record->outcome));
    put_attribute(out, "message", reason.length ? reason : string_span(record->outcome));
    fputc('>', out);
    put_failure(out, record);
    fprintf(out, "</%s>\n", element);
}

static void put_mismatches(FILE *out, const struct record *record) {
    if (record_mismatch_count(record) == 0) { /* a test that ended without a value, or is hidden */
        put_end(out, "failure", record);
        return;
    }
    const struct mismatch first = record_mismatch(record, 0);
    fputs("<failure", out);
    put_attribute(out, "type", first.expectation);
    fputs(" message=\"wanted ", out);
    put_text(out, first.wanted);
    fputs(", came ", out);
    put_text(out, first.came);
    fputs("\">", out);
    put_failure(out, record);
    fputs("</failure>\n", out);
}

void junit_add(struct junit *junit, const struct record *record, struct span suite) {
    FILE *out = junit->file;
    if (!out)
        return;
    count(&junit->lines, record);
    fputs("<testcase", out);
    put_attribute(out, "classname", suite.bytes ? suite : string_span("eclave.batch"));
    put_attribute(out, "name", record_name(record));
    fprintf(out, " time=\"%.3f\">\n", record_number(record, "wallMs") / CLOCK_MS_PER_S);
    if (record->standing == STANDING_FAILED)
        put_mismatches(out, record);
    else if (record->standing == STANDING_BROKEN)
        put_end(out, "error", record);
    put_element(out, "system-out", record_string(record, "stdout"));
    put_element(out, "system-err", record_string(record, "stderr"));
    fputs("</testcase>\n", out);
}

bool junit_close(struct junit *junit, const struct tally *tally, struct error *error) {
    if (!junit->file)
        return true;
    const struct junit_counts counts = {tally->cases, tally->failed, tally->broken, tally->wall_ms};
    end_suite(junit);
    fputs("</testsuites>\n", junit->file);
    bool good = !junit->seek_failed && fseek(junit->file, 0, SEEK_SET) == 0;
    if (good)
        put_root(junit->file, &counts);
    good &= !ferror(junit->file);
    good &= fclose(junit->file) == 0;
    junit->file = NULL;
    return good || error_set(error, errno, "writing the JUnit report");
}
