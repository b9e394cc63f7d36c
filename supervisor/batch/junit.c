/* JUnit XML as Jenkins, GitLab and others read it: one test suite, a test case for each line. */
#include "common/utf8.h"
#include "supervisor/base/clock.h"
#include "supervisor/batch/batch_internal.h"

/* The head is padded with blanks to this size, so that it can be rewritten with the counts. */
enum { HEAD_BYTES = 512, HEAD_COPIES = 2 };

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

/* The counts are attributes of the two outer elements; the padding is inside the second tag. */
static void put_head(FILE *out, const struct tally *tally) {
    char counts[HEAD_BYTES / HEAD_COPIES - 60];
    char head[HEAD_BYTES];
    snprintf(counts, sizeof counts,
             "tests=\"%llu\" failures=\"%llu\" errors=\"%llu\" time=\"%.3f\"",
             (unsigned long long)tally->cases, (unsigned long long)tally->failed,
             (unsigned long long)tally->broken, tally->wall_ms / CLOCK_MS_PER_S);
    int used = snprintf(head, sizeof head,
                        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites %s>\n"
                        "<testsuite name=\"eclave batch\" %s",
                        counts, counts);
    fprintf(out, "%s%*s>\n", head, HEAD_BYTES - used, "");
}

bool junit_open(struct junit *junit, const char *path, struct error *error) {
    static const struct tally nothing;
    junit->file = fopen(path, "we");
    if (!junit->file || fseek(junit->file, 0, SEEK_CUR) != 0) {
        error_set(error, errno, "--junit %.100s", path);
        if (junit->file)
            fclose(junit->file);
        junit->file = NULL;
        return false;
    }
    put_head(junit->file, &nothing);
    return true;
}

/* An element with how RECORD ended. */
static void put_end(FILE *out, const char *element, const struct record *record) {
    struct span reason = record_string(record, "reason"), text = record_string(record, "text");
    fprintf(out, "<%s", element);
    put_attribute(out, "type", string_span(record->outcome));
    put_attribute(out, "message", reason.length ? reason : string_span(record->outcome));
    fputc('>', out);
    put_text(out, text);
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
    for (size_t i = 0; i < record_mismatch_count(record); i++) {
        const struct mismatch mismatch = record_mismatch(record, i);
        put_text(out, mismatch.expectation);
        fputs(": wanted ", out);
        put_text(out, mismatch.wanted);
        fputs("\n  came ", out);
        put_text(out, mismatch.came);
        fputc('\n', out);
    }
    put_text(out, record_string(record, "text"));
    fputs("</failure>\n", out);
}

void junit_add(struct junit *junit, const struct record *record, struct span suite) {
    FILE *out = junit->file;
    if (!out)
        return;
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
    fputs("</testsuite>\n</testsuites>\n", junit->file);
    bool good = fseek(junit->file, 0, SEEK_SET) == 0;
    if (good)
        put_head(junit->file, tally);
    good &= !ferror(junit->file);
    good &= fclose(junit->file) == 0;
    junit->file = NULL;
    return good || error_set(error, errno, "writing the JUnit report");
}
