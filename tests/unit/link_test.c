/* The linker of native code: of objects for arm64 the instructions are decoded; damaged objects are
 * refused or linked, and nothing outside of the given memory is touched. objects/run.c runs what
 * was linked. */
#include "tests/support/random.h"
#include "worker/link.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, OBJECT_MAX = 1 << 20 };

#ifdef __x86_64__ /* where there are objects of both */

struct object {
    unsigned char *bytes;
    size_t size;
};

static struct object read_object(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", ECLAVE_TEST_OBJECTS, name);
    struct object object = {.bytes = malloc(OBJECT_MAX)};
    FILE *file = fopen(path, "rb");
    cr_assert(file && object.bytes, "no object %s", path);
    object.size = fread(object.bytes, 1, OBJECT_MAX, file);
    fclose(file);
    cr_assert(object.size > 0);
    return object;
}

long outside_variable;

static long outside(long number) {
    return number + 1000;
}

static uint64_t resolve(const char *name) {
    if (strcmp(name, "outside") == 0)
        return (uint64_t)(uintptr_t)outside;
    if (strcmp(name, "outside_variable") == 0)
        return (uint64_t)(uintptr_t)&outside_variable;
    return 0;
}

static uint64_t resolve_nothing(const char *name) {
    (void)name;
    return 0;
}

/* --- the functions of a unit --- */

static void count_functions(const char *name) {
    struct object object = read_object(name);
    struct link_layout layout;
    uint32_t starts[2] = {0, 0};
    cr_assert(link_measure(object.bytes, object.size, EM_X86_64, PAGE, &layout));
    const size_t count = link_functions(object.bytes, object.size, EM_X86_64, PAGE, starts, 2);
    cr_assert_eq(count, 2, "%s: %zu functions", name, count);
    cr_assert(starts[0] != starts[1] && starts[0] < layout.code_bytes &&
              starts[1] < layout.code_bytes);
    cr_assert_eq(link_functions(object.bytes, object.size, EM_X86_64, PAGE, NULL, 0), count);
    cr_assert_eq(link_functions(object.bytes, object.size, EM_AARCH64, PAGE, NULL, 0), 0);
    free(object.bytes);
}

Test(link, functions_are_found) {
    count_functions("x86_pic.o");
    count_functions("x86_no_plt.o");
}

/* --- arm64: link and decode --- */

/* One instruction of the linked code, which the test decodes as the architecture's manual says. */
struct decoded {
    uint64_t place;
    uint32_t instruction;
};

static int64_t sign_extend(uint64_t value, unsigned bits) {
    const uint64_t sign = UINT64_C(1) << (bits - 1);
    return (int64_t)((value ^ sign) - sign);
}

static uint64_t adrp_target(struct decoded decoded) {
    const uint64_t low = decoded.instruction >> 29 & 3, high = decoded.instruction >> 5 & 0x7ffff;
    return (decoded.place & ~UINT64_C(0xfff)) + (uint64_t)(sign_extend(high << 2 | low, 21) * 4096);
}

static uint64_t branch_target(struct decoded decoded) {
    return decoded.place + (uint64_t)(sign_extend(decoded.instruction & 0x3ffffff, 26) * 4);
}

static uint64_t low_bits(struct decoded decoded, unsigned shift) {
    return (uint64_t)(decoded.instruction >> 10 & 0xfff) << shift;
}

/* A reader of the object that shares nothing with the linker. */
struct reader {
    const unsigned char *bytes;
    const Elf64_Ehdr *header;
    const Elf64_Shdr *sections;
    const Elf64_Sym *symbols;
    const char *names;
};

static struct reader open_reader(const struct object *object) {
    struct reader reader = {.bytes = object->bytes};
    reader.header = (const void *)object->bytes;
    reader.sections = (const void *)(object->bytes + reader.header->e_shoff);
    for (size_t i = 0; i < reader.header->e_shnum; i++)
        if (reader.sections[i].sh_type == SHT_SYMTAB) {
            reader.symbols = (const void *)(object->bytes + reader.sections[i].sh_offset);
            reader.names =
                (const char *)object->bytes + reader.sections[reader.sections[i].sh_link].sh_offset;
        }
    return reader;
}

struct linked {
    struct reader reader;
    const unsigned char *memory;
    uint64_t address;
    const struct link_layout *layout;
    uint64_t text; /* where the section of the entry is */
    size_t checked;
};

/* The address of a symbol is in the table of the unit, which the resolver's answers and the entry
 * check. */
static uint64_t address_of(const struct linked *linked, size_t symbol) {
    uint64_t value;
    memcpy(&value, linked->memory + linked->layout->table + symbol * sizeof value, sizeof value);
    return value;
}

