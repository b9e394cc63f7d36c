/* The parts of `eclave tool` and `eclave check`, by the file that implements them. */
#ifndef ECLAVE_SUPERVISOR_COMMAND_PROJECT_COMMANDS_H
#define ECLAVE_SUPERVISOR_COMMAND_PROJECT_COMMANDS_H

#include "common/buffer.h"
#include "common/error.h"
#include "supervisor/registry/snapshot.h"
#include "supervisor/session/one_shot.h"
#include "supervisor/settings/settings.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

/* --- offline.c: a project without a server and a client --- */

/* Reads the project of SETTINGS as the server does. The caller owns the snapshot (snapshot_unref),
 * which has refused entries, too. NULL with *error. */
const struct snapshot *offline_read(const struct settings *settings, struct error *error);

struct offline_call {
    struct one_shot *one_shot;
    const struct settings *settings;
    const struct registry_entry *entry; /* a tool */
    struct json_object *arguments;      /* an object */
    bool quiet;                         /* progress, log messages and captured output are dropped */

    /* Set by offline_call_run: */
    int status;  /* exit status */
    bool failed; /* no result, or one with isError */
    bool interrupted;
    struct buffer text;             /* text content as it is, other content as JSON lines */
    struct buffer structured_text;  /* the structured value as JSON; empty if there is none */
    struct json_object *structured; /* the same, parsed; NULL if there is none or it is null */
};

/* Checks the arguments, runs the tool and waits until it ends. The caller frees the results. */
void offline_call_run(struct offline_call *call);
void offline_call_free(struct offline_call *call);

/* --- check_sources.c --- */

struct sources_tally {
    size_t loaded, failed;
    bool interrupted; /* before all were loaded */
};

bool check_has_sources(const struct snapshot *snapshot);
/* Loads each source in a fresh process and checks that it defines its entry, without calling it.
 * Prints a line for each failure and each warning. */
struct sources_tally check_sources(struct one_shot *one_shot, const struct settings *settings,
                                   const struct snapshot *snapshot);

/* --- check_tests.c --- */

struct tests_tally {
    size_t passed, failed;
    bool interrupted; /* before all were run */
};

/* Runs the tests of each tool, each in a fresh process, and prints a line for each. False with
 * *error if the project has disappeared. */
bool check_tests(struct one_shot *one_shot, const struct settings *settings,
                 const struct snapshot *snapshot, struct tests_tally *tally, struct error *error);
/* Prints a failure for each file of tests that belongs to no tool, and adds it to *TALLY. False
 * with *error if the project has disappeared. */
bool check_stray_tests(const struct settings *settings, const struct snapshot *snapshot,
                       struct tests_tally *tally, struct error *error);

#endif
