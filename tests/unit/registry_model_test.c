/* supervisor/registry: a scan that keeps unchanged entries has the same result as one from nothing,
 * after random changes, but for the definitions that are broken and stay in an earlier version. */
#include "supervisor/registry/scan.h"
#include "tests/support/random.h"
#include "tests/unit/project.h"
#include <stdio.h>

static const struct digest_key key = {{11, 12}};

/* NULL if the scan failed. */
static struct snapshot *look(const struct project *project, struct snapshot *before) {
    struct scan scan;
    struct watch watch = {.fd = -1};
    struct error error = {0};
    const struct scan_limits limits = {
        .bytes = 1 << 30, .entries = 10000, .resource_bytes = 1 << 24, .timeout_s = 600};
    const struct entry_options options = {.key = &key};
    enum scan_progress progress = SCAN_MORE;
    cr_assert(scan_begin(&scan, project->path, &limits, &options, before, &watch, &error));
    while (progress == SCAN_MORE)
        progress = scan_step(&scan, &error);
    struct snapshot *made = progress == SCAN_DONE ? scan.made : NULL;
    if (made)
        scan.made = NULL;
    else
        cr_assert(before->by_hand && strstr(error.text, "register.json: "), "%s", error.text);
    scan_end(&scan);
    return made;
}

static void expect_same(const struct snapshot *kept, const struct snapshot *full) {
    cr_expect_str_eq(kept->hash, full->hash);
    cr_expect_eq(kept->total, full->total);
    cr_expect_eq(kept->bytes, full->bytes);
    for (enum registry_kind kind = 0; kind < REGISTRY_KINDS; kind++) {
        cr_expect(digest_equal(kept->lists[kind].content, full->lists[kind].content), "%s",
                  registry_kind_word(kind));
        cr_expect_eq(kept->lists[kind].count, full->lists[kind].count);
    }
    cr_assert_eq(kept->refusals.count, full->refusals.count);
    for (size_t i = 0; i < full->refusals.count; i++) {
        cr_expect_str_eq(kept->refusals.items[i].file, full->refusals.items[i].file);
        cr_expect_str_eq(kept->refusals.items[i].text, full->refusals.items[i].text);
    }
}

/* MADE has in addition to FULL what the earlier snapshot KEPT had and cannot be made now. */
static void expect_more(const struct snapshot *made, const struct snapshot *kept,
                        const struct snapshot *full) {
    for (size_t i = 0; i < full->total; i++) {
        const struct registry_entry *entry = full->by_file[i];
        const struct registry_entry *same = snapshot_find(made, entry->kind, entry->key);
        cr_assert_not_null(same, "%s", entry->file);
        if (!same->stale)
            cr_expect(digest_equal(same->content, entry->content), "%s", entry->file);
    }
    for (size_t i = 0; i < made->total; i++) {
        const struct registry_entry *entry = made->by_file[i];
        bool refused = false;
        for (size_t j = 0; j < full->refusals.count; j++)
            refused = refused || strcmp(full->refusals.items[j].file, entry->file) == 0;
        if (entry->stale)
            cr_expect(refused && snapshot_find_file(kept, entry->file) == entry, "%s", entry->file);
    }
}

/* Makes a random change to one of a few files. */
static void disturb(struct random *random) {
    static const char *const endings[][FOLDER_COUNT] = {
        {".lisp", ".txt", ".txt", ".lisp"},
        {".json", ".txt.meta.json", ".json", ".json"},
        {".lisp", ".lisp", ".lisp", ".lisp"},
        {".json", ".lisp.meta.json", ".json", ".json"},
    };
    static const char *const texts[] = {
        "{\"title\":\"a\"}",
        "{\"title\":\"b\"}",
        "{\"name\":\"n\"}",
        "{\"uri\":\"t:1\"}",
        "{\"uriTemplate\":\"t:{x}\"}",
        "{",
        "",
        ";;; {\"title\":\"h\"}",
        "(code)",
        "(edoc)",
        "{\"completions\":{\"a\":\"f1\"}}",
        "{\"messages\":[]}",
    };
    char paths[2][64];
    for (size_t i = 0; i < 2; i++) {
        size_t folder = random_below(random, FOLDER_COUNT);
        snprintf(paths[i], sizeof paths[i], "%s/f%zu%s", folder_name((enum project_folder)folder),
                 random_below(random, 6), endings[random_below(random, 4)][folder]);
    }
    switch (random_below(random, 8)) {
    case 0:
        unlink(paths[0]);
        break;
    case 1:
        rename(paths[0], paths[1]);
        break;
    case 2:
        unlink(paths[0]);
        cr_expect_eq(symlink("f1.lisp", paths[0]), 0);
        break;
    case 3:
        unlink(paths[0]);
        cr_expect(link(paths[1], paths[0]) == 0 || errno == ENOENT);
        break;
    case 4:
        put("register.json", random_percent(random, 50)
                                 ? "{\"version\":1,\"tools\":[{\"name\":\"f1\"},{\"name\":\"f2\","
                                   "\"file\":\"tools/f1.lisp\"}]}"
                                 : "{\"version\":");
        break;
    case 5:
        unlink("register.json");
        break;
    default:
        unlink(paths[0]); /* never through a link */
        put(paths[0], random_pick(random, texts));
    }
}

PROJECT_TEST(registry_model, keeping_unchanged_entries_gives_the_same_result) {
    struct random random = random_for("registry_model");
    struct snapshot *empty = snapshot_make(), *kept = snapshot_make();
    size_t shared = 0, all_fresh = 0, some_stale = 0;
    for (size_t round = 0, rounds = random_trials(4, 60); round < rounds; round++) {
        for (size_t trial = 0; trial < 60; trial++) {
            for (size_t i = random_below(&random, 4); i; i--)
                disturb(&random);
            struct snapshot *next = look(project, kept), *full = look(project, empty);
            if (!next) { /* register.json broke */
                snapshot_unref(full);
                continue;
            }
            if (next->stale.count == 0)
                expect_same(next, full);
            else
                expect_more(next, kept, full);
            all_fresh += next->stale.count == 0;
            some_stale += next->stale.count > 0;
            for (size_t i = 0; i < next->total; i++)
                shared += next->by_file[i]->references > 1;
            snapshot_unref(kept);
            snapshot_unref(full);
            kept = next;
        }
        sleep(4);                                        /* unchanged files may be trusted now */
        struct snapshot *settled = look(project, empty); /* without what is stale */
        snapshot_unref(kept);
        kept = settled;
    }
    cr_expect_gt(shared, 0);
    cr_expect_gt(all_fresh, 0);
    cr_expect_gt(some_stale, 0);
    snapshot_unref(kept);
    snapshot_unref(empty);
}
