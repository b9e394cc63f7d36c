/* Keeps the present snapshot and decides when to look again. Never works on it for longer than a
 * slice at a time. */
#include "supervisor/registry/registry.h"
#include "supervisor/base/clock.h"
#include "supervisor/registry/scan.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SETTLE_MS = 100,         /* changes that come together make one look */
    REST_FACTOR = 4,         /* looking takes at most a fifth of the time */
    WATCHED_FACTOR = 12,     /* the interval is so much longer where changes are told of */
    REFUSALS_LOGGED_MAX = 20 /* of one look */
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
    bool scanning;
    bool again; /* something changed since the scan began */
    bool soon;  /* the timer stands for a change, not for the interval */
    bool settled;
    bool unwatched;          /* the last look found something that no watch tells of */
    int64_t busy_ns;         /* of the present look, so far */
    size_t looks;            /* that have ended */
    struct loop_timer timer; /* the next slice, or the next look */
    struct error failure;    /* the newest; its text empty when the last look succeeded */
    bool failure_is_new;
};

static void begin_scan(void *context);

static void wait_for(struct registry *registry, int64_t delay_ms, bool soon) {
    registry->soon = soon;
    loop_timer_start(registry->loop, &registry->timer, delay_ms, begin_scan, registry);
}

static void log_refusal(struct registry *registry, const struct refusal *refusal) {
    bool override = strcmp(refusal->file, override_file) == 0;
    const struct log_event event = {.level = override ? LOG_ERROR_LEVEL : LOG_WARNING_LEVEL,
                                    .name = override ? "registry-override" : "registry-refused",
                                    .lasts = true};
    log_write(registry->log, &event, "%s: %s%s", refusal->file, refusal->reason,
              override ? "; everything is discovered instead" : "");
}

/* Logs what was not refused before. */
static void log_refusals(struct registry *registry, const struct snapshot *before,
                         const struct snapshot *now) {
    size_t fresh = 0;
    for (size_t i = 0; i < now->refusal_count; i++) {
        const struct refusal *refusal = &now->refusals[i];
        if (!snapshot_is_refused(before, refusal->file, refusal->reason) &&
            fresh++ < REFUSALS_LOGGED_MAX)
            log_refusal(registry, refusal);
    }
    const struct log_event event = {
        .level = LOG_WARNING_LEVEL, .name = "registry-refused", .lasts = true};
    if (fresh > REFUSALS_LOGGED_MAX)
        log_write(registry->log, &event, "%zu more files", fresh - REFUSALS_LOGGED_MAX);
}

/* Logs what was not said before. */
static void log_warnings(struct registry *registry, const struct snapshot *before,
                         const struct snapshot *now) {
    const struct log_event event = {
        .level = LOG_WARNING_LEVEL, .name = "registry-warned", .lasts = true};
    size_t fresh = 0;
    for (size_t i = 0; i < now->warning_count && fresh < REFUSALS_LOGGED_MAX; i++) {
        const struct refusal *warning = &now->warnings[i];
        if (snapshot_is_warned(before, warning->file, warning->reason))
            continue;
        log_write(registry->log, &event, "%s: %s", warning->file, warning->reason);
        fresh++;
    }
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
    struct snapshot *before = registry->now;
    struct registry_change change = {.first = !registry->settled, .before = before, .now = made};
    compare(&change);
    log_refusals(registry, before, made);
    log_warnings(registry, before, made);
    registry->now = made;
    registry->settled = true;
    registry->failure = (struct error){0};
    registry->failure_is_new = false;
    registry->retired = before;
    if (registry->options.changed && (change.listed || change.content))
        registry->options.changed(registry->options.context, &change);
}

/* The snapshot stays as it is. The same failure is told once. */
static void fail(struct registry *registry, const struct error *error) {
    const struct log_event event = {
        .level = LOG_ERROR_LEVEL, .name = "registry-failed", .lasts = true};
    registry->settled = true;
    if (strcmp(registry->failure.text, error->text) == 0)
        return;
    registry->failure = *error;
    registry->failure_is_new = true;
    log_write(registry->log, &event, "%s; %s", error->text,
              registry->now->total ? "what was known before stays" : "there is nothing to serve");
}

static void plan_next(struct registry *registry) {
    int64_t rest_ms = REST_FACTOR * registry->busy_ns / CLOCK_NS_PER_MS;
    int64_t interval_ms = registry->refresh_ms * (registry->unwatched ? 1 : WATCHED_FACTOR);
    if (registry->again)
        wait_for(registry, rest_ms > SETTLE_MS ? rest_ms : SETTLE_MS, true);
    else
        wait_for(registry, rest_ms > interval_ms ? rest_ms : interval_ms, false);
}

static void end_scan(struct registry *registry, enum scan_progress progress,
                     const struct error *error) {
    struct snapshot *made = registry->scan.made;
    registry->unwatched = progress == SCAN_FAILED || registry->scan.unwatched;
    registry->scan.made = NULL;
    scan_end(&registry->scan);
    if (progress == SCAN_DONE) {
        publish(registry, made);
    } else {
        registry->retired = made;
        fail(registry, error);
    }
}

/* Goes on with the look and then with what it left. Is it over? */
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

/* One slice of a look; a step begun in it may pass the turn a little. */
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
    registry->looks++;
    plan_next(registry);
}

static void begin_scan(void *context) {
    struct registry *registry = context;
    struct error error = {0};
    const struct maker maker = {.schemas = registry->options.schemas,
                                .reserved_tools = registry->options.reserved_tools,
                                .key = &registry->key,
                                .response_bytes = registry->response_bytes};
    registry->again = registry->soon = false;
    registry->busy_ns = 0;
    if (!scan_begin(&registry->scan, registry->path, &registry->limits, &maker, registry->now,
                    &registry->watch, &error))
        end_scan(registry, SCAN_FAILED, &error);
    registry->scanning = true;
    loop_timer_start(registry->loop, &registry->timer, 0, on_slice, registry);
}

/* Something changed: look when it has settled. */
static void on_change(void *context) {
    struct registry *registry = context;
    if (registry->scanning)
        registry->again = true;
    else if (!registry->soon)
        wait_for(registry, SETTLE_MS, true);
}

void registry_refresh(struct registry *registry) {
    if (registry->scanning)
        registry->again = true;
    else if (registry->path)
        wait_for(registry, 0, true);
}

static struct registry *allocate(struct error *error) {
    /* Not calloc: a digester in there wants more alignment. */
    struct registry *registry = aligned_alloc(alignof(struct registry), sizeof *registry);
    struct snapshot *snapshot = snapshot_make();
    if (!registry || !snapshot) {
        error_set(error, errno, "the registry");
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
                                            .timeout_s = (double)settings->call_timeout_max_s};
    registry->response_bytes = (size_t)settings->response_max_bytes;
    registry->refresh_ms = settings->registry_refresh_s * CLOCK_MS_PER_S;
    registry->path = settings->project.count ? settings->project.paths[0] : NULL;
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

size_t registry_looks(const struct registry *registry) {
    return registry->looks;
}

bool registry_take_failure(struct registry *registry, struct error *error) {
    if (!registry->failure_is_new)
        return false;
    registry->failure_is_new = false;
    *error = registry->failure;
    return true;
}
