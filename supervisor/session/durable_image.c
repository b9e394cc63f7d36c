/* Images of sessions: the state of one whose calls take long to evaluate again is kept as an image
 * beside its journal, off the path of answers, one session at a time. It is that of a parked
 * checkpoint, which calls that follow do not disturb. Without an image nothing is lost but time. */
#include "common/cleanup.h"
#include "supervisor/session/session_internal.h"

#include <stdio.h>
#include <string.h>

enum {
    DELAY_MS = 200,   /* until an image is begun, so that calls in a row have one together */
    RETRY_MS = 20,    /* while a checkpoint is not stopped yet */
    ADOPTION_MS = 50, /* what it takes at least to make an image and to bring it back */
    BYTES_PER_MS = 400 << 10, /* of an image, that are written, read and checked */
    SHARE = 10,               /* one part of the time goes to images, at most */
    FAILURES_MAX = 3          /* in a row; then no more are made */
};

static struct images *images_of(const struct session *session) {
    return &session->all->images;
}

/* The checkpoint whose state is to be kept: the oldest process that costs little more time to bring
 * back than the newest state, so that calls after it can still be rolled back then; if there is
 * none, the newest state. NULL: there is none. */
static const struct checkpoint *choose(const struct session *session) {
    const struct session_saved *saved = &session->saved;
    const struct checkpoint *chosen = LIST_FIRST(&session->checkpoints), *at = chosen, *older;
    if (!chosen || chosen->number != session->number || !session->head)
        return NULL;
    while (!saved->image_hurries && (older = LIST_NEXT(at, entry)) != NULL &&
           older->number + 1 == at->number &&
           (saved->cost_ns - older->cost_ns) / CLOCK_NS_PER_MS <= ADOPTION_MS) {
        at = older;
        if (at->worker)
            chosen = at;
    }
    return durable_place(session, chosen->number) > saved->image.number ? chosen : NULL;
}

/* One that has the state of CHECKPOINT, or nearly so. */
static const struct worker_process *process_of(const struct session *session,
                                               const struct checkpoint *checkpoint) {
    return checkpoint->worker ? checkpoint->worker : session->head;
}

/* Whether evaluating the calls before CHECKPOINT again would take longer than to bring back their
 * image. */
static bool pays(const struct session *session, const struct checkpoint *checkpoint) {
    const struct session_saved *saved = &session->saved;
    const int64_t cost_ms = (checkpoint->cost_ns - saved->image_cost_ns) / CLOCK_NS_PER_MS;
    if (cost_ms <= ADOPTION_MS)
        return false;
    const uint64_t bytes = saved->image.number
                               ? saved->image.facts.bytes
                               : worker_resident_bytes(process_of(session, checkpoint));
    return cost_ms > ADOPTION_MS + (int64_t)(bytes / BYTES_PER_MS);
}

/* NULL: no image is to be made now. */
static const struct checkpoint *find_due(const struct session *session) {
    const struct session_saved *saved = &session->saved;
    if (!durable_saves(session) || !saved->open || saved->drops ||
        durable_place(session, session->number) != saved->count)
        return NULL;
    const struct checkpoint *checkpoint = choose(session);
    /* An image cannot have native code, which would have to be sealed again. */
    return checkpoint && !process_of(session, checkpoint)->native.units && pays(session, checkpoint)
               ? checkpoint
               : NULL;
}

static void on_timer(void *context);

static void wait_for(struct sessions *all, int64_t delay_ms) {
    struct images *images = &all->images;
    if (!images->off && !images->session && !images->timer.active)
        loop_timer_start(all->loop, &images->timer, delay_ms, on_timer, all);
}

void durable_image_note(struct session *session) {
    if (images_of(session)->imager.loop && find_due(session))
        wait_for(session->all, DELAY_MS);
}

/* The process is as it was when its image was begun, and so are the calls of its state. */
static bool is_unchanged(const struct session *session) {
    const struct images *images = images_of(session);
    const struct checkpoint *checkpoint = LIST_FIRST(&session->checkpoints);
    while (checkpoint && checkpoint->worker != images->worker)
        checkpoint = LIST_NEXT(checkpoint, entry);
    return checkpoint && images->worker->pid == images->pid &&
           images->worker->wakes == images->wakes && session->saved.changes == images->changes;
}

static void end(struct sessions *all) {
    struct images *images = &all->images;
    const int64_t took_ms = (clock_now_ns() - images->begun_ns) / CLOCK_NS_PER_MS;
    images->session = NULL;
    wait_for(all, DELAY_MS + SHARE * took_ms);
}

/* Removes the file that was made for it. */
static void discard(const struct session *session) {
    const struct keeper_request request = {.operation = KEEPER_DROP_IMAGE,
                                           .session = session->saved.number};
    keeper_ask(session->all->keeper, &request, NULL, NULL);
}

