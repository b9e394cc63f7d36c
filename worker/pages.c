/* While pages are put in their places, nothing is used but code, constants, and a stack and a list
 * of addresses in memory that is of no state. The bytes come from the supervisor, which has read
 * them from a process of the same session; they can do what its code can do. */
#include "worker/pages.h"
#include "common/direct_call.h"
#include "common/track.h"
#include "worker/park.h"
#include "worker/worker.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__

enum { PAGE_BYTES = 4096, STACK_BYTES = 32 << 10 };

struct room {
    _Alignas(16) char stack[STACK_BYTES];
    int fd;
    size_t bytes; /* of the room */
    uint64_t count;
    uint64_t addresses[];
};

static struct room *left; /* to be unmapped */

int32_t pages_track(void) {
    return (int32_t)syscall(SYS_userfaultfd, TRACK_FLAGS);
}

/* There is no way back. */
static _Noreturn void leave(void) {
    for (;;)
        DIRECT_CALL(SYS_exit_group, EXIT_FAILED, 0, 0, 0, 0, 0);
}

static void read_to(int fd, uint64_t address, uint64_t bytes) {
    while (bytes > 0) {
        const long got = DIRECT_CALL(SYS_read, fd, address, bytes, 0, 0, 0);
        if (got <= 0)
            leave();
        address += (uint64_t)got;
        bytes -= (uint64_t)got;
    }
}

/* Neighbours are read at once. */
static _Noreturn void put(void *argument) {
    struct room *room = argument;
    for (size_t i = 0, next; i < room->count; i = next) {
        for (next = i + 1;
             next < room->count && room->addresses[next] == room->addresses[next - 1] + PAGE_BYTES;)
            next++;
        read_to(room->fd, room->addresses[i], (next - i) * PAGE_BYTES);
    }
    DIRECT_CALL(SYS_close, room->fd, 0, 0, 0, 0, 0);
    left = room;
    longjmp(parked.registers, PARKED_PAGES);
}

_Noreturn void pages_put(int fd) {
    uint64_t count = 0;
    read_to(fd, (uint64_t)&count, sizeof count);
    const size_t bytes = sizeof(struct room) + count * sizeof(uint64_t);
    struct room *room =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        leave();
    room->fd = fd;
    room->bytes = bytes;
    room->count = count;
    read_to(fd, (uint64_t)room->addresses, count * sizeof(uint64_t));
    direct_continue(put, room, (uint64_t)(room->stack + STACK_BYTES));
}

void pages_finish(void) {
    munmap(left, left->bytes);
    left = NULL;
}

#else

int32_t pages_track(void) {
    return -1;
}

_Noreturn void pages_put(int fd) {
    (void)fd;
    _exit(EXIT_FAILED); /* nobody asks for it */
}

void pages_finish(void) {
}

#endif
