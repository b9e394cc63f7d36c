/* See park.h. What this writes is on the stack; errno, which a failed call sets, is of no state. */
#include "worker/park.h"
#include "common/descriptor.h"
#include "worker/worker.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

struct parked parked;

_Noreturn void park(int channel, const void *last, size_t size) {
    char byte;
    struct iovec part = {.iov_base = &byte, .iov_len = sizeof byte};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t got = -1;
    if (write_all(channel, last, size))
        do
            got = recvmsg(channel, &message, MSG_PEEK);
        while (got < 0 && errno == EINTR);
    if (got <= 0)
        _exit(got == 0 ? 0 : EXIT_FAILED);
    longjmp(parked.registers, PARKED_FRAME);
}
