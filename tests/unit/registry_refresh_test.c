/* supervisor/registry: what changes in a project is seen, once, and holds up nothing else. */
#include "supervisor/base/clock.h"
#include "supervisor/registry/beneath.h"
#include "supervisor/registry/scan.h"
#include "supervisor/schema/schema.h"
#include "tests/support/outer_filter.h"
#include "tests/support/random.h"
#include "tests/unit/project.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>

static char hash[DIGEST_TEXT_BYTES];

static void remember_hash(const struct project *project) {
    memcpy(hash, snapshot_of(project)->hash, sizeof hash);
}

static bool hash_is_remembered(const struct project *project) {
    return strcmp(hash, snapshot_of(project)->hash) == 0;
}

PROJECT_TEST(registry_refresh, add_edit_rename_and_delete_are_each_seen_once) {
    project_begin(project);
    cr_expect_eq(project->changes, 0);
    put("tools/a.lisp", ";;; {\"title\":\"1\"}\n1");
    project_await_change(project);
    cr_expect_eq(project->listed, 1U << REGISTRY_TOOL);
    remember_hash(project);
    put("tools/a.lisp", ";;; {\"title\":\"2\"}\n1"); /* as long as it was */
    project_await_change(project);
    cr_expect_eq(project->listed, 1U << REGISTRY_TOOL);
    cr_expect_not(hash_is_remembered(project));
    remember_hash(project);
    put("tools/a.lisp", ";;; {\"title\":\"2\"}\n2");
    project_await_change(project);
    cr_expect_eq(project->listed, 0, "the listing is the same");
    cr_expect_eq(project->content, 1U << REGISTRY_TOOL);
    cr_expect(hash_is_remembered(project));
    cr_assert_eq(rename("tools/a.lisp", "tools/b.lisp"), 0);
    project_await_change(project);
    cr_expect_null(find(project, REGISTRY_TOOL, "a"));
    cr_expect_not_null(find(project, REGISTRY_TOOL, "b"));
    cr_assert_eq(unlink("tools/b.lisp"), 0);
    project_await_change(project);
    cr_expect_eq(snapshot_of(project)->total, 0);
    cr_expect_eq(project->changes, 5);
    project_look(project);
    cr_expect_eq(project->changes, 5);
}

PROJECT_TEST(registry_refresh, each_kind_has_its_own_bit) {
    project_begin(project);
    put("resources/a", "1");
    project_look(project);
    cr_expect_eq(project->listed, 1U << REGISTRY_RESOURCE);
    put("resources/a", "2");
    project_look(project);
    cr_expect_eq(project->listed, 0);
    cr_expect_eq(project->content, 1U << REGISTRY_RESOURCE);
    put("resources/a", "22");
    project_look(project);
    cr_expect_eq(project->listed, 0, "lists show no size");
    cr_expect_eq(project->content, 1U << REGISTRY_RESOURCE);
    put("prompts/a.txt", "2");
    put("completions/a.lisp", "2");
    project_look(project);
    cr_expect_eq(project->listed, 1U << REGISTRY_PROMPT | 1U << REGISTRY_COMPLETION);
}

PROJECT_TEST(registry_refresh, a_burst_is_one_change) {
    project_begin(project);
    for (int i = 0; i < 50; i++) {
        char path[64];
        snprintf(path, sizeof path, "tools/t%d.lisp", i);
        put(path, "1");
    }
    project_await_change(project);
    cr_expect_eq(snapshot_of(project)->total, 50);
    cr_expect_eq(project->changes, 1);
}

PROJECT_TEST(registry_refresh, what_did_not_change_is_shared_once_it_has_settled) {
    put("tools/a.lisp", "1");
    put("tools/b.lisp", "1");
    put("tools/b.json", "{}");
    project_begin(project);
    const struct registry_entry *fresh = find(project, REGISTRY_TOOL, "a");
    project_look(project);
    cr_expect_neq(find(project, REGISTRY_TOOL, "a"), fresh, "it was too young to be trusted");
    sleep(4);
    project_look(project);
    const struct registry_entry *a = find(project, REGISTRY_TOOL, "a");
    const struct registry_entry *b = find(project, REGISTRY_TOOL, "b");
    put("tools/b.json", "[]");
    put("tools/b.json", "{}");
    project_look(project);
    cr_expect_eq(find(project, REGISTRY_TOOL, "a"), a);
    cr_expect_neq(find(project, REGISTRY_TOOL, "b"), b);
    put("tools/a.json", "{\"title\":\"A\"}");
    project_look(project);
    cr_expect_str_eq(metadata_text(find(project, REGISTRY_TOOL, "a")->metadata, "title"), "A");
}

PROJECT_TEST(registry_refresh, an_edit_in_place_within_one_tick_is_found_by_looking_again) {
    project->settings.registry_refresh_s = 3600;
    put("tools/a.lisp", "1");
    project_begin(project);
    for (int digit = '2'; digit <= '9'; digit++) {
        const char text[2] = {(char)digit, 0};
        int fd = open("tools/a.lisp", O_WRONLY | O_CLOEXEC);
        struct stat before;
        cr_assert_eq(fstat(fd, &before), 0);
        cr_assert_eq(write(fd, text, 1), 1);
        const struct timespec times[2] = {before.st_atim, before.st_mtim}; /* hides it */
        cr_assert_eq(futimens(fd, times), 0);
        close(fd);
        project_look(project);
        expect_body(project, REGISTRY_TOOL, "a", text);
    }
}

