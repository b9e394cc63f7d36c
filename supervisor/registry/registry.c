/* Keeps the present snapshot and decides when to scan again. */
#include "supervisor/registry/registry.h"
#include "supervisor/base/clock.h"
#include "supervisor/registry/scan.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SETTLE_MS = 100,        /* changes within this time cause one scan */
    REST_FACTOR = 4,        /* scanning takes at most a fifth of the time */
    WATCHED_FACTOR = 12,    /* the interval is this much longer where inotify reports changes */
    NOTICES_LOGGED_MAX = 20 /* of one scan */
};

struct registry {
    struct loop *loop;
    struct log *log;
    struct registry_options options;
    const char *path; /* borrowed; NULL: no project */
    struct scan_limits limits;
    size_t response_bytes;
    int64_t refresh_ms;
    struct digest_key key;
    struct snapshot *now, *retired; /* the latter is being freed */
    struct watch watch;
    struct scan scan;
    bool scanning; /* or freeing what a scan replaced */
    bool again;    /* something changed since the scan began */
    bool soon;     /* the timer waits for a change to settle, not for the interval */
    bool settled;
    bool was_read;           /* a scan has succeeded */
    bool unwatched;          /* the last scan found files that are not watched */
    int64_t busy_ns;         /* of the present scan so far */
    struct loop_timer timer; /* the next slice, or the next scan */
    struct error failure;    /* of the last scan; its text is empty if that succeeded */
    bool failure_is_new;
};

static void begin_scan(void *context);

static void wait_for(struct registry *registry, int64_t delay_ms, bool soon) {
    registry->soon = soon;
    loop_timer_start(registry->loop, &registry->timer, delay_ms, begin_scan, registry);
}

/* --- the end of a scan --- */

/* Logs the notices in NOW that were not in BEFORE, as EVENT, followed by CONSEQUENCE. */
static void log_notices(struct registry *registry, const struct log_event *event,
                        const char *consequence, const struct notice_list *before,
                        const struct notice_list *now) {
    const struct log_event override = {
        .level = LOG_ERROR_LEVEL, .name = "registry-override", .lasts = true};
    size_t count = 0;
    for (size_t i = 0; i < now->count; i++) {
        const struct notice *notice = &now->items[i];
        if (notices_have(before, notice->file, notice->text) || count++ >= NOTICES_LOGGED_MAX)
            continue;
        if (strcmp(notice->file, override_file) == 0)
            log_write(registry->log, &override, "%s: %s; all entries are discovered instead",
                      notice->file, notice->text);
        else
            log_write(registry->log, event, "%s: %s%s", notice->file, notice->text, consequence);
    }
    if (count > NOTICES_LOGGED_MAX)
        log_write(registry->log, event, "%zu more files", count - NOTICES_LOGGED_MAX);
}

static void compare(struct registry_change *change) {
    for (enum registry_kind kind = 0; kind < REGISTRY_KINDS; kind++) {
        const struct entry_list *before = &change->before->lists[kind];
        const struct entry_list *now = &change->now->lists[kind];
        if (before->count != now->count || !digest_equal(before->listing, now->listing))
            change->listed |= 1U << kind;
        if (before->count != now->count || !digest_equal(before->content, now->content))
            change->content |= 1U << kind;
    }
}

static void publish(struct registry *registry, struct snapshot *made) {
    static const struct log_event
        refused = {.level = LOG_ERROR_LEVEL, .name = "registry-refused", .lasts = true},
        stale = {.level = LOG_ERROR_LEVEL, .name = "registry-stale", .lasts = true},
        warned = {.level = LOG_WARNING_LEVEL, .name = "registry-warned", .lasts = true};
    struct snapshot *before = registry->now;
    log_notices(registry, &refused, "", &before->refusals, &made->refusals);
    log_notices(registry, &stale, "; its last good version stays in force", &before->stale,
                &made->stale);
    log_notices(registry, &warned, "", &before->warnings, &made->warnings);
    registry->now = made;
    registry->was_read = true;
    registry->retired = before;
    registry->failure = (struct error){0};
    registry->failure_is_new = false;
}

/* Keeps the snapshot. An error that stays the same is reported once. */
static void fail(struct registry *registry, const struct error *error) {
    const struct log_event event = {
        .level = LOG_ERROR_LEVEL, .name = "registry-failed", .lasts = true};
    if (strcmp(registry->failure.text, error->text) == 0)
        return;
    registry->failure = *error;
    registry->failure_is_new = true;
    log_write(registry->log, &event, "%s; %s", error->text,
              registry->now->total ? "the previous state stays in force"
                                   : "the project has no entries");
}

static void end_scan(struct registry *registry, enum scan_progress progress,
                     const struct error *error) {
    struct snapshot *made = registry->scan.made;
    struct registry_change change = {.first = !registry->settled, .before = registry->now};
    registry->unwatched = progress == SCAN_FAILED || registry->scan.unwatched;
    registry->scan.made = NULL;
    scan_end(&registry->scan);
    registry->settled = true;
    if (progress == SCAN_DONE) {
        publish(registry, made);
    } else {
        registry->retired = made;
        fail(registry, error);
    }
    change.now = registry->now;
    compare(&change);
    if (registry->options.scanned)
        registry->options.scanned(registry->options.context, &change);
}

