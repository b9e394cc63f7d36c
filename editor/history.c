/* The history file: an entry in each line, in which a newline is "\n" and a backslash "\\". */
#include "common/cleanup.h"
#include "common/descriptor.h"
#include "common/utf8.h"
#include "editor/editor.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ENTRIES_MAX = 1000,
    FILE_MAX_BYTES = 4 << 20, /* of which ENTRIES_MAX are kept at the start */
    READ_MAX_BYTES = 64 << 20,
    ENTRY_MAX_BYTES = 64 << 10 /* longer ones are not written */
};

/* Opens the file, made if it is missing. Only a regular file of this user is trusted. */
static int open_file(const char *path, int flags) {
    struct stat status;
    int fd = open(path, flags | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
        fchmod(fd, 0600) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Makes the directories of PATH below the first ABOVE bytes. */
static void make_directories(char *path, size_t above) {
    for (char *slash = path + above; (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
        *slash = 0;
        mkdir(path, 0700);
    }
}

static bool find_file(char *path, size_t size) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool has_state = state && state[0] == '/';
    const char *base = has_state ? state : home;
    if (!base || base[0] != '/')
        return false;
    int length =
        snprintf(path, size, "%s%s/eclave/repl_history", base, has_state ? "" : "/.local/state");
    if (length < 0 || (size_t)length >= size)
        return false;
    make_directories(path, strlen(base) > 1 ? strlen(base) - 1 : 0);
    return true;
}

/* Undoes the escapes of LINE in place. */
static void unescape(char *line) {
    char *to = line;
    for (const char *from = line; *from; from++) {
        if (*from == '\\' && from[1]) {
            from++;
            *to++ = *from == 'n' ? '\n' : *from;
        } else {
            *to++ = *from;
        }
    }
    *to = 0;
}

/* Writes the last lines of TEXT, from FROM on, in place of the file. */
static void rewrite(const struct history_file *file, const char *from) {
    char path[sizeof file->path + 8];
    snprintf(path, sizeof path, "%s.new", file->path);
    unlink(path);
    cleanup_fd int fd = open_file(path, O_WRONLY | O_EXCL);
    if (fd >= 0 && write_all(fd, from, strlen(from)))
        rename(path, file->path);
}

/* The place of the last ENTRIES_MAX lines in TEXT. */
static char *last_lines(char *text) {
    char *at = text + strlen(text);
    for (size_t lines = 0; at > text; at--)
        if (at[-1] == '\n' && lines++ == ENTRIES_MAX)
            break;
    return at;
}

static void enter_lines(History *known, char *text) {
    HistEvent event;
    for (char *line = text, *next; *line; line = next) {
        char *newline = strchr(line, '\n');
        next = newline ? newline + 1 : line + strlen(line);
        if (newline)
            *newline = 0;
        unescape(line);
        if (*line && utf8_is_valid((const unsigned char *)line, strlen(line)))
            history(known, &event, H_ENTER, line);
    }
}

void history_file_open(struct history_file *file, History *known) {
    struct stat status;
    if (!find_file(file->path, sizeof file->path)) {
        file->path[0] = 0;
        return;
    }
    cleanup_fd int fd = open_file(file->path, O_RDWR);
    if (fd < 0 || fstat(fd, &status) != 0 || status.st_size > READ_MAX_BYTES) {
        file->path[0] = 0;
        return;
    }
    cleanup_free char *text = malloc((size_t)status.st_size + 1);
    ssize_t got = text ? pread(fd, text, (size_t)status.st_size, 0) : -1;
    if (got < 0)
        return;
    text[got] = 0;
    char *last = last_lines(text);
    if (status.st_size > FILE_MAX_BYTES)
        rewrite(file, last);
    enter_lines(known, last);
}

void history_file_add(const struct history_file *file, struct span entry) {
    if (!file->path[0] || entry.length > ENTRY_MAX_BYTES)
        return;
    cleanup_buffer struct buffer line = buffer_make((size_t)2 * ENTRY_MAX_BYTES + 1);
    for (size_t i = 0; i < entry.length; i++)
        if (entry.bytes[i] == '\n')
            buffer_append_text(&line, "\\n");
        else if (entry.bytes[i] == '\\')
            buffer_append_text(&line, "\\\\");
        else
            buffer_append(&line, entry.bytes + i, 1);
    buffer_append_text(&line, "\n");
    cleanup_fd int fd = open_file(file->path, O_WRONLY | O_APPEND);
    if (fd >= 0 && !line.failed)
        (void)!write(fd, line.data, line.length);
}
