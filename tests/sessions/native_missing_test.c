/* --native where something that it needs is missing: the start is refused with the reason, or what
 * would be native code stays bytecode and computes the same. */
#include "tests/support/client_sessions.h"
#include "tests/support/command.h"
#include "tests/support/lines.h"
#include "tests/support/outer_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define FIB "(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

/* --- a kernel that lacks something --- */

Test(native_missing, before_linux_6_3_code_is_sealed_with_fewer_flags) {
    outer_filter_forbid_bits(SYS_memfd_create, 1, MFD_NOEXEC_SEAL, EINVAL);
    struct client *client = client_start_with("--native", "on");
    client_session_expect(client, NULL, FIB "(multiple-value-list (compile 'fib))",
                          "=> (FIB NIL NIL)");
    client_session_expect(client, NULL, "(list (fib 20) (nth-value 1 (si:bc-split #'fib)))",
                          "=> (6765 NIL)");
    client_finish(client);
}

static void expect_bytecode(const char *choice) {
    struct client *client = client_start_with("--native", choice);
    client_session_expect(client, NULL, FIB "(multiple-value-list (compile 'fib))", "=> (FIB T T)");
    client_session_expect(client, NULL, "(list (fib 20) (not (nth-value 1 (si:bc-split #'fib))))",
                          "=> (6765 NIL)");
    client_finish(client);
}

Test(native_missing, what_cannot_be_sealed_stays_bytecode) {
    /* Filters come through a file in memory, too, but it is not sealed. */
    outer_filter_forbid_bits(SYS_memfd_create, 1, MFD_ALLOW_SEALING, EINVAL);
    expect_bytecode("on");
    expect_bytecode("auto");
}

/* --- a build without libtcc --- */

/* Runs COMMAND with $dir/eclave, which is installed without the program that compiles. */
static struct command_result run_without_compiler(const char *command) {
    const char *script = formatted("dir=$(mktemp -d); from=$(dirname \"%s\"); "
                                   "for each in eclave eclave-worker eclave-restore; do "
                                   "cp \"$from/$each\" \"$dir\" 2>/dev/null; done; "
                                   "\"$dir/eclave\" %s; status=$?; rm -r \"$dir\"; exit $status",
                                   ECLAVE_BINARY, command);
    return command_run(&(struct command){.arguments = STRINGS("/bin/sh", "-c", script)});
}

Test(native_missing, without_libtcc_the_start_is_refused) {
    static const char *const choices[] = {"on", "auto"};
    for (size_t i = 0; i < COUNT_OF(choices); i++) {
        struct command_result result = run_without_compiler(
            formatted("eval --image off --native %s -e '(+ 1 2)'", choices[i]));
        cr_assert_neq(result.status, 0, "%s: %s", choices[i], result.output);
        cr_assert(strstr(result.error, "eclave-compiler, which --native needs, is missing"), "%s",
                  result.error);
        cr_assert_null(strstr(result.output, "=> 3"));
        command_result_free(&result);
    }
    struct command_result result = run_without_compiler("eval --image off -e '(+ 1 2)'");
    cr_assert_eq(result.status, 0, "%s", result.error);
    cr_assert_str_eq(result.output, "=> 3\n");
    command_result_free(&result);
}

/* --- without notifications --- */

Test(native_missing, with_degraded_the_start_is_refused) {
    const char *script =
        formatted("\"%s\" eval --degraded --native on -e '(+ 1 2)'", ECLAVE_BINARY);
    struct command_result result =
        command_run(&(struct command){.arguments = STRINGS("/bin/sh", "-c", script)});
    cr_assert_neq(result.status, 0);
    cr_assert(strstr(result.error, "native code requires seccomp notifications"), "%s",
              result.error);
    command_result_free(&result);
}