PROJECT_TEST(registry_refresh, a_held_snapshot_outlives_everything) {
    put("tools/a.lisp", "old");
    project_begin(project);
    struct snapshot *held = snapshot_ref(snapshot_of(project));
    put("tools/a.lisp", "new");
    project_look(project);
    expect_body(project, REGISTRY_TOOL, "a", "new");
    project_end(project);
    const struct registry_entry *entry = snapshot_find(held, REGISTRY_TOOL, "a");
    cr_expect_str_eq((const char *)entry->body.bytes, "old");
    snapshot_unref(held);
}

static void make_tools(int count) {
    for (int i = 0; i < count; i++) {
        char path[64];
        snprintf(path, sizeof path, "tools/tool-%d.lisp", i);
        put(path, ";;; {\"title\":\"A tool\",\"inputSchema\":{\"type\":\"object\"}}\n(values)");
    }
}

PROJECT_TEST(registry_refresh, five_hundred_are_taken_and_one_more_is_not) {
    struct error error = {0};
    make_tools(500);
    project_begin(project);
    cr_expect_eq(snapshot_of(project)->total, 500);
    remember_hash(project);
    put("tools/more.lisp", "1");
    put("tools/tool-1.lisp", "changed");
    project_look(project);
    cr_expect(hash_is_remembered(project));
    cr_expect_eq(snapshot_of(project)->total, 500);
    cr_expect(registry_take_failure(project->registry, &error));
    cr_expect_str_eq(error.text, "tools has more than 500 entries");
    cr_expect_not(registry_take_failure(project->registry, &error), "told once");
    expect_logged(project,
                  "error registry-failed: tools has more than 500 entries; the previous state");
    project_look(project);
    cr_expect_not(registry_take_failure(project->registry, &error), "the same is not told again");
    cr_expect_eq(project->changes, 1);
    cr_assert_eq(unlink("tools/more.lisp"), 0);
    project_look(project);
    cr_expect_eq(project->changes, 2);
    expect_body(project, REGISTRY_TOOL, "tool-1", "changed");
    put("tools/more.lisp", "1");
    project_look(project);
    cr_expect(registry_take_failure(project->registry, &error), "a new failure is told");
}

PROJECT_TEST(registry_refresh, a_folder_full_of_other_names_is_refused_without_end) {
    project->settings.registry_max_entries = 1;
    for (int i = 0; i < 1100; i++) {
        char path[64];
        snprintf(path, sizeof path, "tools/lonely-%d.json", i);
        put(path, "{}");
    }
    project_begin(project);
    expect_logged(project, "tools has more than 1 entries; the project has no entries");
}

PROJECT_TEST(registry_refresh, the_byte_limit_keeps_the_snapshot_before) {
    struct error error = {0};
    char text[100];
    memset(text, 'x', sizeof text);
    project->settings.registry_max_bytes = 200;
    put_bytes("tools/a.lisp", text, 60);
    put_bytes("tools/b.lisp", text, 60);
    put_bytes("tools/c.lisp", text, 60);
    project_begin(project);
    cr_expect_eq(snapshot_of(project)->bytes, 180);
    remember_hash(project);
    put_bytes("tools/d.lisp", text, 21);
    project_look(project);
    cr_expect(hash_is_remembered(project));
    cr_expect(registry_take_failure(project->registry, &error));
    cr_expect_str_eq(error.text, "the project takes more than 200 bytes, with its parsed metadata "
                                 "and schemas (registry.max_bytes)");
    put_bytes("tools/d.lisp", text, 20);
    project_look(project);
    cr_expect_eq(snapshot_of(project)->bytes, 200);
    cr_expect_eq(snapshot_of(project)->total, 4);
}

PROJECT_TEST(registry_refresh, a_resource_over_its_limit_is_refused_alone) {
    project->settings.resource_max_bytes = 4;
    put("resources/four", "1234");
    put("resources/five", "12345");
    project_begin(project);
    expect_file_refused(project, "resources/five", "has 5 bytes; the maximum is 4");
    expect_body(project, REGISTRY_RESOURCE, "eclave:///four", "1234");
}

PROJECT_TEST(registry_refresh, a_resource_that_no_answer_can_hold_is_refused_alone) {
    char text[1024];
    project->settings.response_max_bytes = 1024;
    memset(text, 'x', sizeof text);
    put_bytes("resources/text", text, 900);
    put_bytes("resources/long", text, 1000);
    text[0] = '\xff';
    put_bytes("resources/bytes", text, 600);
    put_bytes("resources/many", text, 700);
    memset(text, '"', sizeof text);
    put_bytes("resources/quotes", text, 450);
    put_bytes("resources/more", text, 500);
    memset(text, '\1', sizeof text);
    put_bytes("resources/control", text, 150);
    put_bytes("resources/escape", text, 160);
    project_begin(project);
    cr_expect_eq(count_of(project, REGISTRY_RESOURCE), 4);
    expect_file_refused(project, "resources/long",
                        "has 1000 bytes, which are 1000 in a JSON string: too many for an answer "
                        "(response.max_bytes, 1024)");
    expect_file_refused(project, "resources/many", "has 700 bytes, which are 936 as base64");
    expect_file_refused(project, "resources/more", "which are 1000 in a JSON string");
    expect_file_refused(project, "resources/escape", "which are 960 in a JSON string");
}

PROJECT_TEST(registry_refresh, a_project_that_goes_away_keeps_what_was_known) {
    char away[80];
    put("tools/a.lisp", "1");
    project_begin(project);
    snprintf(away, sizeof away, "%s-away", project->path);
    cr_assert_eq(rename(project->path, away), 0);
    project_look(project);
    expect_logged(project, "error registry-failed: cannot open the directory of the project");
    cr_expect_null(strstr(project->logged, "/tmp"), "a host path is told");
    cr_expect_eq(snapshot_of(project)->total, 1);
    cr_assert_eq(symlink(away, project->path), 0);
    project_look(project);
    cr_expect_eq(snapshot_of(project)->total, 1);
    unlink(project->path);
    cr_assert_eq(rename(away, project->path), 0);
    put("tools/b.lisp", "1");
    project_look(project);
    cr_expect_eq(snapshot_of(project)->total, 2);
}

