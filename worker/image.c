/* Boots ECL in this process, and keeps its heap small for the forks. */
#include "worker/image.h"
#include "common/cleanup.h"
#include "worker/adopt.h"
#include "worker/backtrace.h"
#include "worker/compare.h"
#include "worker/documentation.h"
#include "worker/evaluate.h"
#include "worker/fault.h"
#include "worker/guard.h"
#include "worker/lisp.h"
#include "worker/native.h"
#include "worker/numbers.h"
#include "worker/streams.h"
#include "worker/undefined.h"
#include "worker/working_set.h"

#include <dirent.h>
#include <ecl/ecl.h>
#include <gc/gc.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>

/* The entry of the library that is built from lisp/. */
void eclave_lisp_init(cl_object block);

enum {
    STACK_BYTES = 64 << 20,      /* of the C stack, 100,000 frames; it takes memory when used */
    FRAME_STACK_SIZE = 16384,    /* CATCH, BLOCK, UNWIND-PROTECT, handlers; ECL's default: 2048 */
    BINDING_STACK_SIZE = 65536,  /* bound special variables; ECL's default: 8192 */
    HEAP_SAFETY_BYTES = 4 << 20, /* for the handlers of an exhausted heap */
    UNMAP_PASSES = 3,            /* collections until the collector unmaps free memory */
    SETTLE_BYTES = 16 << 20,     /* growth of the heap at which settling pays */
    SETTLE_PATIENCE_MAX = 16,    /* calls between two checks of a large heap */
    SETTLE_AT_ONCE_BYTES = 64 << 20 /* of a heap: whether the next call needs it or not */
};

/* If the hard limit allows it, ECL raises the soft limit at an overflow, by a system call that a
 * worker may not make. Therefore both are the same. */
static bool limit_stack(struct error *error) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0)
        return error_set(error, errno, "image: cannot read RLIMIT_STACK");
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > STACK_BYTES)
        limit.rlim_max = STACK_BYTES;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_STACK, &limit) == 0 ||
           error_set(error, errno, "image: cannot set RLIMIT_STACK to %ju bytes",
                     (uintmax_t)limit.rlim_max);
}

static size_t stack_bytes(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_STACK, &limit) == 0 ? (size_t)limit.rlim_cur : STACK_BYTES;
}

/* The bounds of this program's static data, from the linker. Some of it refers to Lisp objects, but
 * ECL tells the collector not to scan it. */
extern char data_start[], end[];

enum { HEADER_BITS = 32, PART_BYTES = 1 << 20, PARTS = 128, HALVES = 2 };

/* The addresses that keep_headers_from_pointing has reserved. */
static struct {
    uintptr_t start;
    bool parts[PARTS];
} reserved[HALVES];

/* ECL writes the four bytes of an object's header over the lower half of a pointer (to a symbol's
 * name or to the next free object) and leaves the upper half. The collector takes the result for a
 * pointer to an address shortly after a multiple of 4 GiB and would never free a large array there.
 * Therefore these addresses are reserved while they are free: in the 4 GiB of the heap and, since
 * the heap grows down, in the 4 GiB below. */
