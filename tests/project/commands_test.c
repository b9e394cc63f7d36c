/* `eclave new`, `eclave check` and `eclave tool`: a project from a shell. */
#include "tests/project/files.h"
#include "tests/support/command.h"

/* Runs eclave with up to six ARGUMENTS and wants STATUS, and PART in what it wrote. */
static void expect_run(int status, const char *part, const char *const *arguments) {
    struct command_result result = command_eclave(arguments, NULL);
    cr_expect_eq(result.status, status, "%s: %d\n%s%s", arguments[0], result.status, result.output,
                 result.error);
    cr_expect(strstr(result.output, part) || strstr(result.error, part), "%s is not in:\n%s%s",
              part, result.output, result.error);
    command_result_free(&result);
}

#define RUN(status, part, ...) expect_run(status, part, (const char *const[]){__VA_ARGS__, NULL})

PROJECT_TEST(commands, begin_a_tool_check_it_and_call_it) {
    RUN(0, "./tools/said.lisp", "new", "tool", "said");
    RUN(2, "File exists", "new", "tool", "said");
    RUN(0, "tool       said  (tools/said.lisp)", "check", ".");
    RUN(0, "You said: it", "tool", "said", "--project", ".", "--args", "{\"text\":\"it\"}");
    RUN(2, "/text: 5 is not of type string", "tool", "said", "--project", ".", "--args",
        "{\"text\":5}");
    RUN(2, "invalid arguments for said", "tool", "said", "--project", ".");
    RUN(2, "--args", "tool", "said", "--project", ".", "--args", "{");
    RUN(2, "--args must be a JSON object", "tool", "said", "--project", ".", "--args", "[]");
    RUN(2, "has no tool nothing", "tool", "nothing", "--project", ".");
}

PROJECT_TEST(commands, end_with_the_status_of_the_tool) {
    put("tools/fails.lisp", "(mcp:deftool \"fails\" () (mcp:fail \"no\"))");
    put("tools/errs.lisp", "(mcp:deftool \"errs\" () (car 1))");
    put("tools/exits.lisp", "(mcp:deftool \"exits\" () (ext:quit 9))");
    put("tools/hangs.lisp", ";;; {\"timeout\": 1}\n(mcp:deftool \"hangs\" () (loop))");
    put("tools/asks.lisp", "(mcp:deftool \"asks\" () (mcp:ask :roots))");
    RUN(1, "no", "tool", "fails", "--project", ".");
    RUN(1, "[ERROR] TYPE-ERROR", "tool", "errs", "--project", ".");
    RUN(9, "[ERROR] PROCESS-EXIT", "tool", "exits", "--project", ".");
    RUN(124, "[ERROR] TIMEOUT", "tool", "hangs", "--project", ".");
    RUN(1, "cannot be asked here", "tool", "asks", "--project", ".");
}

PROJECT_TEST(commands, say_what_is_refused_and_what_cannot_be_made) {
    put("tools/bad.json", "{");
    put("prompts/fine.txt", "x");
    RUN(1, "refused    tools/bad.json: ", "check", ".");
    RUN(1, "1 entries, 1 refused", "check", ".");
    RUN(1, "cannot be opened", "check", "./nothing");
    RUN(2, "usage: eclave check DIR", "check");
    RUN(2, "a name has 1 to 64", "new", "tool", "a/b");
    RUN(2, "a built-in tool", "new", "tool", "evaluate-lisp");
    RUN(2, "usage: eclave new tool NAME", "new", "prompt", "x");
    RUN(2, "usage: eclave tool NAME", "tool", "x");
}
