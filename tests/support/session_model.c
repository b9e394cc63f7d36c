/* See session_model.h. */
#include "tests/support/session_model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void model_free(struct model *model) {
    while (model->first)
        model_close(model, model->first);
}

struct model_session *model_find(const struct model *model, const char *name) {
    struct model_session *session = model->first;
    while (session && strcmp(session->name, name) != 0)
        session = session->next;
    return session;
}

struct model_session *model_own(const struct model *model) {
    return model_find(model, "main");
}

static struct model_session *add(struct model *model) {
    struct model_session *session = calloc(1, sizeof *session);
    if (!session)
        abort();
    session->fresh = true;
    session->next = model->first;
    model->first = session;
    model->count++;
    model_use(model, session);
    return session;
}

void model_close(struct model *model, struct model_session *session) {
    struct model_session **link = &model->first;
    while (*link != session)
        link = &(*link)->next;
    *link = session->next;
    model->count--;
    free(session);
}

/* Closes the least recently used session that may be closed, until there is room for another. */
static bool make_room(struct model *model) {
    while (model->count >= model->maximum) {
        struct model_session *oldest = NULL;
        for (struct model_session *session = model->first; session; session = session->next)
            if (!session->own && !session->copied && (!oldest || session->used < oldest->used))
                oldest = session;
        if (!oldest)
            return false;
        model_close(model, oldest);
    }
    return true;
}

struct model_session *model_make_own(struct model *model) {
    make_room(model);
    struct model_session *session = add(model);
    session->own = true;
    snprintf(session->name, sizeof session->name, "main");
    return session;
}

struct model_session *model_open(struct model *model) {
    return make_room(model) ? add(model) : NULL;
}

/* Number of the oldest state held by a process. */
static unsigned long oldest_kept(const struct model_session *session) {
    return session->number + 1 - session->kept;
}

bool model_holds(const struct model_session *session, unsigned long number) {
    return (number == 0 && session->fresh) ||
           (session->kept && number <= session->number && number >= oldest_kept(session));
}

struct model_session *model_copy(struct model *model, struct model_session *session,
                                 unsigned long number) {
    bool fresh = number == 0 && session->fresh;
    struct model_world world = {0};
    if (!fresh)
        world = session->states[number - oldest_kept(session)];
    session->copied = true;
    bool room = make_room(model);
    session->copied = false;
    if (!room)
        return NULL;
    struct model_session *copy = add(model);
    if (!fresh) {
        copy->fresh = false;
        copy->states[0] = world;
        copy->kept = 1;
    }
    model_use(model, session);
    return copy;
}

void model_use(struct model *model, struct model_session *session) {
    session->used = ++model->clock;
}

struct model_world model_present(const struct model_session *session) {
    struct model_world world;
    if (session->kept)
        return session->states[session->kept - 1];
    for (size_t kind = 0; kind < MODEL_KINDS; kind++)
        for (size_t key = 0; key < MODEL_KEYS; key++)
            world.values[kind][key] = MODEL_UNSET;
    return world;
}

void model_advance(const struct model *model, struct model_session *session,
                   const struct model_world *world) {
    if (session->kept == model->history + 1)
        memmove(session->states, session->states + 1, --session->kept * sizeof *session->states);
    session->states[session->kept++] = *world;
    session->number++;
}

size_t model_history(const struct model *model, const struct model_session *session) {
    size_t steps = session->kept ? session->kept - 1 : 0;
    if (session->fresh && session->kept && oldest_kept(session) == 1)
        steps++;
    return steps < model->history ? steps : model->history;
}

void model_roll_back(struct model_session *session, size_t steps) {
    session->number -= steps;
    session->kept -= steps < session->kept ? steps : session->kept;
}

void model_reset(struct model_session *session) {
    session->number = 0;
    session->kept = 0;
    session->fresh = true;
}

size_t model_workers(const struct model_session *session) {
    return session->kept ? session->kept + 1 : 0;
}