/* Where a jump to the symbol is, if the code at PLACE goes there; else its address. */
static uint64_t reached(const struct linked *linked, size_t symbol, uint64_t target) {
    const uint64_t jump = linked->address + linked->layout->jumps + 16 * symbol;
    if (target != jump)
        return target;
    uint32_t code[2];
    uint64_t value;
    memcpy(code, linked->memory + (jump - linked->address), sizeof code);
    memcpy(&value, linked->memory + (jump - linked->address) + 8, sizeof value);
    cr_assert_eq(code[0], 0x58000050, "ldr x16, .+8");
    cr_assert_eq(code[1], 0xd61f0200, "br x16");
    return value;
}

static void check_relocation(struct linked *linked, const Elf64_Rela *relocation) {
    const size_t symbol = ELF64_R_SYM(relocation->r_info);
    const uint64_t wanted = address_of(linked, symbol) + (uint64_t)relocation->r_addend;
    const uint64_t entry = linked->address + linked->layout->table + 8 * symbol;
    struct decoded decoded = {.place = linked->text + relocation->r_offset};
    memcpy(&decoded.instruction, linked->memory + (decoded.place - linked->address), 4);
    linked->checked++;
    switch (ELF64_R_TYPE(relocation->r_info)) {
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
        cr_assert_eq(reached(linked, symbol, branch_target(decoded)), wanted);
        break;
    case R_AARCH64_ADR_PREL_PG_HI21:
        cr_assert_eq(adrp_target(decoded), wanted & ~UINT64_C(0xfff));
        break;
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC:
        cr_assert_eq(low_bits(decoded, 0), wanted & 0xfff);
        break;
    case R_AARCH64_LDST16_ABS_LO12_NC:
        cr_assert_eq(low_bits(decoded, 1), wanted & 0xfff);
        break;
    case R_AARCH64_LDST32_ABS_LO12_NC:
        cr_assert_eq(low_bits(decoded, 2), wanted & 0xfff);
        break;
    case R_AARCH64_LDST64_ABS_LO12_NC:
        cr_assert_eq(low_bits(decoded, 3), wanted & 0xfff);
        break;
    case R_AARCH64_LDST128_ABS_LO12_NC:
        cr_assert_eq(low_bits(decoded, 4), wanted & 0xfff);
        break;
    case R_AARCH64_ADR_GOT_PAGE:
        cr_assert_eq(adrp_target(decoded), entry & ~UINT64_C(0xfff));
        break;
    case R_AARCH64_LD64_GOT_LO12_NC:
        cr_assert_eq(low_bits(decoded, 3), entry & 0xfff);
        break;
    default:
        cr_assert(false, "a relocation that the test does not know: %u",
                  (unsigned)ELF64_R_TYPE(relocation->r_info));
    }
}

static void check_text(struct linked *linked, uint64_t entry) {
    const struct reader *reader = &linked->reader;
    const Elf64_Sym *symbol = reader->symbols;
    while (strcmp(reader->names + symbol->st_name, "entry") != 0)
        symbol++;
    linked->text = entry - symbol->st_value;
    for (size_t i = 0; i < reader->header->e_shnum; i++) {
        const Elf64_Shdr *section = &reader->sections[i];
        if (section->sh_type != SHT_RELA || section->sh_info != symbol->st_shndx)
            continue;
        const Elf64_Rela *relocations = (const void *)(reader->bytes + section->sh_offset);
        for (size_t j = 0; j < section->sh_size / sizeof *relocations; j++)
            check_relocation(linked, &relocations[j]);
    }
}

static uint64_t resolve_far(const char *name) {
    return strcmp(name, "outside") == 0            ? UINT64_C(0x7fff12345678)
           : strcmp(name, "outside_variable") == 0 ? UINT64_C(0x7fff20000010)
                                                   : 0;
}

static uint64_t resolve_near(const char *name) {
    return strcmp(name, "outside") == 0            ? UINT64_C(0x400100)
           : strcmp(name, "outside_variable") == 0 ? UINT64_C(0x400200)
                                                   : 0;
}

/* Links for ADDRESS and checks each relocation of the code. */
static void link_for_arm(const char *name, uint64_t address, link_resolver *from) {
    struct object object = read_object(name);
    struct link_layout layout;
    uint64_t entry;
    cr_assert(link_measure(object.bytes, object.size, EM_AARCH64, PAGE, &layout));
    unsigned char *memory = calloc(1, layout.total_bytes);
    cr_assert(link_unit(object.bytes, object.size, EM_AARCH64, &layout, from, address, memory,
                        "entry", &entry),
              "%s does not link", name);
    cr_assert(entry >= address && entry < address + layout.code_bytes);
    struct linked linked = {
        .reader = open_reader(&object), .memory = memory, .address = address, .layout = &layout};
    check_text(&linked, entry);
    cr_assert(linked.checked > 10, "%s: %zu relocations", name, linked.checked);
    free(memory);
    free(object.bytes);
}

