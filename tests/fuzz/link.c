/* Fuzz target: the linker of native code (worker/link.c). The first byte chooses the machine, the
 * rest is the object. The linker reads the object and writes the unit, and nothing outside of them;
 * what it accepts has its entry among the code. */
#include "worker/link.h"
#include "tests/fuzz/fuzz.h"

#include <elf.h>
#include <string.h>

enum { PAGE = 4096 };

/* Near the unit, far from it, or unknown. */
static uint64_t resolve(const char *name) {
    static const uint64_t addresses[] = {0, UINT64_C(0x500000), UINT64_C(0x7fff00000000),
                                         UINT64_C(0x500008)};
    return addresses[strlen(name) % 4];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint64_t at = UINT64_C(0x400000);
    struct link_layout layout;
    uint64_t entry = 0;
    if (size == 0)
        return 0;
    const unsigned machine = data[0] & 1 ? EM_AARCH64 : EM_X86_64;
    /* Of the size of the object and of the unit, so that a step beyond their ends shows. */
    unsigned char *object = malloc(size);
    FUZZ_CHECK(object, "no memory");
    memcpy(object, data + 1, size - 1);
    if (link_measure(object, size - 1, machine, PAGE, &layout)) {
        FUZZ_CHECK(layout.code_bytes % PAGE == 0 && layout.total_bytes % PAGE == 0 &&
                       layout.code_bytes <= layout.total_bytes,
                   "%zu of %zu bytes", layout.code_bytes, layout.total_bytes);
        unsigned char *unit = calloc(1, layout.total_bytes + !layout.total_bytes);
        FUZZ_CHECK(unit, "no memory for %zu bytes", layout.total_bytes);
        if (link_unit(object, size - 1, machine, &layout, resolve, at, unit, "entry", &entry))
            FUZZ_CHECK(entry >= at && entry < at + layout.code_bytes, "an entry at %#jx",
                       (uintmax_t)entry);
        uint32_t starts[4];
        link_functions(object, size - 1, machine, PAGE, starts, 4);
        free(unit);
    }
    free(object);
    return 0;
}
