/* Calls to a user's tool, beside evaluations in the same server and calls to the reference server's
 * tool. They are to cost no more than two forks beyond an evaluation. */
#ifndef ECLAVE_TESTS_BENCH_PROJECT_CALLS_H
#define ECLAVE_TESTS_BENCH_PROJECT_CALLS_H

#include "bench/bench.h"

/* Measures calls to project_tree_tool of the directory PROJECT, and reports them. */
void project_calls(struct bench *bench, const char *project);

#endif
