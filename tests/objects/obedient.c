/* A process without sanitizers that does with its memory what tests/support/obedient.h asks of it.
 */
#include "tests/support/obedient.h"
#include "common/track.h"

#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static __attribute__((noinline)) int64_t use_stack(uint64_t bytes, uint64_t value) {
    volatile char *low = __builtin_alloca(bytes);
    low[0] = (char)value;
    return (int64_t)low;
}

static int64_t fork_and_wait(void) {
    const pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return waitpid(pid, NULL, 0);
}

static int64_t obey(const struct obedient_order *order) {
    const uint64_t *a = order->arguments;
    volatile char *at = (volatile char *)a[0]; // NOLINT(performance-no-int-to-ptr)
    switch (order->work) {
    case OBEDIENT_CALL:
        return syscall((long)order->number, a[0], a[1], a[2], a[3], a[4], a[5]);
    case OBEDIENT_WRITE:
        for (uint64_t i = 0; i < a[1]; i++)
            at[i * a[2]] = (char)a[3];
        return 0;
    case OBEDIENT_READ:
        return *at;
    case OBEDIENT_STACK:
        return use_stack(a[0], a[1]);
    case OBEDIENT_FORK:
        return fork_and_wait();
    }
    return -1;
}

int main(void) {
    struct obedient_order order;
    while (read(STDIN_FILENO, &order, sizeof order) == (ssize_t)sizeof order) {
        const int64_t result = obey(&order);
        if (write(STDOUT_FILENO, &result, sizeof result) != (ssize_t)sizeof result)
            return 1;
    }
    return 0;
}
