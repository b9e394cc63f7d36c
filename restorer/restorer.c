/* The restorer: becomes the zygote that an image shows. Freestanding and linked at an address that
 * nothing else is given, so that it is in nobody's way; no C library, no thread-local storage. It
 * is given the descriptors of common/image_file.h. Where the image does not fit, it executes the
 * worker program instead, which boots and writes a new one. */
#include "common/direct_call.h"
#include "common/image_file.h"

#include <asm/prctl.h>
#include <asm/unistd.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mman.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>

extern char __executable_start[], _end[]; // NOLINT: names of the linker
void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
_Noreturn void begin(uint64_t *stack);

/* The compiler may call these, and must not make of them what calls them. */
#define KEEP_LOOP __asm__ volatile("" : : : "memory")

void *memcpy(void *to, const void *from, size_t size) {
    for (size_t i = 0; i < size; i++) {
        ((char *)to)[i] = ((const char *)from)[i];
        KEEP_LOOP;
    }
    return to;
}

void *memset(void *to, int byte, size_t size) {
    for (size_t i = 0; i < size; i++) {
        ((char *)to)[i] = (char)byte;
        KEEP_LOOP;
    }
    return to;
}

static _Alignas(IMAGE_PAGE) union {
    struct image_header header;
    char bytes[IMAGE_TABLES_MAX];
} tables;
static _Alignas(uint64_t) char head[IMAGE_PAGE];
static char maps[1 << 16];
static int sources[IMAGE_FILES_MAX];
static char **environment;
static unsigned tries;
static struct image_handoff handoff;

static _Noreturn void leave(void) {
    for (;;)
        DIRECT_CALL(__NR_exit_group, 127, 0, 0, 0, 0, 0);
}

static _Noreturn void boot_instead(enum image_reason reason) {
    static char name[] = "eclave-worker", letter[2], nothing[1];
    char *arguments[] = {name, letter, NULL};
    letter[0] = (char)('A' + reason);
    DIRECT_CALL(__NR_close, IMAGE_FILE_FD, 0, 0, 0, 0, 0);
    DIRECT_CALL(__NR_close, IMAGE_RESTORER_FD, 0, 0, 0, 0, 0);
    DIRECT_CALL(__NR_execveat, IMAGE_PROGRAM_FD, nothing, arguments, environment, AT_EMPTY_PATH, 0);
    leave();
}

/* Something of this process lies where the image has to be: another layout. */
static _Noreturn void try_again(void) {
    static char name[] = "eclave-worker", letter[2], nothing[1];
    char *arguments[] = {name, letter, NULL};
    if (tries >= IMAGE_TRIES_MAX)
        boot_instead(IMAGE_ROOM);
    letter[0] = (char)('A' + tries + 1);
    DIRECT_CALL(__NR_execveat, IMAGE_RESTORER_FD, nothing, arguments, environment, AT_EMPTY_PATH,
                0);
    boot_instead(IMAGE_ROOM);
}

static uint64_t read_hex(const char **at) {
    uint64_t number = 0;
    for (;; (*at)++) {
        char digit = **at;
        if (digit >= '0' && digit <= '9')
            number = number * 16 + (uint64_t)(digit - '0');
        else if (digit >= 'a' && digit <= 'f')
            number = number * 16 + (uint64_t)(digit - 'a') + 10;
        else
            return number;
    }
}

/* Finds the mapping of this process's stack, to be unmapped. */
static void find_stack(void) {
    uint64_t here = (uint64_t)__builtin_frame_address(0);
    long fd = DIRECT_CALL(__NR_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0, 0, 0),
         got;
    size_t have = 0;
    if (fd < 0)
        return;
    while (have < sizeof maps - 1 &&
           (got = DIRECT_CALL(__NR_read, fd, maps + have, sizeof maps - 1 - have, 0, 0, 0)) > 0)
        have += (size_t)got;
    DIRECT_CALL(__NR_close, fd, 0, 0, 0, 0, 0);
    for (const char *at = maps; *at;) {
        uint64_t start = read_hex(&at);
        at++;
        uint64_t end = read_hex(&at);
        if (start <= here && here < end) {
            handoff.stack_start = start;
            handoff.stack_end = end;
        }
        while (*at && *at++ != '\n')
            ;
    }
}

static void read_tables(void) {
    struct stat status = {0};
    uint64_t have = 0;
    long got;
    if (DIRECT_CALL(__NR_fstat, IMAGE_FILE_FD, &status, 0, 0, 0, 0) < 0)
        boot_instead(IMAGE_DAMAGED);
    do {
        uint64_t want = have < sizeof tables.header ? IMAGE_PAGE : tables.header.tables_bytes;
        if (want > sizeof tables)
            boot_instead(IMAGE_DAMAGED);
        if (have >= want)
            break;
        got =
            DIRECT_CALL(__NR_pread64, IMAGE_FILE_FD, tables.bytes + have, want - have, have, 0, 0);
        have += got > 0 ? (uint64_t)got : 0;
    } while (got > 0);
    enum image_reason reason = image_file_judge(&tables, have, (uint64_t)status.st_size);
    if (reason != IMAGE_FITS)
        boot_instead(reason);
}

