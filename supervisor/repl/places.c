/* The sessions of a person. */
#include "supervisor/repl/repl_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_PACKAGE_CHARS = 40 };

static const char user_package[] = "COMMON-LISP-USER";

struct place *places_find(const struct places *places, struct span name) {
    struct place *place;
    TAILQ_FOREACH(place, places, entry) {
        if (span_equal(string_span(place->name), name))
            break;
    }
    return place;
}

struct place *places_add(struct places *places, struct span name) {
    struct place *place = calloc(1, sizeof *place);
    if (!place)
        return NULL;
    memcpy(place->name, name.bytes, name.length);
    place_note(place, 0, string_span(user_package));
    TAILQ_INSERT_TAIL(places, place, entry);
    return place;
}

void places_free(struct places *places) {
    struct place *place;
    while ((place = TAILQ_FIRST(places)) != NULL) {
        TAILQ_REMOVE(places, place, entry);
        free(place);
    }
}

void place_note(struct place *place, uint64_t number, struct span package) {
    const size_t slot = number % STATES_MAX;
    place->states[slot].number = number;
    /* A name that does not fit is long enough to be cut in the prompt. */
    snprintf(place->states[slot].package, PACKAGE_BYTES, "%.*s", (int)package.length,
             (const char *)package.bytes);
}

/* The states that memory has run out for are not known. State 0 is a fresh one. */
static const char *package_of(const struct place *place, uint64_t number) {
    const size_t slot = number % STATES_MAX;
    return place->states[slot].number == number ? place->states[slot].package : user_package;
}

void place_copy_package(struct place *copy, const struct place *origin, uint64_t number) {
    place_note(copy, 0, string_span(package_of(origin, number)));
}

void place_package(const struct place *place, uint64_t number, struct buffer *shown) {
    const char *package = package_of(place, number);
    bool is_upper = true;
    char name[PACKAGE_BYTES];
    size_t length = 0;
    if (strcmp(package, user_package) == 0)
        package = "CL-USER";
    for (const char *byte = package; *byte; byte++)
        is_upper = is_upper && !islower((unsigned char)*byte);
    for (; length < SHOWN_PACKAGE_CHARS && package[length]; length++)
        name[length] = is_upper && isascii((unsigned char)package[length])
                           ? (char)tolower((unsigned char)package[length])
                           : package[length];
    shown_append(shown, (struct span){(const unsigned char *)name, length}, SHOWN_AS_NAME);
}
