/* The interpreter keeps pointers into the code and the constants that it runs; both are kept. */
#include "worker/trampoline.h"
#include "worker/lisp.h"

#include <ecl/bytecodes.h>
#include <string.h>

/* The constants of redirected code. */
enum { MARK, NATIVE, APPLIER, EXTRA, OLD_CONSTANTS, OLD_CODE, CONSTANTS };

/* Arguments of a native function; ECL allows 63. */
enum { ARGUMENTS_MAX = 40 };

static cl_object mark; /* static: a root of the collector */

struct code {
    cl_opcode words[4 * ARGUMENTS_MAX + 16];
    cl_index count;
};

static void emit(struct code *code, int word) {
    code->words[code->count++] = (cl_opcode)word;
}

static void emit_constant(struct code *code, int operation, int constant) {
    emit(code, operation);
    emit(code, constant);
}

cl_object trampoline_code_of(cl_object function) {
    const cl_env_ptr env = ecl_process_env();
    const cl_type type = ecl_t_of(function);
    ecl_return1(env, type == t_bclosure    ? function->bclosure.code
                     : type == t_bytecodes ? function
                                           : ECL_NIL);
}

/* Pushes the records and the required arguments. */
static void emit_arguments(struct code *code, cl_object records, size_t required) {
    for (; records != ECL_NIL; records = ECL_CONS_CDR(records)) {
        emit_constant(code, OP_LFUNCTION, (int)ecl_fixnum(ECL_CONS_CAR(records)));
        emit(code, OP_PUSH);
    }
    for (size_t i = 0; i < required; i++) {
        emit(code, OP_POPREQ);
        emit(code, OP_PUSH);
    }
}

static void emit_call(struct code *code, cl_object records, size_t required, bool rest,
                      size_t count) {
    if (rest)
        emit_constant(code, OP_PUSHQ, NATIVE);
    emit_arguments(code, records, required);
    if (rest) {
        emit(code, OP_POPREST);
        emit(code, OP_PUSH);
        emit_constant(code, OP_CALLG, (int)count + 2);
        emit(code, APPLIER);
    } else {
        emit(code, OP_NOMORE);
        emit_constant(code, OP_QUOTE, NATIVE);
        emit_constant(code, OP_CALL, (int)count);
    }
    emit(code, OP_EXIT);
}

static void install(cl_object code, const struct code *new, cl_object native, cl_fixnum extra) {
    cl_object constants = ecl_alloc_simple_vector(CONSTANTS, ecl_aet_object);
    cl_object *at = constants->vector.self.t;
    at[MARK] = mark;
    at[NATIVE] = native;
    at[APPLIER] = lisp.apply;
    at[EXTRA] = ecl_make_fixnum(extra);
    at[OLD_CONSTANTS] = code->bytecodes.data;
    at[OLD_CODE] = ecl_make_foreign_data(ECL_NIL, 0, code->bytecodes.code);
    char *words = ecl_alloc_atomic(new->count * sizeof(cl_opcode));
    memcpy(words, new->words, new->count * sizeof(cl_opcode));
    code->bytecodes.data = constants;
    code->bytecodes.code = words;
    code->bytecodes.code_size = new->count;
}

cl_object trampoline_install(cl_object code, cl_object native, cl_object records,
                             cl_object required, cl_object rest) {
    const cl_env_ptr env = ecl_process_env();
    const size_t record_count = (size_t)ecl_length(records);
    const size_t required_count = (size_t)ecl_fixnum(required);
    struct code new = {.count = 0};
    if (record_count + required_count > ARGUMENTS_MAX || trampoline_is(code))
        ecl_return1(env, ECL_NIL);
    emit_call(&new, records, required_count, rest != ECL_NIL, record_count + required_count);
    install(code, &new, native, rest == ECL_NIL ? (cl_fixnum)record_count : -1);
    ecl_return1(env, ECL_T);
}

bool trampoline_is(cl_object code) {
    cl_object data = code->bytecodes.data;
    return ecl_t_of(data) == t_vector && data->vector.elttype == ecl_aet_object &&
           data->vector.dim == CONSTANTS && data->vector.self.t[MARK] == mark;
}

cl_object trampoline_native(cl_object code) {
    return code->bytecodes.data->vector.self.t[NATIVE];
}

ptrdiff_t trampoline_extra(cl_object code) {
    return (ptrdiff_t)ecl_fixnum(code->bytecodes.data->vector.self.t[EXTRA]);
}

void trampoline_define(void) {
    mark = ecl_make_symbol("REDIRECTED", "ECLAVE");
    ecl_def_c_function(ecl_make_symbol("CODE-OF", "ECLAVE"), (cl_objectfn_fixed)trampoline_code_of,
                       1);
    ecl_def_c_function(ecl_make_symbol("REDIRECT", "ECLAVE"), (cl_objectfn_fixed)trampoline_install,
                       5);
}
