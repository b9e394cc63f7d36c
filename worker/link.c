/* The linker. A unit is: the sections that are executed or only read; a jump for each symbol, for
 * functions that are out of reach of a direct call; then, from a page of its own, the sections that
 * are written, a table of the addresses of all symbols, and common variables. */
#include "worker/link.h"

#include <elf.h>
#include <string.h>

enum { JUMP_BYTES = 16, SECTIONS_MAX = 256, SYMBOLS_MAX = 1 << 16, UNIT_MAX = 16 << 20 };

struct link {
    const unsigned char *object;
    size_t size;
    unsigned machine;
    Elf64_Ehdr header;
    size_t symbols_at, symbol_count; /* offset of the symbol table, entries */
    size_t names_at, names_size;     /* of its string table */
    size_t places[SECTIONS_MAX];     /* of loaded sections in the unit */
    struct link_layout layout;
    uint64_t address;
    unsigned char *memory;
    link_resolver *resolve;
};

static bool is_within(const struct link *link, uint64_t offset, uint64_t length) {
    return offset <= link->size && length <= link->size - offset;
}

static bool read_section(const struct link *link, size_t index, Elf64_Shdr *section) {
    if (index >= link->header.e_shnum)
        return false;
    memcpy(section, link->object + link->header.e_shoff + index * sizeof *section, sizeof *section);
    return section->sh_type == SHT_NOBITS || is_within(link, section->sh_offset, section->sh_size);
}

static Elf64_Sym symbol_at(const struct link *link, size_t index) {
    Elf64_Sym symbol;
    memcpy(&symbol, link->object + link->symbols_at + index * sizeof symbol, sizeof symbol);
    return symbol;
}

/* NULL if it is not within the string table, terminated. */
static const char *name_of(const struct link *link, const Elf64_Sym *symbol) {
    const char *names = (const char *)link->object + link->names_at;
    if (symbol->st_name >= link->names_size ||
        !memchr(names + symbol->st_name, 0, link->names_size - symbol->st_name))
        return NULL;
    return names + symbol->st_name;
}

static bool find_symbols(struct link *link) {
    Elf64_Shdr section, names;
    for (size_t i = 0; i < link->header.e_shnum; i++) {
        if (!read_section(link, i, &section))
            return false;
        if (section.sh_type != SHT_SYMTAB)
            continue;
        if (link->symbols_at || section.sh_entsize != sizeof(Elf64_Sym) ||
            !read_section(link, section.sh_link, &names) || names.sh_type != SHT_STRTAB)
            return false;
        link->symbols_at = section.sh_offset;
        link->symbol_count = section.sh_size / sizeof(Elf64_Sym);
        link->names_at = names.sh_offset;
        link->names_size = names.sh_size;
    }
    return link->symbols_at && link->symbol_count <= SYMBOLS_MAX;
}

static bool open_object(struct link *link, const unsigned char *object, size_t size,
                        unsigned machine) {
    *link = (struct link){.object = object, .size = size, .machine = machine};
    if (size < sizeof link->header)
        return false;
    memcpy(&link->header, object, sizeof link->header);
    const Elf64_Ehdr *header = &link->header;
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
           header->e_type == ET_REL && header->e_machine == machine &&
           header->e_shentsize == sizeof(Elf64_Shdr) && header->e_shnum <= SECTIONS_MAX &&
           is_within(link, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)) &&
           find_symbols(link);
}

/* --- layout --- */

/* Rounds *at up to ALIGNMENT, 0 or a power of two, and returns it, advancing *at by LENGTH. False
 * if the unit becomes too large. */
static bool place(size_t *at, uint64_t alignment, uint64_t length, size_t *placed) {
    if (alignment == 0)
        alignment = 1;
    if (alignment & (alignment - 1) || alignment > 4096 || length > UNIT_MAX)
        return false;
    *placed = (*at + (size_t)alignment - 1) & ~((size_t)alignment - 1);
    *at = *placed + (size_t)length;
    return *at <= UNIT_MAX;
}

static bool place_sections(struct link *link, bool written, size_t *at) {
    Elf64_Shdr section;
    for (size_t i = 0; i < link->header.e_shnum; i++) {
        if (!read_section(link, i, &section))
            return false;
        if (section.sh_flags & SHF_ALLOC && !(section.sh_flags & SHF_WRITE) == !written &&
            !place(at, section.sh_addralign, section.sh_size, &link->places[i]))
            return false;
    }
    return true;
}

