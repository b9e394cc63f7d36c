/* Watches the folders of a project for changes, through inotify. It says that something changed,
 * never what: whoever is told looks at everything again, so that a queue that overflowed, a folder
 * that was replaced or an event that was lost need no care of their own. */
#ifndef ECLAVE_SUPERVISOR_REGISTRY_WATCH_H
#define ECLAVE_SUPERVISOR_REGISTRY_WATCH_H

#include "supervisor/base/loop.h"
#include "supervisor/registry/metadata.h"
#include <stdbool.h>
#include <stddef.h>

enum { WATCH_ROOT = FOLDER_COUNT, WATCH_COUNT };

struct watch {
    int fd; /* -1: this machine gives no inotify */
    struct loop *loop;
    struct loop_watch reader;
    int descriptors[WATCH_COUNT]; /* -1: not watched */
    void (*changed)(void *context);
    void *context;
};

/* CHANGED is called at most once for each portion of events. Always succeeds in giving a watch, if
 * need be one that never reports. */
void watch_open(struct watch *watch, struct loop *loop, void (*changed)(void *context),
                void *context);
void watch_close(struct watch *watch);

/* Watches the directory FD, of which only the descriptor counts, in SLOT: a folder or WATCH_ROOT;
 * what was watched there before, if it was another one, no longer. Of the root only what happens to
 * the folders and to register.json counts. False when it cannot be watched. */
bool watch_folder(struct watch *watch, size_t slot, int fd);
void watch_forget(struct watch *watch, size_t slot);

#endif