PROJECT_TEST(registry_refresh, a_project_that_is_not_there_at_first_is_an_error_and_empty) {
    project->settings.registry_refresh_s = 1;
    cr_assert_eq(rename("tools", "elsewhere"), 0);
    snprintf(project->path + strlen(project->path), 8, "/tools");
    project_begin(project);
    expect_logged(project, "error registry-failed");
    expect_logged(project, "the project has no entries");
    cr_expect_eq(snapshot_of(project)->total, 0);
    cr_expect_eq(project->changes, 0);
    cr_assert_eq(rename("elsewhere", "tools"), 0);
    mkdir("tools/prompts", 0755);
    put("tools/prompts/p.txt", "1");
    project_await_change(project); /* by the interval */
    *strrchr(project->path, '/') = 0;
}

PROJECT_TEST(registry_refresh, a_folder_that_is_none_any_more_keeps_what_was_known) {
    project->settings.registry_refresh_s = 1;
    put("tools/a.lisp", "1");
    project_begin(project);
    cr_assert_eq(rename("tools", "real"), 0);
    cr_assert_eq(symlink("real", "tools"), 0);
    project_look(project);
    cr_expect_eq(snapshot_of(project)->total, 1);
    expect_logged(project, "error registry-failed: tools is not a directory, or is a symbolic "
                           "link; the previous state stays in force");
    unlink("tools");
    put("tools", "a file");
    project_look(project);
    cr_expect_eq(snapshot_of(project)->total, 1);
    unlink("tools");
    cr_assert_eq(rename("real", "tools"), 0);
    put("tools/a.lisp", "2");
    project_await_change(project);
    cr_expect_eq(snapshot_of(project)->total, 1);
    put("tools/b.lisp", "1"); /* it is watched again */
    project_await_change(project);
    cr_expect_eq(snapshot_of(project)->total, 2);
}

/* The messages with this EVENT in the log so far. */
static size_t logged_count(const struct project *project, const char *event) {
    size_t count = 0;
    for (const char *at = project->logged; (at = strstr(at, event)) != NULL; at++)
        count++;
    return count;
}

/* Ways to break one of good_files. */
static const struct breakage {
    const char *file, *broken; /* NULL: unreadable for all but root */
    enum registry_kind kind;
    const char *key, *reason;
} breakages[] = {
    {"tools/head.lisp", ";;; {\"title\":\"T\"\n(new)", REGISTRY_TOOL, "head", "is not JSON"},
    {"tools/head.lisp", ";;; {\"titel\":\"T\"}\n(new)", REGISTRY_TOOL, "head", "unknown member"},
    {"tools/head.lisp", "", REGISTRY_TOOL, "head", "is empty"},
    {"tools/head.lisp", " \n\t", REGISTRY_TOOL, "head", "is empty"},
    {"tools/head.lisp", "(new \xff)", REGISTRY_TOOL, "head", "is not UTF-8"},
    {"tools/beside.json", "{\"title\":", REGISTRY_TOOL, "beside", "tools/beside.json: is not JSON"},
    {"tools/beside.json", "", REGISTRY_TOOL, "beside", "tools/beside.json: is not JSON"},
    {"tools/beside.json", "[]", REGISTRY_TOOL, "beside", "is not a JSON object"},
    {"tools/beside.json",
     "{\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":"
     "{\"type\":\"objekt\"}}}}",
     REGISTRY_TOOL, "beside", "\"inputSchema\""},
    {"tools/beside.json", "{\"outputSchema\":{\"$ref\":\"x\"}}", REGISTRY_TOOL, "beside",
     "\"outputSchema\""},
    {"prompts/text.json", "{\"arguments\":", REGISTRY_PROMPT, "text", "is not JSON"},
    {"prompts/text.txt", "\xff", REGISTRY_PROMPT, "text", "is not UTF-8"},
    {"prompts/fixed.json", "{\"messages\":[{}]}", REGISTRY_PROMPT, "fixed", "lacks the member"},
    {"resources/r.txt.meta.json", "{", REGISTRY_RESOURCE, "test://r", "is not JSON"},
    {"resources/t.lisp.meta.json", "{\"uriTemplate\":\"t:{\"}", REGISTRY_TEMPLATE, "t:{x}",
     "must be a URI template"},
    {"resources/t.lisp", "", REGISTRY_TEMPLATE, "t:{x}", "is empty"},
    {"completions/c.lisp", ";;; {\n", REGISTRY_COMPLETION, "c", "is not JSON"},
};

static const char *const good_files[][2] = {
    {"tools/head.lisp", ";;; {\"title\":\"T\"}\n(good)"},
    {"tools/beside.lisp", "(good)"},
    {"tools/beside.json", "{\"title\":\"T\"}"},
    {"prompts/text.txt", "(good)"},
    {"prompts/text.json", "{\"completions\":{\"a\":\"c\"}}"},
    {"prompts/fixed.json", "{\"messages\":[]}"},
    {"resources/r.txt", "(good)"},
    {"resources/r.txt.meta.json", "{\"uri\":\"test://r\"}"},
    {"resources/t.lisp", "(good)"},
    {"resources/t.lisp.meta.json", "{\"uriTemplate\":\"t:{x}\"}"},
    {"completions/c.lisp", "(good)"},
};