static bool place_common(const struct link *link, size_t *at) {
    size_t placed;
    for (size_t i = 1; i < link->symbol_count; i++) {
        const Elf64_Sym symbol = symbol_at(link, i);
        if (symbol.st_shndx == SHN_COMMON && !place(at, symbol.st_value, symbol.st_size, &placed))
            return false;
    }
    return true;
}

static bool lay_out(struct link *link, size_t page_bytes) {
    size_t at = 0;
    struct link_layout *layout = &link->layout;
    if (!place_sections(link, false, &at) ||
        !place(&at, JUMP_BYTES, link->symbol_count * JUMP_BYTES, &layout->jumps))
        return false;
    layout->code_bytes = at = (at + page_bytes - 1) & ~(page_bytes - 1);
    if (!place_sections(link, true, &at) ||
        !place(&at, sizeof(uint64_t), link->symbol_count * sizeof(uint64_t), &layout->table))
        return false;
    layout->common = at;
    if (!place_common(link, &at))
        return false;
    layout->total_bytes = (at + page_bytes - 1) & ~(page_bytes - 1);
    layout->page_bytes = page_bytes;
    return layout->code_bytes > 0;
}

bool link_measure(const unsigned char *object, size_t size, unsigned machine, size_t page_bytes,
                  struct link_layout *layout) {
    struct link link;
    if (!open_object(&link, object, size, machine) || !lay_out(&link, page_bytes))
        return false;
    *layout = link.layout;
    return true;
}

/* --- symbols --- */

static uint64_t table_entry(const struct link *link, size_t symbol) {
    return link->address + link->layout.table + symbol * sizeof(uint64_t);
}

static uint64_t value_of(const struct link *link, size_t symbol) {
    uint64_t value;
    memcpy(&value, link->memory + link->layout.table + symbol * sizeof value, sizeof value);
    return value;
}

static uint64_t jump_of(const struct link *link, size_t symbol) {
    return link->address + link->layout.jumps + symbol * JUMP_BYTES;
}

/* A jump to any address: the address is the second half of it. */
static void write_jump(const struct link *link, size_t symbol, uint64_t value) {
    static const unsigned char x86[8] = {0xff, 0x25, 2, 0, 0, 0, 0x0f, 0x0b}; /* jmp *2(%rip) */
    static const uint32_t arm[2] = {0x58000050, 0xd61f0200}; /* ldr x16, 8; br x16 */
    unsigned char *jump = link->memory + link->layout.jumps + symbol * JUMP_BYTES;
    memcpy(jump, link->machine == EM_X86_64 ? (const void *)x86 : arm, sizeof x86);
    memcpy(jump + sizeof x86, &value, sizeof value);
}

static bool define(struct link *link, size_t index, size_t *common, uint64_t *value) {
    const Elf64_Sym symbol = symbol_at(link, index);
    const char *name = name_of(link, &symbol);
    size_t placed;
    *value = 0;
    if (!name)
        return false;
    if (symbol.st_shndx == SHN_COMMON) {
        if (!place(common, symbol.st_value, symbol.st_size, &placed))
            return false;
        *value = link->address + placed;
    } else if (symbol.st_shndx == SHN_ABS) {
        *value = symbol.st_value;
    } else if (symbol.st_shndx != SHN_UNDEF) {
        if (symbol.st_shndx >= link->header.e_shnum)
            return false;
        *value = link->address + link->places[symbol.st_shndx] + symbol.st_value;
    } else if (strcmp(name, "_GLOBAL_OFFSET_TABLE_") == 0) {
        *value = link->address + link->layout.table;
    } else if (*name) {
        *value = link->resolve(name);
        return *value || ELF64_ST_BIND(symbol.st_info) == STB_WEAK;
    }
    return true;
}

static bool define_symbols(struct link *link, const char *entry_name, uint64_t *entry) {
    size_t common = link->layout.common;
    *entry = 0;
    for (size_t i = 1; i < link->symbol_count; i++) {
        uint64_t value;
        if (!define(link, i, &common, &value))
            return false;
        memcpy(link->memory + link->layout.table + i * sizeof value, &value, sizeof value);
        write_jump(link, i, value);
        const Elf64_Sym symbol = symbol_at(link, i);
        if (symbol.st_shndx != SHN_UNDEF && strcmp(name_of(link, &symbol), entry_name) == 0)
            *entry = value;
    }
    return *entry >= link->address && *entry - link->address < link->layout.code_bytes;
}

/* --- relocations --- */

struct relocation {
    unsigned char *at; /* in the memory of the unit */
    size_t room;       /* bytes from there to the end of the section */
    uint64_t place;    /* the address that it will have */
    size_t symbol;
    int64_t addend;
    uint64_t value; /* symbol and addend */
};

