/* Plays a script to a server with several sessions and holds every answer against session_model.h.
 * A line is a word and numbers; any numbers have a meaning, and an unknown word is ignored.
 *
 *   server MORE HISTORY UNNAMED RUNNING   the first line: how many sessions, unnamed ones and
 *                                    running calls beyond one
 *   set SLOT KIND KEY VALUE WAIT     in the session of that slot
 *   add SLOT KIND KEY VALUE WAIT     a condition when the integer is not set
 *   half SLOT KIND KEY VALUE WAIT    sets, then signals a condition
 *   inspect SLOT KIND KEY VALUE WAIT sets in the state VALUE modulo 4 calls ago; nothing stays
 *   fail SLOT KIND KEY WAY WAIT      sets, then ends its process in one of several ways
 *   rollback SLOT STEPS WAIT   reset SLOT WAIT   close SLOT WAIT
 *   open SLOT NAMED   copy SLOT FROM BACK NAMED   under the name in the slot, or one that is made
 *                                    up, which goes into the slot
 *   name SLOT NAME                   puts a name of the client into the slot
 *   unnamed SLOT KIND KEY VALUE      sets in a session that the call does not name
 *   list   kill SLOT   count
 *
 * Slot 0 is the connection's own session. With a WAIT of 0 the next line is sent at once. */
#ifndef ECLAVE_TESTS_SUPPORT_SESSION_PLAY_H
#define ECLAVE_TESTS_SUPPORT_SESSION_PLAY_H

#include "tests/support/random.h"
#include "tests/support/script.h"

enum { SESSION_PLAY_SLOTS = 5, SESSION_PLAY_WAYS = 10, SESSION_PLAY_NAMES = 4 };

/* A script of STEPS lines after the first. */
struct script session_play_make(struct random *random, size_t steps);

/* Plays SCRIPT to a server of its own. Returns what was wrong, malloc'd, or NULL. */
char *session_play(const struct script *script);

#endif
