/* Native code. A failed exchange of frames exits the process; anything else that fails leaves the
 * function as it was. */
#include "worker/native.h"
#include "common/buffer.h"
#include "common/cleanup.h"
#include "common/frame.h"
#include "common/unit.h"
#include "worker/convert.h"
#include "worker/guard.h"
#include "worker/link.h"
#include "worker/lisp.h"
#include "worker/native_frames.h"
#include "worker/reach.h"
#include "worker/trampoline.h"
#include "worker/worker.h"

#include <dlfcn.h>
#include <elf.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __aarch64__
enum { MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_X86_64 };
#endif

/* The entry of the library that is built from lisp/native.lisp. */
void eclave_native_init(cl_object block);

/* What ECL's compiler is told to include, and which this replaces. */
static const char header_line[] = "#include \"eclave.h\"";
static const char data_line[] = "#include \"eclave.data\"";
static const char entry_name[] = "init_fas_CODE";

static struct {
    bool loaded, automatic, open;
    bool unconfined; /* in the zygote, where no memory is sealed */
    int channel;
    uint32_t call;
    cl_object constants;         /* SI:*COMPILER-CONSTANTS* */
    cl_object note_live;         /* ECLAVE:NOTE-LIVE */
    cl_object compile_noted;     /* ECLAVE:COMPILE-NOTED */
    cl_object compile_preloaded; /* ECLAVE:COMPILE-PRELOADED */
    cl_object noted, live;       /* ECLAVE:*NOTED*, ECLAVE:*LIVE* */
    cl_object lexical;           /* value of ECLAVE:*LEXICAL* */
    cl_object made;      /* the definitions of functions that the call has made, newest first */
    cl_object forms;     /* that the call has evaluated, newest first */
    cl_object units;     /* what was made, never freed: a function may run that nothing refers to */
    cl_object functions; /* a list of those that native_note knows */
    struct code {
        uintptr_t start, end;
        uint32_t *starts; /* of all its functions, from its own */
        size_t start_count;
    } * codes; /* other libraries may lie between them */
    size_t code_count;
} native = {.made = ECL_NIL, .forms = ECL_NIL, .units = ECL_NIL, .functions = ECL_NIL};

/* --- loading --- */

static void load_compiler(void *argument) {
    const bool *automatic = argument;
    cl_eval(c_string_to_object("(require :cmp)"));
    ecl_init_module(NULL, eclave_native_init);
    cl_funcall(2, ecl_make_symbol("INSTALL-NATIVE", "ECLAVE"), *automatic ? ECL_T : ECL_NIL);
}

bool native_load(bool automatic, struct error *error) {
    native.constants = ecl_make_symbol("*COMPILER-CONSTANTS*", "SI");
    ecl_def_c_function(ecl_make_symbol("BUILD-UNIT", "ECLAVE"), (cl_objectfn_fixed)native_build, 3);
    ecl_def_c_function(ecl_make_symbol("CALL-GUARDED", "ECLAVE"),
                       (cl_objectfn_fixed)native_call_guarded, 1);
    ecl_def_c_function(ecl_make_symbol("NOTE-NATIVE", "ECLAVE"), (cl_objectfn_fixed)native_note, 2);
    ecl_def_c_function(ecl_make_symbol("LIVE-FUNCTIONS", "ECLAVE"),
                       (cl_objectfn_fixed)native_live_functions, 0);
    trampoline_define();
    reach_initialize();
    if (guard_run(load_compiler, &automatic, NULL) != GUARD_RETURNED)
        return error_set(error, 0, "native: cannot load ECL's compiler (cmp)");
    ECL_SETQ(ecl_process_env(), lisp.package, cl_core.user_package); /* after IN-PACKAGE there */
    native.note_live = cl_fdefinition(ecl_make_symbol("NOTE-LIVE", "ECLAVE"));
    native.compile_noted = cl_fdefinition(ecl_make_symbol("COMPILE-NOTED", "ECLAVE"));
    native.compile_preloaded = cl_fdefinition(ecl_make_symbol("COMPILE-PRELOADED", "ECLAVE"));
    native.noted = ecl_make_symbol("*NOTED*", "ECLAVE");
    native.live = ecl_make_symbol("*LIVE*", "ECLAVE");
    native.lexical = ecl_symbol_value(ecl_make_symbol("*LEXICAL*", "ECLAVE"));
    native.loaded = true;
    native.automatic = automatic;
    return true;
}