/* --- slices --- */

static void plan_next(struct registry *registry) {
    int64_t rest_ms = REST_FACTOR * registry->busy_ns / CLOCK_NS_PER_MS;
    int64_t interval_ms = registry->refresh_ms * (registry->unwatched ? 1 : WATCHED_FACTOR);
    int64_t delay_ms = registry->again ? SETTLE_MS : interval_ms;
    wait_for(registry, rest_ms > delay_ms ? rest_ms : delay_ms, registry->again);
}

/* Does one step of the scan, or frees one entry of what it replaced. True when all is done. */
static bool work(struct registry *registry) {
    struct error error = {0};
    if (registry->scan.step) {
        enum scan_progress progress = scan_step(&registry->scan, &error);
        if (progress != SCAN_MORE)
            end_scan(registry, progress, &error);
        return false;
    }
    if (registry->retired && !snapshot_drop_some(registry->retired, 1))
        return false;
    registry->retired = NULL;
    return true;
}

/* The last step may exceed the turn a little. */
static void on_slice(void *context) {
    struct registry *registry = context;
    int64_t start_ns = clock_now_ns(), now_ns = start_ns;
    bool over = false;
    for (; !over && now_ns - start_ns < LOOP_TURN_NS; now_ns = clock_now_ns())
        over = work(registry);
    registry->busy_ns += now_ns - start_ns;
    if (!over) {
        loop_timer_start(registry->loop, &registry->timer, 0, on_slice, registry);
        return;
    }
    registry->scanning = false;
    plan_next(registry);
}

static void begin_scan(void *context) {
    struct registry *registry = context;
    struct error error = {0};
    const struct entry_options options = {.is_reserved = registry->options.is_reserved,
                                          .key = &registry->key,
                                          .response_bytes = registry->response_bytes};
    registry->again = registry->soon = false;
    registry->busy_ns = 0;
    registry->scanning = true;
    loop_timer_start(registry->loop, &registry->timer, 0, on_slice, registry);
    if (!scan_begin(&registry->scan, registry->path, &registry->limits, &options, registry->now,
                    &registry->watch, &error))
        end_scan(registry, SCAN_FAILED, &error);
}

static void on_change(void *context) {
    struct registry *registry = context;
    if (registry->scanning)
        registry->again = true;
    else if (!registry->soon)
        wait_for(registry, SETTLE_MS, true);
}

/* --- opening and closing --- */

static struct registry *allocate(struct error *error) {
    /* Not calloc: the digester in it has a stricter alignment. */
    struct registry *registry = aligned_alloc(alignof(struct registry), sizeof *registry);
    struct snapshot *snapshot = snapshot_make();
    if (!registry || !snapshot) {
        error_set(error, errno, "cannot open the registry");
        snapshot_unref(snapshot);
        free(registry);
        return NULL;
    }
    *registry = (struct registry){.now = snapshot};
    randombytes_buf(registry->key.bytes, sizeof registry->key.bytes);
    return registry;
}

struct registry *registry_open(struct loop *loop, struct log *log, const struct settings *settings,
                               const struct registry_options *options, struct error *error) {
    struct registry *registry = allocate(error);
    if (!registry)
        return NULL;
    registry->loop = loop;
    registry->log = log;
    registry->options = *options;
    registry->limits = (struct scan_limits){.bytes = (size_t)settings->registry_max_bytes,
                                            .entries = (size_t)settings->registry_max_entries,
                                            .resource_bytes = (size_t)settings->resource_max_bytes,
                                            .timeout_s = (double)settings->call_timeout_max_s,
                                            .follows = settings->project.link != NULL};
    registry->response_bytes = (size_t)settings->response_max_bytes;
    registry->refresh_ms = settings->registry_refresh_s * CLOCK_MS_PER_S;
    registry->path = settings->project.link    ? settings->project.link
                     : settings->project.count ? settings->project.paths[0]
                                               : NULL;
    registry->settled = !registry->path;
    registry->scan = (struct scan){.root = -1, .reader.fd = -1};
    registry->watch.fd = -1;
    for (unsigned stage = 0; stage < SNAPSHOT_STAGES; stage++)
        snapshot_finish(registry->now, stage, &registry->key);
    if (registry->path) {
        watch_open(&registry->watch, loop, on_change, registry);
        wait_for(registry, 0, true);
    }
    return registry;
}

void registry_close(struct registry *registry) {
    if (!registry)
        return;
    loop_timer_stop(registry->loop, &registry->timer);
    watch_close(&registry->watch);
    scan_end(&registry->scan);
    snapshot_unref(registry->now);
    snapshot_unref(registry->retired);
    free(registry);
}

const struct snapshot *registry_snapshot(const struct registry *registry) {
    return registry->now;
}

bool registry_is_settled(const struct registry *registry) {
    return registry->settled;
}

bool registry_was_read(const struct registry *registry) {
    return registry->was_read;
}

const struct error *registry_failure(const struct registry *registry) {
    return &registry->failure;
}

bool registry_take_failure(struct registry *registry, struct error *error) {
    if (!registry->failure_is_new)
        return false;
    registry->failure_is_new = false;
    *error = registry->failure;
    return true;
}
