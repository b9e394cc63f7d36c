/* A process that does with its memory what a test asks of it, and what its memory is then. */
#ifndef ECLAVE_TESTS_SUPPORT_OBEDIENT_H
#define ECLAVE_TESTS_SUPPORT_OBEDIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { OBEDIENT_PAGE = 4096 };

enum obedient_work {
    OBEDIENT_CALL,  /* system call NUMBER with the arguments */
    OBEDIENT_WRITE, /* address, how many bytes, how far apart, value */
    OBEDIENT_READ,  /* address */
    OBEDIENT_STACK, /* bytes, value: uses so much of the stack, and writes the lowest byte */
    OBEDIENT_FORK   /* the fork ends at once */
};

struct obedient_order {
    uint64_t work, number;
    uint64_t arguments[6];
};

struct obedient {
    pid_t pid;
    int orders, results, memory, pagemap;
};

/* PROGRAM is tests/objects/obedient. */
struct obedient obedient_start(const char *program);
void obedient_end(struct obedient *process);

/* The result; the process sleeps when this returns. The arguments are of type uint64_t. */
int64_t obedient_do(struct obedient *process, struct obedient_order order);
int64_t obedient_call(struct obedient *process, long number, uint64_t a, uint64_t b, uint64_t c,
                      uint64_t d, uint64_t e);
void obedient_write(struct obedient *process, uint64_t address, size_t count, size_t step,
                    int value);

/* A mapping that is private and not of the kernel. */
struct obedient_mapping {
    uint64_t start, end;
    unsigned protection;
    bool file, stack;
    bool reserved; /* a large one that may not be accessed */
};

enum { OBEDIENT_MAPPINGS = 512 };

/* All, in order; their number. */
size_t obedient_mappings(const struct obedient *process,
                         struct obedient_mapping mappings[OBEDIENT_MAPPINGS]);

/* Copies the memory of MAPPING to BYTES. What is not populated stays so. */
void obedient_read(const struct obedient *process, const struct obedient_mapping *mapping,
                   unsigned char *bytes);

#endif
