/* Boots ECL inside this process. Nothing here runs foreign code; after image_boot the process has
 * one thread, no signal trap but those of fault.c, and the environment it was started with. */
#include "worker/image.h"
#include "common/cleanup.h"
#include "worker/answer.h"
#include "worker/evaluate.h"
#include "worker/exchange.h"
#include "worker/fault.h"
#include "worker/guard.h"
#include "worker/help.h"
#include "worker/interpreter.h"
#include "worker/lisp.h"
#include "worker/number.h"
#include "worker/output.h"

#include <dirent.h>
#include <ecl/ecl.h>
#include <gc/gc.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>

/* The runtime's entry, made from lisp/ when the program is built. */
void eclave_lisp_init(cl_object block);

enum {
    STACK_BYTES = 16 << 20,      /* of the C stack; ECL's own default is what the shell has set */
    FRAME_STACK_SIZE = 16384,    /* CATCH, BLOCK, UNWIND-PROTECT, handlers; ECL: 2048 */
    BINDING_STACK_SIZE = 65536,  /* bound special variables; ECL: 8192 */
    HEAP_SAFETY_BYTES = 4 << 20, /* more heap for the handlers of an exhaustion */
    UNMAP_PASSES = 3,            /* the collector gives memory back only after a few */
    SETTLE_BYTES = 16 << 20,     /* of growth since the last time, before settling pays */
    SETTLE_PATIENCE_MAX = 16     /* forks between two looks at a large heap */
};

/* ECL offers to grow the stack when the hard limit allows it, by a system call that a worker does
 * not have: so the hard limit is the limit. */
static bool limit_stack(struct error *error) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0)
        return error_set(error, errno, "the limit of the stack");
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > STACK_BYTES)
        limit.rlim_max = STACK_BYTES;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_STACK, &limit) == 0 ||
           error_set(error, errno, "limiting the stack to %ju bytes", (uintmax_t)limit.rlim_max);
}

static size_t stack_bytes(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_STACK, &limit) == 0 ? (size_t)limit.rlim_cur : STACK_BYTES;
}

/* The time zone, so that local times need no file later: with TZ unset the C library looks the file
 * up again at each call. */
static void keep_time_zone(void) {
    setenv("TZ", "/etc/localtime", 1);
    tzset();
}

/* The bounds of this program's static data, from the linker. ECL has the collector look at none of
 * it, and some of ours holds Lisp objects. */
extern char data_start[], end[];

/* ECL writes the four bytes of an object's header over an address that stood there, be it the name
 * of a symbol or the next free object, and leaves the upper half of it. The collector takes both
 * together for an address in the first bytes behind a multiple of 4 GiB, and would never free a
 * large array that lies there. So nothing is to lie there, as far as nothing does yet: near the
 * heap or, as that grows down, in the 4 GiB below. */
