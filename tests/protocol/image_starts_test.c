/* Many processes made of one base image, each with all of its state; and starts where the image
 * cannot be used or parts of it can only be found out otherwise. */
#include "tests/support/available.h"
#include "tests/support/command.h"
#include "tests/support/lines.h"
#include "tests/support/random.h"
#include "tests/support/skip.h"
#include "worker/image_scan.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* What a shell runs; the program is its $0. */
#define CHECK                                                                                      \
    " eval --image auto --log-level info"                                                          \
    " --preload " ECLAVE_SOURCE_DIR "/tests/protocol/image_state.lisp -e '(broken-parts)'"
#define START "exec \"$0\"" CHECK

static char cache[] = "/tmp/eclave-starts-XXXXXX";

static void set_up(void) {
    cr_assert_neq(mkdtemp(cache), NULL);
    setenv("XDG_CACHE_HOME", cache, 1);
}

static void tear_down(void) {
    command_remove_tree(cache);
}

TestSuite(image_starts, .init = set_up, .fini = tear_down, .disabled = !IMAGE_SUPPORTED);

/* Starts once by SCRIPT of a shell, and expects all of the state. Did it boot Lisp? */
static bool boots(const char *script) {
    const char *const arguments[] = {"/bin/sh", "-c", script, ECLAVE_BINARY, NULL};
    struct command_result result = command_run(&(struct command){.arguments = arguments});
    const bool booted =
        strstr(result.error, "Lisp was booted") || strstr(result.error, "Lisp boots");
    cr_assert_eq(result.status, 0, "%s: %s%s", script, result.output, result.error);
    cr_assert_neq(strstr(result.output, "=> NIL"), NULL, "%s: %s%s", script, result.output,
                  result.error);
    command_result_free(&result);
    return booted;
}

Test(image_starts, each_has_all_of_the_state) {
    const size_t starts = random_trials(20, 200);
    size_t booted = 0;
    cr_expect(boots(START));
    for (size_t i = 0; i < starts; i++)
        booted += boots(START);
    cr_expect_eq(booted, 0, "%zu of %zu booted Lisp", booted, starts);
}

Test(image_starts, without_randomisation) {
    enum { STARTS = 10 };
    static const char *const nothing[] = {"/usr/bin/setarch", "-R", "true", NULL};
    struct command_result result = command_run(&(struct command){.arguments = nothing});
    const bool can = result.status == 0;
    command_result_free(&result);
    if (!can)
        cr_skip_test("addresses are always random here");
    cr_expect(boots(START));
    for (int i = 0; i < STARTS; i++)
        boots("exec setarch -R \"$0\"" CHECK);
}

Test(image_starts, under_low_limits) {
    static const char *const limits[] = {
        "ulimit -s 1024; ",      /* a smaller stack than that of the image */
        "ulimit -s unlimited; ", /* mappings grow up from the middle of memory */
        "ulimit -n 32; ",        /* descriptors */
#ifndef __SANITIZE_ADDRESS__     /* which reserves terabytes, and needs /proc */
        "ulimit -v 2000000; ",   /* address space */
#endif
        "ulimit -c 0; ulimit -l 0; ", /* core files, locked memory */
    };
    cr_expect(boots(START));
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        boots(formatted("%s%s", limits[i], START));
        cr_expect_not(boots(START), "after %sit boots", limits[i]);
    }
}

#ifndef __SANITIZE_ADDRESS__
/* Nothing starts, and it says why. */
Test(image_starts, without_proc) {
    skip_unless_root();
    skip_without_mounts();
    cr_expect(boots(START));
    const char *const arguments[] = {"/usr/bin/unshare",
                                     "--mount",
                                     "/bin/sh",
                                     "-c",
                                     "mount -t tmpfs none /proc && exec \"$0\" eval -e 1",
                                     ECLAVE_BINARY,
                                     NULL};
    struct command_result result = command_run(&(struct command){.arguments = arguments});
    cr_expect_eq(result.status, 2, "%d", result.status);
    cr_expect_neq(strstr(result.error, "is /proc mounted?"), NULL, "%s", result.error);
    command_result_free(&result);
    cr_expect_not(boots(START), "an image was lost");
}
#endif
