/* The places of what `cmake --install` installs. */
#include "supervisor/base/installed.h"

const char installed_libexec[] = ECLAVE_LIBEXEC;
const char installed_ecl_directory[] = ECLAVE_ECL_DIRECTORY;
