/* One output line of a batch, CONTRACT section 9: written from an evaluation, and read again by
 * what counts and reports, so that those know nothing that the line does not say. */
#ifndef ECLAVE_SUPERVISOR_BATCH_RECORD_H
#define ECLAVE_SUPERVISOR_BATCH_RECORD_H

#include "common/buffer.h"
#include "supervisor/batch/line.h"
#include "supervisor/batch/verdict.h"
#include "supervisor/session/evaluation.h"
#include <json-c/json.h>

/* How a line stands, whatever was expected of it. */
enum standing {
    STANDING_PASSED, /* met what was expected, or nothing was and there was a value */
    STANDING_FAILED, /* an expectation was not met */
    STANDING_BROKEN  /* nothing was expected, and there was no value; or the line was invalid */
};

/* Appends the line of an evaluation, without its newline, and returns how it stands. Failures stay
 * in out->failed. */
enum standing record_write(struct buffer *out, const struct batch_line *line,
                           const struct evaluation *evaluation, const struct settings *settings);
/* The same of a line with a fault. */
enum standing record_write_invalid(struct buffer *out, const struct batch_line *line);

struct record {
    struct json_object *root; /* owns the strings */
    struct span key;          /* as of batch_line; within the text that was read, or here: */
    char number_key[32];
    const char *outcome;
    enum verdict verdict;
    enum standing standing;
};

/* Reads a line that was written before. False when it is none; then there is nothing to free. */
bool record_read(struct record *record, struct span text);
void record_free(struct record *record);

/* The string member of that name, empty when there is none. */
struct span record_string(const struct record *record, const char *name);
double record_number(const struct record *record, const char *name);
/* The key for people: a string without its quotes, anything else as it is. Owned by the record. */
struct span record_name(const struct record *record);
/* The number of mismatches, and the one at INDEX. */
size_t record_mismatches(const struct record *record);
struct mismatch {
    struct span expectation, wanted, came;
};
struct mismatch record_mismatch(const struct record *record, size_t index);

#endif
