/* Calls to a tool of a project, compared with evaluations in the same server and calls to the
 * reference server's tool. Expected: at most two forks more than an evaluation. */
#ifndef ECLAVE_TESTS_BENCH_PROJECT_CALLS_H
#define ECLAVE_TESTS_BENCH_PROJECT_CALLS_H

#include "bench/bench.h"

/* Measures calls to project_tree_tool of the directory PROJECT. */
void project_calls(struct bench *bench, const char *project);

#endif
