/* supervisor/registry/override: a well-formed register.json replaces discovery; a malformed one is
 * an error, and discovery resumes. */
#include "supervisor/registry/override.h"
#include "tests/unit/project.h"

static void put_tools(void) {
    put("tools/a.lisp", "a");
    put("tools/b.lisp", "b");
    put("prompts/p.txt", "p");
    put("resources/r", "r");
}

PROJECT_TEST(registry_override, a_well_formed_file_replaces_the_kinds_it_has) {
    put_tools();
    put("register.json",
        "{\"version\":1,\"tools\":[{\"name\":\"b\",\"title\":\"B\"},"
        "{\"name\":\"other\",\"file\":\"tools/a.lisp\"}],\"prompts\":[],\"resources\":null}");
    project_begin(project);
    cr_expect_eq(count_of(project, REGISTRY_TOOL), 2, "%s", project->logged);
    expect_body(project, REGISTRY_TOOL, "b", "b");
    expect_body(project, REGISTRY_TOOL, "other", "a");
    cr_expect_eq(count_of(project, REGISTRY_PROMPT), 0, "[] switches the kind off");
    cr_expect_eq(count_of(project, REGISTRY_RESOURCE), 1, "null leaves it to discovery");
    cr_expect_str_empty(project->logged);
}

PROJECT_TEST(registry_override, all_kinds_can_be_registered) {
    mkdir("docs", 0755);
    mkdir("docs/deep", 0755);
    put("docs/deep/one.md", "# One");
    put("docs/answer.lisp", "(answer)");
    put("docs/who.lisp", "(who)");
    put("register.json",
        "{\"version\": 1,\n \"resources\": [ {\"file\": \"docs/deep/one.md\"} ,\n"
        "  {\"file\":\"docs/answer.lisp\",\"uriTemplate\":\"x:{y}\",\"name\":\"X\"} ],\n"
        " \"prompts\": [{\"name\":\"m\",\"messages\":[]},"
        "{\"name\":\"l\",\"file\":\"docs/answer.lisp\",\"completions\":{\"a\":\"who\"}}],\n"
        " \"completions\": [{\"name\":\"who\",\"file\":\"docs/who.lisp\"}]}");
    project_begin(project);
    expect_body(project, REGISTRY_RESOURCE, "eclave:///docs/deep/one.md", "# One");
    expect_body(project, REGISTRY_TEMPLATE, "x:{y}", "(answer)");
    expect_body(project, REGISTRY_COMPLETION, "who", "(who)");
    cr_expect_not_null(find(project, REGISTRY_PROMPT, "m"));
    cr_expect(find(project, REGISTRY_PROMPT, "l")->is_lisp);
    cr_expect_str_empty(project->logged);
}

