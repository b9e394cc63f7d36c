/* Names of sessions: those that clients choose, handles, and those whose sessions have ended. */
#include "supervisor/session/session_internal.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Six of them are short enough for a model to copy, and give 887 million handles. Without letters
 * and digits that are taken for each other: i, l and 1, o and 0. */
static const char handle_letters[] = "abcdefghjkmnpqrstuvwxyz23456789";

enum { HANDLE_LETTERS = 6 };

bool session_name_is_valid(struct span name) {
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    if (name.length < 1 || name.length > SESSION_NAME_CHARS)
        return false;
    for (size_t i = 0; i < name.length; i++)
        if (!memchr(allowed, name.bytes[i], sizeof allowed - 1))
            return false;
    return true;
}

void names_make_handle(const struct sessions *sessions, char name[SESSION_NAME_BYTES]) {
    unsigned char random[HANDLE_LETTERS];
    struct span handle;
    do {
        char *end = stpcpy(name, "s-");
        randombytes_buf(random, sizeof random);
        for (size_t i = 0; i < HANDLE_LETTERS; i++)
            *end++ = handle_letters[random[i] % (sizeof handle_letters - 1)];
        *end = 0;
        handle = string_span(name);
    } while (sessions_find(sessions, handle) || sessions_gone(sessions, handle));
}

static struct session_gone *find(const struct session_names *names, struct span name) {
    struct session_gone *gone;
    TAILQ_FOREACH(gone, &names->list, entry) {
        if (strlen(gone->name) == name.length && memcmp(gone->name, name.bytes, name.length) == 0)
            break;
    }
    return gone;
}

static void forget(struct session_names *names, struct session_gone *gone) {
    TAILQ_REMOVE(&names->list, gone, entry);
    names->count--;
    free(gone);
}

const struct session_gone *sessions_gone(const struct sessions *sessions, struct span name) {
    const struct session_gone *gone = NULL;
    for (size_t end = 0; end < SESSION_ENDS && !gone; end++)
        gone = find(&sessions->gone[end], name);
    return gone;
}

void names_remember(struct sessions *sessions, const char *name, enum session_end end,
                    const char *why) {
    struct session_names *names = &sessions->gone[end];
    struct session_gone *gone = calloc(1, sizeof *gone);
    if (!gone)
        return; /* the name then counts as never used */
    snprintf(gone->name, sizeof gone->name, "%s", name);
    gone->end = end;
    gone->why = why;
    if (names->count == SESSIONS_GONE_MAX)
        forget(names, TAILQ_FIRST(&names->list));
    TAILQ_INSERT_TAIL(&names->list, gone, entry);
    names->count++;
}

void names_forget(struct sessions *sessions, struct span name) {
    for (size_t end = 0; end < SESSION_ENDS; end++) {
        struct session_gone *gone = find(&sessions->gone[end], name);
        if (gone)
            forget(&sessions->gone[end], gone);
    }
}

void names_free(struct sessions *sessions) {
    for (size_t end = 0; end < SESSION_ENDS; end++)
        while (!TAILQ_EMPTY(&sessions->gone[end].list))
            forget(&sessions->gone[end], TAILQ_FIRST(&sessions->gone[end].list));
}
