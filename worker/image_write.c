/* The writer of an image, and what a restored process does first. */
#include "worker/image_write.h"
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "worker/image_scan.h"

#include <fcntl.h>
#include <fenv.h>
#include <linux/prctl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/rseq.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if IMAGE_SUPPORTED

enum { SIGNALS_END = 65, RESUME_STACK_BYTES = 32 << 10, JUMP_BYTES = 12, RSEQ_BYTES = 32 };

/* As the kernel has it; the C library's functions refuse some signals. */
struct kernel_action {
    void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

/* What the kernel knows of this process and a restored one must tell its own. Page aligned, since
 * the scan takes these pages whatever is in them. */
static _Alignas(IMAGE_PAGE) struct {
    jmp_buf registers;
    fenv_t floating;
    struct image_handoff handoff;
    struct kernel_action actions[SIGNALS_END];
    stack_t alternate;
    uint64_t mask;
    int *tid_address;
    void *robust_list;
    size_t robust_size;
    struct prctl_mm_map memory;
    char name[16];
    unsigned char identity[IMAGE_IDENTITY_BYTES]; /* of the image */
    bool restored;
    /* Where the functions of the vDSO are now; the jumps in the copy of the old one read it. */
    uint64_t vdso_functions[SCAN_VDSO_FUNCTIONS];
    _Alignas(16) char stack[RESUME_STACK_BYTES];
} kept;

/* --- the restored process --- */

static _Noreturn void boot_instead(enum image_reason reason) {
    char name[] = "eclave-worker", letter[] = {(char)('A' + reason), 0};
    char marker_setting[] = "GC_MARKERS=1";
    char *arguments[] = {name, letter, NULL}, *environment[] = {marker_setting, NULL};
    syscall(SYS_execveat, IMAGE_PROGRAM_FD, "", arguments, environment, AT_EMPTY_PATH);
    for (;;)
        syscall(SYS_exit_group, 127);
}

/* The C library has the addresses of the old vDSO in many places and looks up more of them later,
 * so its functions, of which the image has a copy, jump to those of the present one. */
static void lead_to_vdso(void) {
    uint64_t functions[SCAN_VDSO_FUNCTIONS] = {0};
    if (!kept.handoff.vdso)
        boot_instead(IMAGE_CHANGED);
    scan_vdso_functions(kept.handoff.vdso, functions, NULL);
    for (size_t i = 0; i < SCAN_VDSO_FUNCTIONS; i++) {
        if (kept.vdso_functions[i] && !functions[i])
            boot_instead(IMAGE_CHANGED);
        kept.vdso_functions[i] = functions[i];
    }
}

static void unmap_restorer(void) {
    const struct image_handoff *from = &kept.handoff;
    syscall(SYS_munmap, from->restorer_start, from->restorer_end - from->restorer_start);
    if (from->stack_end)
        syscall(SYS_munmap, from->stack_start, from->stack_end - from->stack_start);
}

/* Registers this thread with the kernel, as the C library does at the start. */
static void register_thread(void) {
    int tid = (int)syscall(SYS_set_tid_address, kept.tid_address);
    if (kept.tid_address)
        *kept.tid_address = tid;
    syscall(SYS_set_robust_list, kept.robust_list, kept.robust_size);
    if (__rseq_size) {
        struct rseq *area =
            (struct rseq *)(void *)((char *)__builtin_thread_pointer() + __rseq_offset);
        memset(area, 0, RSEQ_BYTES);
        area->cpu_id = (uint32_t)RSEQ_CPU_ID_UNINITIALIZED;
        syscall(SYS_rseq, area, RSEQ_BYTES, 0, RSEQ_SIG);
    }
}

/* On the stack in KEPT. */
static _Noreturn void resume(void) {
    lead_to_vdso();
    unmap_restorer();
    kept.restored = true;
    register_thread();
    for (int i = 1; i < SIGNALS_END; i++)
        if (i != SIGKILL && i != SIGSTOP)
            syscall(SYS_rt_sigaction, i, &kept.actions[i], NULL, sizeof kept.mask);
    if (!(kept.alternate.ss_flags & SS_DISABLE))
        syscall(SYS_sigaltstack, &kept.alternate, NULL);
    /* Where the kernel refuses, the heap of the C library grows elsewhere. */
    syscall(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, &kept.memory, sizeof kept.memory, 0);
    syscall(SYS_prctl, PR_SET_NAME, kept.name, 0, 0, 0);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &kept.mask, NULL, sizeof kept.mask);
    fesetenv(&kept.floating);
    longjmp(kept.registers, 1);
}

/* --- the writer --- */

