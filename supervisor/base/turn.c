/* Measures turns. Nothing of this is in a build without tests. */
#include "supervisor/base/turn.h"

#ifdef ECLAVE_TURNS
#include "supervisor/base/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTS_MAX = 32, NAMES_MAX = 128, REPORT_BYTES = 1024, LISTED_NS = 500000 };

struct part {
    turn_callback callback;
    int64_t ns;
    unsigned calls;
};

static struct {
    struct {
        turn_callback callback;
        const char *name;
    } names[NAMES_MAX];
    struct part parts[PARTS_MAX]; /* of this turn */
    size_t name_count, part_count;
    int64_t begun_ns, counted_ns, longest_ns, bound_ns;
    unsigned over; /* turns above the bound */
    char longest[REPORT_BYTES];
} turns;

static int64_t processor_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void turn_name(turn_callback callback, const char *name) {
    for (size_t i = 0; i < turns.name_count; i++)
        if (turns.names[i].callback == callback)
            return;
    if (turns.name_count == NAMES_MAX)
        return;
    turns.names[turns.name_count].callback = callback;
    turns.names[turns.name_count++].name = name;
}

static const char *name_of(turn_callback callback) {
    for (size_t i = 0; i < turns.name_count; i++)
        if (turns.names[i].callback == callback)
            return turns.names[i].name;
    return "an unnamed callback";
}

void turn_begin(void) {
    turns.part_count = 0;
    turns.begun_ns = turns.counted_ns = processor_ns();
}

void turn_count(turn_callback callback) {
    const int64_t since_ns = turns.counted_ns;
    size_t i = 0;
    turns.counted_ns = processor_ns();
    while (i < turns.part_count && turns.parts[i].callback != callback)
        i++;
    if (i == turns.part_count) {
        if (turns.part_count == PARTS_MAX)
            return;
        turns.parts[turns.part_count++] = (struct part){.callback = callback};
    }
    turns.parts[i].ns += turns.counted_ns - since_ns;
    turns.parts[i].calls++;
}

static void describe(char *text, size_t size, int64_t ns) {
    size_t length =
        (size_t)snprintf(text, size, "%.1f ms of processor time", (double)ns / CLOCK_NS_PER_MS);
    for (size_t i = 0; i < turns.part_count && length < size; i++) {
        const struct part *part = &turns.parts[i];
        if (part->ns >= LISTED_NS)
            length += (size_t)snprintf(text + length, size - length, ", %s %.1f ms in %u calls",
                                       name_of(part->callback), (double)part->ns / CLOCK_NS_PER_MS,
                                       part->calls);
    }
}

static int64_t bound_ns(void) {
#ifdef __SANITIZE_ADDRESS__
    int64_t factor = TURN_SANITIZED_FACTOR;
#else
    int64_t factor = 1;
#endif
    if (!secure_getenv("TEST_THOROUGH"))
        factor *= TURN_NOISE_FACTOR;
    const char *text = secure_getenv("TURN_BOUND_MS");
    int64_t bound_ms = text ? strtoll(text, NULL, 10) : TURN_BOUND_MS * factor;
    return bound_ms ? bound_ms * CLOCK_NS_PER_MS : INT64_MAX;
}

static _Noreturn void fail(int64_t ns) {
    char report[REPORT_BYTES], line[REPORT_BYTES + 64];
    describe(report, sizeof report, ns);
    int length = snprintf(line, sizeof line, "eclave: critical: turn: too long: %s\n", report);
    (void)!write(STDERR_FILENO, line, (size_t)length);
    __builtin_trap(); /* needs no system call */
}

void turn_end(void) {
    const int64_t ns = processor_ns() - turns.begun_ns;
    if (ns > turns.longest_ns) {
        turns.longest_ns = ns;
        describe(turns.longest, sizeof turns.longest, ns);
    }
    if (!turns.bound_ns)
        turns.bound_ns = bound_ns();
    if (ns > turns.bound_ns && (turns.over++ > 0 || ns / TURN_ONCE_FACTOR > turns.bound_ns))
        fail(ns);
}

void turn_log(void) {
    const char *path = secure_getenv("TURN_LOG");
    char line[REPORT_BYTES + 256], arguments[200] = "";
    int fd = path && turns.longest_ns ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    int own = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t got = own >= 0 ? read(own, arguments, sizeof arguments - 1) : 0;
    for (ssize_t i = 0; i < got; i++)
        if ((unsigned char)arguments[i] < ' ')
            arguments[i] = ' ';
    int length = snprintf(line, sizeof line, "%s\t%s\n", turns.longest, arguments);
    (void)!write(fd, line, (size_t)length);
    if (own >= 0)
        close(own);
    close(fd);
}
#endif