static void keep_headers_from_pointing(void) {
    enum { HEADER_BITS = 32, PART_BYTES = 1 << 20, PARTS = 128 };
    const uintptr_t upper_half = (uintptr_t)ecl_process_env() >> HEADER_BITS;
    for (uintptr_t half = upper_half - 1; half <= upper_half; half++)
        for (uintptr_t part = 0; part < PARTS; part++)
            (void)mmap((void *)((half << HEADER_BITS) + part * PART_BYTES), PART_BYTES, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

static void boot_ecl(const struct worker_configuration *configuration) {
    static char name[] = "eclave-worker";
    static char *arguments[] = {name, NULL};
    ecl_set_option(ECL_OPT_SIGNAL_HANDLING_THREAD, 0);
    ecl_set_option(ECL_OPT_TRAP_SIGINT, 0);
    ecl_set_option(ECL_OPT_TRAP_SIGPIPE, 0);
    ecl_set_option(ECL_OPT_C_STACK_SIZE, (cl_fixnum)stack_bytes());
    ecl_set_option(ECL_OPT_FRAME_STACK_SIZE, FRAME_STACK_SIZE);
    ecl_set_option(ECL_OPT_BIND_STACK_SIZE, BINDING_STACK_SIZE);
    ecl_set_option(ECL_OPT_HEAP_SIZE, (cl_fixnum)configuration->memory_bytes);
    ecl_set_option(ECL_OPT_HEAP_SAFETY_AREA, HEAP_SAFETY_BYTES);
    cl_boot(1, arguments);
    keep_headers_from_pointing();
    GC_add_roots(data_start, end);
}

static void load_runtime(void *argument) {
    (void)argument;
    ecl_init_module(NULL, eclave_lisp_init);
}

static cl_object reset_stacks(void) {
    fault_reset_stacks();
    return ECL_NIL;
}

static void define_functions(void) {
    ecl_def_c_function(lisp.stop, (cl_objectfn_fixed)guard_stop_hook, 2);
    ecl_def_c_function(lisp.keep_warning, (cl_objectfn_fixed)evaluate_keep_warning, 1);
    ecl_def_c_function(lisp.reset_stacks, (cl_objectfn_fixed)reset_stacks, 0);
    ecl_def_c_function(lisp.help_text, (cl_objectfn_fixed)help_text, 1);
    ecl_def_c_function(lisp.parse_double, (cl_objectfn_fixed)number_parse_double, 1);
    ecl_def_c_function(lisp.double_text, (cl_objectfn_fixed)number_double_text, 1);
    ecl_def_c_function(lisp.send_event, (cl_objectfn_fixed)exchange_send_event, 1);
    ecl_def_c_function(lisp.send_ask, (cl_objectfn_fixed)exchange_send_ask, 1);
}

static void install_runtime(void *argument) {
    (void)argument;
    cl_funcall(1, lisp.call.install);
}

static void make_package(void) {
    ecl_make_package(ecl_make_constant_base_string("ECLAVE", -1), ECL_NIL,
                     ecl_list1(cl_core.lisp_package), ECL_NIL);
}

static bool set_up_runtime(struct error *error) {
    const cl_env_ptr env = ecl_process_env();
    make_package();
    lisp_find_symbols();
    guard_initialize();
    define_functions();
    ECL_SETQ(env, lisp.debugger_hook, cl_fdefinition(lisp.stop));
    if (guard_run(load_runtime, NULL, NULL) != GUARD_RETURNED)
        return error_set(error, 0, "the Lisp runtime cannot be loaded");
    ECL_SETQ(env, lisp.package, cl_core.user_package); /* IN-PACKAGE in a module stays */
    if (!lisp_find_functions(error))
        return false;
    interpreter_learn();
    output_open();
    answer_initialize();
    evaluate_initialize();
    help_open();
    ECL_SETQ(env, lisp.standard_output, output_standard());
    ECL_SETQ(env, lisp.standard_error, output_error());
    return guard_run(install_runtime, NULL, NULL) == GUARD_RETURNED ||
           error_set(error, 0, "the Lisp runtime cannot be set up");
}

/* Evaluations of our own that touch what nearly every session touches, so that a worker finds it
 * done: dispatch caches of printing and of conditions above all. */
static void warm_up(const struct worker_configuration *configuration) {
    static const char *const codes[] = {
        "(list 1 2.5 \"text\" #\\a 'symbol (vector 1 2))",
        "(progn (format t \"~a ~s~%\" 1 '(a b)) (warn \"~a\" 1) (values 1 2))",
        "(defun eclave-warm-up (x) (car x)) (eclave-warm-up 42)",
        "(/ 1 0)",
        "(eclave-no-function)",
        "(error \"~a\" 1)",
    };
    struct answer answer = {0};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        struct evaluate_message message = {
            .code = {(const unsigned char *)codes[i], strlen(codes[i])}};
        evaluate(&message, configuration->value_max_chars, &answer);
    }
    static const char clean[] = "(fmakunbound 'eclave-warm-up) (unintern 'eclave-warm-up)"
                                "(unintern 'eclave-no-function) (unintern 'a) (unintern 'b)"
                                "(unintern 'symbol) (unintern 'x)";
    struct evaluate_message message = {.code = {(const unsigned char *)clean, sizeof clean - 1}};
    evaluate(&message, configuration->value_max_chars, &answer);
    buffer_free(&answer.arena);
    evaluate_forget();
    output_discard();
}

/* Threads of this process; 0 when that cannot be told. */
static size_t count_threads(void) {
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks)
        return 0;
    size_t count = 0;
    for (const struct dirent *entry; (entry = readdir(tasks)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

/* The last settling: what the mapped heap was then and at boot, and when to look again. */
static struct {
    size_t bytes, at_boot;
    unsigned forks, patience;
} settled;

/* Without what was given back to the kernel. */
static size_t mapped_heap(void) {
    return GC_get_heap_size();
}

bool image_boot(const struct worker_configuration *configuration, struct error *error) {
    if (!fault_start_clean(error) || !limit_stack(error))
        return false;
    keep_time_zone();
    /* Registered before ECL's own, so it runs after it: exit hooks of user code may print. */
    atexit(output_flush);
    boot_ecl(configuration);
    if (!fault_install(stack_bytes(), error) || !set_up_runtime(error))
        return false;
    warm_up(configuration);
    return true;
}

bool image_load(const struct worker_configuration *configuration, const char *path,
                struct error *error) {
    struct answer answer = {0};
    cleanup_buffer struct buffer code = buffer_make((size_t)4 * PATH_MAX);
    buffer_append_text(&code, "(progn (load \"");
    for (const char *byte = path; *byte; byte++)
        buffer_append_format(&code, *byte == '"' || *byte == '\\' ? "\\%c" : "%c", *byte);
    buffer_append_text(&code, "\") (values))");
    struct evaluate_message message = {.code = {code.data, code.length}};
    evaluate(&message, configuration->value_max_chars, &answer);
    bool good = !answer.failed;
    if (!good)
        error_set(error, 0, "preloading %.80s: %.*s", path,
                  (int)(answer.message.length < 120 ? answer.message.length : 120),
                  (const char *)answer.arena.data + answer.message.offset);
    buffer_free(&answer.arena);
    evaluate_forget();
    output_discard();
    GC_gcollect(); /* what loading left behind would be copied with each fork */
    return good;
}

bool image_is_forkable(struct error *error) {
    size_t threads = count_threads();
    if (threads != 1)
        return error_set(error, 0, "the image has %zu threads and cannot be forked safely",
                         threads);
    settled.bytes = settled.at_boot = mapped_heap();
    settled.patience = 1;
    return true;
}

void image_become_worker(void) {
    uint32_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        seed = (uint32_t)time(NULL);
    srandom(seed); /* what ECL falls back to where there is no /dev/urandom */
    ECL_SETQ(ecl_process_env(), lisp.random_state,
             ecl_make_random_state(ecl_make_fixnum((cl_fixnum)seed)));
}

/* The collector counts what it has given back against its limit, and cannot always join the pieces
 * for something large. */
static void limit_heap(uint64_t bytes) {
    GC_set_max_heap_size((GC_word)(bytes + GC_get_unmapped_bytes()));
}

void image_recover(const struct worker_configuration *configuration) {
    fault_reset_stacks();
    if (cl_core.max_heap_size == configuration->memory_bytes)
        return;
    for (size_t i = 0; i < UNMAP_PASSES; i++)
        GC_gcollect_and_unmap();
    cl_core.max_heap_size = configuration->memory_bytes;
    limit_heap(configuration->memory_bytes);
}

/* The part of the stack below this frame that some deep recursion has touched. */
static void give_back_stack(void) {
    enum { KEPT_BYTES = 128 << 10, PAGE_BYTES = 64 << 10 }; /* the largest pages there are */
    uintptr_t here = (uintptr_t)__builtin_frame_address(0) - KEPT_BYTES;
    uintptr_t bottom = (uintptr_t)ecl_process_env()->cs_org - stack_bytes() + KEPT_BYTES;
    here &= ~(uintptr_t)(PAGE_BYTES - 1);
    bottom &= ~(uintptr_t)(PAGE_BYTES - 1);
    if (bottom < here)
        madvise((void *)bottom, here - bottom, MADV_DONTNEED); /* the rest of it is not mapped */
}

/* Settling pays when the heap has grown. A large heap that has not may have been dropped since,
 * which only a collection can tell: that is tried again after 1 call, 2, 4, 8 and 16. */
static bool settling_pays(void) {
    size_t mapped = mapped_heap();
    if (mapped > settled.bytes + settled.bytes / 4 + SETTLE_BYTES)
        return true;
    return mapped > settled.at_boot + SETTLE_BYTES && ++settled.forks >= settled.patience;
}

void image_settle(void) {
    give_back_stack();
    if (!settling_pays())
        return;
    /* One collection tells whether there is anything to give back; only then the passes that do. */
    size_t before = mapped_heap();
    GC_gcollect();
    bool pays = GC_get_free_bytes() > before / 4;
    for (size_t i = 0; pays && i < UNMAP_PASSES; i++)
        GC_gcollect_and_unmap();
    settled.bytes = mapped_heap();
    settled.forks = 0;
    if (pays)
        settled.patience = 1;
    else if (settled.patience < SETTLE_PATIENCE_MAX)
        settled.patience *= 2;
    limit_heap((uint64_t)cl_core.max_heap_size);
}
