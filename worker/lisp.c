/* The interface between C and Lisp. */
#include "worker/lisp.h"
#include "worker/asdf.h"
#include "worker/compare.h"
#include "worker/convert.h"
#include "worker/documentation.h"
#include "worker/evaluate.h"
#include "worker/exchange.h"
#include "worker/fault.h"
#include "worker/guard.h"
#include "worker/numbers.h"
#include "worker/preload.h"

#include <gc/gc.h>
#include <stddef.h>
#include <time.h>

struct lisp lisp;

/* Monotonic time, finer than that of GET-INTERNAL-REAL-TIME. */
static cl_object clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return ecl_make_int64_t((int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
}

static cl_object bytes_allocated(void) {
    return ecl_make_uint64_t(GC_get_total_bytes());
}

static cl_object reset_stacks(void) {
    fault_reset_stacks();
    return ECL_NIL;
}

static cl_object unlock_names(void) {
    return ecl_make_fixnum(fault_unlock_names());
}

static cl_object lock_names(cl_object held) {
    fault_lock_names((int)ecl_fixnum(held));
    return ECL_NIL;
}

void lisp_define(void) {
    ecl_make_package(ecl_make_constant_base_string("ECLAVE", -1), ECL_NIL,
                     ecl_list1(cl_core.lisp_package), ECL_NIL);
#define ROW(member, package, name) lisp.member = ecl_make_symbol(name, package);
    LISP_SYMBOLS(ROW)
#undef ROW
    ecl_def_c_function(lisp.stop, (cl_objectfn_fixed)guard_stop_hook, 2);
    ecl_def_c_function(lisp.keep_warning, (cl_objectfn_fixed)evaluate_keep_warning, 1);
    ecl_def_c_function(lisp.note_place, (cl_objectfn_fixed)preload_note_place, 2);
    ecl_def_c_function(lisp.reset_stacks, (cl_objectfn_fixed)reset_stacks, 0);
    ecl_def_c_function(lisp.unlock_names, (cl_objectfn_fixed)unlock_names, 0);
    ecl_def_c_function(lisp.lock_names, (cl_objectfn_fixed)lock_names, 1);
    ecl_def_c_function(lisp.help_text, (cl_objectfn_fixed)documentation_text, 1);
    ecl_def_c_function(lisp.map_asdf, (cl_objectfn_fixed)asdf_map, 1);
    ecl_def_c_function(lisp.initialize_asdf, (cl_objectfn_fixed)asdf_initialize, 0);
    ecl_def_c_function(lisp.parse_double, (cl_objectfn_fixed)convert_parse_double, 1);
    ecl_def_c_function(lisp.double_text, (cl_objectfn_fixed)convert_double_text, 1);
    ecl_def_c_function(lisp.send_event, (cl_objectfn_fixed)exchange_send_event, 1);
    ecl_def_c_function(lisp.clock_ns, (cl_objectfn_fixed)clock_ns, 0);
    ecl_def_c_function(lisp.bytes_allocated, (cl_objectfn_fixed)bytes_allocated, 0);
    ecl_def_c_function(lisp.send_ask, (cl_objectfn_fixed)exchange_send_ask, 1);
    ecl_def_c_function(lisp.find_regex, (cl_objectfn_fixed)compare_find_regex, 2);
    ecl_def_c_function(lisp.numbered_object, (cl_objectfn_fixed)numbers_find, 1);
}

static bool find_function(cl_object *slot, const char *package, const char *name,
                          struct error *error) {
    cl_object symbol = ecl_make_symbol(name, package);
    *slot = cl_fboundp(symbol) == ECL_NIL ? NULL : cl_fdefinition(symbol);
    return *slot || error_set(error, 0, "image: the Lisp runtime lacks the function %s", name);
}

bool lisp_find_functions(struct error *error) {
#define ROW(member, package, name)                                                                 \
    if (!find_function(&lisp.function.member, package, name, error))                               \
        return false;
    LISP_FUNCTIONS(ROW)
#undef ROW
    return true;
}
