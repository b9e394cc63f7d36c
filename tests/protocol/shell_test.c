/* What a shell may do to a command: output that cannot be written, ignored signals, limits of
 * resources, missing files of the system. Each row is a script whose $1 is the program. */
#include "tests/support/command.h"
#include "tests/support/project_files.h"
#include <unistd.h>

static struct command_result run(const char *script) {
    return command_run(
        &(struct command){.arguments = STRINGS("/bin/sh", "-c", script, "sh", ECLAVE_BINARY)});
}

static void begin(void) {
    project_files_begin();
    cr_assert_eq(chdir(project_files_path()), 0);
    project_files_write("lines", "{\"code\":\"(+ 1 2)\"}\n");
    project_files_write("tests.jsonl", "{\"code\":\"(+ 1 2)\"}\n");
    project_files_write("submission.lisp", "1");
    project_files_write("requests", PING("1") "\n");
    project_files_write("slow-requests", INITIALIZE("1", "\"2025-11-25\"") "\n" EVALUATE(
                                             "2", "(progn (sleep 1) 42)") "\n");
    project_files_write("tools/greet.lisp", "(mcp:deftool greet () \"hello\")");
    struct command_result result = run("\"$1\" --state state <slow-requests");
    cr_assert_eq(result.status, 0, "%s", result.error);
    command_result_free(&result);
}

TestSuite(shell, .init = begin, .fini = project_files_end);

/* The script must end with STATUS, with PART on standard error. */
static void expect(const char *script, int status, const char *part) {
    struct command_result result = run(script);
    cr_expect_eq(result.status, status, "%s: %d: %s", script, result.status, result.error);
    cr_expect(strstr(result.error, part), "%s: \"%s\" is not in: %s", script, part, result.error);
    command_result_free(&result);
}

/* --- lost output --- */

static const char *const commands[] = {
    "--version",
    "--help",
    "batch --help",
    "-h",
    "-V",
    "help",
    "help eval",
    "completion bash",
    "completion zsh",
    "completion fish",
    "policy",
    "sessions list --state state",
    "sessions show main --state state",
    "eval -e 1",
    "eval --json -e 1",
    "eval -e '(car 1)'",
    "eval -e '(make-string 300000)'",
    "batch lines",
    "batch --tap lines",
    "grade --help",
    "grade tests.jsonl submission.lisp",
    "grade --format csv tests.jsonl submission.lisp",
    "check .",
    "tool greet --project .",
    "new tool other --project made",
    "serve <requests",
    "serve --project . <requests",
    "doctor",
    "doctor --json",
};

/* The messages end in these, or say that an earlier part was lost. */
static void expect_lost(const char *redirection, const char *reason) {
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        struct command_result result =
            run(formatted("rm -rf made; \"$1\" %s %s", commands[i], redirection));
        cr_expect_eq(result.status, 70, "%s %s: %d: %s", commands[i], redirection, result.status,
                     result.error);
        cr_expect(strstr(result.error, reason) || strstr(result.error, "part of it is lost"),
                  "%s %s: %s", commands[i], redirection, result.error);
        command_result_free(&result);
    }
}

Test(shell, a_closed_output_is_status_70_and_a_message) {
    expect_lost(">&-", "Bad file descriptor");
}

Test(shell, a_full_disk_is_status_70_and_a_message) {
    expect_lost(">/dev/full", "No space left on device");
}

/* The reader has gone before the command writes: it opens the fifo, and ends. */
Test(shell, a_closed_pipe_is_status_70_and_a_message) {
    struct command_result made = run("mkfifo fifo");
    command_result_free(&made);
    expect_lost("9<>fifo >fifo 9<&-", "Broken pipe");
}

Test(shell, output_that_is_read_is_a_success) {
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        struct command_result result = run(formatted("\"$1\" %s >output", commands[i]));
        cr_expect_neq(result.status, 70, "%s: %s", commands[i], result.error);
        cr_expect(!strstr(result.error, "writing"), "%s: %s", commands[i], result.error);
        command_result_free(&result);
    }
}

