/* The shape of the filters that libseccomp builds in this program. The product uses the tree; the
 * list is for comparison. */
#ifndef ECLAVE_TESTS_BENCH_LAYOUT_H
#define ECLAVE_TESTS_BENCH_LAYOUT_H

#include <stdbool.h>

/* Builds later filters as a list of comparisons, or as a tree. */
void layout_set_list(bool list);

#endif
