/* See asdf.h. Mapping takes less than a millisecond, initializing a quarter of a second. */
#include "worker/asdf.h"

static cl_object library; /* NULL: not mapped */
static void *entry;       /* its function of type void (cl_object) */

cl_object asdf_map(cl_object file) {
    cl_object opened = ecl_library_open(file, 0);
    if (!opened->cblock.handle)
        return ECL_NIL;
    entry = ecl_library_symbol(opened, "init_fas_CODE", 0);
    library = entry ? opened : NULL;
    return entry ? ECL_T : ECL_NIL;
}

cl_object asdf_initialize(void) {
    if (!library)
        return ECL_NIL;
    void (*define)(cl_object) = (void (*)(cl_object))entry;
    ecl_init_module(library, define);
    return ECL_T;
}
