/* `eclave check`: is a project as it should be, and what is it to clients? It loads the sources and
 * calls nothing but what the tests call, all of it confined. */
#include "common/cleanup.h"
#include "supervisor/base/stdio.h"
#include "supervisor/base/terminal.h"
#include "supervisor/command/commands.h"
#include "supervisor/command/look.h"
#include "supervisor/command/outline.h"
#include "supervisor/command/project_tests.h"
#include "supervisor/command/sources.h"
#include "supervisor/settings/settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct findings {
    struct sources_tally sources;
    struct tests_tally tests;
};

static void interrupted(void *context) {
    sessions_cancel_all(&((struct one_shot *)context)->sessions, "Interrupted.");
}

/* Finds out what only shows when the project is evaluated. Returns the status to end with, when it
 * is not that of the findings. */
static int evaluate(const struct settings *settings, const struct snapshot *snapshot,
                    struct findings *findings) {
    struct one_shot one_shot;
    struct error error;
    int status = 0;
    if (!sources_are_there(snapshot))
        return 0;
    if (!one_shot_open(&one_shot, settings, interrupted, &one_shot, &status, &error)) {
        shown_complain(error.text);
        return status;
    }
    one_shot.sessions.unlogged = true;
    become_undumpable();
    findings->sources = sources_load(&one_shot, settings, snapshot);
    status = findings->sources.interrupted ? STATUS_INTERRUPTED : 0;
    if (!status && !tests_run(&one_shot, settings, snapshot, &findings->tests, &error)) {
        shown_complain(error.text);
        status = STATUS_FAILED;
    }
    one_shot_close(&one_shot);
    return findings->tests.interrupted ? STATUS_INTERRUPTED : status;
}

static void summarize(const struct snapshot *snapshot, const struct findings *findings) {
    printf("tools: %zu, resources: %zu, templates: %zu, prompts: %zu, completions: %zu; "
           "refused: %zu; sources: %zu loaded, %zu not; tests: %zu met, %zu not\n",
           snapshot->lists[REGISTRY_TOOL].count, snapshot->lists[REGISTRY_RESOURCE].count,
           snapshot->lists[REGISTRY_TEMPLATE].count, snapshot->lists[REGISTRY_PROMPT].count,
           snapshot->lists[REGISTRY_COMPLETION].count, snapshot->refusals.count,
           findings->sources.loaded, findings->sources.failed, findings->tests.met,
           findings->tests.unmet);
}

static int check(const struct settings *settings) {
    struct error error;
    struct findings findings = {0};
    const struct snapshot *snapshot = project_look(settings, &error);
    if (!snapshot) {
        shown_complain(error.text);
        return STATUS_FAILED;
    }
    outline_print(stdout, snapshot);
    fflush(stdout);
    int status = evaluate(settings, snapshot, &findings);
    summarize(snapshot, &findings);
    if (!status && (snapshot->refusals.count || findings.sources.failed || findings.tests.unmet))
        status = STATUS_FAILED;
    snapshot_unref(snapshot);
    if (fflush(stdout) != 0) {
        fprintf(stderr, "eclave: writing the result: %s\n", strerror(errno));
        return STATUS_INTERNAL;
    }
    return status;
}

int command_check(const struct settings *settings, int count, char **arguments) {
    struct settings own = *settings; /* whose other paths stay those of *settings */
    struct error error;
    int code = 0;
    cleanup_free char *found =
        count == 1 ? path_find(arguments[0], NULL, PATH_DIRECTORY, &code) : NULL;
    if (found)
        own.project = (struct path_list){.paths = {found}, .count = 1};
    else if (count == 1)
        error_set(&error, code ? code : ENOTDIR, "%.100s", arguments[0]);
    else
        error_set(&error, 0, "usage: eclave check [OPTIONS] DIR");
    if ((count && !found) || count > 1 || !own.project.count || !stdio_fill(&error)) {
        shown_complain(error.text);
        return STATUS_USAGE;
    }
    return check(&own);
}