Test(shell, a_closed_input_is_empty) {
    expect("\"$1\" <&-", 0, "");
    expect("\"$1\" eval <&-", 0, "");
    expect("\"$1\" batch <&-", 0, "0 lines");
    expect("\"$1\" eval -e 1 <&- 2>&-", 0, "");
    expect("\"$1\" eval -e 1 <&- >&- 2>&-", 70, "");
}

/* --- signals that were ignored before --- */

Test(shell, a_signal_that_was_ignored_stays_ignored) {
    static const struct {
        const char *ignored, *sent;
        int status;
    } rows[] = {
        {"INT", "INT", 0},      {"TERM", "TERM", 0},     {"HUP", "HUP", 0},
        {"INT TERM", "INT", 0}, {"INT TERM", "TERM", 0}, {"INT", "TERM", 130},
        {"HUP", "TERM", 130},   {"PIPE", "TERM", 130},   {"INT TERM HUP", "HUP", 0},
        {"CHLD", "TERM", 130},  {"HUP TERM", "TERM", 0},
    };
    static const char *const kinds[] = {"eval --log-level debug -e '(progn (sleep 1/2) 7)'",
                                        "batch --log-level debug slow"};
    project_files_write("slow", "{\"code\":\"(progn (sleep 1/2) 7)\"}\n{\"code\":\"1\"}\n");
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
            const char *script =
                formatted("rm -f log; trap '' %s; \"$1\" %s 2>log & p=$!\n"
                          "until grep -qs 'sent EVALUATE' log; do kill -0 $p || break; done\n"
                          "kill -%s $p; wait $p",
                          rows[i].ignored, kinds[kind], rows[i].sent);
            struct command_result result = run(script);
            /* A batch finishes what runs, so that the end may have come before the signal. */
            bool as_wanted = result.status == rows[i].status || (kind && result.status == 0);
            cr_expect(as_wanted, "%s: %d: %s", script, result.status, result.error);
            command_result_free(&result);
        }
}

Test(shell, a_server_ignores_what_was_ignored) {
    expect("trap '' TERM; mkfifo in; \"$1\" <in >out & p=$!; exec 3>in; cat requests >&3\n"
           "until grep -qs result out; do :; done; kill -TERM $p; cat requests >&3; exec 3>&-\n"
           "wait $p && test $(grep -c result out) = 2",
           0, "");
}

/* The second signal would end it at once. */
Test(shell, a_server_that_drains_ignores_what_was_ignored) {
    expect("trap '' INT; mkfifo in; \"$1\" --log-level debug <in >out 2>log & p=$!; exec 3>in\n"
           "cat slow-requests >&3; until grep -qs 'sent EVALUATE' log; do :; done; exec 3>&-\n"
           "until grep -qs 'no more input' log; do :; done; kill -INT $p; kill -INT $p\n"
           "wait $p && grep -q '=> 42' out",
           0, "");
}

/* --- resources and files of the system --- */

