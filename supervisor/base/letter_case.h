/* Comparing text in any letter case: Unicode's simple case folding, by the C library's tables. */
#ifndef ECLAVE_SUPERVISOR_BASE_LETTER_CASE_H
#define ECLAVE_SUPERVISOR_BASE_LETTER_CASE_H

#include "common/buffer.h"
#include <stdbool.h>

/* Loads the tables of the locale C.UTF-8, which is a file: to be called before the process confines
 * itself. Without it, or where the C library has no such locale, only ASCII letters are folded. */
void letter_case_load(void);

/* These compare well-formed UTF-8. */
bool letter_case_equal(struct span left, struct span right);
/* Does TEXT begin with PREFIX? */
bool letter_case_begins(struct span text, struct span prefix);

#endif