PROJECT_TEST(registry_override, a_malformed_file_is_an_error_and_discovery_resumes) {
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"", "is not JSON"},
        {"{", "is not JSON"},
        {"not json", "is not JSON (line 1)"},
        {"[]", "is not a JSON object"},
        {"{}", "lacks the member \"version\""},
        {"{\"version\":2}", "\"version\" must be 1"},
        {"{\"version\":\"1\"}", "\"version\" must be 1"},
        {"{\"version\":1,\"version\":1}", "has the member \"version\" twice"},
        {"{\"version\":1,\"tools\":[],\"tools\":[]}", "has the member \"tools\" twice"},
        {"{\"version\":1,\"tolls\":[]}", "has the unknown member \"tolls\""},
        {"{\"version\":1,\"tools\":{}}", "\"tools\" must be an array"},
        {"{\"version\":1,\"tools\":[1]}", "entry 1 of \"tools\": is not a JSON object"},
        {"{\"version\":1,\"tools\":[{\"name\":\"b\"},{}]}",
         "entry 2 of \"tools\": lacks the member \"name\""},
        {"{\"version\":1,\"tools\":[{\"name\":\"b\",\"x\":1}]}", "unknown member \"x\""},
        {"{\"version\":1,\"tools\":[{\"name\":\"b\",\"name\":\"c\"}]}",
         "entry 1 of \"tools\": has the member \"name\" twice"},
        {"{\"version\":1,\"tools\":[{\"name\":\"b\",\"file\":1}]}", "\"file\" must be a string"},
        {"{\"version\":1,\"tools\":[{\"name\":\"b\",\"file\":\"../b.lisp\"}]}",
         "begins with a dot"},
        {"{\"version\":1,\"tools\":[{\"name\":\"b\",\"file\":\"/etc/passwd\"}]}",
         "\"file\" must be relative to the project"},
        {"{\"version\":1,\"tools\":[{\"name\":\"b\",\"file\":\"a/../b\"}]}", "\"file\""},
        {"{\"version\":1,\"tools\":[{\"name\":\"b\",\"file\":\"a\\u0000b\"}]}",
         "\"file\" must not contain U+0000"},
        {"{\"version\":1,\"tools\":[{\"name\":5}]}", "\"name\" must be a string"},
        {"{\"version\":1,\"tools\":[{\"name\":\"a\\u0000\"}]}", "\"name\" must not contain U+0000"},
        {"{\"version\":1,\"tools\":[{\"name\":\"a/b\"}]}", "\"name\" must be 1 to 64"},
        {"{\"version\":1,\"resources\":[{\"name\":\"b\"}]}", "lacks the member \"file\""},
        {"\xef\xbb\xbf{\"version\":2}", "\"version\" must be 1"},
        {"{\"version\":1,\"tools\":[\"\xff\"]}", "is not UTF-8"},
        {"{\"version\":1}{}", "is not JSON"},
    };
    put_tools();
    project_begin(project);
    cr_expect_eq(project->changes, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put("register.json", cases[i].text);
        project->logged[0] = 0;
        project_look(project);
        expect_file_refused(project, "register.json", cases[i].reason);
        expect_logged(project, "error registry-override: register.json: ");
        expect_logged(project, "; all entries are discovered instead");
        cr_expect_eq(count_of(project, REGISTRY_TOOL), 2);
        cr_expect_eq(count_of(project, REGISTRY_PROMPT), 1);
        project->logged[0] = 0;
        project_look(project);
        cr_expect_str_empty(project->logged, "the same is not logged again");
        unlink("register.json");
        project_look(project);
    }
    cr_expect_eq(project->changes, 1, "nothing that anyone sees has changed");
}

PROJECT_TEST(registry_override, each_change_of_the_file_is_reported_once) {
    put_tools();
    project_begin(project);
    put("register.json", "{\"version\":1,\"tools\":[{\"name\":\"a\",\"title\":\"A\"}]}");
    project_await_change(project);
    cr_expect_eq(project->listed, 1U << REGISTRY_TOOL);
    cr_expect_eq(count_of(project, REGISTRY_TOOL), 1);
    put("register.json", "{\"version\":1,\"tools\":[{\"name\":\"a\",\"title\":\"A\"");
    project_look(project);
    expect_logged(project, "error registry-failed: register.json: ");
    cr_expect_eq(count_of(project, REGISTRY_TOOL), 1, "the last good one stays in force");
    put("register.json", "{\"version\":1,\"tools\":[]}");
    project_await_change(project);
    cr_expect_eq(count_of(project, REGISTRY_TOOL), 0);
    unlink("register.json");
    project_await_change(project);
    cr_expect_eq(count_of(project, REGISTRY_TOOL), 2);
    cr_expect_eq(project->changes, 4);
}

