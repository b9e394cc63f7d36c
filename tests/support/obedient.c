/* See obedient.h. */
#include "tests/support/obedient.h"
#include "tests/support/process.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int open_of(pid_t pid, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    cr_assert_geq(fd, 0, "%s cannot be opened", path);
    return fd;
}

struct obedient obedient_start(const char *program) {
    int orders[2], results[2];
    cr_assert(pipe2(orders, O_CLOEXEC) == 0 && pipe2(results, O_CLOEXEC) == 0);
    const pid_t pid = fork();
    if (pid == 0) {
        if (dup2(orders[0], STDIN_FILENO) >= 0 && dup2(results[1], STDOUT_FILENO) >= 0)
            execl(program, program, (char *)NULL);
        _exit(127);
    }
    cr_assert_gt(pid, 1);
    close(orders[0]);
    close(results[1]);
    struct obedient process = {.pid = pid, .orders = orders[1], .results = results[0]};
    obedient_do(&process, (struct obedient_order){.work = OBEDIENT_STACK, .arguments = {64}});
    process.memory = open_of(pid, "mem");
    process.pagemap = open_of(pid, "pagemap");
    return process;
}

void obedient_end(struct obedient *process) {
    close(process->orders);
    close(process->results);
    close(process->memory);
    close(process->pagemap);
    kill(process->pid, SIGKILL);
    waitpid(process->pid, NULL, 0);
}

int64_t obedient_do(struct obedient *process, struct obedient_order order) {
    const struct timespec pause = {.tv_nsec = 20000};
    int64_t result;
    cr_assert_eq(write(process->orders, &order, sizeof order), (ssize_t)sizeof order);
    cr_assert_eq(read(process->results, &result, sizeof result), (ssize_t)sizeof result,
                 "the process has ended at work %d", (int)order.work);
    while (!process_sleeps(process->pid))
        nanosleep(&pause, NULL);
    return result;
}

int64_t obedient_call(struct obedient *process, long number, uint64_t a, uint64_t b, uint64_t c,
                      uint64_t d, uint64_t e) {
    return obedient_do(process, (struct obedient_order){.work = OBEDIENT_CALL,
                                                        .number = (uint64_t)number,
                                                        .arguments = {a, b, c, d, e}});
}

void obedient_write(struct obedient *process, uint64_t address, size_t count, size_t step,
                    int value) {
    obedient_do(process,
                (struct obedient_order){.work = OBEDIENT_WRITE,
                                        .arguments = {address, count, step, (uint64_t)value}});
}

size_t obedient_mappings(const struct obedient *process,
                         struct obedient_mapping mappings[OBEDIENT_MAPPINGS]) {
    enum { RESERVED_BYTES = 1 << 20 };
    char path[64], text[4096], flags[5], name[4096];
    unsigned long start, end, inode;
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)process->pid);
    FILE *file = fopen(path, "re");
    cr_assert(file);
    while (fgets(text, sizeof text, file)) {
        name[0] = 0;
        // NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers fit
        cr_assert_geq(
            sscanf(text, "%lx-%lx %4s %*x %*s %lu %4095s", &start, &end, flags, &inode, name), 4);
        const bool stack = strcmp(name, "[stack]") == 0;
        if (flags[3] == 's' || strncmp(name, "[v", 2) == 0)
            continue;
        cr_assert_lt(count, OBEDIENT_MAPPINGS);
        mappings[count++] = (struct obedient_mapping){
            .start = start,
            .end = end,
            .protection = (flags[0] == 'r' ? PROT_READ : 0U) | (flags[1] == 'w' ? PROT_WRITE : 0U),
            .file = inode != 0,
            .stack = stack,
            .reserved = strncmp(flags, "---", 3) == 0 && end - start > RESERVED_BYTES};
    }
    fclose(file);
    return count;
}

static bool is_populated(uint64_t entry) {
    return (entry & (UINT64_C(3) << 62)) != 0;
}

void obedient_read(const struct obedient *process, const struct obedient_mapping *mapping,
                   unsigned char *bytes) {
    const size_t pages = (mapping->end - mapping->start) / OBEDIENT_PAGE;
    uint64_t *entries = malloc(pages * sizeof *entries);
    cr_assert(entries);
    cr_assert_eq(pread(process->pagemap, entries, pages * sizeof *entries,
                       (off_t)(mapping->start / OBEDIENT_PAGE * sizeof *entries)),
                 (ssize_t)(pages * sizeof *entries));
    for (size_t i = 0, next; i < pages; i = next) {
        const bool populated = mapping->file || is_populated(entries[i]);
        for (next = i + 1;
             next < pages && (mapping->file || is_populated(entries[next])) == populated;)
            next++;
        unsigned char *to = bytes + i * OBEDIENT_PAGE;
        const size_t size = (next - i) * OBEDIENT_PAGE;
        memset(to, 0, size);
        if (populated)
            cr_assert_eq(
                pread(process->memory, to, size, (off_t)(mapping->start + i * OBEDIENT_PAGE)),
                (ssize_t)size);
    }
    free(entries);
}
