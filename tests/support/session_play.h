/* Plays a script to a server with several sessions and checks every answer with session_model.h. Each
 * line of a script is a JSON array of a word and integers, which may have any value. Other lines are
 * ignored.
 *
 *   ["server", more, history]              the first line; the number of further sessions
 *   ["set", slot, kind, key, value, wait]  in the session of that slot
 *   ["add", slot, kind, key, value, wait]  signals a condition when it is not set
 *   ["half", slot, kind, key, value, wait] sets, then signals a condition
 *   ["fail", slot, kind, key, way, wait]   sets, then ends its process in one of several ways
 *   ["rollback", slot, steps, wait]  ["reset", slot, wait]  ["close", slot, wait]
 *   ["open", slot]  ["copy", slot, from, back]   into the slot, which may name another session
 *   ["list"]  ["kill", slot]  ["count"]
 *
 * Slot 0 is the connection's own session. Without WAIT the next line is sent at once. */
#ifndef ECLAVE_TESTS_SUPPORT_SESSION_PLAY_H
#define ECLAVE_TESTS_SUPPORT_SESSION_PLAY_H

#include "tests/support/random.h"
#include "tests/support/script.h"

enum { SESSION_PLAY_SLOTS = 5, SESSION_PLAY_WAYS = 10 };

/* A script of STEPS lines after the first. */
struct script session_play_make(struct random *random, size_t steps);

/* Plays SCRIPT to a new server. The fault, malloc'd, or NULL. */
char *session_play(const struct script *script);

#endif
