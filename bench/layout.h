/* Which shape libseccomp gives the filters that policy/ builds in this program. The product knows
 * the tree only; the other shape is here to compare it with. */
#ifndef ECLAVE_TESTS_BENCH_LAYOUT_H
#define ECLAVE_TESTS_BENCH_LAYOUT_H

#include <stdbool.h>

/* From now on filters are built as a list of comparisons, or, as the product has it, as a tree. */
void layout_set_list(bool list);

#endif