static bool put(const struct relocation *relocation, const void *bytes, size_t size) {
    if (relocation->room < size)
        return false;
    memcpy(relocation->at, bytes, size);
    return true;
}

/* A signed distance of 32 bits. */
static bool put_distance(const struct relocation *relocation, uint64_t target) {
    int64_t distance = (int64_t)(target - relocation->place);
    int32_t narrow = (int32_t)distance;
    return narrow == distance && put(relocation, &narrow, sizeof narrow);
}

static bool relocate_x86(const struct link *link, unsigned type,
                         const struct relocation *relocation) {
    const uint64_t value = relocation->value;
    const uint64_t difference = value - relocation->place;
    const int64_t signed_value = (int64_t)value;
    int32_t narrow = (int32_t)signed_value;
    switch (type) {
    case R_X86_64_NONE:
        return true;
    case R_X86_64_64:
        return put(relocation, &value, sizeof value);
    case R_X86_64_PC64:
        return put(relocation, &difference, sizeof difference);
    case R_X86_64_32S:
        return narrow == signed_value && put(relocation, &narrow, sizeof narrow);
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
        /* Only a call can go by way of a jump; a variable out of reach is reached by the table. */
        return put_distance(relocation, value) ||
               (symbol_at(link, relocation->symbol).st_shndx == SHN_UNDEF &&
                put_distance(relocation,
                             jump_of(link, relocation->symbol) + (uint64_t)relocation->addend));
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
        return put_distance(relocation,
                            table_entry(link, relocation->symbol) + (uint64_t)relocation->addend);
    default:
        return false;
    }
}

/* Replaces the bits of MASK in an instruction by those of VALUE. */
static bool put_bits(const struct relocation *relocation, uint32_t mask, uint32_t value) {
    uint32_t instruction;
    if (relocation->room < sizeof instruction)
        return false;
    memcpy(&instruction, relocation->at, sizeof instruction);
    instruction = (instruction & ~mask) | (value & mask);
    return put(relocation, &instruction, sizeof instruction);
}

/* adrp: the distance of two pages of 4096 bytes. */
static bool put_page(const struct relocation *relocation, uint64_t target) {
    const uint64_t pages_of = ~UINT64_C(0xfff);
    int64_t pages = (int64_t)((target & pages_of) - (relocation->place & pages_of)) / 4096;
    uint32_t bits = (uint32_t)pages;
    return pages >= -(1 << 20) && pages < 1 << 20 &&
           put_bits(relocation, 0x60ffffe0, (bits & 3) << 29 | (bits >> 2 & 0x7ffff) << 5);
}

/* The low twelve bits of an address, in units of 1 << SHIFT. */
static bool put_low(const struct relocation *relocation, uint64_t target, unsigned shift) {
    uint32_t low = target & 0xfff;
    return (low & ((1U << shift) - 1)) == 0 && put_bits(relocation, 0x003ffc00, low >> shift << 10);
}

/* b and bl: 26 bits of words. */
static bool put_branch(const struct relocation *relocation, uint64_t target) {
    int64_t distance = (int64_t)(target - relocation->place);
    return (distance & 3) == 0 && distance >= -(1 << 27) && distance < 1 << 27 &&
           put_bits(relocation, 0x03ffffff, (uint32_t)(distance / 4));
}

/* 16 bits of an address, for movz and movk. */
static bool put_part(const struct relocation *relocation, unsigned part) {
    return put_bits(relocation, 0x001fffe0,
                    (uint32_t)(relocation->value >> 16 * part & 0xffff) << 5);
}