static void fail(struct sessions *all, const char *why) {
    struct images *images = &all->images;
    const struct log_event event = {.level = LOG_INFO_LEVEL,
                                    .name = "session-image",
                                    .session = images->session ? images->session->name : NULL};
    images->off = ++images->failures >= FAILURES_MAX;
    log_write(all->log, &event, "no image of it is kept: %s%s", why,
              images->off ? "; no more are made" : "");
    end(all);
}

static void on_kept(void *context, struct keeper_reply *reply) {
    struct session *session = context;
    struct images *images = images_of(session);
    if (images->session != session)
        return;
    if (reply->failure) {
        fail(session->all, reply->failure);
        return;
    }
    images->failures = 0;
    if (session->saved.changes == images->changes) {
        session->saved.image = images->image;
        session->saved.image_cost_ns = images->cost_ns;
        session->saved.image_hurries = false;
        const struct log_event event = {.name = "session-image", .session = session->name};
        LOG_TRACE(session->all->log, &event, "of the state after call %llu, %llu bytes",
                  (unsigned long long)images->image.number,
                  (unsigned long long)images->image.facts.bytes);
    }
    end(session->all);
}

static void on_imaged(void *context, const struct imaged *imaged) {
    struct sessions *all = context;
    struct images *images = &all->images;
    struct session *session = images->session;
    if (!session)
        return;
    if (!is_unchanged(session)) { /* what was read may be a mixture */
        session->saved.image_hurries = true;
        discard(session);
        end(all);
        return;
    }
    if (!imaged->written) {
        discard(session);
        fail(all, imaged->why);
        return;
    }
    images->image.facts = imaged->facts;
    const struct keeper_request request = {
        .operation = KEEPER_KEEP_IMAGE,
        .session = session->saved.number,
        .bytes = {(const unsigned char *)&images->image, sizeof images->image}};
    keeper_ask(all->keeper, &request, on_kept, session);
}

static void on_made(void *context, struct keeper_reply *reply) {
    struct session *session = context;
    struct images *images = images_of(session);
    if (images->session != session)
        return;
    if (reply->failure) {
        fail(session->all, reply->failure);
    } else if (!is_unchanged(session)) {
        discard(session);
        end(session->all);
    } else if (!imager_ask(&images->imager, images->pid, reply->fd)) {
        discard(session);
        fail(session->all, "there is no imager");
    }
}

static void begin(struct session *session, const struct checkpoint *checkpoint) {
    struct images *images = images_of(session);
    images->session = session;
    images->worker = checkpoint->worker;
    images->pid = checkpoint->worker->pid;
    images->wakes = checkpoint->worker->wakes;
    images->changes = session->saved.changes;
    images->cost_ns = checkpoint->cost_ns;
    images->begun_ns = clock_now_ns();
    images->image = (struct saved_image){.number = durable_place(session, checkpoint->number)};
    const struct keeper_request request = {.operation = KEEPER_MAKE_IMAGE,
                                           .session = session->saved.number};
    keeper_ask(session->all->keeper, &request, on_made, session);
}

static void on_timer(void *context) {
    struct sessions *all = context;
    struct session *session, *chosen = NULL;
    const struct checkpoint *checkpoint = NULL;
    if (imager_is_busy(&all->images.imager)) {
        wait_for(all, DELAY_MS);
        return;
    }
    TAILQ_FOREACH(session, &all->list, entry) {
        const struct checkpoint *due = find_due(session);
        if (due && (!chosen || session->saved.cost_ns > chosen->saved.cost_ns)) {
            chosen = session;
            checkpoint = due;
        }
    }
    if (!chosen)
        return;
    if (!checkpoint->worker) {
        history_park(chosen);
        wait_for(all, RETRY_MS);
        return;
    }
    worker_rest(checkpoint->worker);
    if (worker_is_stopped(checkpoint->worker) && checkpoint->worker->state == WORKER_READY)
        begin(chosen, checkpoint);
    else
        wait_for(all, RETRY_MS);
}

void durable_image_forget(struct session *session) {
    if (images_of(session)->session != session)
        return;
    if (keeper_is_there(session->all->keeper))
        discard(session);
    images_of(session)->session = NULL;
}

void durable_images_open(struct sessions *all) {
    const struct pool_programs *programs = &all->pool->programs;
    struct imager_base base;
    const struct image_cache *cache = &programs->images;
    if (!cache->used || snprintf(base.image, sizeof base.image, "%s/%s", cache->directory,
                                 cache->name) >= (int)sizeof base.image)
        return;
    snprintf(base.program, sizeof base.program, "%s", programs->worker);
    imager_start(&all->images.imager, all->loop, &base, on_imaged, all);
}

void durable_images_close(struct sessions *all) {
    imager_close(&all->images.imager);
    if (all->images.imager.loop)
        loop_timer_stop(all->loop, &all->images.timer);
}
