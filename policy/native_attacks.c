/* The attacks of native_attacks.def, made as those of attacks.c. Each ends by calling bytes that it
 * should not be able to call, and fails unless they ran. */
#include "policy/native_attacks.h"
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "common/unit.h"
#include "policy/code.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = ATTACK_PAGE, WAS_SEALED = 7, WAS_WRITTEN = 42, VALUE_MAX = 99 };

/* --- code --- */

/* At AT, a function that returns VALUE. */
static void write_function(unsigned char *at, unsigned value) {
#ifdef __aarch64__
    const uint32_t code[] = {0x52800000U | value << 5, 0xd65f03c0U}; /* mov w0, #value; ret */
#else
    const unsigned char code[] = {0xb8, (unsigned char)value, 0, 0, 0, 0xc3}; /* mov eax; ret */
#endif
    memcpy(at, code, sizeof code);
    __builtin___clear_cache((char *)at, (char *)at + sizeof code);
}

/* Calls the function at AT. 0 if it returns VALUE; where memory is not executable, the process ends
 * by a fault. */
static long call(const void *at, int value) {
    int (*function)(void) = (int (*)(void))(uintptr_t)at;
    const int got = function();
    return got == value && got < VALUE_MAX ? 0 : refused();
}

bool native_attack_code(int *sealed, int *open, struct error *error) {
    enum { HIGH = 100 };
    static unsigned char pages[ATTACK_CODE_BYTES];
    write_function(pages, WAS_SEALED);
    write_function(pages + PAGE, WAS_SEALED);
    *sealed = policy_code_seal(pages, sizeof pages, error);
    if (*sealed < 0 || lseek(*sealed, 0, SEEK_SET) < 0)
        return false;
    int file = memfd_create("attack", MFD_CLOEXEC);
    *open = file < 0 ? -1 : descriptor_move_above(file, HIGH);
    return (*open >= 0 && pwrite(*open, pages, sizeof pages, 0) == (ssize_t)sizeof pages) ||
           error_set(error, errno, "attacks: cannot make a file in memory");
}

/* --- memory --- */

static void *map(void *at, size_t size, int protection, int flags, int fd, long offset) {
    const long page = syscall(SYS_mmap, at, size, (long)protection, (long)flags, (long)fd, offset);
    return page == -1 ? NULL : (void *)page; // NOLINT(performance-no-int-to-ptr)
}