static void keep_headers_from_pointing(const void *heap) {
    const uintptr_t upper_half = (uintptr_t)heap >> HEADER_BITS;
    for (size_t half = 0; half < HALVES; half++) {
        reserved[half].start = (upper_half - half) << HEADER_BITS;
        for (size_t part = 0; part < PARTS; part++) {
            void *address = (void *)(reserved[half].start + part * PART_BYTES);
            /* Only a hint, since a worker, which may make no other call, also gets here. */
            void *got = mmap(address, PART_BYTES, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            reserved[half].parts[part] = got == address;
            if (got != address && got != MAP_FAILED)
                munmap(got, PART_BYTES);
        }
    }
}

/* Gives up what is reserved, which counts as address space. */
static void release_headers(void) {
    for (size_t half = 0; half < HALVES; half++)
        for (size_t part = 0; part < PARTS; part++)
            if (reserved[half].parts[part])
                munmap((void *)(reserved[half].start + part * PART_BYTES), PART_BYTES);
}

/* Unmapped memory counts against the collector's limit, although it may be of no use for a large
 * object. The limit grows by it, and shrinks again as the memory is reused. */
static void limit_heap(void) {
    GC_set_max_heap_size(cl_core.max_heap_size + GC_get_unmapped_bytes());
}

/* When the heap is exhausted, ECL collects, raises its limit by the safety area and signals a
 * condition. The collector adds its outgrown mark stacks to the heap, so that the raised limit may
 * still be below the size: the condition could not be made, which would signal another one, and so
 * on. */
static void on_collection(GC_EventType event) {
    if (event != GC_EVENT_END || !cl_core.max_heap_size)
        return;
    if (cl_core.max_heap_size < GC_get_heap_size())
        cl_core.max_heap_size = GC_get_heap_size();
    limit_heap();
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
    keep_headers_from_pointing(ecl_process_env());
    GC_set_on_collection_event(on_collection);
    adopt_hide_from_collector();
    working_set_hide_from_collector();
    GC_add_roots(data_start, end);
}

static void load_runtime(void *argument) {
    (void)argument;
    ecl_init_module(NULL, eclave_lisp_init);
}

static void install_runtime(void *argument) {
    (void)argument;
    cl_funcall(1, lisp.function.install);
}

static bool set_up_runtime(struct error *error) {
    const cl_env_ptr env = ecl_process_env();
    lisp_define();
    guard_initialize();
    ECL_SETQ(env, lisp.debugger_hook, cl_fdefinition(lisp.stop));
    if (guard_run(load_runtime, NULL, NULL) != GUARD_RETURNED)
        return error_set(error, 0, "image: cannot load the Lisp runtime");
    ECL_SETQ(env, lisp.package, cl_core.user_package); /* after IN-PACKAGE in the runtime */
    if (!lisp_find_functions(error))
        return false;
    streams_open();
    result_initialize();
    evaluate_initialize();
    compare_initialize();
    undefined_initialize();
    documentation_open();
    if (guard_run(install_runtime, NULL, NULL) != GUARD_RETURNED)
        return error_set(error, 0, "image: cannot install the Lisp runtime");
    backtrace_learn(); /* the way from an error to the debugger leads through the runtime */
    return true;
}

/* Fills the dispatch caches, above all of printing and conditions, that nearly every session uses.
 */
static void warm_up(const struct worker_configuration *configuration) {
    static const char *const codes[] = {
        "(list 1 2.5 \"text\" #\\a 'symbol (vector 1 2))",
        "(progn (format t \"~a ~s~%\" 1 '(a b)) (warn \"~a\" 1) (values 1 2))",
        "(defun eclave-warm-up (x) (car x)) (eclave-warm-up 42)",
        "(/ 1 0)",
        "(eclave-no-function)",
        "(error \"~a\" 1)",
    };
    struct result result = {0};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        struct evaluate_message message = {
            .code = {(const unsigned char *)codes[i], strlen(codes[i])}};
        evaluate(&message, configuration->value_max_chars, &result);
    }
    static const char clean[] = "(fmakunbound 'eclave-warm-up) (unintern 'eclave-warm-up)"
                                "(unintern 'eclave-no-function) (unintern 'a) (unintern 'b)"
                                "(unintern 'symbol) (unintern 'x)";
    struct evaluate_message message = {.code = {(const unsigned char *)clean, sizeof clean - 1}};
    evaluate(&message, configuration->value_max_chars, &result);
    buffer_free(&result.arena);
    evaluate_forget();
    numbers_forget();
    streams_discard();
}

/* The number of threads of this process; 0 if unknown. */
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

/* The last settling. */
static struct {
    size_t bytes, at_boot;    /* the mapped heap then and at boot */
    unsigned since, wait;     /* calls since, and until the next one */
    unsigned calls, patience; /* calls since with a large heap, and until that is checked */
    bool due;                 /* before the next fork */
} settled;

bool image_boot(const struct worker_configuration *configuration, struct error *error) {
    if (!fault_start_clean(error) || !limit_stack(error))
        return false;
    /* Loads the time zone now: with TZ unset the C library would look for its file at each call,
     * and a worker cannot open it. */
    setenv("TZ", "/etc/localtime", 1);
    tzset();
    /* Registered before ECL's own and so run after it: exit hooks of user code may print. */
    atexit(streams_flush);
    boot_ecl(configuration);
    if (!fault_install(stack_bytes(), error) || !set_up_runtime(error))
        return false;
    if (configuration->scratch_bytes)
        ECL_SETQ(ecl_process_env(), lisp.scratch, ECL_T);
    if (configuration->native && !native_load(configuration->native > 1, error))
        return false;
    warm_up(configuration);
    return true;
}

static void prepare_systems(void *readable) {
    cl_funcall(2, lisp.function.prepare_systems, (cl_object)readable);
}

bool image_make_readable(const char *const *directories, size_t count, struct error *error) {
    cl_object list = ECL_NIL;
    while (count-- > 0) {
        char name[PATH_MAX + 1];
        const char *path = directories[count];
        snprintf(name, sizeof name, "%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/");
        list = ecl_cons(ecl_make_simple_base_string(name, -1), list);
    }
    return guard_run(prepare_systems, list, NULL) == GUARD_RETURNED ||
           error_set(error, 0, "image: cannot prepare ASDF");
}

static void settle_systems(void *argument) {
    (void)argument;
    cl_funcall(1, lisp.function.settle_systems);
}

bool image_forget_places(struct error *error) {
    return guard_run(settle_systems, NULL, NULL) == GUARD_RETURNED ||
           error_set(error, 0, "image: ASDF does not forget the places of the systems");
}

static void note_image(void *argument) {
    (void)argument;
    cl_funcall(1, lisp.function.note_image);
}

