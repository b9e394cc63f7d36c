/* Where eclave finds its parts, in a tree that can be moved. */
#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char ecl_directory[PATH_MAX] = "missing";

/* Instead of that of this build, which is for one place. */
#include "supervisor/base/installed.h"
#define installed_ecl_directory ecl_directory
#include "supervisor/base/installed.c" // NOLINT(bugprone-suspicious-include)

static char root[] = "/tmp/eclave-installed-XXXXXX";

static void open_root(void) {
    cr_assert(mkdtemp(root));
}

static void close_root(void) {
    char command[sizeof root + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    cr_assert_eq(system(command), 0);
}

TestSuite(installed, .init = open_root, .fini = close_root);

/* Makes the directory NAME, and leads to it from that of this program. */
static void have_ecl_in(const char *name) {
    char made[PATH_MAX], own[PATH_MAX] = "";
    snprintf(made, sizeof made, "%s/%s", root, name);
    cr_assert_eq(mkdir(made, 0700), 0);
    cr_assert_gt(readlink("/proc/self/exe", own, sizeof own - 1), 0);
    size_t length = 0;
    for (const char *at = own + 1; (at = strchr(at, '/')); at++)
        length += (size_t)snprintf(ecl_directory + length, sizeof ecl_directory - length, "../");
    snprintf(ecl_directory + length, sizeof ecl_directory - length, "%s", made + 1);
}

Test(installed, a_relative_directory_begins_at_the_program) {
    char path[INSTALLED_PATH_BYTES], own[PATH_MAX] = "", wanted[2 * PATH_MAX];
    cr_assert_gt(readlink("/proc/self/exe", own, sizeof own - 1), 0);
    *strrchr(own, '/') = 0;
    cr_assert(installed_path("../libexec", "name", path, NULL));
    snprintf(wanted, sizeof wanted, "%s/../libexec/name", own);
    cr_assert_str_eq(path, wanted);
    cr_assert(installed_path("", "name", path, NULL));
    snprintf(wanted, sizeof wanted, "%s/name", own);
    cr_assert_str_eq(path, wanted);
}

Test(installed, an_absolute_directory_stays) {
    char path[INSTALLED_PATH_BYTES];
    cr_assert(installed_path("/usr/libexec/eclave", "name", path, NULL));
    cr_assert_str_eq(path, "/usr/libexec/eclave/name");
    snprintf(ecl_directory, sizeof ecl_directory, "/usr/lib/ecl/");
    cr_assert(installed_ecl(path, NULL));
    cr_assert_str_eq(path, "", "ECL knows that place itself");
}

Test(installed, a_path_that_is_too_long_is_an_error) {
    char path[INSTALLED_PATH_BYTES], name[INSTALLED_PATH_BYTES + 1];
    struct error error = {0};
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    cr_assert_not(installed_path("/usr", name, path, &error));
    cr_assert(strstr(error.text, "too long"), "%s", error.text);
}

Test(installed, ecl_is_found_without_links_and_with_a_slash) {
    char path[INSTALLED_PATH_BYTES], wanted[PATH_MAX];
    have_ecl_in("\303\234n\303\257 (1) [x]; ok:");
    cr_assert(installed_ecl(path, NULL));
    snprintf(wanted, sizeof wanted, "%s/%s/", root, "\303\234n\303\257 (1) [x]; ok:");
    cr_assert_str_eq(path, wanted);
}

Test(installed, a_tree_without_ecl_is_an_error_that_says_so) {
    char path[INSTALLED_PATH_BYTES];
    struct error error = {0};
    snprintf(ecl_directory, sizeof ecl_directory, "../no-such-directory");
    cr_assert_not(installed_ecl(path, &error));
    cr_assert(strstr(error.text, "unpacked as a whole"), "%s", error.text);
}

Test(installed, a_path_that_ecl_takes_for_a_pattern_is_an_error_that_names_the_characters) {
    static const char *const names[] = {"st*r", "wh?t", "back\\slash"};
    char path[INSTALLED_PATH_BYTES];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct error error = {0};
        have_ecl_in(names[i]);
        cr_assert_not(installed_ecl(path, &error));
        cr_assert(strstr(error.text, "* ? \\") && strstr(error.text, names[i]), "%s", error.text);
    }
}
