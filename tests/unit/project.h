/* A temporary project and a registry that scans it, for tests as root and as nobody. */
#ifndef ECLAVE_TESTS_UNIT_PROJECT_H
#define ECLAVE_TESTS_UNIT_PROJECT_H

#include "supervisor/registry/metadata.h"
#include "supervisor/registry/registry.h"
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOBODY = 65534, PROJECT_PATIENCE_MS = 60000, PROJECT_LOG_BYTES = 16384 };

struct project {
    char path[64]; /* also the current directory */
    struct settings settings;
    struct loop loop;
    struct log log;
    struct registry_options options;
    struct registry *registry;
    char logged[PROJECT_LOG_BYTES]; /* "level event: cause" lines */
    size_t scans, changes; /* scans that have ended, and those that changed something; the last: */
    unsigned listed, content;
    bool first;
    size_t wanted_scans, wanted_changes; /* when to stop */
    struct loop_timer guard;
};

static inline void project_on_log(void *context, const struct log_event *event, const char *cause) {
    struct project *project = context;
    size_t used = strlen(project->logged);
    snprintf(project->logged + used, PROJECT_LOG_BYTES - used, "%s %s: %s\n",
             log_level_names[event->level], event->name, cause);
}

static inline void project_on_scan(void *context, const struct registry_change *change) {
    struct project *project = context;
    project->scans++;
    cr_expect_eq(change->now, registry_snapshot(project->registry));
    if (!change->listed && !change->content)
        return;
    project->changes++;
    project->listed = change->listed;
    project->content = change->content;
    project->first = change->first;
    cr_expect_neq(change->now, change->before);
}

static inline void project_before_wait(void *context) {
    struct project *project = context;
    if (project->scans >= project->wanted_scans && project->changes >= project->wanted_changes)
        loop_stop(&project->loop);
}

static inline void project_gave_up(void *context) {
    (void)context;
    cr_assert_fail("the registry did not get there");
}

/* Runs the loop until so many scans have ended and so many of them have changed something. */
static inline void project_run_until(struct project *project, size_t scans, size_t changes) {
    struct error error = {0};
    project->wanted_scans = scans;
    project->wanted_changes = changes;
    project->loop.stopped = false;
    loop_timer_start(&project->loop, &project->guard, PROJECT_PATIENCE_MS, project_gave_up, NULL);
    cr_assert(loop_run(&project->loop, &error), "%s", error.text);
    loop_timer_stop(&project->loop, &project->guard);
}

/* Waits for a scan that begins now. Touching the directory causes one, even if nothing changed. */
static inline void project_look(struct project *project) {
    cr_assert_eq(utimensat(AT_FDCWD, ".", NULL, 0), 0);
    project_run_until(project, project->scans + 1, project->changes);
}

/* Waits for a scan that changes something. */
static inline void project_await_change(struct project *project) {
    project_run_until(project, 0, project->changes + 1);
}

static inline void project_open(struct project *project) {
    struct error error = {0};
    cr_assert(loop_open(&project->loop, &error), "%s", error.text);
    project->loop.before_wait = project_before_wait;
    project->loop.before_wait_context = project;
    project->log = (struct log){.out.fd = -1,
                                .least = LOG_EMERGENCY_LEVEL,
                                .hook = project_on_log,
                                .hook_context = project};
    project->settings.project.paths[0] = project->path;
    project->settings.project.count = 1;
    project->options.scanned = project_on_scan;
    project->options.context = project;
    project->registry =
        registry_open(&project->loop, &project->log, &project->settings, &project->options, &error);
    cr_assert_not_null(project->registry, "%s", error.text);
}

/* Opens it and waits for the first scan. */
static inline void project_begin(struct project *project) {
    project_open(project);
    cr_expect_not(registry_is_settled(project->registry));
    project_run_until(project, project->scans + 1, 0);
    cr_expect(registry_is_settled(project->registry));
}

static inline void project_end(struct project *project) {
    registry_close(project->registry);
    project->registry = NULL;
    loop_close(&project->loop);
}

static inline int project_remove(const char *path, const struct stat *status, int kind,
                                 struct FTW *at) {
    (void)status;
    (void)at;
    if (kind == FTW_DNR)
        chmod(path, 0700);
    return remove(path);
}

/* Runs BODY in a new project with the four folders. */
static inline void project_test(void (*body)(struct project *project), bool as_nobody) {
    static struct project project;
    project = (struct project){.path = "/tmp/eclave-project-XXXXXX"};
    if (as_nobody && getuid() == 0)
        cr_assert(setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
    umask(022);
    settings_default(&project.settings);
    cr_assert_not_null(mkdtemp(project.path));
    cr_assert_eq(chdir(project.path), 0);
    for (enum project_folder folder = 0; folder < FOLDER_COUNT; folder++)
        cr_assert_eq(mkdir(folder_name(folder), 0755), 0);
    body(&project);
    if (project.registry)
        project_end(&project);
    cr_assert_eq(chdir("/"), 0);
    nftw(project.path, project_remove, 16, FTW_DEPTH | FTW_PHYS);
}

#define PROJECT_TEST(suite, name)                                                                  \
    static void name(struct project *project);                                                     \
    Test(suite, name) {                                                                            \
        project_test(name, false);                                                                 \
    }                                                                                              \
    Test(suite, name##_as_nobody) {                                                                \
        project_test(name, true);                                                                  \
    }                                                                                              \
    static void name(struct project *project)

static inline void put_bytes(const char *path, const void *bytes, size_t size) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    cr_assert_geq(fd, 0, "%s", path);
    cr_assert_eq(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

static inline void put(const char *path, const char *text) {
    put_bytes(path, text, strlen(text));
}

static inline const struct snapshot *snapshot_of(const struct project *project) {
    return registry_snapshot(project->registry);
}

static inline size_t count_of(const struct project *project, enum registry_kind kind) {
    return snapshot_of(project)->lists[kind].count;
}

static inline const struct registry_entry *find(const struct project *project,
                                                enum registry_kind kind, const char *key) {
    return snapshot_find(snapshot_of(project), kind, key);
}

static inline void expect_body(const struct project *project, enum registry_kind kind,
                               const char *key, const char *text) {
    const struct registry_entry *entry = find(project, kind, key);
    cr_assert_not_null(entry, "%s", key);
    cr_expect_str_eq((const char *)entry->body.bytes, text);
    cr_expect_eq(entry->body.size, strlen(text));
}

/* FILE is refused with REASON in the reason. */
static inline void expect_file_refused(const struct project *project, const char *file,
                                       const char *reason) {
    const struct snapshot *snapshot = snapshot_of(project);
    bool found = false;
    for (size_t i = 0; i < snapshot->refusals.count; i++)
        if (strcmp(snapshot->refusals.items[i].file, file) == 0) {
            found = found || strstr(snapshot->refusals.items[i].text, reason);
            cr_expect_not_null(strstr(snapshot->refusals.items[i].text, reason), "%s: %s, not %s",
                               file, snapshot->refusals.items[i].text, reason);
        }
    cr_expect(found, "%s is not refused (%s); %zu are", file, reason, snapshot->refusals.count);
}

static inline void expect_logged(const struct project *project, const char *text) {
    cr_expect_not_null(strstr(project->logged, text), "%s is not in:\n%s", text, project->logged);
}

#endif
