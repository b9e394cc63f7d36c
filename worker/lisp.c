/* The table of what C calls in Lisp. Never interns anything after the zygote has booted. */
#include "worker/lisp.h"

#include <stddef.h>

struct lisp lisp;

void lisp_find_symbols(void) {
#define ROW(member, package, name) lisp.member = ecl_make_symbol(name, package);
    LISP_SYMBOLS(ROW)
#undef ROW
}

static bool find_function(cl_object *slot, const char *package, const char *name,
                          struct error *error) {
    cl_object symbol = ecl_make_symbol(name, package);
    *slot = cl_fboundp(symbol) == ECL_NIL ? NULL : cl_fdefinition(symbol);
    return *slot || error_set(error, 0, "the Lisp runtime has no function %s", name);
}

bool lisp_find_functions(struct error *error) {
#define ROW(member, package, name)                                                                 \
    if (!find_function(&lisp.call.member, package, name, error))                                   \
        return false;
    LISP_FUNCTIONS(ROW)
#undef ROW
    return true;
}
