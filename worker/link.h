/* Links one relocatable object at its final address: x86-64 or arm64, ELF. Knows nothing of Lisp.
 * Objects come from a process that compiled text of the session, and are checked all the same: what
 * is malformed is refused and nothing outside of the given memory is read or written. */
#ifndef ECLAVE_WORKER_LINK_H
#define ECLAVE_WORKER_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the parts of an object go. Bytes, from the start of the unit, which is on a page. */
struct link_layout {
    size_t code_bytes;  /* whole pages: what is executed and never written */
    size_t total_bytes; /* whole pages: code, then data */
    size_t jumps, table, common;
    size_t page_bytes;
};

/* The address of a function or variable outside of the object; 0: unknown. */
typedef uint64_t link_resolver(const char *name);

/* Computes the layout of OBJECT of SIZE bytes. False if it is malformed, or of another machine than
 * MACHINE (EM_X86_64 or EM_AARCH64). PAGE_BYTES is a power of two. */
bool link_measure(const unsigned char *object, size_t size, unsigned machine, size_t page_bytes,
                  struct link_layout *layout);

/* Writes the unit, linked for ADDRESS, to MEMORY of layout->total_bytes, which is zero. *ENTRY
 * becomes the address of the function ENTRY_NAME, which is within the code. OBJECT must be the one
 * that was measured. False if it is malformed, a name is unknown, or a relocation is not supported
 * or out of range. */
bool link_unit(const unsigned char *object, size_t size, unsigned machine,
               const struct link_layout *layout, link_resolver *resolve, uint64_t address,
               unsigned char *memory, const char *entry_name, uint64_t *entry);

/* Writes to OFFSETS, of room for ROOM, where in the unit the functions of OBJECT begin, which was
 * measured, in no order. Returns how many there are. */
size_t link_functions(const unsigned char *object, size_t size, unsigned machine, size_t page_bytes,
                      uint32_t *offsets, size_t room);

#endif