static bool relocate_arm(const struct link *link, unsigned type,
                         const struct relocation *relocation) {
    const uint64_t value = relocation->value;
    const uint64_t difference = value - relocation->place;
    const uint64_t entry = table_entry(link, relocation->symbol);
    switch (type) {
    case R_AARCH64_NONE:
        return true;
    case R_AARCH64_ABS64:
        return put(relocation, &value, sizeof value);
    case R_AARCH64_PREL64:
        return put(relocation, &difference, sizeof difference);
    case R_AARCH64_PREL32:
        return put_distance(relocation, value);
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
        return put_branch(relocation, value) ||
               (symbol_at(link, relocation->symbol).st_shndx == SHN_UNDEF && !relocation->addend &&
                put_branch(relocation, jump_of(link, relocation->symbol)));
    case R_AARCH64_ADR_PREL_PG_HI21:
        return put_page(relocation, value);
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC:
        return put_low(relocation, value, 0);
    case R_AARCH64_LDST16_ABS_LO12_NC:
        return put_low(relocation, value, 1);
    case R_AARCH64_LDST32_ABS_LO12_NC:
        return put_low(relocation, value, 2);
    case R_AARCH64_LDST64_ABS_LO12_NC:
        return put_low(relocation, value, 3);
    case R_AARCH64_LDST128_ABS_LO12_NC:
        return put_low(relocation, value, 4);
    case R_AARCH64_ADR_GOT_PAGE:
        return put_page(relocation, entry + (uint64_t)relocation->addend);
    case R_AARCH64_LD64_GOT_LO12_NC:
        return put_low(relocation, entry + (uint64_t)relocation->addend, 3);
    case R_AARCH64_MOVW_UABS_G0_NC:
        return put_part(relocation, 0);
    case R_AARCH64_MOVW_UABS_G1_NC:
        return put_part(relocation, 1);
    case R_AARCH64_MOVW_UABS_G2_NC:
        return put_part(relocation, 2);
    case R_AARCH64_MOVW_UABS_G3:
        return put_part(relocation, 3);
    default:
        return false;
    }
}

static bool relocate_section(const struct link *link, const Elf64_Shdr *section) {
    Elf64_Shdr target;
    if (section->sh_entsize != sizeof(Elf64_Rela) || !read_section(link, section->sh_info, &target))
        return false;
    if (!(target.sh_flags & SHF_ALLOC))
        return true;
    for (size_t i = 0; i < section->sh_size / sizeof(Elf64_Rela); i++) {
        Elf64_Rela entry;
        memcpy(&entry, link->object + section->sh_offset + i * sizeof entry, sizeof entry);
        const size_t symbol = ELF64_R_SYM(entry.r_info);
        const unsigned type = (unsigned)ELF64_R_TYPE(entry.r_info);
        if (symbol >= link->symbol_count || entry.r_offset > target.sh_size)
            return false;
        const size_t offset = link->places[section->sh_info] + entry.r_offset;
        const struct relocation relocation = {.at = link->memory + offset,
                                              .room = target.sh_size - entry.r_offset,
                                              .place = link->address + offset,
                                              .symbol = symbol,
                                              .addend = entry.r_addend,
                                              .value = value_of(link, symbol) +
                                                       (uint64_t)entry.r_addend};
        if (!(link->machine == EM_X86_64 ? relocate_x86(link, type, &relocation)
                                         : relocate_arm(link, type, &relocation)))
            return false;
    }
    return true;
}

static bool copy_sections(const struct link *link) {
    Elf64_Shdr section;
    for (size_t i = 0; i < link->header.e_shnum; i++) {
        if (!read_section(link, i, &section))
            return false;
        if (section.sh_flags & SHF_ALLOC && section.sh_type != SHT_NOBITS && section.sh_size)
            memcpy(link->memory + link->places[i], link->object + section.sh_offset,
                   section.sh_size);
    }
    return true;
}

bool link_unit(const unsigned char *object, size_t size, unsigned machine,
               const struct link_layout *layout, link_resolver *resolve, uint64_t address,
               unsigned char *memory, const char *entry_name, uint64_t *entry) {
    struct link link;
    Elf64_Shdr section;
    if (!open_object(&link, object, size, machine) || !lay_out(&link, layout->page_bytes) ||
        link.layout.total_bytes != layout->total_bytes)
        return false;
    link.resolve = resolve;
    link.address = address;
    link.memory = memory;
    if (!copy_sections(&link) || !define_symbols(&link, entry_name, entry))
        return false;
    for (size_t i = 0; i < link.header.e_shnum; i++)
        if (!read_section(&link, i, &section) ||
            (section.sh_type == SHT_RELA && !relocate_section(&link, &section)))
            return false;
    return true;
}

size_t link_functions(const unsigned char *object, size_t size, unsigned machine, size_t page_bytes,
                      uint32_t *offsets, size_t room) {
    struct link link;
    size_t count = 0;
    if (!open_object(&link, object, size, machine) || !lay_out(&link, page_bytes))
        return 0;
    for (size_t i = 1; i < link.symbol_count; i++) {
        const Elf64_Sym symbol = symbol_at(&link, i);
        const uint64_t section = symbol.st_shndx;
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || section == SHN_UNDEF ||
            section >= link.header.e_shnum)
            continue;
        if (count < room)
            offsets[count] = (uint32_t)(link.places[section] + symbol.st_value);
        count++;
    }
    return count;
}
