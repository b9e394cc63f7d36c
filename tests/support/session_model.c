/* See session_model.h. */
#include "tests/support/session_model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void model_free(struct model *model) {
    while (model->first)
        model_close(model, model->first);
    free(model->gone);
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

static struct model_session *add(struct model *model, const char *name) {
    struct model_session *session = calloc(1, sizeof *session);
    if (!session)
        abort();
    snprintf(session->name, sizeof session->name, "%s", name);
    session->fresh = true;
    session->next = model->first;
    model->first = session;
    for (size_t i = 0; i < model->gone_count; i++)
        if (strcmp(model->gone[i].name, name) == 0)
            model->gone[i].name[0] = 0;
    return session;
}

static void end(struct model *model, struct model_session *session, enum model_end how) {
    struct model_session **link = &model->first;
    while (*link != session)
        link = &(*link)->next;
    *link = session->next;
    if (!session->own) {
        model->gone = realloc(model->gone, ++model->gone_count * sizeof *model->gone);
        if (!model->gone)
            abort();
        struct model_gone *gone = &model->gone[model->gone_count - 1];
        gone->end = how;
        snprintf(gone->name, sizeof gone->name, "%s", session->name);
    }
    free(session);
}

void model_close(struct model *model, struct model_session *session) {
    end(model, session, MODEL_CLOSED);
}

enum model_end model_end_of(const struct model *model, const char *name) {
    for (size_t i = model->gone_count; i-- > 0;)
        if (strcmp(model->gone[i].name, name) == 0)
            return model->gone[i].end;
    return MODEL_NEVER;
}

size_t model_count(const struct model *model) {
    size_t count = 0;
    for (const struct model_session *session = model->first; session; session = session->next)
        count++;
    return count;
}

bool model_has_room(const struct model *model) {
    size_t count = 0;
    for (const struct model_session *session = model->first; session; session = session->next)
        count += !session->own && !session->unnamed;
    return count < model->maximum;
}

struct model_session *model_make_own(struct model *model) {
    struct model_session *session = add(model, "main");
    session->own = true;
    return session;
}

struct model_session *model_open(struct model *model, const char *name) {
    return model_has_room(model) ? add(model, name) : NULL;
}

bool model_keep(const struct model *model, struct model_session *session) {
    if (session->unnamed && !model_has_room(model))
        return false;
    session->unnamed = false;
    return true;
}

struct model_session *model_make_unnamed(struct model *model, const char *name) {
    struct model_session *made = add(model, name);
    made->unnamed = true;
    made->made = ++model->clock;
    size_t count = 0;
    struct model_session *oldest = NULL;
    for (struct model_session *session = model->first; session; session = session->next) {
        count += session->unnamed;
        if (session->unnamed && (!oldest || session->made < oldest->made))
            oldest = session;
    }
    if (count > model->unnamed_max)
        end(model, oldest, MODEL_DROPPED);
    return made;
}

/* Number of the oldest state held by a process. */
static unsigned long oldest_kept(const struct model_session *session) {
    return session->number + 1 - session->kept;
}

bool model_holds(const struct model_session *session, unsigned long number) {
    return (number == 0 && session->fresh) ||
           (session->kept && number <= session->number && number >= oldest_kept(session));
}

struct model_session *model_copy(struct model *model, const struct model_session *session,
                                 unsigned long number, const char *name) {
    bool fresh = number == 0 && session->fresh;
    const struct model_world world = model_state(session, number);
    struct model_session *copy = model_open(model, name);
    if (copy && !fresh) {
        copy->fresh = false;
        copy->states[0] = world;
        copy->kept = 1;
    }
    return copy;
}

struct model_world model_present(const struct model_session *session) {
    return model_state(session, session->number);
}

struct model_world model_state(const struct model_session *session, unsigned long number) {
    struct model_world world;
    if (session->kept && number >= oldest_kept(session))
        return session->states[number - oldest_kept(session)];
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
