/* supervisor/settings: lists of paths and of layers, from flags, environment and policy file. */
#include "policy/policy.h"
#include "tests/unit/read_settings.h"
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#define LAYER_BIT(id) (UINT32_C(1) << POLICY_LAYER_##id)

/* A temporary directory with two directories, two files and a link, in which the test runs. */
static char root[] = "/tmp/eclave-lists-XXXXXX";

static void enter_root(void) {
    cr_assert_not_null(mkdtemp(root));
    cr_assert_eq(chdir(root), 0);
    cr_assert_eq(mkdir("one", 0700), 0);
    cr_assert_eq(mkdir("two:three", 0700), 0);
    cr_assert_eq(symlink("one", "link"), 0);
    write_file("boot.lisp", "1", 1);
    write_file("one/own.lisp", "2", 1);
}

static void leave_root(void) {
    static const char *const files[] = {"boot.lisp", "one/own.lisp", "one/policy", "link", "pipe"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(files[i]);
    rmdir("one");
    rmdir("two:three");
    cr_expect_eq(rmdir(root), 0);
}

#define TEST_IN_ROOT(name) Test(settings_lists, name, .init = enter_root, .fini = leave_root)

static void expect_path(const struct path_list *list, size_t index, const char *below_root) {
    char expected[PATH_MAX];
    snprintf(expected, sizeof expected, "%s/%s", root, below_root);
    cr_assert_lt(index, list->count);
    cr_expect_str_eq(list->paths[index], expected);
}

TEST_IN_ROOT(nothing_is_listed_by_default) {
    struct settings settings;
    settings_default(&settings);
    cr_expect_eq(settings.allow_read.count, 0);
    cr_expect_eq(settings.preload.count, 0);
    cr_expect_eq(settings.systems.count, 0);
    cr_expect_eq(settings.require, 0);
    cr_expect_eq(settings.without, 0);
    cr_expect_eq(settings.scratch_mb, 0);
    settings_free(&settings);
}

TEST_IN_ROOT(several_flags_add_up_and_become_absolute) {
    struct settings settings;
    READ_FINE(&settings, "--allow-read", "one", "--allow-read=./two:three", "--preload",
              "one/../boot.lisp");
    cr_expect_eq(settings.allow_read.count, 2);
    expect_path(&settings.allow_read, 0, "one");
    expect_path(&settings.allow_read, 1, "two:three");
    cr_expect_eq(settings.preload.count, 1);
    expect_path(&settings.preload, 0, "boot.lisp");
    settings_free(&settings);
    cr_expect_eq(settings.allow_read.count, 0);
}

TEST_IN_ROOT(links_are_followed_once) {
    struct settings settings;
    READ_FINE(&settings, "--allow-read", "link");
    expect_path(&settings.allow_read, 0, "one");
    settings_free(&settings);
}

TEST_IN_ROOT(a_variable_separates_paths_by_colons) {
    struct settings settings;
    setenv("ECLAVE_ALLOW_READ", "one:link", 1);
    setenv("ECLAVE_PRELOAD", "boot.lisp", 1);
    READ_FINE(&settings, NULL);
    cr_expect_eq(settings.allow_read.count, 2);
    expect_path(&settings.allow_read, 1, "one");
    expect_path(&settings.preload, 0, "boot.lisp");
    settings_free(&settings);
}

TEST_IN_ROOT(paths_in_a_file_begin_beside_it) {
    static const char text[] = "{\"preload\":[\"own.lisp\",\"../boot.lisp\"],\"allow-read\":\".\"}";
    struct settings settings;
    write_file("one/policy", text, sizeof text - 1);
    READ_FINE(&settings, "--policy", "one/policy");
    cr_expect_eq(settings.preload.count, 2);
    expect_path(&settings.preload, 0, "one/own.lisp");
    expect_path(&settings.preload, 1, "boot.lisp");
    expect_path(&settings.allow_read, 0, "one");
    settings_free(&settings);
}

TEST_IN_ROOT(a_stronger_list_takes_the_place_of_a_weaker_one) {
    static const char text[] =
        "{\"allow-read\":[\".\",\"..\"],\"require\":[\"landlock\",\"cgroup\"]}";
    struct settings settings;
    write_file("one/policy", text, sizeof text - 1);
    setenv("ECLAVE_ALLOW_READ", "two\\:three:one", 1);
    setenv("ECLAVE_POLICY", "one/policy", 1);
    struct error error = {0};
    int left;
    cr_expect_not(READ(&settings, &error, &left, NULL), "no escape is known");
    setenv("ECLAVE_ALLOW_READ", "link:one", 1);
    setenv("ECLAVE_REQUIRE", "namespaces", 1);
    READ_FINE(&settings, NULL);
    cr_expect_eq(settings.allow_read.count, 2);
    expect_path(&settings.allow_read, 0, "one");
    cr_expect_eq(settings.require, LAYER_BIT(NAMESPACES));
    settings_free(&settings);
    READ_FINE(&settings, "--allow-read", "two:three", "--require", "seccomp", "--require=process");
    cr_expect_eq(settings.allow_read.count, 1);
    expect_path(&settings.allow_read, 0, "two:three");
    cr_expect_eq(settings.require, LAYER_BIT(SECCOMP) | LAYER_BIT(PROCESS));
    settings_free(&settings);
}

TEST_IN_ROOT(an_empty_array_takes_a_profiles_list_away) {
    struct settings settings;
    struct error error = {0};
    static const char text[] = "{\"profile\":\"library\",\"allow-read\":[]}";
    cr_assert(read_policy_text(&settings, &error, text, sizeof text - 1), "%s", error.text);
    cr_expect_eq(settings.allow_read.count, 0);
    settings_free(&settings);
}

static void expect_names(const struct settings *settings, const char *first, const char *last,
                         size_t count) {
    cr_assert_eq(settings->systems.count, count);
    cr_expect_str_eq(settings->systems.names[0], first);
    cr_expect_str_eq(settings->systems.names[count - 1], last);
}

TEST_IN_ROOT(systems_are_names_with_commas_between_them) {
    struct settings settings;
    struct error error = {0};
    static const char text[] = "{\"systems\":[\"a\",\"b,c/d\"]}";
    READ_FINE(&settings, "--systems", "cl+ssl,a-b.c_d", "--systems=foo/test");
    expect_names(&settings, "cl+ssl", "foo/test", 3);
    settings_free(&settings);
    cr_assert(read_policy_text(&settings, &error, text, sizeof text - 1), "%s", error.text);
    expect_names(&settings, "a", "c/d", 3);
    settings_free(&settings);
    setenv("ECLAVE_SYSTEMS", "x,y", 1);
    READ_FINE(&settings, NULL);
    expect_names(&settings, "x", "y", 2);
    settings_free(&settings);
    READ_FINE(&settings, "--systems", "z");
    expect_names(&settings, "z", "z", 1);
    settings_free(&settings);
}

TEST_IN_ROOT(systems_that_are_no_names_or_too_many_are_refused) {
    static const char *const values[] = {"",    ",",   "a,",       ",a",   "a,,b", "a b",  "a;b",
                                         "(a)", "a\"", "\xc3\xa9", "a\nb", "a:b",  "a\\b", "a'"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        expect_refused("--systems", values[i], "--systems must be names of ASDF systems");
    char longest[NAME_BYTES + 1];
    memset(longest, 'a', sizeof longest);
    longest[NAME_BYTES] = 0;
    expect_refused("--systems", longest, "--systems must be names of ASDF systems");
    struct settings settings;
    longest[NAME_BYTES - 1] = 0;
    READ_FINE(&settings, "--systems", longest);
    expect_names(&settings, longest, longest, 1);
    enum { LAST_COMMA = 2 * NAME_LIST_MAX - 1, LENGTH = LAST_COMMA + 2 };
    char many[LENGTH + 1];
    for (size_t i = 0; i < LENGTH; i++)
        many[i] = i % 2 ? ',' : 'a';
    many[LAST_COMMA] = many[LENGTH] = 0;
    READ_FINE(&settings, "--systems", many);
    expect_names(&settings, "a", "a", NAME_LIST_MAX);
    many[LAST_COMMA] = ',';
    expect_refused("--systems", many, "must not name more than 32 systems");
}

TEST_IN_ROOT(what_is_not_there_or_something_else_is_refused) {
    expect_refused("--allow-read", "none", "No such file");
    expect_refused("--allow-read", "", "--allow-read must be a directory");
    expect_refused("--allow-read", "boot.lisp", "must be a directory");
    expect_refused("--allow-read", NULL, "needs a value");
    expect_refused("--preload", "one", "must be a regular file");
    expect_refused("--preload", "none.lisp", "No such file");
    expect_refused("--preload", "boot.lisp/x", "Not a directory");
    expect_refused("--preload", "/dev/null", "must be a regular file");
    cr_assert_eq(mkfifo("pipe", 0600), 0);
    expect_refused("--preload", "pipe", "must be a regular file"); /* and does not block */
    expect_refused("--preload", "a\nb", "a?b");
}

TEST_IN_ROOT(too_many_and_too_long_are_refused) {
    struct settings settings;
    struct error error = {0};
    int left;
    const char *arguments[ARGUMENTS_MAX] = {NULL};
    for (size_t i = 0; i < PATH_LIST_MAX; i++)
        arguments[i + 1] = "--allow-read=one";
    cr_assert(read_settings(&settings, &error, &left, arguments), "%s", error.text);
    cr_expect_eq(settings.allow_read.count, PATH_LIST_MAX);
    settings_free(&settings);
    arguments[PATH_LIST_MAX + 1] = "--allow-read=one";
    cr_expect_not(read_settings(&settings, &error, &left, arguments));
    cr_expect_not_null(strstr(error.text, "more than 32"), "%s", error.text);

    static char path[PATH_MAX + 1];
    memset(path, '/', sizeof path - 1);
    expect_refused("--allow-read", path, "File name too long");
    setenv("ECLAVE_ALLOW_READ", path, 1);
    expect_refused("--allow-read", "one", "ECLAVE_ALLOW_READ");
}

TEST_IN_ROOT(there_is_one_project_and_colons_belong_to_its_name) {
    struct settings settings;
    setenv("ECLAVE_PROJECT", "two:three", 1);
    READ_FINE(&settings, NULL);
    expect_path(&settings.project, 0, "two:three");
    settings_free(&settings);
    READ_FINE(&settings, "--project", "link");
    cr_expect_eq(settings.project.count, 1);
    expect_path(&settings.project, 0, "one");
    settings_free(&settings);
    expect_refused("--project", "none", "No such file");
    expect_refused("--project", "boot.lisp", "--project must be a directory");
    struct error error = {0};
    int left;
    cr_expect_not(READ(&settings, &error, &left, "--project=one", "--project=one"));
    cr_expect_not_null(strstr(error.text, "must not name more than 1 path"), "%s", error.text);
}

TEST_IN_ROOT(an_empty_part_of_a_variable_is_refused) {
    static const char *const wrong[] = {"", ":", "one:", ":one", "one::link"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("ECLAVE_ALLOW_READ", wrong[i], 1);
        expect_refused("--batches", "x", "ECLAVE_ALLOW_READ must be");
    }
}

TEST_IN_ROOT(wrong_members_are_refused) {
    expect_file_refused("{\"allow-read\":3}", "\"allow-read\" must be a directory");
    expect_file_refused("{\"allow-read\":{}}", "not an object");
    expect_file_refused("{\"allow-read\":null}", "not null");
    expect_file_refused("{\"allow-read\":[true]}", "not true or false");
    expect_file_refused("{\"allow-read\":[[\"/\"]]}", "not an array");
    expect_file_refused("{\"allow-read\":\"/\\u0000x\"}", "U+0000");
    expect_file_refused("{\"preload\":[\"/\"]}", "\"preload\" must be a regular file");
    expect_file_refused("{\"require\":[1]}", "\"require\" must be one or more of");
    expect_file_refused("{\"require\":true}", "\"require\" must be one or more of");
    expect_file_refused("{\"require\":[\"landlok\"]}", "did you mean \"landlock\"?");
}

TEST_IN_ROOT(layers_are_bits_in_the_order_of_their_table) {
    struct settings settings;
    READ_FINE(&settings, "--require", "seccomp,limits", "--without", "cgroup,landlock,cgroup");
    cr_expect_eq(settings.require, LAYER_BIT(SECCOMP) | LAYER_BIT(LIMITS));
    cr_expect_eq(settings.without, LAYER_BIT(CGROUP) | LAYER_BIT(LANDLOCK));
    READ_FINE(&settings, "--require", "all");
    cr_expect_eq(settings.require, (UINT32_C(1) << POLICY_LAYER_COUNT) - 1);
    cr_expect_str_eq(policy_layer_name(POLICY_LAYER_SECCOMP), "seccomp");
}

TEST_IN_ROOT(wrong_layers_are_refused) {
    static const char *const wrong[] = {
        "", ",", "seccomp,", ",seccomp", "seccomp seccomp", " seccomp", "SECCOMP", "nothing"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_refused("--require", wrong[i], "--require must be one or more of cgroup");
    expect_refused("--require", "limits,seccom,process",
                   "not \"seccom\"; did you mean \"seccomp\"?");
    expect_refused("--without", "seccomp",
                   "must be one or more of cgroup|namespaces|landlock, not");
    expect_refused("--without", "all", "must be one or more of cgroup|namespaces|landlock, not");
}

TEST_IN_ROOT(a_layer_is_not_required_and_left_out) {
    struct settings settings;
    struct error error = {0};
    int left;
    cr_expect_not(READ(&settings, &error, &left, "--require=all", "--without=landlock", NULL));
    cr_expect_not_null(strstr(error.text, "landlock"), "%s", error.text);
    setenv("ECLAVE_REQUIRE", "cgroup", 1);
    expect_refused("--without", "cgroup", "require and without must not both name");
}

TEST_IN_ROOT(scratch_is_a_number_of_mib) {
    struct settings settings;
    READ_FINE(&settings, "--scratch", "65536");
    cr_expect_eq(settings.scratch_mb, 65536);
    expect_refused("--scratch", "65537", "65536");
}