static void expect_kept(struct project *project, const struct breakage *row) {
    const struct registry_entry *entry = find(project, row->kind, row->key);
    cr_assert_not_null(entry, "%s: %s", row->file, project->logged);
    if (entry->body.bytes)
        cr_expect_not_null(strstr((const char *)entry->body.bytes, "(good)"));
    cr_expect(hash_is_remembered(project), "%s", row->file);
    cr_expect_eq(snapshot_of(project)->stale.count, 1, "%s", row->file);
    cr_expect_eq(snapshot_of(project)->refusals.count, 0);
    expect_logged(project, "error registry-stale: ");
    expect_logged(project, row->reason);
    expect_logged(project, "; its last good version stays in force");
    cr_expect_eq(logged_count(project, "registry-stale"), 1, "%s", project->logged);
}

PROJECT_TEST(registry_refresh, a_broken_file_keeps_its_last_good_version_and_is_reported_once) {
    for (size_t i = 0; i < sizeof good_files / sizeof *good_files; i++)
        put(good_files[i][0], good_files[i][1]);
    project_begin(project);
    remember_hash(project);
    size_t total = snapshot_of(project)->total, changes = project->changes;
    for (size_t i = 0; i < sizeof breakages / sizeof *breakages; i++) {
        const struct breakage *row = &breakages[i];
        project->logged[0] = 0;
        put(row->file, row->broken);
        for (int scan = 0; scan < 3; scan++)
            project_look(project);
        expect_kept(project, row);
        cr_expect_eq(snapshot_of(project)->total, total);
        for (size_t j = 0; j < sizeof good_files / sizeof *good_files; j++)
            if (strcmp(good_files[j][0], row->file) == 0)
                put(good_files[j][0], good_files[j][1]);
        project_look(project);
        cr_expect_eq(snapshot_of(project)->stale.count, 0);
        cr_expect_eq(logged_count(project, "registry-"), 1, "%s", project->logged);
    }
    cr_expect_eq(project->changes, changes, "nothing was announced");
}

PROJECT_TEST(registry_refresh, a_broken_file_is_gone_when_it_is_deleted) {
    put("tools/a.lisp", "(good)");
    put("tools/a.json", "{}");
    put("prompts/p.txt", "(good)");
    project_begin(project);
    put("tools/a.json", "{");
    put("prompts/p.txt", "\xff");
    project_look(project);
    cr_expect_eq(snapshot_of(project)->total, 2);
    unlink("tools/a.lisp");
    unlink("prompts/p.txt");
    project_look(project);
    cr_expect_eq(snapshot_of(project)->total, 0);
    cr_expect_eq(snapshot_of(project)->stale.count, 0);
    expect_file_refused(project, "tools/a.json", "is not JSON");
}

PROJECT_TEST(registry_refresh, a_broken_file_that_was_never_good_stays_absent) {
    project_begin(project);
    put("tools/a.lisp", ";;; {");
    put("tools/b.lisp", "");
    project_look(project);
    project_look(project);
    cr_expect_eq(snapshot_of(project)->total, 0);
    cr_expect_eq(project->changes, 0);
    cr_expect_eq(logged_count(project, "error registry-refused: tools/a.lisp"), 1);
    expect_file_refused(project, "tools/b.lisp", "is empty");
}

PROJECT_TEST(registry_refresh, a_definition_may_move_away_from_a_broken_file) {
    put("tools/a.lisp", ";;; {\"name\":\"tool\"}\n(old)");
    project_begin(project);
    put("tools/a.lisp", ";;; {\"name\":");
    put("tools/b.lisp", ";;; {\"name\":\"tool\"}\n(new)");
    project_look(project);
    cr_expect_eq(snapshot_of(project)->total, 1);
    cr_expect_str_eq(find(project, REGISTRY_TOOL, "tool")->file, "tools/b.lisp");
    expect_file_refused(project, "tools/a.lisp", "already defined by tools/b.lisp");
    project_look(project);
    cr_expect_str_eq(find(project, REGISTRY_TOOL, "tool")->file, "tools/b.lisp");
}

/* The bytes of a resource are no definition: a limit, or a missing right, withdraws them. */
PROJECT_TEST(registry_refresh, a_resource_that_may_not_be_served_any_more_is_not_kept) {
    project->settings.resource_max_bytes = 4;
    put("resources/a", "1234");
    put("resources/b", "1234");
    put("resources/c", "1234");
    project_begin(project);
    put("resources/a", "12345");
    unlink("resources/b");
    cr_assert_eq(symlink("c", "resources/b"), 0);
    project_look(project);
    expect_file_refused(project, "resources/a", "has 5 bytes; the maximum is 4");
    expect_file_refused(project, "resources/b", "symbolic link");
    cr_expect_eq(snapshot_of(project)->total, 1);
}

PROJECT_TEST(registry_refresh, cursors_outlive_what_no_list_shows) {
    static char text[2000];
    char mark[SNAPSHOT_MARK_BYTES];
    size_t index;
    put("resources/a", "1");
    put("resources/b", "1");
    project_begin(project);
    snapshot_mark(snapshot_of(project), REGISTRY_RESOURCE, 1, mark);
    for (size_t i = 1; i <= 20; i++) {
        memset(text, 'x', i * 100 - 1);
        put("resources/a", text);
        project_look(project);
        cr_expect_eq(project->changes, i + 1);
        cr_expect_eq(project->listed, 0);
        cr_expect(snapshot_open_mark(snapshot_of(project), REGISTRY_RESOURCE, mark, &index));
        cr_expect_eq(index, 1);
    }
    put("resources/a", "\xff"); /* not text any more: the MIME type is listed */
    project_look(project);
    cr_expect_not(snapshot_open_mark(snapshot_of(project), REGISTRY_RESOURCE, mark, &index));
}

