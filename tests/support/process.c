/* See process.h. */
#include "tests/support/process.h"
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fields of /proc/PID/stat, whose second one may contain blanks and parentheses. */
struct stat_line {
    char state;
    pid_t parent;
    unsigned long faults, user_ticks, system_ticks;
};

static bool read_stat(pid_t pid, struct stat_line *line) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    const char *rest = strrchr(text, ')');
    return rest &&
           // NOLINTNEXTLINE(cert-err34-c): the kernel's own numbers fit
           sscanf(rest + 1, " %c %d %*d %*d %*d %*d %*u %lu %*u %*u %*u %lu %lu", &line->state,
                  &line->parent, &line->faults, &line->user_ticks, &line->system_ticks) == 5;
}

static size_t children_of(pid_t parent, pid_t *pids, size_t maximum) {
    size_t count = 0;
    DIR *directory = opendir("/proc");
    if (!directory)
        return 0;
    for (const struct dirent *entry; count < maximum && (entry = readdir(directory)) != NULL;) {
        struct stat_line line;
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (read_stat(pid, &line) && line.parent == parent && line.state != 'Z' &&
            line.state != 'X')
            pids[count++] = pid;
    }
    closedir(directory);
    return count;
}

size_t process_descendants(pid_t root, pid_t *pids, size_t maximum) {
    size_t count = children_of(root, pids, maximum);
    for (size_t done = 0; done < count; done++)
        count += children_of(pids[done], pids + count, maximum - count);
    return count;
}

bool process_is_launcher(pid_t pid) {
    return process_is_named(pid, "eclave-launcher");
}

bool process_is_worker(pid_t pid) {
    return process_is_confined(pid) && process_is_named(pid, "eclave-worker");
}

/* Stores what follows "FIELD:" in /proc/PID/status. */
static bool read_status(pid_t pid, const char *field, char *value, size_t size) {
    char path[64], line[256];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t length = strlen(field);
    while (!found && fgets(line, sizeof line, file)) {
        found = strncmp(line, field, length) == 0 && line[length] == ':';
        if (found)
            snprintf(value, size, "%s", line + length + 1);
    }
    fclose(file);
    return found;
}

long process_status(pid_t pid, const char *field) {
    char value[256];
    return read_status(pid, field, value, sizeof value) ? strtol(value, NULL, 10) : -1;
}

uint64_t process_capabilities(pid_t pid) {
    char value[256];
    return read_status(pid, "CapEff", value, sizeof value) ? strtoull(value, NULL, 16) : UINT64_MAX;
}

long process_ticks(pid_t pid) {
    struct stat_line line;
    return read_stat(pid, &line) ? (long)(line.user_ticks + line.system_ticks) : -1;
}

long process_faults(pid_t pid) {
    struct stat_line line;
    return read_stat(pid, &line) ? (long)line.faults : -1;
}

bool process_is_confined(pid_t pid) {
    static const char filters[] = "Seccomp_filters";
    return process_status(pid, filters) > process_status(getpid(), filters);
}

int process_descriptors(pid_t pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *directory = opendir(path);
    if (!directory)
        return -1;
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

bool process_is_zombie(pid_t pid) {
    struct stat_line line;
    return read_stat(pid, &line) && line.state == 'Z';
}

bool process_is_named(pid_t pid, const char *name) {
    char path[64], text[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    text[strcspn(text, "\n")] = '\0';
    return read && strcmp(text, name) == 0;
}

int process_processor(pid_t pid) {
    enum { FIELD = 39 };
    char path[64], text[1024] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    const char *at = file && fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
    if (file)
        fclose(file);
    for (int field = 2; at && field < FIELD; field++)
        at = strchr(at + 1, ' ');
    return at ? (int)strtol(at, NULL, 10) : -1;
}

bool process_sleeps(pid_t pid) {
    struct stat_line line;
    return read_stat(pid, &line) && line.state == 'S';
}

bool process_is_stopped(pid_t pid) {
    struct stat_line line;
    return read_stat(pid, &line) && line.state == 'T';
}