PROJECT_TEST(registry_override, an_invalid_file_refuses_only_its_entry) {
    put_tools();
    cr_assert_eq(symlink("tools", "linked"), 0);
    cr_assert_eq(symlink("/etc/passwd", "passwd"), 0);
    put("register.json", "{\"version\":1,\"tools\":[{\"name\":\"a\"},{\"name\":\"gone\"},"
                         "{\"name\":\"behind\",\"file\":\"linked/b.lisp\"}],"
                         "\"resources\":[{\"file\":\"passwd\"},{\"file\":\"tools\"}]}");
    project_begin(project);
    cr_expect_eq(count_of(project, REGISTRY_TOOL), 1);
    cr_expect_eq(count_of(project, REGISTRY_RESOURCE), 0);
    expect_file_refused(project, "tools/gone.lisp", "No such file");
    expect_file_refused(project, "linked/b.lisp", "symbolic link");
    expect_file_refused(project, "passwd", "symbolic link");
    expect_file_refused(project, "tools", "is a directory");
}

PROJECT_TEST(registry_override, a_file_that_is_not_regular_or_too_long_is_refused) {
    static char text[OVERRIDE_MAX_BYTES + 1];
    put_tools();
    cr_assert_eq(symlink("tools/a.lisp", "register.json"), 0);
    project_begin(project);
    expect_file_refused(project, "register.json", "symbolic link");
    unlink("register.json");
    cr_assert_eq(mkfifo("register.json", 0644), 0);
    project_look(project);
    expect_file_refused(project, "register.json", "is a fifo");
    unlink("register.json");
    memset(text, ' ', sizeof text);
    memcpy(text, "{\"version\":1,\"tools\":[]}", 24);
    put_bytes("register.json", text, sizeof text);
    project_look(project);
    expect_file_refused(project, "register.json", "has 1048577 bytes; the maximum is 1048576");
    put_bytes("register.json", text, sizeof text - 1);
    project_look(project);
    cr_expect_eq(snapshot_of(project)->refusals.count, 0);
    cr_expect_eq(count_of(project, REGISTRY_TOOL), 0);
    unlink("register.json"); /* one that was in force would stay */
    project_look(project);
    memset(text, '[', sizeof text);
    memcpy(text, "{\"version\":1,\"tools\":", 21);
    put_bytes("register.json", text, 1000);
    project_look(project);
    expect_file_refused(project, "register.json", "is nested too deep");
}

PROJECT_TEST(registry_override, it_has_the_same_limit_of_entries_as_a_folder) {
    project->settings.registry_max_entries = 2;
    put_tools();
    put("register.json", "{\"version\":1,\"tools\":[{\"name\":\"a\"},{\"name\":\"b\"},"
                         "{\"name\":\"c\"}],\"prompts\":[]}");
    project_begin(project);
    expect_file_refused(project, "register.json", "\"tools\" has more than 2 entries");
    cr_expect_eq(count_of(project, REGISTRY_PROMPT), 1);
}

PROJECT_TEST(registry_override, changes_outside_the_watched_folders_are_found_by_polling) {
    project->settings.registry_refresh_s = 1;
    mkdir("docs", 0755);
    put("docs/r", "1");
    put("register.json", "{\"version\":1,\"resources\":[{\"file\":\"docs/r\"}]}");
    project_begin(project);
    put("docs/r", "2");
    project_await_change(project);
    expect_body(project, REGISTRY_RESOURCE, "eclave:///docs/r", "2");
}

PROJECT_TEST(registry_override, an_edited_entry_is_replaced_although_its_file_is_unchanged) {
    put_tools();
    put("register.json", "{\"version\":1,\"tools\":[{\"name\":\"a\",\"title\":\"1\"}]}");
    project_begin(project);
    sleep(4);
    project_look(project);
    const struct registry_entry *entry = find(project, REGISTRY_TOOL, "a");
    project_look(project);
    cr_expect_eq(find(project, REGISTRY_TOOL, "a"), entry, "it is shared");
    put("register.json", "{\"version\":1,\"tools\":[{\"name\":\"a\",\"title\":\"2\"}]}");
    project_look(project);
    cr_expect_str_eq(metadata_text(find(project, REGISTRY_TOOL, "a")->metadata, "title"), "2");
    unlink("register.json");
    project_look(project);
    cr_expect_null(metadata_text(find(project, REGISTRY_TOOL, "a")->metadata, "title"));
}
