/* The places in a tree that can be moved, which scripts/release makes; in eclave-movable they stand
 * for those of installed_places.c. */
#include "supervisor/base/installed.h"

const char installed_libexec[] = "../libexec/eclave";
const char installed_ecl_directory[] = "../lib/eclave/ecl";