void native_begin(int channel, uint32_t call) {
    native.open = native.loaded;
    native.channel = channel;
    native.call = call;
    native.made = native.forms = ECL_NIL;
}

void native_end(void) {
    native.open = false;
    native.made = native.forms = ECL_NIL;
}

static void call_lisp(void *argument) {
    const cl_object *function = argument;
    cl_funcall(1, *function);
}

void native_note_live(void) {
    if (native.automatic && native.made != ECL_NIL)
        guard_run(call_lisp, &native.note_live, NULL);
}

bool native_is_coarse(void) {
    const cl_env_ptr env = ecl_process_env();
    return native.automatic &&
           (ECL_SYM_VAL(env, native.noted) != ECL_NIL || ECL_SYM_VAL(env, native.live) != ECL_NIL);
}

void native_refine(void) {
    guard_run(call_lisp, &native.compile_noted, NULL);
}

void native_preloaded(int channel) {
    if (!native.loaded)
        return;
    native_begin(channel, 0);
    native.unconfined = true;
    guard_run(call_lisp, &native.compile_preloaded, NULL);
    native.unconfined = false;
    native_end();
}

/* --- what a call makes --- */

/* Is a record (NAME KIND …) in the list RECORDS? Of specials only those that are special nowhere
 * else. */
static bool has_kind(cl_object records, cl_object kind) {
    for (; ECL_CONSP(records); records = ECL_CONS_CDR(records)) {
        cl_object record = ECL_CONS_CAR(records);
        if (ECL_CONSP(record) && ECL_CONSP(ECL_CONS_CDR(record)) &&
            ECL_CONS_CAR(ECL_CONS_CDR(record)) == kind &&
            !(kind == lisp.special && (ecl_symbol_type(ECL_CONS_CAR(record)) & ecl_stp_special)))
            return true;
    }
    return false;
}

/* CLOSED: may the function be closed over anything? COMPLETE: does its environment, as it is at run
 * time, say all of what its names mean? */
static void note_definition(cl_object definition, bool closed, bool complete) {
    if (!complete)
        ecl_sethash(definition, native.lexical, ECL_NIL);
    else if (closed && ecl_gethash_safe(definition, native.lexical, ECL_T) != ECL_NIL)
        ecl_sethash(definition, native.lexical, ECL_T);
}

static void note_made(cl_object definition) {
    if (native.automatic)
        native.made = ecl_cons(definition, native.made);
}

/* Closures do not record which variables are special in one place only. A lambda block is that of a
 * name, by which it is compiled. */
static void note_lambda(cl_object expression, cl_object variables) {
    const bool named = ECL_CONS_CAR(expression) == lisp.lambda_block;
    if (!named && ECL_CONS_CAR(expression) != lisp.lambda)
        return;
    const bool closed = variables != ECL_NIL;
    cl_object definition = ECL_CONS_CDR(expression);
    if (named)
        definition = ECL_CONSP(definition) ? ECL_CONS_CDR(definition) : ECL_NIL;
    if (!ECL_CONSP(definition))
        return;
    note_definition(definition, closed, !closed || !has_kind(variables, lisp.special));
    if (!named)
        note_made(definition);
}

