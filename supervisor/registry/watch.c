/* inotify on at most five directories. */
#include "supervisor/registry/watch.h"
#include "supervisor/registry/override.h"

#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

static const uint32_t wanted_events = IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE |
                                      IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF |
                                      IN_MOVE_SELF | IN_ONLYDIR;

/* Is NAME, in the directory of the project, part of the project? */
static bool is_of_project(const char *name) {
    for (enum project_folder folder = 0; folder < FOLDER_COUNT; folder++)
        if (strcmp(name, folder_name(folder)) == 0)
            return true;
    return strcmp(name, override_file) == 0;
}

/* Does the event require a scan? Events of a folder that is no longer watched do not. Those without
 * a folder report that the queue overflowed. */
static bool requires_scan(struct watch *watch, const struct inotify_event *event) {
    if (event->wd < 0)
        return true;
    bool in_root = event->wd == watch->descriptors[WATCH_ROOT], is_known = false;
    for (size_t slot = 0; slot < WATCH_COUNT; slot++) {
        if (watch->descriptors[slot] != event->wd)
            continue;
        is_known = true;
        if (event->mask & IN_IGNORED)
            watch->descriptors[slot] = -1;
    }
    return is_known && (!in_root || !event->len || is_of_project(event->name));
}

static void on_events(void *context, uint32_t events) {
    (void)events;
    struct watch *watch = context;
    _Alignas(struct inotify_event) char bytes[16 * 1024];
    ssize_t size = read(watch->fd, bytes, sizeof bytes);
    bool changed = false;
    for (ssize_t at = 0; at < size;) {
        const struct inotify_event *event = (const void *)(bytes + at);
        changed = requires_scan(watch, event) || changed;
        at += (ssize_t)sizeof *event + event->len;
    }
    if (changed)
        watch->changed(watch->context);
}

void watch_open(struct watch *watch, struct loop *loop, void (*changed)(void *context),
                void *context) {
    *watch = (struct watch){.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC),
                            .loop = loop,
                            .changed = changed,
                            .context = context};
    for (size_t slot = 0; slot < WATCH_COUNT; slot++)
        watch->descriptors[slot] = -1;
    if (watch->fd < 0 ||
        loop_watch_add(loop, &watch->reader, watch->fd, EPOLLIN, on_events, watch, NULL))
        return;
    close(watch->fd);
    watch->fd = -1;
}

void watch_close(struct watch *watch) {
    if (watch->fd < 0)
        return;
    loop_watch_remove(watch->loop, &watch->reader);
    close(watch->fd);
    watch->fd = -1;
}

bool watch_folder(struct watch *watch, size_t slot, int fd) {
    char path[32]; /* not its name, which may lead elsewhere by now */
    if (watch->fd < 0)
        return false;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int descriptor = inotify_add_watch(watch->fd, path, wanted_events);
    if (descriptor != watch->descriptors[slot])
        watch_forget(watch, slot);
    watch->descriptors[slot] = descriptor;
    return descriptor >= 0;
}

void watch_forget(struct watch *watch, size_t slot) {
    int descriptor = watch->descriptors[slot];
    watch->descriptors[slot] = -1;
    for (size_t other = 0; other < WATCH_COUNT; other++)
        if (watch->descriptors[other] == descriptor)
            return;
    if (descriptor >= 0)
        inotify_rm_watch(watch->fd, descriptor);
}