bool image_is_forkable(struct error *error) {
    if (guard_run(note_image, NULL, NULL) != GUARD_RETURNED)
        return error_set(error, 0, "image: cannot list its packages");
    size_t threads = count_threads();
    if (threads != 1)
        return error_set(error, 0, "image: cannot fork safely with %zu threads", threads);
    settled.bytes = settled.at_boot = GC_get_heap_size();
    settled.patience = settled.wait = 1;
    settled.since = UINT_MAX;
    return true;
}

/* False with errno. */
static bool move_headers(void) {
    void *probe = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (probe == MAP_FAILED)
        return false;
    munmap(probe, 1);
    release_headers(); /* the kernel gives out no memory there: it is far from the probe */
    keep_headers_from_pointing(probe); /* the kernel places new heap near it */
    return true;
}

bool image_continue(struct error *error) {
    return (move_headers() || error_set(error, errno, "image: cannot map memory")) &&
           limit_stack(error);
}

void image_adopted(void) {
    move_headers(); /* without it a large array may stay in memory for too long */
}

void image_become_worker(void) {
    ECL_SETQ(ecl_process_env(), lisp.confined, ECL_T);
    uint32_t seed = 0;
    unsigned short seeds[3] = {0};
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed ||
        getrandom(seeds, sizeof seeds, 0) != sizeof seeds)
        seed = (uint32_t)time(NULL);
    srandom(seed); /* rand and random; ECL's fallback without /dev/urandom */
    seed48(seeds); /* lrand48, drand48 and the like */
    ECL_SETQ(ecl_process_env(), lisp.random_state,
             ecl_make_random_state(ecl_make_fixnum((cl_fixnum)seed)));
}

void image_recover(const struct worker_configuration *configuration) {
    fault_reset_stacks();
    if (cl_core.max_heap_size == configuration->memory_bytes)
        return;
    for (size_t i = 0; i < UNMAP_PASSES; i++)
        GC_gcollect_and_unmap();
    cl_core.max_heap_size = configuration->memory_bytes;
    limit_heap();
}

enum { STACK_KEPT_BYTES = 128 << 10, STACK_PAGE_BYTES = 64 << 10 /* largest page size */ };

void image_unused_stack(uint64_t *low, uint64_t *high) {
    const uint64_t pages = ~(uint64_t)(STACK_PAGE_BYTES - 1);
    *high = ((uint64_t)__builtin_frame_address(0) - STACK_KEPT_BYTES) & pages;
    *low = ((uint64_t)ecl_process_env()->cs_org - stack_bytes() + STACK_KEPT_BYTES) & pages;
}

/* Whether the BYTES below ADDRESS, on the stack, are as if they had never been used. */
static bool is_unused(uint64_t address, size_t bytes) {
    const uint64_t *at = (const uint64_t *)address; // NOLINT(performance-no-int-to-ptr)
    for (size_t i = 1; i <= bytes / sizeof *at; i++)
        if (at[-(ptrdiff_t)i] != 0)
            return false;
    return true;
}

/* Unmaps the pages of the C stack below this frame, which a deep recursion may have used; then it
 * has used the uppermost of them too. */
static void unmap_stack(void) {
    uint64_t low, high;
    image_unused_stack(&low, &high);
    if (low + STACK_PAGE_BYTES < high && !is_unused(high, STACK_PAGE_BYTES))
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        madvise((void *)low, high - low, MADV_DONTNEED); /* part of it may be unmapped */
}

/* Settling pays if the heap has grown, unless each call needs what was given back after the one
 * before it. A large heap that has not may have become garbage, which only a collection can
 * determine. Both are tried again after 1, 2, 4, 8 and then every 16 calls. */
bool image_is_to_settle(void) {
    const size_t mapped = GC_get_heap_size();
    const bool grown = mapped > settled.bytes + settled.bytes / 4 + SETTLE_BYTES;
    const bool checked =
        mapped > settled.at_boot + SETTLE_BYTES && ++settled.calls >= settled.patience;
    if (settled.since < UINT_MAX)
        settled.since++;
    const bool moderate = mapped < settled.at_boot + SETTLE_AT_ONCE_BYTES;
    settled.due |= (grown || checked) && (settled.since >= settled.wait || !moderate);
    return settled.due;
}

static unsigned longer(unsigned calls) {
    return calls < SETTLE_PATIENCE_MAX ? 2 * calls : calls;
}

void image_settle(void) {
    unmap_stack();
    if (!settled.due)
        return;
    settled.due = false;
    /* Further collections unmap memory only if one has found enough of it free. */
    const size_t before = GC_get_heap_size();
    GC_gcollect();
    if (GC_get_free_bytes() > before / 4)
        for (size_t i = 0; i < UNMAP_PASSES; i++)
            GC_gcollect_and_unmap();
    settled.bytes = GC_get_heap_size();
    settled.wait = settled.since > 2 * settled.wait ? 1 : longer(settled.wait);
    settled.patience = settled.bytes < before - before / 8 ? 1 : longer(settled.patience);
    settled.calls = settled.since = 0;
    limit_heap();
}