/* Nor do local functions record the macros around them. */
static void note_local_functions(cl_object definitions, bool closed, cl_object variables,
                                 cl_object macros) {
    const bool complete = !has_kind(variables, lisp.special) &&
                          !has_kind(variables, lisp.symbol_macro) && !has_kind(macros, lisp.macro);
    for (; ECL_CONSP(definitions); definitions = ECL_CONS_CDR(definitions)) {
        cl_object definition = ECL_CONS_CAR(definitions);
        if (ECL_CONSP(definition) && ECL_CONSP(ECL_CONS_CDR(definition))) {
            note_definition(ECL_CONS_CDR(definition), closed, complete);
            note_made(ECL_CONS_CDR(definition));
        }
    }
}

void native_note_form(cl_object head, cl_object rest, cl_object variables, cl_object macros) {
    if (!native.loaded || !ECL_CONSP(rest) || !ECL_CONSP(ECL_CONS_CAR(rest)))
        return;
    if (head == lisp.function_operator)
        note_lambda(ECL_CONS_CAR(rest), variables);
    else if (head == lisp.flet)
        note_local_functions(ECL_CONS_CAR(rest), variables != ECL_NIL, variables, macros);
    else if (head == lisp.labels)
        note_local_functions(ECL_CONS_CAR(rest), true, variables, macros);
}

void native_note_evaluation(cl_object form) {
    if (native.automatic && ECL_CONSP(form))
        native.forms = ecl_cons(form, native.forms);
}

cl_object native_live_functions(void) {
    const cl_env_ptr env = ecl_process_env();
    if (native.made == ECL_NIL)
        ecl_return1(env, ECL_NIL);
    cl_object values = cl_list(3, ECL_SYM_VAL(env, lisp.values1), ECL_SYM_VAL(env, lisp.values2),
                               ECL_SYM_VAL(env, lisp.values3));
    ecl_return1(env, reach_functions(cl_list(2, values, native.forms), native.made));
}

/* --- frames --- */

/* Sends a frame and receives the reply, which must be of type ANSWER. Its payload, of *size bytes,
 * is the caller's. */
static unsigned char *exchange(enum frame_type type, const void *payload, size_t size,
                               enum frame_type answer, size_t *answer_size) {
    struct frame_header header = {
        .type = (uint16_t)type, .call = native.call, .length = (uint32_t)size};
    int descriptors[FRAME_DESCRIPTORS_MAX];
    size_t count;
    unsigned char *reply;
    if (!frame_send(native.channel, &header, payload, NULL, 0, NULL))
        _exit(EXIT_FAILED);
    int got = frame_receive(native.channel, &header, &reply, descriptors, &count, NULL);
    if (got <= 0)
        _exit(got == 0 ? 0 : EXIT_FAILED);
    if (header.type != answer || header.call != native.call || count)
        _exit(EXIT_FAILED);
    *answer_size = header.length;
    return reply;
}

/* --- the C source --- */

/* Appends HEADER without the lines that include system headers: the preamble has what they declare.
 */
static void append_header(struct buffer *text, const char *header) {
    static const char include[] = "#include <";
    for (const char *at; (at = strstr(header, include)) != NULL;) {
        buffer_append(text, header, (size_t)(at - header));
        header = at + strcspn(at, "\n");
    }
    buffer_append(text, header, strlen(header));
    buffer_append(text, "\n", 1);
}

/* The C source of a unit. False if it is not as ECL's compiler writes it, or too long. */
static bool assemble(struct buffer *text, const char *header, const char *code) {
    static const char no_data[] = "#define compiler_data_text NULL\n";
    const char *first = strstr(code, header_line);
    const char *second = first ? strstr(first, data_line) : NULL;
    if (!second)
        return false;
    buffer_append(text, code, (size_t)(first - code));
    append_header(text, header);
    first += sizeof header_line - 1;
    buffer_append(text, first, (size_t)(second - first));
    if (!strstr(header, "#define compiler_data_text"))
        buffer_append(text, no_data, sizeof no_data - 1);
    second += sizeof data_line - 1;
    return buffer_append(text, second, strlen(second)) && !text->failed;
}

