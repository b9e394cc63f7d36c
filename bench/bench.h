/* The sections. Each starts its processes, measures its figures and their baselines in turn over
 * several rounds, adds its rows to the report and ends its processes. Sections are independent; a
 * new one is a file and a row in main.c. */
#ifndef ECLAVE_TESTS_BENCH_BENCH_H
#define ECLAVE_TESTS_BENCH_BENCH_H

#include "bench/report.h"
#include "bench/samples.h"

struct bench {
    const char *binary;    /* eclave */
    const char *image;     /* bench-image */
    const char *confined;  /* bench-confined */
    const char *relay;     /* bench-relay */
    const char *reference; /* the reference server's program; NULL: none */
    unsigned rounds;
    struct report report;
};

/* A figure's median, with the range of its rounds. */
#define MEDIAN_OF(samples)                                                                         \
    .value = samples_median(samples), .low = (samples)->low, .high = (samples)->high

#define ECL_BOOT_NAME "an ECL boot"

/* One start and end of plain ECL in milliseconds, or -1. */
double bench_ecl_boot(struct bench *bench);

void section_start(struct bench *bench);
void section_round_trip(struct bench *bench);
void section_code(struct bench *bench);
void section_growth(struct bench *bench);
void section_saved(struct bench *bench);
void section_recovery(struct bench *bench);
void section_bulk(struct bench *bench);
void section_memory(struct bench *bench);
void section_sessions(struct bench *bench);
void section_filter(struct bench *bench);
void section_layers(struct bench *bench);
void section_batch(struct bench *bench);
void section_grade(struct bench *bench);
void section_grade_memory(struct bench *bench);
void section_project(struct bench *bench);
void section_hostile(struct bench *bench);

#endif