/* Makes a scan of the project, without a registry. */
static void begin_scan(struct scan *scan, struct project *project, struct watch *watch,
                       struct snapshot *before) {
    static const struct digest_key key = {{1, 2}};
    struct error error;
    const struct scan_limits limits = {
        .bytes = 1 << 30, .entries = 10000, .resource_bytes = 1 << 24, .timeout_s = 600};
    const struct entry_options options = {.key = &key};
    *watch = (struct watch){.fd = -1};
    cr_assert(scan_begin(scan, project->path, &limits, &options, before, watch, &error));
}

static void append_to(const char *path, const char *text) {
    FILE *file = fopen(path, "a");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

/* A log, say. */
PROJECT_TEST(registry_refresh, a_resource_that_grows_all_the_time_keeps_its_last_whole_content) {
    static char text[300000];
    struct snapshot *before = snapshot_make();
    memset(text, 'x', sizeof text - 1);
    put("resources/log", text);
    for (int growing = 0; growing <= 10; growing++) {
        struct scan scan;
        struct watch watch;
        struct error error = {0};
        enum scan_progress progress = SCAN_MORE;
        begin_scan(&scan, project, &watch, before);
        for (; progress == SCAN_MORE; progress = scan_step(&scan, &error))
            if (growing)
                append_to("resources/log", "y");
        cr_assert_eq(progress, SCAN_DONE, "%s", error.text);
        const struct entry_list *resources = &scan.made->lists[REGISTRY_RESOURCE];
        cr_assert_eq(resources->count, 1);
        const struct file_content *body = &resources->entries[0]->body;
        cr_expect(body->size == sizeof text - 1 && memcmp(body->bytes, text, body->size) == 0);
        cr_expect_eq(scan.made->refusals.count, 0);
        cr_expect_eq(scan.made->stale.count, 0, "that it is being written is no fault");
        snapshot_unref(before);
        before = scan.made;
        scan.made = NULL;
        scan_end(&scan);
    }
    snapshot_unref(before);
}

PROJECT_TEST(registry_refresh, a_folder_swapped_for_a_link_at_any_step_lets_nothing_in) {
    struct snapshot *before = snapshot_make();
    mkdir("evil", 0755);
    for (int i = 0; i < 3; i++) {
        char path[64];
        snprintf(path, sizeof path, "tools/t%d.lisp", i);
        put(path, "good");
        snprintf(path, sizeof path, "evil/t%d.lisp", i);
        put(path, "evil");
    }
    for (int swap_at = 0, steps = 1; swap_at < steps; swap_at++) {
        struct scan scan;
        struct watch watch;
        struct error error = {0};
        enum scan_progress progress = SCAN_MORE;
        begin_scan(&scan, project, &watch, before);
        for (steps = 0; progress == SCAN_MORE; steps++) {
            if (steps == swap_at) {
                cr_assert_eq(rename("tools", "real"), 0);
                cr_assert_eq(symlink("evil", "tools"), 0);
            }
            progress = scan_step(&scan, &error);
        }
        if (progress == SCAN_FAILED)
            cr_assert_str_eq(error.text, "tools is not a directory, or is a symbolic link");
        const struct entry_list *tools = &scan.made->lists[REGISTRY_TOOL];
        for (size_t i = 0; i < tools->count; i++)
            cr_expect_str_eq((const char *)tools->entries[i]->body.bytes, "good");
        scan_end(&scan);
        if (swap_at < steps) {
            unlink("tools");
            cr_assert_eq(rename("real", "tools"), 0);
        }
    }
    snapshot_unref(before);
}

/* Reads tools/a.lisp, of two portions, and calls CHANGE after the first one of each attempt. */
static enum file_progress read_while(const struct project *project, void (*change)(int attempt),
                                     int changes, struct error *error) {
    static const struct digest_key key;
    struct file_reader reader;
    struct file_content content = {0};
    enum file_progress progress;
    int root = beneath_open_root(project->path, error);
    file_reader_begin(&reader, root, "tools/a.lisp", SOURCE_MAX_BYTES, &key);
    int attempt = 0;
    size_t seen = 0;
    do {
        progress = file_reader_step(&reader, &content, error);
        if (progress == FILE_MORE && reader.length > 0 && seen == 0 && attempt < changes)
            change(attempt++);
        seen = reader.length;
    } while (progress == FILE_MORE);
    file_content_free(&content);
    file_reader_drop(&reader);
    close(root);
    return progress;
}

static char portions[FILE_STEP_BYTES + 100];

static void edit(int attempt) {
    usleep(20000); /* another tick of the clock that stamps */
    portions[0] = (char)('A' + attempt);
    put_bytes("tools/a.lisp", portions, sizeof portions);
}

static void shorten(int attempt) {
    (void)attempt;
    cr_assert_eq(truncate("tools/a.lisp", 10), 0);
}

static void append(int attempt) {
    (void)attempt;
    cr_assert_eq(truncate("tools/a.lisp", sizeof portions + 10), 0);
}

PROJECT_TEST(registry_refresh, a_file_changed_while_read_is_read_once_more_and_then_refused) {
    void (*const changes[])(int) = {edit, shorten, append};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct error error = {0};
        memset(portions, 'x', sizeof portions);
        put_bytes("tools/a.lisp", portions, sizeof portions);
        cr_expect_eq(read_while(project, changes[i], 0, &error), FILE_DONE, "%s", error.text);
        cr_expect_eq(read_while(project, changes[i], 1, &error), FILE_DONE, "%zu: %s", i,
                     error.text);
    }
    struct error error = {0};
    put_bytes("tools/a.lisp", portions, sizeof portions);
    cr_expect_eq(read_while(project, edit, 2, &error), FILE_REFUSED);
    cr_expect_str_eq(error.text, "changed while it was read");
}

