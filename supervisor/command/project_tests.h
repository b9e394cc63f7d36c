/* Tests of a project's tools: beside tools/NAME.lisp the file tools/NAME.test.jsonl, a test a line.
 *
 *   {"args": {…}, "expect": "text"}       what `eclave tool` prints of the contents, but for the
 *                                         end of its last line
 *   {"args": {…}, "expect": {…}}          any other JSON: the value for programs
 *   {"args": {…}, "expectError": "part"}  the call fails, and its text has this in it
 *
 * `args` may be left out; empty lines are. Without an expectation the call must not fail. */
#ifndef ECLAVE_SUPERVISOR_COMMAND_PROJECT_TESTS_H
#define ECLAVE_SUPERVISOR_COMMAND_PROJECT_TESTS_H

#include "common/error.h"
#include "supervisor/registry/snapshot.h"
#include "supervisor/session/one_shot.h"
#include "supervisor/settings/settings.h"
#include <stdbool.h>
#include <stddef.h>

struct tests_tally {
    size_t met, unmet;
    bool interrupted; /* and not all are counted */
};

/* Runs them all, each in a world of its own, and prints a line for each. False with *error when the
 * project is gone. */
bool tests_run(struct one_shot *one_shot, const struct settings *settings,
               const struct snapshot *snapshot, struct tests_tally *tally, struct error *error);

#endif