/* Appends STRING and a terminator. */
static bool append_string(struct buffer *buffer, cl_object string) {
    return ECL_STRINGP(string) && convert_string_to_utf8(buffer, string) &&
           !memchr(buffer->data ? (const char *)buffer->data : "", 0, buffer->length) &&
           buffer_append(buffer, "", 1);
}

/* --- linking --- */

#ifdef __x86_64__
/* tcc calls this for va_arg. */
struct argument_list {
    unsigned general, floating; /* offsets in `saved` */
    char *over, *saved;
};

static void *next_argument(struct argument_list *list, int kind, int size, int alignment) {
    enum { GENERAL, FLOATING, GENERAL_END = 48, SAVED_END = 176 };
    const unsigned bytes = ((unsigned)size + 7) & ~7U;
    if (kind == GENERAL && list->general + bytes <= GENERAL_END) {
        list->general += bytes;
        return list->saved + list->general - bytes;
    }
    if (kind == FLOATING && list->floating < SAVED_END) {
        list->floating += 16;
        return list->saved + list->floating - 16;
    }
    const uintptr_t mask = (((uintptr_t)alignment + 7) & ~(uintptr_t)7) - 1;
    char *found = (char *)(((uintptr_t)list->over + mask) & ~mask);
    list->over = found + (kind == FLOATING ? 8 : bytes);
    return found;
}
#endif

static uint64_t resolve(const char *name) {
#ifdef __x86_64__
    if (strcmp(name, "__va_arg") == 0)
        return (uint64_t)(uintptr_t)next_argument;
#endif
    if (strcmp(name, "eclave_environment") == 0) /* compiler/fast.h */
        return (uint64_t)(uintptr_t)ecl_process_env();
    if (strcmp(name, "_setjmp") == 0)
        return (uint64_t)(uintptr_t)_setjmp;
    return (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, name);
}

/* Has the pages of code at UNIT sealed, and maps them over themselves. The zygote, which runs
 * nothing but what the operator has named, protects them itself. */
static bool seal(unsigned char *unit, size_t size) {
    size_t answer;
    if (native.unconfined) {
        __builtin___clear_cache((char *)unit, (char *)unit + size);
        return mprotect(unit, size, PROT_READ | PROT_EXEC) == 0;
    }
    free(exchange(FRAME_CODE, unit, size, FRAME_SEALED, &answer));
    if (!answer)
        return false;
    void *at = mmap(unit, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, UNIT_CODE_FD, 0);
    close(UNIT_CODE_FD);
    return at != MAP_FAILED;
}

/* Notes the code of the unit that was made of OBJECT. */
static bool note_code(const unsigned char *object, size_t size, const struct link_layout *layout,
                      uintptr_t at) {
    const size_t count = link_functions(object, size, MACHINE, layout->page_bytes, NULL, 0);
    uint32_t *starts = calloc(count + 1, sizeof *starts);
    struct code *codes = realloc(native.codes, (native.code_count + 1) * sizeof *codes);
    if (codes)
        native.codes = codes;
    if (!starts || !codes || !native_frames_describe((const void *)at, layout->code_bytes)) {
        free(starts);
        return false;
    }
    link_functions(object, size, MACHINE, layout->page_bytes, starts, count);
    native.codes[native.code_count++] = (struct code){
        .start = at, .end = at + layout->code_bytes, .starts = starts, .start_count = count};
    return true;
}