static void check_machine(void) {
    uint32_t processor[IMAGE_PROCESSOR_WORDS];
    struct rlimit limit = {0, 0};
    image_file_processor(processor);
    for (size_t i = 0; i < IMAGE_PROCESSOR_WORDS; i++)
        if (processor[i] != tables.header.processor[i])
            boot_instead(IMAGE_PROCESSOR);
    DIRECT_CALL(__NR_prlimit64, 0, RLIMIT_STACK, 0, &limit, 0, 0);
    if (limit.rlim_max < tables.header.stack_limit)
        boot_instead(IMAGE_LIMIT);
}

static void open_source(uint32_t index) {
    const struct image_source *source = &image_sources(&tables.header)[index];
    struct stat status = {0};
    sources[index] = source->path[0] ? (int)DIRECT_CALL(__NR_openat, AT_FDCWD, source->path,
                                                        O_RDONLY | O_CLOEXEC, 0, 0, 0)
                                     : IMAGE_PROGRAM_FD;
    memset(head, 0, sizeof head);
    if (sources[index] < 0 || DIRECT_CALL(__NR_fstat, sources[index], &status, 0, 0, 0, 0) < 0 ||
        DIRECT_CALL(__NR_pread64, sources[index], head, sizeof head, 0, 0, 0) <= 0 ||
        (uint64_t)status.st_size != source->size || status.st_ino != source->inode ||
        (uint64_t)status.st_mtim.tv_sec != source->modified_s ||
        (uint64_t)status.st_mtim.tv_nsec != source->modified_ns ||
        image_file_checksum(head, sizeof head) != source->head)
        boot_instead(IMAGE_CHANGED);
}

static void map_areas(void) {
    const struct image_area *areas = image_areas(&tables.header);
    for (uint32_t i = 0; i < tables.header.areas; i++) {
        const struct image_area *area = &areas[i];
        long kind = area->source == IMAGE_ZEROS ? MAP_ANONYMOUS : 0;
        long fd = area->source == IMAGE_ZEROS ? -1 : sources[area->source];
        long got =
            DIRECT_CALL(__NR_mmap, area->start, area->end - area->start, area->protection,
                        MAP_PRIVATE | MAP_FIXED_NOREPLACE | MAP_NORESERVE | kind, fd, area->offset);
        if (got == -EEXIST || (got >= 0 && (uint64_t)got != area->start))
            try_again();
        if (got < 0)
            boot_instead(IMAGE_REFUSED);
    }
}

static void map_runs(void) {
    const struct image_run *runs = image_runs(&tables.header);
    for (uint32_t i = 0; i < tables.header.runs; i++)
        if (DIRECT_CALL(__NR_mmap, runs[i].start, (uint64_t)runs[i].pages * IMAGE_PAGE,
                        runs[i].protection, MAP_PRIVATE | MAP_FIXED, IMAGE_FILE_FD,
                        runs[i].offset) < 0)
            boot_instead(IMAGE_REFUSED);
}

/* Continues in the image. */
static _Noreturn void enter(void) {
    const struct image_header *header = &tables.header;
    struct image_handoff *to =
        (struct image_handoff *)header->handoff; // NOLINT(performance-no-int-to-ptr)
    handoff.restorer_start = (uint64_t)__executable_start;
    handoff.restorer_end = ((uint64_t)_end + IMAGE_PAGE - 1) / IMAGE_PAGE * IMAGE_PAGE;
    *to = handoff;
    for (uint32_t i = 0; i < header->sources; i++)
        if (sources[i] != IMAGE_PROGRAM_FD)
            DIRECT_CALL(__NR_close, sources[i], 0, 0, 0, 0, 0);
    DIRECT_CALL(__NR_close, IMAGE_FILE_FD, 0, 0, 0, 0, 0);
    DIRECT_CALL(__NR_close, IMAGE_RESTORER_FD, 0, 0, 0, 0, 0);
    DIRECT_CALL(__NR_arch_prctl, ARCH_SET_FS, header->thread, 0, 0, 0, 0);
    __asm__ volatile("mov %0, %%rsp\n\txor %%ebp, %%ebp\n\tcall *%1\n\thlt"
                     :
                     : "r"(header->stack), "r"(header->entry)
                     : "memory");
    __builtin_unreachable();
}

_Noreturn void begin(uint64_t *stack) {
    int count = (int)stack[0];
    char **arguments = (char **)(stack + 1);
    environment = arguments + count + 1;
    uint64_t *auxiliary = (uint64_t *)environment;
    while (*auxiliary++)
        ;
    for (; auxiliary[0] != AT_NULL; auxiliary += 2)
        if (auxiliary[0] == AT_SYSINFO_EHDR)
            handoff.vdso = auxiliary[1];
    tries = count > 1 ? (unsigned)(arguments[1][0] - 'A') : 0;
    read_tables();
    check_machine();
    find_stack();
    for (uint32_t i = 0; i < tables.header.sources; i++)
        open_source(i);
    map_areas();
    map_runs();
    enter();
}

__asm__(".globl _start\n"
        "_start: xor %ebp, %ebp\n"
        "mov %rsp, %rdi\n"
        "and $-16, %rsp\n"
        "call begin\n"
        "hlt");
