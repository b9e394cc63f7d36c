/* `eclave check`: is a project as it should be, and what is it to clients? It evaluates nothing but
 * the tests, confined. */
#include "common/cleanup.h"
#include "supervisor/commands.h"
#include "supervisor/path_list.h"
#include "supervisor/project_commands/look.h"
#include "supervisor/project_commands/outline.h"
#include "supervisor/project_commands/tests.h"
#include "supervisor/stdio.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void summarize(const struct snapshot *snapshot, const struct tests_tally *tally) {
    printf("tools: %zu, resources: %zu, templates: %zu, prompts: %zu, completions: %zu; "
           "refused: %zu; tests: %zu met, %zu not\n",
           snapshot->lists[REGISTRY_TOOL].count, snapshot->lists[REGISTRY_RESOURCE].count,
           snapshot->lists[REGISTRY_TEMPLATE].count, snapshot->lists[REGISTRY_PROMPT].count,
           snapshot->lists[REGISTRY_COMPLETION].count, snapshot->refusal_count, tally->met,
           tally->unmet);
}

static int check(const struct settings *settings) {
    struct error error;
    const struct snapshot *snapshot = project_look(settings, &error);
    if (!snapshot) {
        fprintf(stderr, "eclave: %s\n", error.text);
        return 1;
    }
    outline_print(stdout, snapshot);
    fflush(stdout);
    const struct tests_tally tally = tests_run(settings, snapshot);
    summarize(snapshot, &tally);
    int status = snapshot->refusal_count || tally.unmet ? 1 : 0;
    snapshot_unref(snapshot);
    if (fflush(stdout) != 0) {
        fprintf(stderr, "eclave: writing the result: %s\n", strerror(errno));
        return STATUS_INTERNAL;
    }
    return tally.broken ? tally.broken : status;
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
        fprintf(stderr, "eclave: %s\n", error.text);
        return STATUS_USAGE;
    }
    return check(&own);
}