/* Reads the file NAME of /proc/PID, of this process. */
static enum file_progress read_of_proc(const char *name, size_t maximum,
                                       struct file_content *content, struct error *error) {
    static const struct digest_key key;
    char path[64];
    struct file_reader reader;
    enum file_progress progress = FILE_MORE;
    snprintf(path, sizeof path, "/proc/%d", getpid());
    int root = beneath_open_root(path, error);
    cr_assert_geq(root, 0, "%s", error->text);
    file_reader_begin(&reader, root, name, maximum, &key);
    while (progress == FILE_MORE)
        progress = file_reader_step(&reader, content, error);
    file_reader_drop(&reader);
    close(root);
    return progress;
}

/* The size of every file in /proc is stated as 0. */
Test(registry_refresh, a_file_without_a_stated_size_is_read_to_its_end) {
    static const struct {
        const char *name, *begins;
    } files[] = {
        {"stat", ""},          {"status", "Name:\t"}, {"comm", ""},    {"limits", "Limit "},
        {"maps", ""},          {"smaps", ""},         {"cmdline", ""}, {"mountinfo", ""},
        {"statm", ""},         {"io", "rchar: "},     {"cgroup", ""},  {"net/dev", "Inter-"},
        {"oom_score_adj", ""},
    };
    size_t longest = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct file_content content = {0};
        struct error error = {0};
        cr_assert_eq(read_of_proc(files[i].name, 1 << 20, &content, &error), FILE_DONE, "%s %s",
                     files[i].name, error.text);
        cr_expect_gt(content.size, 0, "%s", files[i].name);
        cr_expect(content.is_text);
        cr_expect_eq(content.bytes[content.size], 0);
        cr_expect_not(content.stamp.settled, "it is read again");
        cr_expect_eq(strncmp((const char *)content.bytes, files[i].begins, strlen(files[i].begins)),
                     0);
        longest = content.size > longest ? content.size : longest;
        file_content_free(&content);
    }
    cr_expect_gt(longest, 4096);
}

Test(registry_refresh, a_file_without_a_stated_size_ends_at_the_limit) {
    struct file_content content = {0};
    struct error error = {0};
    cr_assert_eq(read_of_proc("status", 1 << 20, &content, &error), FILE_DONE);
    size_t size = content.size;
    file_content_free(&content);
    cr_expect_eq(read_of_proc("status", size / 2, &content, &error), FILE_REFUSED);
    cr_expect_not_null(strstr(error.text, "has more than the maximum of"));
    cr_expect_eq(read_of_proc("status", 1, &content, &error), FILE_REFUSED);
}

PROJECT_TEST(registry_refresh, an_overflowing_queue_of_events_is_a_full_look) {
    project_begin(project);
    int most = 16384;
    FILE *file = fopen("/proc/sys/fs/inotify/max_queued_events", "re");
    if (file) {
        cr_expect_eq(fscanf(file, "%d", &most), 1); /* NOLINT(cert-err34-c): the kernel's */
        fclose(file);
    }
    for (int i = 0; i < most / 3 + 100; i++) { /* create, close, delete */
        put("tools/x.lisp", "");
        unlink("tools/x.lisp");
    }
    put("tools/last.lisp", "1");
    project_await_change(project);
    cr_expect_not_null(find(project, REGISTRY_TOOL, "last"));
    cr_expect_eq(snapshot_of(project)->total, 1);
}

PROJECT_TEST(registry_refresh, without_inotify_the_interval_finds_changes) {
    outer_filter_forbid(SYS_inotify_init1, EMFILE); /* as when this user has all there may be */
    project->settings.registry_refresh_s = 1;
    int64_t start_ns = clock_now_ns();
    project_begin(project);
    put("tools/a.lisp", "1");
    project_await_change(project);
    cr_expect_geq(clock_elapsed_ms(start_ns), 1000, "it did not wait for the interval");
    cr_expect_not_null(find(project, REGISTRY_TOOL, "a"));
}

/* Lets the loop turn for MS, whatever comes. */
static void turn_for(struct project *project, int64_t ms) {
    struct loop_timer end;
    memset(&end, 0, sizeof end);
    project->guard = (struct loop_timer){0};
    project->wanted_scans = SIZE_MAX;
    project->loop.stopped = false;
    loop_timer_start(&project->loop, &end, ms, (loop_timer_callback)loop_stop, &project->loop);
    cr_assert(loop_run(&project->loop, NULL));
}

PROJECT_TEST(registry_refresh, what_else_happens_in_the_project_calls_for_no_look) {
    project_begin(project);
    size_t scans = project->scans;
    mkdir(".git", 0755);
    put("notes.txt", "1");
    put("tools.txt", "1");
    put("tools/a.lisp", "1");
    project_await_change(project);
    cr_expect_eq(project->scans, scans + 1);
    put("notes.txt", "2");
    turn_for(project, 400);
    cr_expect_eq(project->scans, scans + 1);
}

PROJECT_TEST(registry_refresh, a_folder_that_is_replaced_is_looked_at_once) {
    put("tools/a.lisp", "1");
    project_begin(project);
    size_t scans = project->scans;
    mkdir("next", 0755);
    put("next/a.lisp", "2");
    put("next/b.lisp", "2");
    cr_assert_eq(rename("tools", "before"), 0);
    cr_assert_eq(rename("next", "tools"), 0);
    project_await_change(project);
    cr_expect_eq(snapshot_of(project)->total, 2);
    turn_for(project, 400);
    cr_expect_eq(project->scans, scans + 1);
    put("before/c.lisp", "3"); /* nobody's business any more */
    turn_for(project, 400);
    cr_expect_eq(project->scans, scans + 1);
    put("tools/c.lisp", "3");
    project_await_change(project);
    cr_expect_eq(snapshot_of(project)->total, 3);
}

