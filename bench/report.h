/* The report: a Markdown table with a row for each figure, and notes below it. A figure meets its
 * expectation or does not. */
#ifndef ECLAVE_TESTS_BENCH_REPORT_H
#define ECLAVE_TESTS_BENCH_REPORT_H

#include "common/buffer.h"
#include <stdbool.h>

enum unit { UNIT_MS, UNIT_US, UNIT_NS, UNIT_MIB, UNIT_COUNT };

/* A baseline. */
struct baseline {
    const char *name; /* follows "3 ×"; NULL: none */
    double value;     /* in the figure's unit; NAN when it could not be measured */
    double at_most;   /* the maximum ratio expected; 0: none */
};

enum { BASELINES_MAX = 4 };

/* One row. VALUE is NAN when it could not be measured. */
struct figure {
    const char *name;
    enum unit unit;
    double value;
    double low, high; /* of the medians of the rounds; both 0: not shown */
    double at_most;   /* the maximum value expected; 0: none */
    struct baseline baselines[BASELINES_MAX];
    double ratio; /* to the first baseline, of pairs of measurements; 0: that of the two values */
};

struct report {
    struct buffer rows, notes;
    bool incomplete; /* a figure could not be measured */
};

struct report report_make(void);
void report_free(struct report *report);

/* A line across the table. */
void report_heading(struct report *report, const char *text);

void report_figure(struct report *report, const struct figure *figure);

/* A remark below the table. */
__attribute__((format(printf, 2, 3))) void report_note(struct report *report, const char *format,
                                                       ...);
/* The same for a failure, which makes the report incomplete; also printed on stderr. */
__attribute__((format(printf, 2, 3))) void report_problem(struct report *report, const char *format,
                                                          ...);

/* Writes the whole report to stdout under INTRODUCTION, a Markdown paragraph. */
void report_print(const struct report *report, const char *introduction);

#endif
