/* --image: a server that starts from an image answers as one that boots. An image that does not fit
 * costs one boot and one line of the log. */
#include "common/image_file.h"
#include "policy/policy.h"
#include "tests/support/available.h"
#include "tests/support/client.h"
#include "worker/image_scan.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

/* Did the server boot Lisp? Ends CLIENT, whose log must hold WORDS, unless they are NULL. */
static bool end_has_booted(struct client *client, const char *words) {
    client_end(client);
    const char *log = client_stderr(client);
    bool booted = strstr(log, "Lisp was booted") != NULL;
    if (words)
        cr_expect_neq(strstr(log, words), NULL, "the log lacks \"%s\": %s", words, log);
    client_free(client);
    return booted;
}

/* Starts a server with --image CHOICE and evaluates, also over rollbacks. Did it boot Lisp? */
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
    return end_has_booted(client, words);
}

static void make_directory(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", cache, name);
    cr_assert_eq(mkdir(path, 0700), 0);
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

/* The tables of the image. */
static const struct image_header *read_tables(void) {
    static _Alignas(struct image_header) char tables[IMAGE_TABLES_MAX];
    int fd = open(image(), O_RDONLY | O_CLOEXEC);
    cr_assert(fd >= 0 && pread(fd, tables, sizeof tables, 0) > 0);
    close(fd);
    return (const struct image_header *)tables;
}

/* What a read of a page maps at once is one part of the file, which the kernel keeps as one. */
Test(image, a_run_lies_in_the_file_as_in_memory) {
    const uint64_t part = (uint64_t)SCAN_PART_PAGES * IMAGE_PAGE;
    boots("auto", NULL);
    const struct image_header *header = read_tables();
    cr_assert_gt(header->runs, 0);
    for (uint32_t i = 0; i < header->runs; i++) {
        const struct image_run *run = &image_runs(header)[i];
        cr_expect_eq(run->offset % part, run->start % part, "run %u", i);
    }
}

/* Each mapping costs a fork and the end of a process more than the pages that it has. */
Test(image, neighbours_in_memory_are_neighbours_in_the_file) {
    boots("auto", NULL);
    const struct image_header *header = read_tables();
    size_t neighbours = 0;
    for (uint32_t i = 0; i + 1 < header->runs; i++) {
        const struct image_run *run = &image_runs(header)[i];
        const uint64_t bytes = (uint64_t)run->pages * IMAGE_PAGE;
        if (run[1].start != run->start + bytes)
            continue;
        neighbours++;
        cr_expect_eq(run[1].offset, run->offset + bytes, "run %u", i);
    }
    cr_expect_gt(neighbours, 0);
}

/* Is code of the source of AREA mapped? */
static bool is_of_program(const struct image_header *header, const struct image_area *area) {
    for (uint32_t i = 0; i < header->areas; i++) {
        const struct image_area *other = &image_areas(header)[i];
        if (other->source == area->source && other->protection & PROT_EXEC)
            return true;
    }
    return false;
}

/* Of the file of a library the kernel maps what others have read of it, a page at a time. */
Test(image, programs_and_libraries_are_in_it_as_a_whole) {
    boots("auto", NULL);
    const struct image_header *header = read_tables();
    size_t programs = 0;
    for (uint32_t i = 0; i < header->areas; i++) {
        const struct image_area *area = &image_areas(header)[i];
        const struct image_run *run = image_runs(header), *end = run + header->runs;
        if (area->source == IMAGE_ZEROS || !is_of_program(header, area))
            continue;
        programs++;
        while (run < end && run->start != area->start)
            run++;
        cr_assert_lt(run, end, "area %u", i);
        cr_expect_eq((uint64_t)run->pages * IMAGE_PAGE, area->end - area->start, "area %u", i);
    }
    cr_expect_gt(programs, 0);
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

/* --- what is loaded --- */

__attribute__((format(printf, 2, 3))) static void write_file(const char *name, const char *format,
                                                             ...) {
    char path[128];
    va_list arguments;
    snprintf(path, sizeof path, "%s/%s", cache, name);
    FILE *file = fopen(path, "we");
    cr_assert_not_null(file, "%s", path);
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    cr_assert_eq(fclose(file), 0, "%s", path);
}

/* Starts a server with OPTION VALUE; CODE must give RESULT. */
static bool loads(const char *option, const char *value, const char *code, const char *result,
                  const char *words) {
    char home[64];
    snprintf(home, sizeof home, "CL_SOURCE_REGISTRY=%s/lib//:", cache);
    const char *const arguments[] = {"--image", "auto", option, value, NULL};
    const char *const environment[] = {setting, home, NULL};
    struct client *client = client_start_ready(
        &(struct client_options){.arguments = arguments, .environment = environment}, NULL);
    struct evaluation got = client_evaluate(client, code);
    cr_expect_str_eq(got.text, result, "%s: %s", code, got.text);
    return end_has_booted(client, words);
}

static void remove_file(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", cache, name);
    cr_assert_eq(unlink(path), 0);
}

Test(image, a_preloaded_file_counts_by_its_content) {
    static const char changed[] = "a file that was loaded has changed";
    char path[64];
    snprintf(path, sizeof path, "%s/a.lisp", cache);
    write_file("a.lisp",
               "(defvar *a* 1) (defun b () nil)\n"
               "(when (probe-file \"%s/b.lisp\") (load \"%s/b.lisp\"))\n",
               cache, cache);
#define LOADS(result, words) loads("--preload", path, "(list *a* (b))", "=> (1 " result ")", words)
    cr_expect(LOADS("NIL", "there was none"));
    cr_expect_not(LOADS("NIL", NULL));
    cr_assert_eq(utimensat(AT_FDCWD, path, NULL, 0), 0);
    cr_expect_not(LOADS("NIL", NULL), "only its time has changed");
    write_file("b.lisp", "(defun b () 2)");
    cr_expect(LOADS("2", changed), "a file that was looked for has appeared");
    cr_expect_not(LOADS("2", NULL));
    write_file("b.lisp", "(defun b () 3)");
    cr_expect(LOADS("3", changed));
    cr_expect_not(LOADS("3", NULL));
    remove_file("b.lisp");
    cr_expect(LOADS("NIL", changed));
    cr_expect_not(LOADS("NIL", NULL));
#undef LOADS
}

Test(image, files_of_a_directory_that_was_listed_count) {
    char path[64];
    snprintf(path, sizeof path, "%s/a.lisp", cache);
    make_directory("more");
    write_file("a.lisp", "(defvar *a* (length (directory \"%s/more/*.lisp\")))", cache);
    cr_expect(loads("--preload", path, "*a*", "=> 0", NULL));
    cr_expect_not(loads("--preload", path, "*a*", "=> 0", NULL));
    write_file("more/one.lisp", " ");
    cr_expect(loads("--preload", path, "*a*", "=> 1", "a file that was loaded has changed"));
    cr_expect_not(loads("--preload", path, "*a*", "=> 1", NULL));
}

Test(image, a_file_that_changes_while_it_is_loaded_makes_no_image) {
    char path[64];
    snprintf(path, sizeof path, "%s/a.lisp", cache);
    write_file("a.lisp",
               "(with-open-file (s \"%s/count\" :direction :output :if-exists :append"
               " :if-does-not-exist :create) (write-char #\\x s))"
               "(defvar *a* (with-open-file (s \"%s/count\") (file-length s)))"
               "(with-open-file (s \"%s/count\" :direction :output :if-exists :append)"
               " (write-char #\\x s))",
               cache, cache, cache);
    cr_expect(loads("--preload", path, "*a*", "=> 1", "has changed meanwhile"));
    cr_expect(loads("--preload", path, "*a*", "=> 3", "has changed meanwhile"));
}

Test(image, a_system_counts_by_the_content_of_its_files) {
    static const char changed[] = "a file that was loaded has changed";
    make_directory("lib");
    write_file("lib/s.asd", "(defsystem \"s\" :components ((:file \"s\")))");
    write_file("lib/s.lisp", "(defun cl-user::s () 1)");
    cr_expect(loads("--systems", "s", "(s)", "=> 1", "there was none"));
    cr_expect_not(loads("--systems", "s", "(s)", "=> 1", NULL));
    write_file("lib/s.lisp", "(defun cl-user::s () 2)");
    cr_expect(loads("--systems", "s", "(s)", "=> 2", changed));
    cr_expect_not(loads("--systems", "s", "(s)", "=> 2", NULL));
    write_file("lib/t.lisp", "(defun cl-user::s () 3)");
    write_file("lib/s.asd", "(defsystem \"s\" :components ((:file \"s\") (:file \"t\")))");
    cr_expect(loads("--systems", "s", "(s)", "=> 3", changed));
    cr_expect_not(loads("--systems", "s", "(s)", "=> 3", NULL));
}

Test(image, a_directory_that_code_may_read_is_read_anew) {
    char code[128];
    make_directory("lib");
    snprintf(code, sizeof code, "(with-open-file (s \"%s/lib/x\") (values (read-line s)))", cache);
    char path[64];
    snprintf(path, sizeof path, "%s/lib", cache);
    cr_assert(chmod(cache, 0755) == 0 && chmod(path, 0755) == 0); /* workers are other users */
    write_file("lib/x", "old\n");
    loads("--allow-read", path, "1", "=> 1", "there was none");
    write_file("lib/x", "new\n");
    cr_expect_not(loads("--allow-read", path, "1", "=> 1", NULL));
    if (available_layers() & POLICY_LAYER_BIT(POLICY_LAYER_LANDLOCK))
        cr_expect_not(loads("--allow-read", path, code, "=> \"new\"", NULL));
}

/* The number of files in the cache. */
static size_t count_images(const char *pattern) {
    char path[128];
    glob_t found;
    snprintf(path, sizeof path, "%s/eclave/%s", cache, pattern);
    size_t count = glob(path, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return count;
}

Test(image, old_and_unfinished_ones_and_more_than_sixteen_are_removed) {
    enum { MADE = 30, KEPT = 16, SECOND_OF_OLD = 1000000000, DIGITS = 32 };
    char name[64], path[128];
    make_directory("eclave");
    for (int i = 0; i < MADE; i++) {
        snprintf(name, sizeof name, "eclave/%0*x.img%s", DIGITS, i, i % 3 ? "" : ".123");
        write_file(name, "x");
        snprintf(path, sizeof path, "%s/%s", cache, name);
        const struct timespec old[2] = {{.tv_sec = SECOND_OF_OLD}, {.tv_sec = SECOND_OF_OLD}};
        cr_assert(i % 3 || utimensat(AT_FDCWD, path, old, 0) == 0);
    }
    write_file("eclave/note", "x");
    boots("auto", "there was none");
    cr_expect_eq(count_images("*.img"), KEPT + 1);
    cr_expect_eq(count_images("*.img.*"), 0);
    cr_expect_eq(count_images("note"), 1, "a file of another kind is left alone");
    expect_restored();
}

Test(image, where_none_can_be_kept_one_line_says_why) {
    char file[64];
    write_file("file", "x");
    snprintf(file, sizeof file, "XDG_CACHE_HOME=%s/file", cache);
    const char *const nowhere[] = {"XDG_CACHE_HOME", "HOME", NULL};
    const char *const in_file[] = {file, NULL};
    const char *const *const environments[] = {nowhere, in_file};
    const char *const arguments[] = {"--image", "auto", NULL};
    for (size_t i = geteuid() == 0; i < sizeof environments / sizeof *environments; i++) {
        struct client *client = client_start_ready(
            &(struct client_options){.arguments = arguments, .environment = environments[i]}, NULL);
        cr_expect_str_eq(client_evaluate(client, "(+ 1 2)").text, "=> 3");
        cr_expect_not(end_has_booted(client, "Lisp boots at each start: "));
    }
}