/* A timer that runs in every turn of the loop. */
struct metronome {
    struct loop *loop;
    struct loop_timer timer;
    size_t ticks;
};

static void on_tick(void *context) {
    struct metronome *metronome = context;
    metronome->ticks++;
    loop_timer_start(metronome->loop, &metronome->timer, 0, on_tick, metronome);
}

/* How many steps the first scan takes. */
static size_t steps_of_first_scan(struct project *project) {
    struct scan scan;
    struct watch watch;
    struct error error = {0};
    enum scan_progress progress = SCAN_MORE;
    struct snapshot *before = snapshot_make();
    size_t steps = 0;
    for (begin_scan(&scan, project, &watch, before); progress == SCAN_MORE; steps++)
        progress = scan_step(&scan, &error);
    cr_expect_eq(progress, SCAN_DONE, "%s", error.text);
    scan_end(&scan);
    snapshot_unref(before);
    return steps;
}

/* Opens the project and expects that other timers of the loop ran at least TICKS times during the
 * first scan. */
static void expect_turns(struct project *project, size_t ticks) {
    struct metronome metronome = {.loop = &project->loop};
    project_open(project);
    loop_timer_start(&project->loop, &metronome.timer, 0, on_tick, &metronome);
    project_run_until(project, 1, 0);
    loop_timer_stop(&project->loop, &metronome.timer);
    cr_expect_geq(metronome.ticks, ticks, "%zu turns", metronome.ticks);
    project_look(project);
}

PROJECT_TEST(registry_refresh, five_thousand_tools_hold_up_nothing) {
    project->settings.registry_max_entries = 5000;
    make_tools(5000);
    cr_expect_gt(steps_of_first_scan(project), 5000);
    expect_turns(project, 5); /* no machine reads them within so few turns */
    cr_expect_eq(snapshot_of(project)->total, 5000);
}

/* The longest register.json, of entries that have as many values as they may have, of the kind that
 * costs most; and a resource of the longest. */
