/* supervisor/project/differences: the result of looking at changed entries only is that of
 * comparing all. */
#include "supervisor/project/differences.h"
#include "tests/support/random.h"
#include "tests/unit/project.h"
#include <stdio.h>

enum { TEMPLATES = 12, RESOURCES = 4, URIS = 40 };

static const struct registry_entry *source(const struct snapshot *snapshot, const char *uri) {
    struct template_match match;
    const struct registry_entry *file = snapshot_find(snapshot, REGISTRY_RESOURCE, uri);
    return file ? file : snapshot_match(snapshot, uri, &match);
}

/* By definition: the first entry that serves the URI is another one. */
static bool differs(const struct snapshot *before, const struct snapshot *now, const char *uri) {
    const struct registry_entry *old = source(before, uri), *new = source(now, uri);
    if (!old || !new)
        return old != new;
    return strcmp(old->key, new->key) != 0 || !digest_equal(old->content, new->content) ||
           !digest_equal(old->listing, new->listing);
}

/* Several templates that match the same URIs, and files whose URIs they match as well. */
static void change(struct random *random) {
    char path[64], text[160];
    size_t which = random_below(random, TEMPLATES), file = random_below(random, RESOURCES);
    snprintf(path, sizeof path, "resources/t%zu.lisp", which);
    snprintf(text, sizeof text, "%u", (unsigned)random_below(random, 3));
    if (random_percent(random, 70))
        put(path, text);
    else
        unlink(path);
    snprintf(path, sizeof path, "resources/t%zu.lisp.meta.json", which);
    snprintf(text, sizeof text, "{\"uriTemplate\":\"x://%s%zu/{+v}\",\"title\":\"%u\"}",
             which % 2 ? "{+u}/" : "", which / 3, (unsigned)random_below(random, 2));
    put(path, text);
    snprintf(path, sizeof path, "resources/f%zu", file);
    snprintf(text, sizeof text, "%u", (unsigned)random_below(random, 3));
    if (random_percent(random, 50))
        put(path, text);
    else
        unlink(path);
    snprintf(path, sizeof path, "resources/f%zu.meta.json", file);
    snprintf(text, sizeof text, "{\"uri\":\"x://%zu/%u\"}", file,
             (unsigned)random_below(random, 2));
    put(path, text);
}

static size_t compare(const struct snapshot *before, const struct snapshot *now) {
    struct differences differences;
    size_t different = 0;
    differences_open(&differences, before, now);
    for (unsigned i = 0; i < URIS; i++) {
        char uri[64];
        snprintf(uri, sizeof uri, "x://%s%u/%u", i % 2 ? "0/" : "", i / 2 % 5, i / 10);
        bool expected = differs(before, now, uri);
        cr_expect_eq(differences_have(&differences, uri), expected, "%s", uri);
        different += expected;
    }
    differences_close(&differences);
    return different;
}

PROJECT_TEST(differences, are_those_found_by_comparing_everything) {
    struct random random = random_for("differences");
    size_t different = 0, same = 0;
    project_begin(project);
    for (size_t trial = 0; trial < random_trials(60, 1000); trial++) {
        struct snapshot *before = snapshot_ref(snapshot_of(project));
        for (size_t i = random_below(&random, 4); i > 0; i--)
            change(&random);
        project_look(project);
        size_t found = compare(before, snapshot_of(project));
        different += found;
        same += URIS - found;
        snapshot_unref(before);
    }
    cr_expect_gt(different, 0);
    cr_expect_gt(same, 0);
}

PROJECT_TEST(differences, outlive_the_registry) {
    struct differences differences;
    put("resources/a", "1");
    put("resources/c", "1");
    put("resources/d", "1");
    project_begin(project);
    struct snapshot *before = snapshot_ref(snapshot_of(project));
    put("resources/a", "2");
    project_look(project);
    differences_open(&differences, before, snapshot_of(project));
    snapshot_unref(before);
    project_end(project);
    cr_expect(differences_have(&differences, "eclave:///a"));
    cr_expect_not(differences_have(&differences, "eclave:///b"));
    size_t steps = 1;
    while (!differences_close_some(&differences))
        steps++;
    cr_expect_gt(steps, 2, "entry by entry");
}
