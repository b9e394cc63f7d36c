/* --image: a server that starts from an image answers as one that boots. An image that does not fit
 * costs one boot and one line of the log. */
#include "common/image_file.h"
#include "tests/support/client.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char cache[] = "/tmp/eclave-image-XXXXXX";
static char setting[64];

/* The only image in the cache. */
static const char *image(void) {
    static char path[256], pattern[64];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/eclave/*.img", cache);
    cr_assert_eq(glob(pattern, 0, NULL, &found), 0, "there is no image");
    cr_assert_eq(found.gl_pathc, 1);
    snprintf(path, sizeof path, "%s", found.gl_pathv[0]);
    globfree(&found);
    return path;
}

static void set_up(void) {
    cr_assert_neq(mkdtemp(cache), NULL);
    snprintf(setting, sizeof setting, "XDG_CACHE_HOME=%s", cache);
}

static void tear_down(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", cache);
    cr_assert_eq(system(command), 0); // NOLINT(cert-env33-c)
}

TestSuite(image, .init = set_up, .fini = tear_down);

/* Starts a server with --image CHOICE and evaluates, also over rollbacks. Did it boot Lisp? Its log
 * must hold WORDS, unless they are NULL. */
static bool boots(const char *choice, const char *words) {
    const char *const arguments[] = {"--image", choice, NULL};
    const char *const environment[] = {setting, NULL};
    struct client *client = client_start_ready(
        &(struct client_options){.arguments = arguments, .environment = environment}, NULL);
    static const char *const calls[][2] = {
        {"(defvar *x* 1)", "*X*"},
        {"(handler-case (car 1) (type-error () :caught))", ":CAUGHT"},
        {"(handler-case (labels ((f (x) (1+ (f x)))) (f 1)) (storage-condition () :deep))",
         ":DEEP"},
        {"(handler-case (/ 1.0 0.0) (arithmetic-error () :trap))", ":TRAP"},
        {"(length (loop repeat 300000 collect (list 1 2)))", "300000"},
        {"(progn (ext:gc t) (incf *x*))", "2"},
        {"(< 3900000000 (get-universal-time) 9000000000)", "T"},
        {"(format nil \"~,2f ~r ~s\" 1.5 42 (find-class 'standard-object))", "forty-two"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct evaluation got = client_evaluate(client, calls[i][0]);
        cr_expect_neq(strstr(got.text, calls[i][1]), NULL, "%s: %s", calls[i][0], got.text);
    }
    client_end(client);
    const char *log = client_stderr(client);
    bool booted = strstr(log, "Lisp was booted") != NULL;
    if (words)
        cr_expect_neq(strstr(log, words), NULL, "the log lacks \"%s\": %s", words, log);
    client_free(client);
    return booted;
}

static void expect_restored(void) {
    cr_expect_not(boots("auto", NULL), "it booted although there is an image");
}

Test(image, the_first_start_writes_an_image_and_the_next_ones_use_it) {
    enum { STARTS = 10 };
    cr_expect(boots("auto", "there was none"));
    for (int i = 0; i < STARTS; i++)
        expect_restored();
}

Test(image, off_neither_reads_nor_writes) {
    cr_expect_not(boots("off", NULL));
    char path[128];
    snprintf(path, sizeof path, "%s/eclave", cache);
    cr_expect_neq(access(path, F_OK), 0);
}

Test(image, rebuild_writes_a_new_one) {
    struct stat before, after;
    boots("auto", NULL);
    cr_assert_eq(stat(image(), &before), 0);
    cr_expect(boots("rebuild", "there was none"));
    cr_assert_eq(stat(image(), &after), 0);
    cr_expect(before.st_mtim.tv_sec != after.st_mtim.tv_sec ||
              before.st_mtim.tv_nsec != after.st_mtim.tv_nsec);
    expect_restored();
}

Test(image, the_files_are_for_their_owner_only) {
    struct stat file, directory;
    char path[128];
    boots("auto", NULL);
    snprintf(path, sizeof path, "%s/eclave", cache);
    cr_assert(stat(image(), &file) == 0 && stat(path, &directory) == 0);
    cr_expect_eq(file.st_mode & 07777, 0600);
    cr_expect_eq(directory.st_mode & 07777, 0700);
}

/* Overwrites the byte at OFFSET of the image by its complement. */
static void damage(off_t offset) {
    unsigned char byte = 0;
    int fd = open(image(), O_RDWR | O_CLOEXEC);
    cr_assert(fd >= 0 && pread(fd, &byte, 1, offset) == 1);
    byte = (unsigned char)~byte;
    cr_assert_eq(pwrite(fd, &byte, 1, offset), 1);
    close(fd);
}

Test(image, a_damaged_image_costs_one_boot) {
    boots("auto", NULL);
    damage((off_t)sizeof(struct image_header) + 300);
    cr_expect(boots("auto", "it was damaged"));
    expect_restored();
    damage(0);
    cr_expect(boots("auto", "another program"));
    expect_restored();
    cr_assert_eq(truncate(image(), 2UL * IMAGE_PAGE), 0);
    cr_expect(boots("auto", "it was damaged"));
    expect_restored();
    cr_assert_eq(truncate(image(), 0), 0);
    cr_expect(boots("auto", "it was damaged"));
    expect_restored();
}

Test(image, an_image_that_others_may_write_is_not_used) {
    boots("auto", NULL);
    cr_assert_eq(chmod(image(), 0620), 0);
    cr_expect(boots("auto", "another user may write it"));
    expect_restored();
    if (geteuid() == 0) {
        cr_assert_eq(chown(image(), 65534, 65534), 0);
        cr_expect(boots("auto", "another user may write it"));
        expect_restored();
    }
}

Test(image, a_directory_that_others_may_use_is_not_used) {
    char path[128];
    boots("auto", NULL);
    snprintf(path, sizeof path, "%s/eclave", cache);
    cr_assert_eq(chmod(path, 0750), 0);
    cr_expect_not(boots("auto", NULL));
    cr_assert_eq(chmod(path, 0700), 0);
    cr_assert_eq(chmod(cache, 0777), 0);
    cr_expect_not(boots("auto", NULL));
    cr_assert_eq(chmod(cache, 0700), 0);
    expect_restored();
}

Test(image, an_old_image_is_made_anew) {
    boots("auto", NULL);
    struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    cr_assert_eq(utimensat(AT_FDCWD, image(), times, 0), 0);
    cr_expect(boots("auto", "it was too old"));
    expect_restored();
}