/* The places of program, heap and arguments in memory, from the file that states them in order. */
static bool keep_memory_map(struct error *error) {
    enum { BYTES = 4096, FIELDS = 53 };
    char text[BYTES];
    cleanup_fd int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    text[got > 0 ? got : 0] = 0;
    char *at = strrchr(text, ')'); /* ends the name; the state follows */
    if (!at || strlen(at) < 4)
        return error_set(error, 0, "cannot read /proc/self/stat");
    uint64_t field[FIELDS] = {0};
    at += 3;
    for (int i = 4; i < FIELDS; i++)
        field[i] = strtoull(at, &at, 10);
    kept.memory = (struct prctl_mm_map){.start_code = field[26],
                                        .end_code = field[27],
                                        .start_stack = field[28],
                                        .start_data = field[45],
                                        .end_data = field[46],
                                        .start_brk = field[47],
                                        .brk = (uint64_t)syscall(SYS_brk, 0),
                                        .arg_start = field[48],
                                        .arg_end = field[49],
                                        .env_start = field[50],
                                        .env_end = field[51],
                                        .exe_fd = UINT32_MAX};
    return true;
}

static bool keep_kernel_state(struct error *error) {
    for (int i = 1; i < SIGNALS_END; i++)
        syscall(SYS_rt_sigaction, i, NULL, &kept.actions[i], sizeof kept.mask);
    if (syscall(SYS_sigaltstack, NULL, &kept.alternate) ||
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &kept.mask, sizeof kept.mask) ||
        prctl(PR_GET_TID_ADDRESS, &kept.tid_address, 0, 0, 0) ||
        syscall(SYS_get_robust_list, 0, &kept.robust_list, &kept.robust_size) ||
        prctl(PR_GET_NAME, kept.name) || fegetenv(&kept.floating))
        return error_set(error, errno, "cannot read the state of the process");
    return keep_memory_map(error);
}

/* In the copy of the vDSO: each function jumps to the address in its word of KEPT. The page is
 * executable from the beginning; the word is data. */
static void write_jumps(struct scan *scan) {
    static const unsigned char load[] = {0x48, 0xa1}, jump[] = {0xff, 0xe0}; /* rax */
    for (size_t i = 0; i < SCAN_VDSO_FUNCTIONS; i++) {
        if (!kept.vdso_functions[i])
            continue;
        const uint64_t word = (uint64_t)&kept.vdso_functions[i];
        unsigned char *code = scan->vdso + (kept.vdso_functions[i] - scan->vdso_start);
        memcpy(code, load, sizeof load);
        memcpy(code + sizeof load, &word, sizeof word);
        memcpy(code + sizeof load + sizeof word, jump, sizeof jump);
    }
}

static bool copy_vdso(struct scan *scan, struct error *error) {
    size_t sizes[SCAN_VDSO_FUNCTIONS];
    if (!scan->vdso_start || scan->vdso_bytes > sizeof scan->vdso)
        return error_set(error, 0, "the process has no vDSO that can be copied");
    memcpy(scan->vdso, (const void *)scan->vdso_start, // NOLINT(performance-no-int-to-ptr)
           scan->vdso_bytes);
    scan_vdso_functions(scan->vdso_start, kept.vdso_functions, sizes);
    for (size_t i = 0; i < SCAN_VDSO_FUNCTIONS; i++)
        if (kept.vdso_functions[i] && sizes[i] < JUMP_BYTES)
            return error_set(error, 0, "a function of the vDSO is too small for a jump");
    write_jumps(scan);
    return true;
}

static bool fill_header(struct scan *scan, const unsigned char key[IMAGE_KEY_BYTES],
                        const struct inputs *inputs, struct error *error) {
    struct image_header *header = &scan->header;
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit))
        return error_set(error, errno, "cannot read RLIMIT_STACK");
    if (getrandom(kept.identity, sizeof kept.identity, 0) != sizeof kept.identity)
        return error_set(error, errno, "cannot make an identity");
    *header = (struct image_header){
        .magic = IMAGE_MAGIC,
        .sources = scan->source_count,
        .areas = scan->area_count,
        .runs = scan->run_count,
        .entry = (uint64_t)resume,
        .stack = (uint64_t)kept.stack + sizeof kept.stack,
        .thread = (uint64_t)__builtin_thread_pointer(),
        .handoff = (uint64_t)&kept.handoff,
        .stack_limit = limit.rlim_max,
    };
    memcpy(header->key, key, IMAGE_KEY_BYTES);
    memcpy(header->identity, kept.identity, sizeof kept.identity);
    image_file_processor(header->processor);
    header->tables_bytes = image_file_tables_bytes(header);
    header->inputs_offset = scan_place_runs(scan, header->tables_bytes);
    header->inputs_bytes = inputs->bytes;
    header->inputs_checksum = image_file_checksum(inputs->records, inputs->bytes);
    header->bytes =
        header->inputs_offset + (inputs->bytes + IMAGE_PAGE - 1) / IMAGE_PAGE * IMAGE_PAGE;
    return (header->tables_bytes && header->tables_bytes <= sizeof scan->tables) ||
           error_set(error, E2BIG, "an image of this process");
}