PROJECT_TEST(registry_refresh, the_largest_files_hold_up_nothing) {
    static char text[OVERRIDE_MAX_BYTES];
    static const char head[] = "{\"version\":1,\"tools\":[";
    static const char entry[] = ",{\"name\":\"a\",\"_meta\":{\"a\":[{\"a\":1}";
    enum { PAIRS = 2040, ENTRY_BYTES = PAIRS * 8 + 100 };
    size_t used = sizeof head - 1, entries = 0;
    memset(text, ' ', sizeof text);
    memcpy(text, head, used);
    for (; used + ENTRY_BYTES < sizeof text; entries++) {
        size_t skipped = entries == 0;
        memcpy(text + used, entry + skipped, sizeof entry - 1 - skipped);
        used += sizeof entry - 1 - skipped;
        for (int i = 0; i < PAIRS; i++, used += 8)
            memcpy(text + used, ",{\"a\":1}", 8);
        memcpy(text + used, "]}}", 3);
        used += 3;
    }
    memcpy(text + used, "]}", 2);
    put_bytes("register.json", text, sizeof text);
    put("tools/a.lisp", "1");
    memset(text, '0', sizeof text);
    int fd = open("resources/big", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    for (int i = 0; i < 10; i++)
        cr_assert_eq(write(fd, text, sizeof text), (ssize_t)sizeof text);
    close(fd);
    project->settings.registry_max_bytes = 1 << 30;
    project->settings.response_max_bytes = 1 << 30;
    /* The resource alone is read in so many. */
    cr_expect_gt(steps_of_first_scan(project), 10 * sizeof text / FILE_STEP_BYTES);
    expect_turns(project, 2);
    cr_expect_eq(count_of(project, REGISTRY_RESOURCE), 1);
    cr_expect_eq(snapshot_of(project)->refusals.count, entries - 1, "they have one name");
    cr_expect_null(strstr(project->logged, "registry-override"), "%s", project->logged);
}

/* A tool with the schema {OPENING …, …, …CLOSING} of COUNT PARTS, in each of which a # is its
 * number. */
static void put_tool(int number, const char *opening, const char *part, int count,
                     const char *closing) {
    static char text[METADATA_MAX_BYTES];
    char path[64];
    FILE *out = fmemopen(text, sizeof text, "w");
    cr_assert_not_null(out);
    fprintf(out, "{\"inputSchema\":{\"type\":\"object\",%s", opening);
    for (int i = 0; i < count; i++) {
        fputs(i ? "," : "", out);
        for (const char *byte = part; *byte; byte++)
            *byte == '#' ? fprintf(out, "%d", i) : fputc(*byte, out);
    }
    fprintf(out, "%s}}", closing);
    cr_assert_eq(fclose(out), 0);
    snprintf(path, sizeof path, "tools/t%d.json", number);
    put(path, text);
    snprintf(path, sizeof path, "tools/t%d.lisp", number);
    put(path, "1");
}

/* Schemas of the kinds that cost most, as big as they may be, and bigger. */
PROJECT_TEST(registry_refresh, the_largest_schemas_hold_up_nothing) {
    static const struct {
        const char *opening, *part;
        int count;
        const char *closing;
        bool is_refused;
    } kinds[] = {
        {"\"properties\":{", "\"p#\":{\"pattern\":\"(a|b|c|d){0,250}\"}", 80, "}", false},
        {"\"properties\":{", "\"p#\":{\"pattern\":\"(a|b|c|d){0,250}\"}", 256, "}", true},
        {"\"properties\":{", "\"p#\":{\"pattern\":\"(((a{4000})?)?)?\"}", 60, "}", false},
        {"\"properties\":{", "\"p#\":{\"pattern\":\"((a{4000}){0}){0}\"}", 100, "}", false},
        {"\"properties\":{", "\"p#\":{\"pattern\":\"([a-z]|b|c|d){0,9}\"}", 256, "}", false},
        {"\"properties\":{", "\"p#\":{}", 4000, "}", false},
        {"\"anyOf\":[", "{\"maximum\":#}", 2000, "]", false},
        {"\"enum\":[", "\"00000000000000000000000000000000000000000000000000#\"", 4000, "]", false},
        {"\"required\":[", "\"00000000000000000000000000000000000000000000000000#\"", 4000, "]",
         false},
    };
    enum { KINDS = sizeof kinds / sizeof *kinds, EACH = 3 };
    for (int i = 0; i < EACH * KINDS; i++)
        put_tool(i, kinds[i % KINDS].opening, kinds[i % KINDS].part, kinds[i % KINDS].count,
                 kinds[i % KINDS].closing);
    expect_turns(project, 2);
    for (int i = 0; i < EACH * KINDS; i++) {
        char name[32];
        snprintf(name, sizeof name, "t%d", i);
        cr_expect_eq(find(project, REGISTRY_TOOL, name) == NULL, kinds[i % KINDS].is_refused, "%s",
                     name);
    }
    expect_file_refused(
        project, "tools/t1.lisp",
        "\"inputSchema\": the schema: is too big: with the repetitions in its patterns "
        "expanded, it takes more than 3072 KiB");
}

PROJECT_TEST(registry_refresh, what_is_made_of_metadata_counts) {
    struct error error = {0};
    put_tool(0, "\"properties\":{", "\"p#\":{\"pattern\":\"(a|b|c|d){0,250}\"}", 30, "}");
    project_begin(project);
    size_t schema = snapshot_of(project)->bytes;
    cr_expect_geq(schema, (size_t)30 * 250 * 11 * 12, "11 steps of 12 bytes for (a|b|c|d)?");
    cr_assert_eq(unlink("tools/t0.json"), 0);
    put_tool(1, "\"x-1\":[", "{\"a\":#}", 1000, "]");
    project_look(project);
    size_t values = snapshot_of(project)->bytes;
    cr_expect_geq(values, (size_t)1000 * 16 * sizeof(void *) * 5, "each object has 16 places");
    cr_assert_eq(unlink("tools/t1.json"), 0);
    project_end(project);
    project->settings.registry_max_bytes = (int64_t)(schema < values ? schema : values) - 1;
    project_begin(project);
    put_tool(0, "\"properties\":{", "\"p#\":{\"pattern\":\"(a|b|c|d){0,250}\"}", 30, "}");
    project_look(project);
    cr_expect(registry_take_failure(project->registry, &error));
    cr_expect_not_null(strstr(error.text, "(registry.max_bytes)"), "%s", error.text);
    cr_assert_eq(unlink("tools/t0.json"), 0);
    project_look(project);
    put_tool(1, "\"x-1\":[", "{\"a\":#}", 1000, "]");
    project_look(project);
    cr_expect(registry_take_failure(project->registry, &error));
}

static int open_descriptors(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    cr_assert_not_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static long resident_kb(void) {
    long size, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    cr_assert_not_null(file);
    cr_assert_eq(fscanf(file, "%ld %ld", &size, &resident), 2); /* NOLINT(cert-err34-c) */
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

PROJECT_TEST(registry_refresh, refreshes_leave_nothing_behind) {
    size_t trials = random_trials(60, 2000);
    int descriptors = 0;
    long before_kb = 0;
    put("prompts/p.txt", "Hello");
    put("resources/r", "r");
    cr_assert_eq(symlink("r", "resources/link"), 0);
    put("tools/bad.lisp", ";;; {\"a\":1}");
    project_begin(project);
    for (size_t i = 0; i < trials; i++) {
        char text[64];
        snprintf(text, sizeof text, ";;; {\"title\":\"%zu\"}\n%zu", i, i);
        put("tools/a.lisp", text);
        if (i % 7 == 0)
            put("register.json", i % 2 ? "{" : "{\"version\":1,\"prompts\":[]}");
        else
            unlink("register.json");
        project_look(project);
        project->logged[0] = 0;
        if (i == trials / 4) {
            descriptors = open_descriptors();
            before_kb = resident_kb();
        }
    }
    cr_expect_eq(open_descriptors(), descriptors);
    cr_expect_lt(resident_kb() - before_kb, 8192);
    cr_expect_not_null(find(project, REGISTRY_TOOL, "a"));
}

PROJECT_TEST(registry_refresh, closing_in_the_middle_of_a_look_leaves_nothing_behind) {
    make_tools(20);
    put("register.json", "{\"version\":1}");
    int descriptors = open_descriptors();
    struct snapshot *before = snapshot_make();
    for (int end_at = 0, steps = 1; end_at < steps; end_at++) {
        struct scan scan;
        struct watch watch;
        struct error error;
        enum scan_progress progress = SCAN_MORE;
        begin_scan(&scan, project, &watch, before);
        for (steps = 0; progress == SCAN_MORE && steps < end_at; steps++)
            progress = scan_step(&scan, &error);
        steps += progress == SCAN_MORE;
        scan_end(&scan);
    }
    snapshot_unref(before);
    cr_expect_eq(open_descriptors(), descriptors);
    project_open(project);
    project_end(project);
    cr_expect_eq(open_descriptors(), descriptors);
}
