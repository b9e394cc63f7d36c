/* One input line of a batch: {"id":any,"code":string, …}, the members being those of line.def. */
#ifndef ECLAVE_SUPERVISOR_BATCH_LINE_H
#define ECLAVE_SUPERVISOR_BATCH_LINE_H

#include "common/buffer.h"
#include "supervisor/settings/settings.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

struct batch_line {
    struct buffer key; /* the id as it was written, which is JSON, else "line N" */
    bool has_id;
    uint64_t number;
    struct json_object *root;                                  /* owns what the spans point to */
    struct span code, expect, expect_stdout, expect_condition; /* bytes NULL: absent */
    int64_t timeout_ms;
    size_t size;     /* bytes of the line */
    char fault[160]; /* why it cannot be run; empty when it can */
};

/* Makes *line of the text of line NUMBER; what is wrong with it is its fault. The line is to be
 * freed either way. False with no memory for it. */
bool batch_line_read(struct batch_line *line, struct span text, uint64_t number,
                     const struct settings *settings);
/* The same of a line that was longer than request.max_bytes. */
bool batch_line_too_long(struct batch_line *line, uint64_t number, const struct settings *settings);
void batch_line_free(struct batch_line *line);

#endif