static bool write_tables(struct scan *scan, int fd) {
    char *to = scan->tables;
    memset(scan->tables, 0, scan->header.tables_bytes);
    memcpy(to, &scan->header, sizeof scan->header);
    to += sizeof scan->header;
    memcpy(to, scan->sources, scan->source_count * sizeof *scan->sources);
    to += scan->source_count * sizeof *scan->sources;
    memcpy(to, scan->areas, scan->area_count * sizeof *scan->areas);
    to += scan->area_count * sizeof *scan->areas;
    memcpy(to, scan->runs, scan->run_count * sizeof *scan->runs);
    scan->header.checksum = image_file_checksum(scan->tables, scan->header.tables_bytes);
    memcpy(scan->tables, &scan->header, sizeof scan->header);
    return write_all_at(fd, scan->tables, scan->header.tables_bytes, 0);
}

static bool is_zero(const char *bytes, uint64_t pages) {
    while (pages > 0 && scan_is_zero(bytes + (pages - 1) * IMAGE_PAGE))
        pages--;
    return pages == 0;
}

/* The bytes of a run, in parts of which those that are zeros are left out. */
static bool write_run(const struct scan *scan, int fd, const struct image_run *run) {
    const char *bytes = run->start == scan->vdso_start
                            ? (const char *)scan->vdso
                            : (const char *)run->start; // NOLINT(performance-no-int-to-ptr)
    for (uint64_t page = 0, pages; page < run->pages; page += pages) {
        const uint64_t offset = run->offset + page * IMAGE_PAGE;
        pages = SCAN_PART_PAGES - offset / IMAGE_PAGE % SCAN_PART_PAGES;
        if (pages > run->pages - page)
            pages = run->pages - page;
        if (!is_zero(bytes + page * IMAGE_PAGE, pages) &&
            !write_all_at(fd, bytes + page * IMAGE_PAGE, pages * IMAGE_PAGE, offset))
            return false;
    }
    return true;
}

/* A file that is in its place is whole. It is for this boot of the kernel, so that a power cut
 * makes no difference. */
static bool write_file(struct scan *scan, const struct inputs *inputs, int directory,
                       const char *name, struct error *error) {
    char temporary[IMAGE_NAME_BYTES + 24];
    snprintf(temporary, sizeof temporary, "%.*s.%ld", IMAGE_NAME_BYTES, name, syscall(SYS_getpid));
    unlinkat(directory, temporary, 0);
    cleanup_fd int fd =
        openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(error, errno, "cannot create it");
    bool good = ftruncate(fd, (off_t)scan->header.bytes) == 0 && write_tables(scan, fd);
    for (uint32_t i = 0; good && i < scan->run_count; i++)
        good = write_run(scan, fd, &scan->runs[i]);
    good = good && write_all_at(fd, inputs->records, inputs->bytes, scan->header.inputs_offset);
    if (good && renameat(directory, temporary, directory, name) == 0)
        return true;
    error_set(error, errno, "cannot write it");
    unlinkat(directory, temporary, 0);
    return false;
}

/* FRAME: below it the stack holds nothing that a restored process needs. */
__attribute__((noinline)) static bool write_process(int directory, const char *name,
                                                    const unsigned char key[IMAGE_KEY_BYTES],
                                                    const struct inputs *inputs, uintptr_t frame,
                                                    struct error *error) {
    struct scan *scan = mmap(NULL, sizeof *scan, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (scan == MAP_FAILED)
        return error_set(error, errno, "cannot map memory");
    scan->forced_start = (uint64_t)&kept;
    scan->forced_end = (uint64_t)(&kept + 1);
    scan->left_out = (uint64_t)inputs->memory;
    scan->frame = frame;
    bool good = scan_process(scan, error) && copy_vdso(scan, error) &&
                fill_header(scan, key, inputs, error) &&
                write_file(scan, inputs, directory, name, error);
    munmap(scan, sizeof *scan);
    return good;
}

enum image_moment image_write(int directory, const char *name,
                              const unsigned char key[IMAGE_KEY_BYTES], const struct inputs *inputs,
                              struct error *error) {
    if (!keep_kernel_state(error))
        return IMAGE_MOMENT_FAILED;
    if (setjmp(kept.registers))
        return IMAGE_MOMENT_RESTORED;
    return write_process(directory, name, key, inputs, (uintptr_t)__builtin_frame_address(0), error)
               ? IMAGE_MOMENT_WRITTEN
               : IMAGE_MOMENT_FAILED;
}

const unsigned char *image_identity(void) {
    return kept.restored ? kept.identity : NULL;
}

_Static_assert(sizeof kept <= IMAGE_KEPT_MAX, "what an adoption keeps");

void image_save_kept(char to[IMAGE_KEPT_MAX]) {
    memcpy(to, &kept, sizeof kept);
}

void image_restore_kept(const char from[IMAGE_KEPT_MAX]) {
    memcpy(&kept, from, sizeof kept);
}

uint64_t image_break(void) {
    return kept.memory.brk;
}

#else

enum image_moment image_write(int directory, const char *name,
                              const unsigned char key[IMAGE_KEY_BYTES], const struct inputs *inputs,
                              struct error *error) {
    (void)directory, (void)name, (void)key, (void)inputs;
    error_set(error, 0, "there are no images for this processor");
    return IMAGE_MOMENT_FAILED;
}

const unsigned char *image_identity(void) {
    return NULL;
}

#endif