static unsigned char *new_memory(size_t size) {
    return map(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Writes a function to AT, unless that is NULL, and calls it. */
static long write_and_call(unsigned char *at) {
    if (!at)
        return -1;
    write_function(at, WAS_WRITTEN);
    return call(at, WAS_WRITTEN);
}

/* The same after PROTECT has made it executable. */
static long write_and_protect(unsigned char *at, long protect(void *at, int protection)) {
    if (!at)
        return -1;
    write_function(at, WAS_WRITTEN);
    return protect(at, PROT_READ | PROT_EXEC) < 0 ? -1 : call(at, WAS_WRITTEN);
}

static long change_protection(void *at, int protection) {
    return syscall(SYS_mprotect, at, (long)PAGE, (long)protection);
}

static long change_protection_by_key(void *at, int protection) {
    return syscall(SYS_pkey_mprotect, at, (long)PAGE, (long)protection, -1L);
}

static long map_executable(const struct policy_victim *victim) {
    (void)victim;
    unsigned char *page =
        map(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return write_and_call(page);
}

static long protect(const struct policy_victim *victim) {
    (void)victim;
    return write_and_protect(new_memory(PAGE), change_protection);
}

static long protect_by_key(const struct policy_victim *victim) {
    (void)victim;
    return write_and_protect(new_memory(PAGE), change_protection_by_key);
}

static long change_personality(const struct policy_victim *victim) {
    (void)victim;
    if (syscall(SYS_personality, (long)READ_IMPLIES_EXEC) < 0)
        return -1;
    unsigned char *page = new_memory(PAGE);
    return write_and_call(page);
}

static long attach_executable(const struct policy_victim *victim) {
    (void)victim;
    const long segment =
        syscall(SYS_shmget, (long)IPC_PRIVATE, (long)PAGE, (long)(IPC_CREAT | 0700));
    if (segment < 0)
        return -1;
    const long at = syscall(SYS_shmat, segment, 0L, (long)SHM_EXEC);
    const int code = errno;
    syscall(SYS_shmctl, segment, (long)IPC_RMID, NULL);
    errno = code;
    if (at == -1)
        return -1;
    unsigned char *page = (unsigned char *)at; // NOLINT(performance-no-int-to-ptr)
    return write_and_call(page);
}

/* --- files --- */

static long map_and_call(int fd) {
    const void *code = map(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    return code ? call(code, WAS_SEALED) : -1;
}

static long map_own_file(const struct policy_victim *victim) {
    (void)victim;
    unsigned char bytes[64] = {0};
    write_function(bytes, WAS_SEALED);
    const long file = syscall(SYS_memfd_create, "attack", (long)MFD_CLOEXEC);
    if (file < 0 || syscall(SYS_write, file, bytes, sizeof bytes) < 0)
        return -1;
    return map_and_call((int)file);
}

static long map_inherited(const struct policy_victim *victim) {
    return map_and_call(victim->code);
}

/* --- sealed code --- */

/* Maps SIZE bytes of code from OFFSET, as a worker does. NULL with errno. */
static unsigned char *map_sealed(size_t size, int protection, long offset) {
    unsigned char *room = new_memory(size);
    return room ? map(room, size, protection, MAP_PRIVATE | MAP_FIXED, UNIT_CODE_FD, offset) : NULL;
}

static unsigned char *map_lawfully(void) {
    return map_sealed(ATTACK_CODE_BYTES, PROT_READ | PROT_EXEC, 0);
}

static long call_sealed(const unsigned char *code) {
    return code ? call(code, WAS_SEALED) : -1;
}

static long map_code(const struct policy_victim *victim) {
    (void)victim;
    return call_sealed(map_lawfully());
}

static long replace_descriptor(const struct policy_victim *victim) {
    if (syscall(SYS_dup3, (long)victim->code, (long)UNIT_CODE_FD, 0L) < 0)
        return -1;
    return call_sealed(map_lawfully());
}

static long map_more(const struct policy_victim *victim) {
    (void)victim;
    return call_sealed(map_sealed(ATTACK_CODE_BYTES + PAGE, PROT_READ | PROT_EXEC, 0));
}

static long map_part(const struct policy_victim *victim) {
    (void)victim;
    return call_sealed(map_sealed(PAGE, PROT_READ | PROT_EXEC, 0));
}

static long map_middle(const struct policy_victim *victim) {
    (void)victim;
    return call_sealed(map_sealed(ATTACK_CODE_BYTES, PROT_READ | PROT_EXEC, PAGE));
}

static long map_twice(const struct policy_victim *victim) {
    (void)victim;
    return map_lawfully() ? call_sealed(map_lawfully()) : -1;
}

static long map_code_writable(const struct policy_victim *victim) {
    (void)victim;
    unsigned char *code = map_sealed(ATTACK_CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, 0);
    return write_and_call(code);
}

static long write_shared(const struct policy_victim *victim) {
    (void)victim;
    const unsigned char *code = map_lawfully();
    if (!code)
        return -1;
    unsigned char *shared = map(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, UNIT_CODE_FD, 0);
    if (!shared)
        return -1;
    write_function(shared, WAS_WRITTEN);
    return call(code, WAS_WRITTEN);
}

static long write_file(const struct policy_victim *victim) {
    (void)victim;
    unsigned char bytes[64] = {0};
    write_function(bytes, WAS_WRITTEN);
    const unsigned char *code = map_lawfully();
    if (!code || syscall(SYS_write, (long)UNIT_CODE_FD, bytes, sizeof bytes) < 0)
        return -1;
    return call(code, WAS_WRITTEN);
}

static long protect_code_writable(const struct policy_victim *victim) {
    (void)victim;
    unsigned char *code = map_lawfully();
    if (!code || change_protection(code, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
        return -1;
    return write_and_call(code);
}

static long change_code(const struct policy_victim *victim) {
    (void)victim;
    unsigned char *code = map_lawfully();
    if (!code || change_protection(code, PROT_READ | PROT_WRITE) < 0)
        return -1;
    return write_and_protect(code, change_protection);
}

static long write_own_memory(const struct policy_victim *victim) {
    (void)victim;
    unsigned char bytes[64] = {0};
    write_function(bytes, WAS_WRITTEN);
    const unsigned char *code = map_lawfully();
    const long memory = code ? syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR) : -1;
    if (memory < 0 || syscall(SYS_pwrite64, memory, bytes, sizeof bytes, (long)code) < 0)
        return -1;
    return call(code, WAS_WRITTEN);
}

/* --- the table --- */

#define SEALED                              ATTACK_WITH_SEALED
#define FOREIGN                             ATTACK_WITH_FOREIGN
#define ATTACK(name, layers, code, attempt) {"native code", name, layers, 0, ANYONE, attempt, code},

static const struct policy_attack attacks[] = {
#include "policy/native_attacks.def"
};

const struct policy_attack *policy_native_attacks(size_t *count) {
    *count = sizeof attacks / sizeof *attacks;
    return attacks;
}

const struct policy_attack *policy_native_control(void) {
    static const struct policy_attack control = {
        .kind = "native code", .name = "run sealed code", .attempt = map_code, .code = SEALED};
    return &control;
}