Test(link, arm64_instructions_reach_what_they_should) {
    link_for_arm("arm64_pic.o", UINT64_C(0xffff80000000), resolve_far);
    link_for_arm("arm64_pic.o", UINT64_C(0x500000), resolve_near);
    link_for_arm("arm64_plain.o", UINT64_C(0x500000), resolve_near);
}

/* Without a table of addresses a variable must be within 4 GiB. */
Test(link, what_is_out_of_reach_is_refused) {
    struct object object = read_object("arm64_plain.o");
    struct link_layout layout;
    uint64_t entry;
    cr_assert(link_measure(object.bytes, object.size, EM_AARCH64, PAGE, &layout));
    unsigned char *memory = calloc(1, layout.total_bytes);
    cr_assert_not(link_unit(object.bytes, object.size, EM_AARCH64, &layout, resolve_far, 0x500000,
                            memory, "entry", &entry));
    free(memory);
    free(object.bytes);
}

Test(link, an_object_of_another_machine_is_refused) {
    struct object object = read_object("arm64_pic.o");
    struct link_layout layout;
    cr_assert_not(link_measure(object.bytes, object.size, EM_X86_64, PAGE, &layout));
    free(object.bytes);
}

Test(link, a_missing_entry_and_an_unknown_name_are_refused) {
    struct object object = read_object("x86_pic.o");
    struct link_layout layout;
    uint64_t entry;
    cr_assert(link_measure(object.bytes, object.size, EM_X86_64, PAGE, &layout));
    unsigned char *memory = calloc(1, layout.total_bytes);
    cr_assert_not(link_unit(object.bytes, object.size, EM_X86_64, &layout, resolve,
                            (uint64_t)(uintptr_t)memory, memory, "exit_point", &entry));
    cr_assert_not(link_unit(object.bytes, object.size, EM_X86_64, &layout, resolve_nothing,
                            (uint64_t)(uintptr_t)memory, memory, "entry", &entry));
    free(memory);
    free(object.bytes);
}

/* --- damage --- */

static struct random drawn;

static size_t draw(size_t below) {
    return random_below(&drawn, below);
}

/* The object and the unit end where an inaccessible page begins, so that a byte too many faults. */
static unsigned char *map_before_fence(size_t size, unsigned char **start, size_t *mapped) {
    *mapped = (size + 2 * (size_t)PAGE - 1) & ~((size_t)PAGE - 1);
    *start = mmap(NULL, *mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(*start != MAP_FAILED);
    mprotect(*start + *mapped - PAGE, PAGE, PROT_NONE);
    return *start + *mapped - PAGE - size;
}

static void damage(unsigned char *bytes, size_t size) {
    for (size_t changes = 1 + draw(4); changes > 0; changes--) {
        /* Mostly the headers, where the sizes are. */
        size_t at = draw(2) ? draw(size < 64 ? size : 64) : draw(size);
        bytes[at] = (unsigned char)(draw(2) ? draw(256) : (size_t)1 << draw(8));
    }
}

static void try_damaged(const struct object *object, unsigned machine) {
    unsigned char *start, *memory_start;
    size_t mapped, memory_mapped;
    const size_t size = draw(8) ? object->size : draw(object->size);
    unsigned char *bytes = map_before_fence(size, &start, &mapped);
    memcpy(bytes, object->bytes, size);
    if (size)
        damage(bytes, size);
    struct link_layout layout;
    uint64_t entry;
    if (link_measure(bytes, size, machine, PAGE, &layout)) {
        unsigned char *memory = map_before_fence(layout.total_bytes, &memory_start, &memory_mapped);
        link_unit(bytes, size, machine, &layout, resolve_near, 0x500000, memory, "entry", &entry);
        munmap(memory_start, memory_mapped);
    }
    munmap(start, mapped);
}

Test(link, damaged_objects_do_no_harm) {
    drawn = random_for("link");
    struct object x86 = read_object("x86_pic.o"), arm = read_object("arm64_pic.o");
    const size_t trials = random_trials(5000, 1000000);
    for (size_t i = 0; i < trials; i++) {
        try_damaged(&x86, EM_X86_64);
        try_damaged(&arm, EM_AARCH64);
    }
    free(x86.bytes);
    free(arm.bytes);
}

#endif
