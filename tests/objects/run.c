/* run far|near OBJECT...: links the objects of unit.c and runs them; for the architecture that this
 * program is built for, so that objects for arm64 can be run by qemu. A unit that is FAR is more
 * than 4 GiB from this program, one that is NEAR is within 4 GiB, but out of reach of arm64's
 * direct calls. Says what failed. */
#include "worker/link.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __aarch64__
enum { MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_X86_64 };
#endif
enum { PAGE = 4096, OBJECT_MAX = 1 << 20 };

static const char *name;

static void check(bool good, const char *what) {
    if (good)
        return;
    fprintf(stderr, "%s: %s\n", name, what);
    exit(1);
}

static long outside_variable;

static long outside(long number) {
    return number + 1000;
}

static uint64_t resolve(const char *wanted) {
    if (strcmp(wanted, "outside") == 0)
        return (uint64_t)(uintptr_t)outside;
    if (strcmp(wanted, "outside_variable") == 0)
        return (uint64_t)(uintptr_t)&outside_variable;
    return 0;
}

/* SIZE bytes of zeros, at a distance of this program that is FAR or near. */
static unsigned char *make_room(size_t size, bool far) {
    const uintptr_t own = (uintptr_t)&outside_variable & ~(uintptr_t)(PAGE - 1);
    unsigned char *room =
        mmap((void *)(own + ((uintptr_t)1 << (far ? 33 : 29))), size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    check(room != MAP_FAILED, "no memory at this distance");
    return room;
}

static void link_and_run(bool far) {
    static unsigned char object[OBJECT_MAX];
    FILE *file = fopen(name, "rb");
    check(file, "cannot be read");
    const size_t size = fread(object, 1, sizeof object, file);
    fclose(file);
    struct link_layout layout;
    uint64_t entry;
    check(link_measure(object, size, MACHINE, PAGE, &layout), "is malformed");
    check(layout.code_bytes > 0 && layout.code_bytes % PAGE == 0, "the code has no whole pages");
    check(layout.total_bytes > layout.code_bytes && layout.total_bytes % PAGE == 0,
          "the data have no whole pages");
    unsigned char *unit = make_room(layout.total_bytes, far);
    check(link_unit(object, size, MACHINE, &layout, resolve, (uint64_t)(uintptr_t)unit, unit,
                    "entry", &entry),
          "does not link");
    __builtin___clear_cache((char *)unit, (char *)unit + layout.code_bytes);
    check(mprotect(unit, layout.code_bytes, PROT_READ | PROT_EXEC) == 0, "cannot be executed");
    long (*run)(long) = (long (*)(long))(uintptr_t)entry;
    outside_variable = 0;
    /* 1003 + 1006 + 6 + 4 + 'o' + 'r' + 7 + 700 + 70000; then the counters have changed. */
    check(run(3) == 1003 + 1006 + 6 + 4 + 'o' + 'r' + 70707, "the first value is wrong");
    check(run(4) == 1004 + 1008 + 7 + 8 + 'o' + 'e' + 70707, "the second value is wrong");
    check(outside_variable == 200, "the variable of this program is wrong");
    munmap(unit, layout.total_bytes);
}

int main(int count, char **arguments) {
    const bool far = count > 1 && strcmp(arguments[1], "far") == 0;
    name = "run";
    check(count > 2 && (far || strcmp(arguments[1], "near") == 0), "usage: run far|near OBJECT...");
    for (int i = 2; i < count; i++) {
        name = arguments[i];
        link_and_run(far);
    }
    return 0;
}