/* Returns the function that defines the unit; NULL if OBJECT cannot be linked or sealed. */
static void (*place_unit(const unsigned char *object, size_t size))(cl_object) {
    struct link_layout layout;
    uint64_t entry;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (!link_measure(object, size, MACHINE, page, &layout) || layout.code_bytes > UNIT_CODE_MAX)
        return NULL;
    unsigned char *unit =
        mmap(NULL, layout.total_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (unit == MAP_FAILED)
        return NULL;
    const uintptr_t at = (uintptr_t)unit;
    if (!link_unit(object, size, MACHINE, &layout, resolve, at, unit, entry_name, &entry) ||
        !seal(unit, layout.code_bytes)) {
        munmap(unit, layout.total_bytes);
        return NULL;
    }
    return note_code(object, size, &layout, at) ? (void (*)(cl_object))(uintptr_t)entry : NULL;
}

/* --- functions --- */

bool native_is_used(void) {
    return native.code_count > 0;
}

static const struct code *code_at(uintptr_t address) {
    for (size_t i = 0; i < native.code_count; i++)
        if (address >= native.codes[i].start && address < native.codes[i].end)
            return &native.codes[i];
    return NULL;
}

bool native_has(const void *code) {
    return code_at((uintptr_t)code) != NULL;
}

/* Where the code of FUNCTION begins; 0: it is not compiled. */
static uintptr_t start_of(cl_object function) {
    if (ECL_IMMEDIATE(function))
        return 0;
    return function->d.t == t_cfunfixed ? (uintptr_t)function->cfunfixed.entry_fixed
           : function->d.t == t_cfun    ? (uintptr_t)function->cfun.entry
                                        : 0;
}

cl_object native_note(cl_object function, cl_object name) {
    if (code_at(start_of(function))) {
        native.functions = ecl_cons(function, native.functions);
        cl_object *own =
            function->d.t == t_cfunfixed ? &function->cfunfixed.name : &function->cfun.name;
        if (*own == ECL_NIL)
            *own = name;
    }
    ecl_return1(ecl_process_env(), function);
}

cl_object native_function(uintptr_t address) {
    const struct code *code = code_at(address);
    uintptr_t start = 0;
    if (!code)
        return NULL;
    for (size_t i = 0; i < code->start_count; i++)
        if (code->start + code->starts[i] <= address && code->start + code->starts[i] > start)
            start = code->start + code->starts[i];
    for (cl_object rest = native.functions; rest != ECL_NIL; rest = ECL_CONS_CDR(rest))
        if (start_of(ECL_CONS_CAR(rest)) == start)
            return ECL_CONS_CAR(rest);
    return NULL;
}

/* --- units --- */

static void (*compile(cl_object header, cl_object code))(cl_object) {
    cleanup_buffer struct buffer text = buffer_make(UNIT_TEXT_MAX);
    cleanup_buffer struct buffer first = buffer_make(UNIT_TEXT_MAX);
    cleanup_buffer struct buffer second = buffer_make(UNIT_TEXT_MAX);
    size_t size;
    if (!append_string(&first, header) || !append_string(&second, code) ||
        !assemble(&text, (const char *)first.data, (const char *)second.data))
        return NULL;
    cleanup_free unsigned char *object =
        exchange(FRAME_COMPILE, text.data, text.length, FRAME_OBJECT, &size);
    return size ? place_unit(object, size) : NULL;
}

cl_object native_build(cl_object header, cl_object code, cl_object constants) {
    const cl_env_ptr env = ecl_process_env();
    void (*define)(cl_object) = native.open ? compile(header, code) : NULL;
    if (!define)
        ecl_return1(env, ECL_NIL);
    ecl_bds_bind(env, native.constants, constants);
    native.units = ecl_cons(ecl_init_module(NULL, define), native.units);
    ecl_bds_unwind1(env);
    ecl_return1(env, ECL_T);
}

/* --- guarding --- */

struct guarded {
    cl_object function, value;
};

static void call_function(void *argument) {
    struct guarded *guarded = argument;
    guarded->value = cl_funcall(1, guarded->function);
}

cl_object native_call_guarded(cl_object function) {
    struct guarded guarded = {function, ECL_NIL};
    enum guard_end end = guard_run(call_function, &guarded, NULL);
    ecl_return1(ecl_process_env(), end == GUARD_RETURNED ? guarded.value : ECL_NIL);
}
