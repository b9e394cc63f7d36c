/* Output of commands on a terminal: colours, and escaped control characters. */
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

/* A project with each kind of result that `check` shows. */
static void begin(void) {
    project_files_begin();
    project_files_write("tools/good.lisp", "(mcp:deftool good () (if nil (typo) 1))");
    project_files_write("tools/good.test.jsonl", "{\"expect\": \"1\"}\n{\"expect\": \"2\"}\n");
    project_files_write("tools/open.lisp", "(");
    project_files_write("tools/refused.lisp", ";;; {\"tittle\": 1}\n");
}

TestSuite(terminal, .init = begin, .fini = project_files_end);

/* Everything that the program prints when its standard output is a terminal, and WITH_ERRORS its
 * standard error too; malloc'd. */
static char *shown_on_terminal(const char *const *arguments, bool with_errors) {
    int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    cr_assert(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    int end = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
    cr_assert_geq(end, 0);
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        dup2(end, STDOUT_FILENO);
        if (with_errors)
            dup2(end, STDERR_FILENO);
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

static char *shown(const char *const *arguments) {
    return shown_on_terminal(arguments, false);
}

/* Removes the colours, and the carriage returns that the terminal added. */
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

/* Removes the name of a control group that could not be created: it is another each time, and a
 * process number in it makes it longer or shorter. */
static void mask_group(char *text) {
    char *name = strstr(text, "/eclave-");
    if (!name)
        return;
    name += 8;
    size_t length = strspn(name, "0123456789abcdef-");
    memmove(name, name + length, strlen(name + length) + 1);
}

/* TEXT, from a terminal, must be the output to a file with colours added. */
static void expect_same(int status, const char *const *arguments, char *text) {
    char *plain = command_expect(status, arguments + 1, NULL)->output;
    cr_assert_null(strchr(plain, '\033'));
    make_plain(text);
    mask_group(text);
    mask_group(plain);
    cr_assert_str_eq(text, plain);
}

#define GOOD(text) "\033[32m" text "\033[0m"
#define BAD(text)  "\033[31m" text "\033[0m"
#define ODD(text)  "\033[33m" text "\033[0m"

Test(terminal, check_prints_colours) {
    const char *arguments[] = {"eclave", "check", project_files_path(), NULL};
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    char *text = shown(arguments);
    expect_contains(text, BAD("Refused"));
    expect_contains(text, "  " BAD("FAILED ") " tools/open.lisp");
    expect_contains(text, "  " ODD("warning") " tools/good.lisp");
    expect_contains(text, "  " GOOD("ok     ") " tools/good.test.jsonl:1");
    expect_contains(text, "  " BAD("FAILED ") " tools/good.test.jsonl:2");
    expect_same(1, arguments, text);
    free(text);
}

Test(terminal, doctor_prints_colours) {
    const char *arguments[] = {"eclave", "doctor", "--without", "landlock", NULL};
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    char *text = shown(arguments);
    expect_contains(text, "seccomp      " GOOD("active  "));
    expect_contains(text, "landlock     " ODD("off     "));
    expect_contains(text, ODD("succeeds  "));
    expect_contains(text, "\033[32mkilled for kill ");
    expect_contains(text, GOOD("Code may be evaluated here."));
    expect_same(0, arguments, text);
    free(text);
}

Test(terminal, no_colours_with_no_color_or_a_dumb_terminal) {
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

/* U+009B begins a control sequence of a terminal, U+202E reverses the text after it. */
#define COMMANDS "(map 'string #'code-char '(27 91 50 74 155 8238))"
#define ESCAPED  "\\u001B[2J\\u009B\\u202E"
#define BYTES    "\033[2J\302\233\342\200\256"

/* NOLINTBEGIN(misc-misleading-bidirectional): that is what is tested */
static void expect_harmless(char *text) {
    cr_expect_null(strpbrk(text, "\033\233"), "%s", text);
    cr_expect_null(strstr(text, "\342\200\256"), "%s", text);
    make_plain(text);
}

Test(terminal, gets_no_controls_from_a_tool) {
    project_files_write("tools/bad.lisp",
                        "(mcp:deftool bad ()\n"
                        "  (mcp:progress 1 2 " COMMANDS ") (mcp:log :warning " COMMANDS ")\n"
                        "  (format t \"printed~a~%\" " COMMANDS ")\n"
                        "  (list (format nil \"one~c~a~%two\" #\\Tab " COMMANDS ")\n"
                        "        (mcp:structured (mcp:object \"n\" " COMMANDS "))))");
    const char *arguments[] = {"eclave", "tool", "bad", "--project", project_files_path(), NULL};
    char *text = shown_on_terminal(arguments, true);
    expect_harmless(text);
    expect_contains(text, "progress: 1 of 2:  [2J\\u009B\\u202E\n");
    expect_contains(text, "warning: tool:  [2J\\u009B\\u202E\n");
    expect_contains(text, "printed" ESCAPED "\n");
    expect_contains(text, "one\t" ESCAPED "\ntwo\n");
    expect_contains(text, "{\"n\":\"\\u001b[2J\\u009B\\u202E\"}\n");
    free(text);
    const struct command_result *plain = command_expect(0, arguments + 1, NULL);
    expect_contains(plain->output, "one\t" BYTES "\ntwo\n");
    expect_contains(plain->error, "printed" BYTES "\n");
    expect_contains(plain->error, "warning: tool:  [2J\\u009B\\u202E\n");
}

Test(terminal, gets_no_controls_from_evaluated_code) {
    const char *arguments[] = {"eclave", "eval", "-e", "(princ " COMMANDS ") (values)", NULL};
    char *text = shown(arguments);
    expect_harmless(text);
    cr_expect_str_eq(text, "[stdout]\n" ESCAPED "\n; no values\n");
    free(text);
    cr_expect_str_eq(command_expect(0, arguments + 1, NULL)->output,
                     "[stdout]\n" BYTES "\n; no values\n");
}
/* NOLINTEND(misc-misleading-bidirectional) */