Test(shell, a_missing_resource_is_named) {
    static const struct {
        const char *script;
        int status;
        const char *part;
    } rows[] = {
        {"(ulimit -f 0; exec \"$1\" eval -e 1) 2>&1 | cat >&2; exit 70", 70, "ulimit -f"},
        {"(ulimit -f 0; exec \"$1\" batch lines) 2>&1 | cat >&2; exit 70", 70, "ulimit -f"},
        {"ulimit -n 6; \"$1\" eval -e 1", 2, "Too many open files"},
        {"ulimit -n 9; \"$1\" eval -e 1", 70, "Too many open files"},
        {"ulimit -n 15; \"$1\" eval -e 1", 70, "Too many open files"},
        {"ulimit -n 20; \"$1\" batch -j 8 lines", 2, "the limit is 20"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        expect(rows[i].script, rows[i].status, rows[i].part);
}

Test(shell, a_missing_file_of_the_system_is_named) {
    static const struct {
        const char *hide, *command;
        int status;
        const char *part;
    } rows[] = {
#ifndef __SANITIZE_ADDRESS__ /* which looks for leaks in /proc */
        {"umount -l /proc", "eval -e 1", 2, "is /proc mounted?"},
        {"umount -l /proc", "batch lines", 2, "is /proc mounted?"},
        {"umount -l /proc", "serve <requests", 2, "is /proc mounted?"},
#endif
        {"mount -t tmpfs none /dev", "eval -e 1", 70, "open /dev/null: No such file"},
        {"mount -t tmpfs none /dev", "batch lines", 70, "open /dev/null: No such file"},
        {"mount -t tmpfs none /dev", "serve <requests", 0, "open /dev/null: No such file"},
        {"mount -t tmpfs none /dev", "--version >&-", 70, "Bad file descriptor"},
    };
    struct command_result able = run("unshare -m true");
    bool can_unshare = able.status == 0;
    command_result_free(&able);
    if (!can_unshare)
        cr_skip_test("needs a mount namespace");
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        expect(formatted("exec unshare -m sh -c '%s; exec \"$1\" %s' sh \"$1\"", rows[i].hide,
                         rows[i].command),
               rows[i].status, rows[i].part);
}

/* --- the environment --- */

Test(shell, a_mistyped_variable_is_named_with_the_nearest_name) {
    static const struct {
        const char *variable, *part;
    } rows[] = {
        {"ECLAVE_REQUIRED=all", "ECLAVE_REQUIRED; did you mean ECLAVE_REQUIRE?"},
        {"ECLAVE_POLICI=ci", "did you mean ECLAVE_POLICY?"},
        {"ECLAVE_CALL_TIMEOUT=5", "did you mean ECLAVE_CALL_TIMEOUT_S?"},
        {"ECLAVE_CALL_TIMEOUTS=5", "did you mean ECLAVE_CALL_TIMEOUT_S?"},
        {"ECLAVE_PROJEKT=.", "did you mean ECLAVE_PROJECT?"},
        {"ECLAVE_SESSION_MEMORY=64", "did you mean ECLAVE_SESSION_MEMORY_MB?"},
        {"ECLAVE_call_timeout_s=5", "unknown environment variable ECLAVE_call_timeout_s"},
        {"ECLAVE_=1", "unknown environment variable ECLAVE_;"},
        {"ECLAVE_REQUIRE_=all", "did you mean ECLAVE_REQUIRE?"},
        {"ECLAVE_SOMETHING_ELSE=", "see eclave --help"},
        {"ECLAVE_MINIMUM=true", "unknown environment variable ECLAVE_MINIMUM"},
    };
    static const char *const used[] = {"eval -e 1", "serve <requests", "batch lines",
                                       "doctor",    "policy",          "check ."};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        expect(formatted("%s exec \"$1\" %s", rows[i].variable, used[i % COUNT_OF(used)]), 2,
               rows[i].part);
    expect("ECLAVE=1 ECLAVES_X=1 exec \"$1\" eval -e 1", 0, "");
    expect("ECLAVE_CALL_TIMEOUT_S=5 ECLAVE_POLICY=ci exec \"$1\" eval -e 1", 0, "");
}

/* --- what is typed wrongly, and help --- */

Test(shell, a_mistake_is_named_with_what_was_probably_meant) {
    static const struct {
        const char *arguments, *part;
    } rows[] = {
        {"doctor extra", "unexpected argument extra; usage: eclave doctor"},
        {"doctor extra more", "unexpected argument extra;"},
        {"policy x", "unexpected argument x; usage: eclave policy"},
        {"serve x", "unexpected argument x; usage: eclave [serve]"},
        {"eval lines x", "unexpected argument x; usage: eclave eval"},
        {"eval -e 1 lines", "eval takes either -e CODE or a file"},
        {"help eval more", "unexpected argument more; usage: eclave help"},
        {"eval -x", "unknown option -x;"},
        {"eval -x 1", "unknown option -x;"},
        {"batch -x", "unknown option -x;"},
        {"doctor -j", "unknown option -j;"},
        {"eval -j 4 -e 1", "unknown option -j;"},
        {"eval --jason -e 1", "unknown option --jason; did you mean --json?"},
        {"batch --unorderd", "did you mean --unordered?"},
        {"batch --junti x", "did you mean --junit?"},
        {"tool greet --arg {}", "did you mean --args?"},
        {"eval --call-timeout 1", "did you mean --call-timeout-s?"},
        {"eval --hlep", "did you mean --help?"},
        {"eval --polici=ci", "unknown option --polici; did you mean --policy?"},
        {"evla -e 1", "unknown command evla; did you mean eval?"},
        {"docter", "did you mean doctor?"},
        {"hlep", "did you mean help?"},
        {"help docter", "unknown command docter; did you mean doctor?"},
        {"docter --help", "unknown command docter; did you mean doctor?"},
        {"somethingelse", "unknown command somethingelse; see eclave --help"},
        {"'(+ 1 2)'", "to evaluate it: eclave eval -e CODE"},
        {"'a\033b'", "unknown command a\\u001Bb"},
        {"tool gret --project .", "the project has no tool gret; did you mean greet?"},
        {"repl", "repl needs a terminal; to evaluate a file or standard input: eclave eval FILE"},
        {"repl x", "unexpected argument x;"},
        {"completion", "usage: eclave completion bash|zsh|fish"},
        {"completion csh", "usage: eclave completion"},
        {"completion bash zsh", "unexpected argument zsh;"},
        {"sessions", "usage: eclave sessions list|show|remove --state DIR [NAME]"},
        {"sessions list", "usage: eclave sessions"},
        {"sessions list a b --state state", "unexpected argument b;"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        expect(formatted("exec \"$1\" %s", rows[i].arguments), 2, rows[i].part);
}

/* The output of the first is that of the second. */
Test(shell, help_and_version_have_short_forms) {
    static const struct {
        const char *one, *other;
    } rows[] = {
        {"-h", "--help"},
        {"help", "--help"},
        {"help eval", "eval --help"},
        {"eval -h", "eval --help"},
        {"-V", "--version"},
        {"eval -V", "--version"},
        {"help help", "help --help"},
        {"batch -j 4 -h", "batch --help"},
        {"help completion", "completion -h"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        expect(formatted("\"$1\" %s >one && \"$1\" %s >other && cmp one other >&2 && test -s one",
                         rows[i].one, rows[i].other),
               0, "");
    expect("ECLAVE_NONSENSE=1 \"$1\" help >one && test -s one", 0, "");
}

Test(shell, the_value_of_an_option_is_no_option) {
    expect("test \"$(\"$1\" eval -e -h)\" != \"$(\"$1\" eval -h)\"", 0, "");
    expect("test \"$(\"$1\" eval -e :--help)\" = '=> :--HELP'", 0, "");
    expect("echo 3 >./-x; test \"$(\"$1\" eval -- -x)\" = '=> 3'", 0, "");
    expect("echo 3 | \"$1\" eval - >output", 0, "");
    expect("\"$1\" eval --preload --help -e 1", 2, "--preload must be a regular file");
}

/* --- eval --json --- */

Test(shell, eval_prints_the_record_of_a_batch) {
    static const struct {
        const char *code;
        int status;
        const char *part;
    } rows[] = {
        {"(princ :hi) (values 1 2)", 0,
         "{\"id\":null,\"outcome\":\"value\",\"text\":\"[stdout]\\nHI\\n=> 1\\n=> 2\","
         "\"values\":[\"1\",\"2\"],\"stdout\":\"HI\",\"stderr\":\"\",\"exitCode\":0,\"wallMs\":"},
        {"(car 1)", 1, "\"outcome\":\"error\",\"text\":\"[ERROR] TYPE-ERROR"},
        {"(ext:quit 4)", 4, "\"outcome\":\"exit\""},
        {"(ext:quit 0)", 3, "\"outcome\":\"exit\""},
        {"(string (code-char 27))", 0, "\"values\":[\"\\\"\\u001b\\\"\"]"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct command_result *result =
            command_expect(rows[i].status, STRINGS("eval", "--json", "-e", rows[i].code), NULL);
        expect_contains(result->output, rows[i].part);
        expect_contains(result->output, ",\"maxRssKb\":");
        cr_assert_eq(strchr(result->output, '\n') - result->output + 1, (long)result->output_length,
                     "%s", result->output);
        cr_assert_str_eq(result->error, "");
    }
}
