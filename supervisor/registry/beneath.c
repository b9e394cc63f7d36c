/* Opens files of a project with openat2, RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS. */
#include "supervisor/registry/beneath.h"
#include "common/cleanup.h"
#include "common/utf8.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH_MAX_BYTES = 255 };

static int open_through(int directory, const char *path, int flags, uint64_t resolve) {
    const struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC | O_NOFOLLOW),
                                 .resolve = resolve | RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

/* In place of openat2, which is missing before Linux 5.6 and which some containers deny: opens one
 * component after another with O_NOFOLLOW. PATH has no "..". */
static int open_by_components(int directory, const char *path, int flags) {
    cleanup_fd int at = fcntl(directory, F_DUPFD_CLOEXEC, 0);
    for (const char *slash; at >= 0 && (slash = strchr(path, '/')) != NULL; path = slash + 1) {
        char component[PATH_MAX_BYTES + 1];
        snprintf(component, sizeof component, "%.*s", (int)(slash - path), path);
        int next = openat(at, component, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (at >= 0)
            close(at);
        at = next;
    }
    return at < 0 ? -1 : openat(at, path, flags | O_CLOEXEC | O_NOFOLLOW);
}

static int open_beneath(int root, const char *path, int flags) {
    int fd = open_through(root, path, flags, RESOLVE_BENEATH);
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
        return fd;
    return open_by_components(root, path, flags);
}

int beneath_open_root(const char *path, struct error *error) {
    int fd = open_through(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        error_set(error, errno, "cannot open the directory of the project");
    return fd;
}

int beneath_follow_root(const char *link, struct error *error) {
    int fd = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        error_set(error, errno, "cannot open the directory of the project");
    return fd;
}

int beneath_open_folder(int root, const char *path) {
    return open_beneath(root, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
}

static bool refuse(struct error *error, int code) {
    if (code == ELOOP)
        return error_set(error, 0, "is a symbolic link, or is reached through one");
    if (code == EXDEV)
        return error_set(error, 0, "is outside the project");
    return error_set(error, code, "cannot be opened");
}

static bool check_regular(const struct stat *status, struct error *error) {
    if (S_ISREG(status->st_mode))
        return true;
    return S_ISLNK(status->st_mode) ? refuse(error, ELOOP)
                                    : error_set(error, 0, "is %s, not a regular file",
                                                S_ISDIR(status->st_mode)    ? "a directory"
                                                : S_ISFIFO(status->st_mode) ? "a fifo"
                                                : S_ISSOCK(status->st_mode) ? "a socket"
                                                                            : "a device");
}

bool beneath_stat(int root, const char *path, struct stat *status) {
    cleanup_fd int name = open_beneath(root, path, O_PATH);
    return name >= 0 && fstat(name, status) == 0;
}

int beneath_open_file(int root, const char *path, struct error *error) {
    struct stat named, opened;
    cleanup_fd int name = open_beneath(root, path, O_PATH);
    if (name < 0 || fstat(name, &named) != 0) {
        refuse(error, errno);
        return -1;
    }
    if (!check_regular(&named, error))
        return -1;
    cleanup_fd int fd = open_beneath(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &opened) != 0) {
        refuse(error, errno);
        return -1;
    }
    if (!check_regular(&opened, error))
        return -1;
    return steal_fd(&fd);
}

bool beneath_path_is_plain(const char *path, struct error *error) {
    size_t length = strlen(path);
    if (length == 0 || length > PATH_MAX_BYTES)
        return error_set(error, 0, "must be a path of 1 to %d bytes", PATH_MAX_BYTES);
    if (!utf8_is_valid((const unsigned char *)path, length))
        return error_set(error, 0, "must be UTF-8");
    for (const char *byte = path; *byte; byte++) {
        bool starts = byte == path || byte[-1] == '/';
        if ((unsigned char)*byte < ' ' || *byte == 0x7f)
            return error_set(error, 0, "must not contain control characters");
        if (starts && (*byte == '.' || *byte == '/'))
            return error_set(error, 0,
                             "must not have a component that is empty or begins with a dot");
    }
    return path[length - 1] != '/' || error_set(error, 0, "must not end with a slash");
}
