/* What commands print on a terminal, and that nobody else sees of its colours. */
#include "tests/support/command.h"
#include "tests/support/project_files.h"
#include "tests/support/user.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHOWN_BYTES = 65536 };

/* A project with something of each that `check` tells apart. */
static void begin(void) {
    project_files_begin();
    project_files_write("tools/good.lisp", "(mcp:deftool good () (if nil (typo) 1))");
    project_files_write("tools/good.test.jsonl", "{\"expect\": \"1\"}\n{\"expect\": \"2\"}\n");
    project_files_write("tools/open.lisp", "(");
    project_files_write("tools/refused.lisp", ";;; {\"tittle\": 1}\n");
}

TestSuite(terminal, .init = begin, .fini = project_files_end);

/* All that the program prints when its standard output is a terminal; the caller's. */
static char *shown(const char *const *arguments) {
    int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    cr_assert(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    int end = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
    cr_assert_geq(end, 0);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        dup2(end, STDOUT_FILENO);
        if (user_nobody_wanted(false) && !user_become_nobody())
            _exit(127);
        execv(ECLAVE_BINARY, (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    close(end);
    char *text = calloc(1, SHOWN_BYTES);
    cr_assert_not_null(text);
    size_t length = 0;
    for (ssize_t got; length < SHOWN_BYTES - 1 &&
                      (got = read(terminal, text + length, SHOWN_BYTES - 1 - length)) > 0;)
        length += (size_t)got;
    close(terminal);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
    return text;
}

/* TEXT without colours and with the ends of lines that a file has. */
static void make_plain(char *text) {
    char *to = text;
    for (const char *from = text; *from;) {
        if (*from == '\033')
            from += strcspn(from, "m") + 1;
        else if (*from == '\r')
            from++;
        else
            *to++ = *from++;
    }
    *to = 0;
}

/* What a terminal is shown must be what a file gets, and some colours. */
static void expect_same(const char *const *arguments, char *text) {
    struct command_result plain = command_eclave(arguments + 1, NULL);
    cr_assert_null(strchr(plain.output, '\033'));
    make_plain(text);
    cr_assert_str_eq(text, plain.output);
    command_result_free(&plain);
}

#define GOOD(text) "\033[32m" text "\033[0m"
#define BAD(text)  "\033[31m" text "\033[0m"
#define ODD(text)  "\033[33m" text "\033[0m"

Test(terminal, check_is_coloured_there_alone) {
    const char *arguments[] = {"eclave", "check", project_files_path(), NULL};
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    char *text = shown(arguments);
    expect_contains(text, BAD("Refused"));
    expect_contains(text, "  " BAD("FAILED ") " tools/open.lisp");
    expect_contains(text, "  " ODD("warning") " tools/good.lisp");
    expect_contains(text, "  " GOOD("ok     ") " tools/good.test.jsonl:1");
    expect_contains(text, "  " BAD("FAILED ") " tools/good.test.jsonl:2");
    expect_same(arguments, text);
    free(text);
}

Test(terminal, doctor_is_coloured_there_alone) {
    const char *arguments[] = {"eclave", "doctor", "--without", "landlock", NULL};
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    char *text = shown(arguments);
    expect_contains(text, "seccomp      " GOOD("active  "));
    expect_contains(text, "landlock     " ODD("off     "));
    expect_contains(text, ODD("succeeds  "));
    expect_contains(text, GOOD("killed for kill             "));
    expect_contains(text, GOOD("Code may be evaluated here."));
    expect_same(arguments, text);
    free(text);
}

Test(terminal, nothing_is_coloured_for_those_who_want_none) {
    const char *arguments[] = {"eclave", "check", project_files_path(), NULL};
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "1", 1);
    char *text = shown(arguments);
    cr_assert_null(strchr(text, '\033'));
    free(text);
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    text = shown(arguments);
    cr_assert_null(strchr(text, '\033'));
    free(text);
}
