/* ECL's compiler of bytecodes hands each form that it is about to compile to SI:*CODE-WALKER*, with
 * the names that are bound around it. */
#include "worker/undefined.h"
#include "worker/lisp.h"
#include "worker/native.h"

/* Of a call; the forms that are compiled after so many are not looked at. A call of EVAL in a loop
 * would be half as slow again. */
enum { FORMS_MAX = 100000 };

static size_t forms;
static cl_object functions, variables; /* newest first, with repetitions */
static cl_object walker;

static void note(cl_object *names, cl_object name) {
    *names = ecl_cons(name, *names);
}

/* Does a record (NAME …) of the list ENVIRONMENT bind NAME? */
static bool is_bound(cl_object name, cl_object environment) {
    for (; ECL_CONSP(environment); environment = ECL_CONS_CDR(environment)) {
        cl_object record = ECL_CONS_CAR(environment);
        if (ECL_CONSP(record) && ECL_CONS_CAR(record) == name)
            return true;
    }
    return false;
}

static bool is_name(cl_object object) {
    return ECL_SYMBOLP(object) && object != ECL_NIL;
}

static void note_function(cl_object name, cl_object local) {
    if (is_name(name) && cl_fboundp(name) == ECL_NIL &&
        ecl_gethash_safe(name, cl_core.compiler_dispatch, OBJNULL) == OBJNULL &&
        !is_bound(name, local))
        note(&functions, name);
}

static void note_variable(cl_object name, cl_object local) {
    if (is_name(name) && !(ecl_symbol_type(name) & (ecl_stp_special | ecl_stp_constant)) &&
        !ECL_SYM_VAL(ecl_process_env(), name) && !is_bound(name, local))
        note(&variables, name);
}

/* The value of SI:*CODE-WALKER*, which returns the form to compile. ENVIRONMENT is a pair of the
 * lists of local variables and of local functions and macros. */
static cl_object note_form(cl_object form, cl_object environment) {
    if (++forms == FORMS_MAX)
        ECL_SETQ(ecl_process_env(), lisp.code_walker, OBJNULL);
    cl_object local_variables = ECL_CONS_CAR(environment);
    cl_object local_functions = ECL_CONS_CDR(environment);
    if (!ECL_CONSP(form)) {
        note_variable(form, local_variables);
        return form;
    }
    cl_object head = ECL_CONS_CAR(form), rest = ECL_CONS_CDR(form);
    native_note_form(head, rest, local_variables, local_functions);
    if (head == lisp.function_operator && ECL_CONSP(rest))
        note_function(ECL_CONS_CAR(rest), local_functions);
    else
        note_function(head, local_functions);
    if (head == lisp.setq) {
        for (; ECL_CONSP(rest) && ECL_CONSP(ECL_CONS_CDR(rest)); rest = ecl_cddr(rest))
            note_variable(ECL_CONS_CAR(rest), local_variables);
    }
    return form;
}

void undefined_begin(void) {
    functions = variables = ECL_NIL;
    forms = 0;
    ECL_SETQ(ecl_process_env(), lisp.code_walker, walker);
}

void undefined_initialize(void) {
    walker = ecl_make_cfun((cl_objectfn_fixed)note_form, lisp.code_walker, NULL, 2);
    undefined_begin();
}

void undefined_end(cl_object condition) {
    if (functions == ECL_NIL && variables == ECL_NIL)
        return;
    cl_object noted[] = {cl_nreverse(functions), cl_nreverse(variables)};
    functions = variables = ECL_NIL;
    cl_funcall(4, lisp.function.warn_undefined, noted[0], noted[1],
               condition ? condition : ECL_NIL);
}
