/* Watches the folders of a project with inotify. It reports that something changed and not what:
 * everything is scanned again, so that overflowed queues, replaced folders and lost events need no
 * special care. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_WATCH_H
#define ECLAVE_SUPERVISOR_REGISTRY_WATCH_H

#include "supervisor/base/loop.h"
#include "supervisor/registry/metadata.h"
#include <stdbool.h>
#include <stddef.h>

enum { WATCH_ROOT = FOLDER_COUNT, WATCH_COUNT };

struct watch {
    int fd; /* -1: inotify is unavailable */
    struct loop *loop;
    struct loop_watch reader;
    int descriptors[WATCH_COUNT]; /* -1: not watched */
    void (*changed)(void *context);
    void *context;
};

/* CHANGED is called once for each batch of events. When inotify is unavailable, the watch never
 * reports anything. */
void watch_open(struct watch *watch, struct loop *loop, void (*changed)(void *context),
                void *context);
void watch_close(struct watch *watch);

/* Watches the directory open as FD, whatever its present name, in SLOT (a folder or WATCH_ROOT) in
 * place of the one watched there before. In the root, only events of the folders and register.json
 * count. False if it cannot be watched. */
bool watch_folder(struct watch *watch, size_t slot, int fd);
void watch_forget(struct watch *watch, size_t slot);

#endif
