/* Plays a script to a fresh server and holds every answer against the oracle. A script that fails
 * is shrunk and printed as a command. No server is left running. */
#ifndef ECLAVE_TESTS_SUPPORT_PLAY_H
#define ECLAVE_TESTS_SUPPORT_PLAY_H

#include "tests/support/client.h"
#include "tests/support/oracle.h"
#include "tests/support/script.h"

struct play {
    const char *program;          /* NULL: the server under test */
    const char *const *arguments; /* of the server; ends with NULL; NULL: none */
    bool batches, minimal;        /* what these arguments mean to the oracle */
    bool in_turn;                 /* waits for the answers to each line before the next is sent */
    size_t due_max;               /* waits when more answers than these are due; 0: never */
    /* Called each time this many lines have been sent and answered; 0: never. */
    size_t pause_every;
    void (*at_pause)(struct client *client, size_t sent, void *context);
    void *context;
};

struct played {
    char *fault;                          /* malloc'd; NULL when all was well */
    size_t results, errors, silent, open; /* lines by what they called for */
};

/* Plays SCRIPT, then ends the server in good order. */
struct played play_once(const struct play *play, const struct script *script);

/* The same; fails the Criterion test when anything was not as the oracle says, after shrinking. */
struct played play_expect(const struct play *play, const struct script *script);

#endif
