/* The commands for projects: `eclave new`, `eclave check` and `eclave tool`, as a shell sees them.
 */
#include "tests/support/command.h"
#include "tests/support/project_files.h"
#include "tests/support/user.h"

#include <stdio.h>
#include <unistd.h>

enum { PATH_BYTES = 200 };

TestSuite(project_commands, .init = project_files_begin, .fini = project_files_end);

/* Runs the program; its status must be STATUS. */
static struct command_result run(int status, const char *const *arguments) {
    struct command_result result = command_eclave(arguments, NULL);
    cr_assert_eq(result.status, status, "status %d: %s%s", result.status, result.output,
                 result.error);
    return result;
}

static void expect_tool(const char *name, const char *args, int status, const char *output) {
    struct command_result result =
        run(status, (const char *const[]){"tool", name, "--project", project_files_path(), "--args",
                                          args, NULL});
    cr_assert_str_eq(result.output, output);
    command_result_free(&result);
}

static void expect_tool_error(const char *name, const char *args, int status, const char *part) {
    struct command_result result =
        run(status, (const char *const[]){"tool", name, "--project", project_files_path(), "--args",
                                          args, NULL});
    expect_contains(status == 2 ? result.error : result.output, part);
    command_result_free(&result);
}

static struct command_result check(int status) {
    return run(status, (const char *const[]){"check", project_files_path(), NULL});
}

static void expect_check(int status, const char *part) {
    struct command_result result = check(status);
    expect_contains(result.output, part);
    command_result_free(&result);
}

static void begin_tool_in(const char *directory, const char *name) {
    struct command_result result =
        run(0, (const char *const[]){"new", "tool", name, "--project", directory, NULL});
    command_result_free(&result);
}

static void begin_tool(const char *name) {
    begin_tool_in(project_files_path(), name);
}

/* --- new --- */

Test(project_commands, a_new_tool_passes_its_own_tests_and_can_be_called) {
    begin_tool("greet");
    expect_check(0, "greet(name: string, age?: integer)\n");
    expect_check(0, "refused: 0; sources: 1 loaded, 0 not; tests: 4 met, 0 not\n");
    expect_tool("greet", "{\"name\": \"Ada\", \"age\": 36}", 0, "Hello, Ada! You are 36.\n");
    expect_tool("greet", "{\"name\": \"\"}", 1, "Whom shall I greet?\n");
}

Test(project_commands, new_makes_the_directory_of_the_project) {
    char directory[PATH_BYTES];
    snprintf(directory, sizeof directory, "%s/new", project_files_path());
    begin_tool_in(directory, "first");
    struct command_result result = run(0, (const char *const[]){"check", directory, NULL});
    expect_contains(result.output, "tools: 1, ");
    command_result_free(&result);
}

Test(project_commands, new_begins_in_the_current_directory) {
    cr_assert_eq(chdir(project_files_path()), 0);
    struct command_result result = run(0, (const char *const[]){"new", "tool", "here", NULL});
    command_result_free(&result);
    expect_check(0, "tools: 1,");
}

/* Each kind, what `check` shows of it, and what else may not be there before. */
static const struct {
    const char *kind, *name, *shown, *taken;
} starters[] = {
    {"resource", "guide.md", "  eclave:///guide.md  text/markdown\n",
     "resources/guide.md.meta.json"},
    {"template", "numbers", "  eclave:///numbers/{number}  text/plain\n", "resources/numbers.lisp"},
    {"prompt", "review", "  review(code, language?)\n", "prompts/review.txt"},
    {"completion", "colours", "completions: 1; refused: 0;", "completions/colours.json"},
};

Test(project_commands, new_begins_each_kind_so_that_check_is_content) {
    for (size_t i = 0; i < sizeof starters / sizeof *starters; i++) {
        const char *arguments[] = {"new",       starters[i].kind,     starters[i].name,
                                   "--project", project_files_path(), NULL};
        struct command_result result = run(0, arguments);
        expect_contains(result.output, "wrote ");
        command_result_free(&result);
        result = run(2, arguments);
        expect_contains(result.error, " is there already; nothing was written");
        command_result_free(&result);
        expect_check(0, starters[i].shown);
    }
    struct command_result result = check(0);
    expect_contains(result.output, "resources: 1, templates: 1, prompts: 1, completions: 1; "
                                   "refused: 0; sources: 3 loaded, 0 not;");
    cr_assert_null(strstr(result.output, "warning"));
    command_result_free(&result);
}

Test(project_commands, new_takes_no_name_that_belongs_to_another) {
    for (size_t i = 0; i < sizeof starters / sizeof *starters; i++) {
        project_files_write(starters[i].taken, "");
        struct command_result result =
            run(2, (const char *const[]){"new", starters[i].kind, starters[i].name, "--project",
                                         project_files_path(), NULL});
        cr_assert_str_eq(result.output, "");
        expect_contains(result.error, starters[i].taken);
        command_result_free(&result);
    }
    static const struct {
        const char *kind, *name, *why;
    } names[] = {{"tool", ".x", "begins with a dot"},
                 {"resource", "x.meta.json", "metadata of another"},
                 {"resource", "a/b", "a name has"},
                 {"tols", "x", "usage: eclave new tool|resource|"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct command_result result =
            run(2, (const char *const[]){"new", names[i].kind, names[i].name, "--project",
                                         project_files_path(), NULL});
        expect_contains(result.error, names[i].why);
        command_result_free(&result);
    }
}

static void expect_new_refused(const char *name, const char *part) {
    struct command_result result =
        run(2, (const char *const[]){"new", "tool", name, "--project", project_files_path(), NULL});
    cr_assert_str_eq(result.output, "");
    expect_contains(result.error, part);
    command_result_free(&result);
}

Test(project_commands, new_overwrites_nothing) {
    project_files_write("tools/mine.lisp", "(mine)");
    project_files_write("tools/other.json", "{}");
    expect_new_refused("mine", "tools/mine.lisp is there already");
    expect_new_refused("other", "tools/other.json is there already");
    expect_new_refused("evaluate-lisp", "eclave's own");
    expect_new_refused("../x", "a name has");
    char link[PATH_BYTES];
    snprintf(link, sizeof link, "%s/tools/linked.lisp", project_files_path());
    cr_assert_eq(symlink("/tmp/eclave-not-there", link), 0);
    expect_new_refused("linked", "tools/linked.lisp is there already");
}

/* --- tool --- */

Test(project_commands, tool_prints_texts_as_they_are_and_all_else_as_json_lines) {
    project_files_write(
        "tools/mixed.lisp",
        "(mcp:deftool mixed ()\n"
        "  (list (mcp:text \"two~%lines\" 0) (mcp:image \"AAAA\" \"image/png\")\n"
        "        (mcp:structured (mcp:object \"n\" 123456789012345678901234567890))))");
    project_files_write("tools/value.lisp", "(mcp:deftool value () (mcp:object \"n\" #(1 2)))");
    struct command_result result =
        run(0, (const char *const[]){"tool", "mixed", "--project", project_files_path(), NULL});
    cr_assert_eq(strncmp(result.output, "two\nlines\n{", 11), 0, "%s", result.output);
    expect_contains(result.output, "\"data\":\"AAAA\"");
    expect_contains(result.output, "}\n{\"n\":123456789012345678901234567890}\n");
    command_result_free(&result);
    expect_tool("value", "{}", 0, "{\"n\":[1,2]}\n");
}

Test(project_commands, tool_tells_progress_log_and_output_on_standard_error) {
    project_files_write(
        "tools/loud.lisp",
        "(mcp:deftool loud ()\n"
        "  (mcp:progress 1 3 \"one\") (mcp:log :warning \"careful\") (princ \"printed\")\n"
        "  \"done\")");
    struct command_result result =
        run(0, (const char *const[]){"tool", "loud", "--project", project_files_path(), NULL});
    cr_assert_str_eq(result.output, "done\n");
    expect_contains(result.error, "progress: 1 of 3: one\n");
    expect_contains(result.error, "warning: tool: careful\n");
    expect_contains(result.error, "printed\n");
    command_result_free(&result);
}

Test(project_commands, tool_tells_warnings_on_standard_error) {
    project_files_write("tools/warns.lisp",
                        ";;; {\"description\": \"x\"}\n(mcp:deftool \"warns\" ()\n"
                        "  (format *error-output* \"err\") (warn \"w ~a\" 1) 7)");
    struct command_result result =
        run(0, (const char *const[]){"tool", "warns", "--project", project_files_path(), NULL});
    cr_assert_str_eq(result.output, "7\n");
    expect_contains(result.error, "err\nWARNING: w 1\n");
    command_result_free(&result);
}

Test(project_commands, tool_ends_with_a_status_for_each_outcome) {
    project_files_write("tools/ends.lisp",
                        ";;; {\"timeout\": 1}\n"
                        "(mcp:deftool ends (how)\n"
                        "  (cond ((string= how \"quit\") (ext:quit 5))\n"
                        "        ((string= how \"loop\") (loop))\n"
                        "        ((string= how \"ask\") (mcp:ask :elicit \"Who?\"))\n"
                        "        (t (error \"No.\"))))");
    expect_tool_error("ends", "{\"how\": \"\"}", 1, "[ERROR] SIMPLE-ERROR\nNo.");
    expect_tool_error("ends", "{\"how\": \"quit\"}", 5, "[ERROR] PROCESS-EXIT");
    expect_tool_error("ends", "{\"how\": \"loop\"}", 124, "[ERROR] TIMEOUT");
    expect_tool_error("ends", "{\"how\": \"ask\"}", 1,
                      "[ERROR] MCP:UNANSWERED\nNobody can be asked");
}

static struct command_result run_on(int status, const char *args, const char *input) {
    const char *arguments[] = {"tool",   "echo", "--project",           project_files_path(),
                               "--args", args,   "--request-max-bytes", "2000",
                               NULL};
    struct command_result result = command_eclave(arguments, input);
    cr_assert_eq(result.status, status, "status %d: %s%s", result.status, result.output,
                 result.error);
    return result;
}

static void expect_echo(const char *args, const char *input, const char *output) {
    struct command_result result = run_on(0, args, input);
    cr_assert_str_eq(result.output, output);
    command_result_free(&result);
}

static void expect_args_refused(const char *args, const char *input, const char *part) {
    struct command_result result = run_on(2, args, input);
    cr_assert_str_eq(result.output, "");
    expect_contains(result.error, part);
    command_result_free(&result);
}

/* An object of BYTES bytes, its closing brace and newline included. */
static char *object_of(size_t bytes) {
    char *text = malloc(bytes + 1);
    snprintf(text, bytes + 1, "{\"text\": \"%0*d\"}\n", (int)bytes - 13, 0);
    return text;
}

Test(project_commands, tool_takes_arguments_from_a_file_or_standard_input) {
    char file[PATH_BYTES + 100];
    project_files_write("tools/echo.lisp", "(mcp:deftool echo (text) text)");
    project_files_write("args.json", "{\"text\": \"from a file\"}\n");
    snprintf(file, sizeof file, "@%s/args.json", project_files_path());
    expect_echo(file, NULL, "from a file\n");
    expect_echo("-", "{\"text\":\n\"from standard input\"}\n", "from standard input\n");
    expect_echo("@-", "{\"text\": \"the same\"}", "the same\n");
    expect_echo("@/dev/stdin", "{\"text\": \"by its name\"}", "by its name\n");
}

Test(project_commands, tool_says_what_is_wrong_with_arguments_from_a_file) {
    char file[PATH_BYTES + 100];
    project_files_write("tools/echo.lisp", "(mcp:deftool echo (text) text)");
    expect_args_refused("@/nowhere/args.json", NULL,
                        "--args: /nowhere/args.json: No such file or directory");
    expect_args_refused("@", NULL, "--args: : No such file");
    snprintf(file, sizeof file, "@%s", project_files_path());
    expect_args_refused(file, NULL, "Is a directory");
    expect_args_refused("-", "", "--args: not JSON, at byte 0");
    expect_args_refused("-", "[]", "--args must be a JSON object");
    expect_args_refused("-", "{\"text\": \"\xff\"}", "--args: not well-formed UTF-8");
}

Test(project_commands, tool_takes_arguments_up_to_the_limit_of_a_request) {
    char file[PATH_BYTES + 100];
    char *fits = object_of(2000), *longer = object_of(2001);
    project_files_write("tools/echo.lisp",
                        "(mcp:deftool echo (text) (format nil \"~d\" (length text)))");
    project_files_write("args.json", longer);
    snprintf(file, sizeof file, "@%s/args.json", project_files_path());
    expect_echo("-", fits, "1987\n");
    expect_echo(fits, NULL, "1987\n");
    expect_args_refused("-", longer, "--args: - is longer than request.max_bytes (2000)");
    expect_args_refused(longer, NULL, "--args is longer than request.max_bytes (2000)");
    expect_args_refused(file, NULL, "args.json is longer than request.max_bytes (2000)");
    project_files_write("args.json", fits);
    expect_echo(file, NULL, "1987\n");
    free(fits);
    free(longer);
}

Test(project_commands, tool_holds_schemas_and_requirements) {
    project_files_write("tools/typed.lisp",
                        ";;; {\"inputSchema\": {\"type\": \"object\", \"required\": [\"n\"]},\n"
                        ";;;  \"outputSchema\": {\"type\": \"object\", \"required\": [\"m\"]}}\n"
                        "(mcp:deftool typed (n) (mcp:object \"n\" n))");
    project_files_write("tools/needy.lisp", ";;; {\"requires\": {\"sampling\": {}}}\n"
                                            "(mcp:deftool needy () \"\")");
    expect_tool_error("typed", "{}", 1, "[ERROR] TYPE-ERROR\nInvalid arguments for typed");
    expect_tool_error("typed", "{\"n\": 1}", 70, "[ERROR] MALFORMED-OUTPUT");
    expect_tool_error("needy", "{}", 1, "[ERROR] MISSING-CAPABILITY");
}

/* As from a client, `session` says where a tool runs and is not for its source. */
Test(project_commands, tool_takes_a_session_as_a_client_does) {
    project_files_write("tools/kept.lisp", ";;; {\"session\": \"caller\"}\n"
                                           "(mcp:deftool kept (text) text)");
    project_files_write("tools/kept.test.jsonl",
                        "{\"args\": {\"text\": \"a\", \"session\": \"s\"}, \"expect\": \"a\"}\n");
    expect_tool("kept", "{\"session\": \"s\", \"text\": \"here\"}", 0, "here\n");
    expect_check(0, "tests: 1 met, 0 not\n");
}

Test(project_commands, tool_says_why_it_cannot_run_one) {
    begin_tool("greet");
    project_files_write("tools/bad.lisp", ";;; {\"tittle\": \"x\"}\n");
    expect_tool_error("gret", "{}", 2, "did you mean greet?");
    expect_tool_error("bad", "{}", 2, "tools/bad.lisp is refused: ");
    expect_tool_error("greet", "[]", 2, "--args must be a JSON object");
    expect_tool_error("greet", "{", 2, "--args: ");
    struct command_result result = run(2, (const char *const[]){"tool", "greet", NULL});
    expect_contains(result.error, "usage: eclave tool");
    command_result_free(&result);
}

/* --- check --- */

Test(project_commands, check_tells_each_refusal_with_its_reason) {
    project_files_write("tools/good.lisp", "(mcp:deftool good () \"\")");
    project_files_write("tools/bad.lisp", ";;; {\"tittle\": \"x\"}\n");
    project_files_write("tools/worse.lisp", ";;; {\"inputSchema\": {\"type\": \"object\", "
                                            "\"properties\": {\"a\": {\"type\": \"nothing\"}}}}\n");
    struct command_result result = check(1);
    expect_contains(result.output, "  good(any arguments)\n");
    expect_contains(result.output, "tools/bad.lisp: ");
    expect_contains(result.output, "unknown member \"tittle\"");
    expect_contains(result.output, "tools/worse.lisp: ");
    expect_contains(result.output, "refused: 2;");
    command_result_free(&result);
}

Test(project_commands, check_refuses_what_its_user_may_not_read) {
    const bool readable = !user_nobody_wanted(false);
    project_files_write("tools/good.lisp", "(mcp:deftool good () \"\")");
    project_files_write("tools/secret.lisp", "(mcp:deftool secret () \"\")");
    project_files_hide("tools/secret.lisp");
    struct command_result result = check(readable ? 0 : 1);
    expect_contains(result.output, "  good(any arguments)\n");
    expect_contains_if(readable, result.output, "  secret(any arguments)\n");
    expect_contains_if(!readable, result.output, "tools/secret.lisp: ");
    expect_contains_if(!readable, result.output, "Permission denied");
    command_result_free(&result);
}

/* A file, and what `check` says of it. */
static const struct {
    const char *name, *text, *said;
} sources[] = {
    {"tools/open.lisp", ";;; {\"title\": \"Open\"}\n(mcp:deftool \"open\" ()\n  (list 1",
     "  FAILED  tools/open.lisp: END-OF-FILE: The code ends too early: the list that begins at "
     "line 3, column 3 is not closed."},
    {"tools/closed.lisp", "(mcp:deftool \"closed\" () 1)\n)\n",
     "  FAILED  tools/closed.lisp: READER-ERROR: Unmatched right parenthesis, #\\)\n"
     "          (read up to line 2, column 2)\n"},
    {"tools/symbol.lisp", "(mcp:deftool \"symbol\" ()\n (nope:call))\n",
     "  FAILED  tools/symbol.lisp: PACKAGE-ERROR: There is no package with the name NOPE.\n"
     "          (read up to line 2, column 9)\n"},
    {"tools/package.lisp", ";; A comment\n\n#| and\none |#\n(in-package \"NOPE\")\n",
     "  FAILED  tools/package.lisp: PACKAGE-ERROR: There exists no package with name \"NOPE\"\n"
     "          (in the form that begins at line 5 of the source)\n"},
    {"tools/form.lisp", "(mcp:deftool \"form\" () (let (1) 2))",
     "  FAILED  tools/form.lisp: PROGRAM-ERROR: "},
    {"tools/x.lisp", "(mcp:deftool \"y\" () 1)",
     "  FAILED  tools/x.lisp: The source defines no tool \"x\", and no function of that name. It "
     "defines the tool \"y\".\n"},
    {"tools/empty.lisp", "(defun other ())",
     "  FAILED  tools/empty.lisp: The source defines no tool \"empty\", and no function of that "
     "name.\n"},
    {"tools/endless.lisp", ";;; {\"timeout\": 1}\n(loop)",
     "  FAILED  tools/endless.lisp: TIMEOUT: "},
    {"tools/quits.lisp", "(ext:quit 3)",
     "  FAILED  tools/quits.lisp: PROCESS-EXIT: The code ended its process with status 3."},
    {"prompts/other.lisp", "(mcp:defprompt \"a\" () 1) (mcp:deftool \"b\" () 1)",
     "  FAILED  prompts/other.lisp: The source defines no prompt \"other\". It defines the "
     "prompt \"a\", the tool \"b\".\n"},
    {"completions/c.lisp", "(mcp:defcompletion \"p\" () nil)",
     "  FAILED  completions/c.lisp: The source defines no completion \"c\". It defines the "
     "completion \"p\".\n"},
};

enum { SOURCE_COUNT = sizeof sources / sizeof *sources };

Test(project_commands, check_loads_each_source_and_tells_what_fails) {
    for (size_t i = 0; i < SOURCE_COUNT; i++)
        project_files_write(sources[i].name, sources[i].text);
    project_files_write("resources/t.lisp", "(mcp:defresource \"test://a/{id}\" (id) id)");
    project_files_write("resources/t.lisp.meta.json", "{\"uriTemplate\": \"test://b/{id}\"}");
    struct command_result result = check(1);
    for (size_t i = 0; i < SOURCE_COUNT; i++)
        expect_contains(result.output, sources[i].said);
    expect_contains(result.output, "defines no resource \"test://b/{id}\". It defines the resource "
                                   "\"test://a/{id}\".\n");
    expect_contains(result.output, "refused: 0; sources: 0 loaded, 12 not;");
    command_result_free(&result);
}

Test(project_commands, check_calls_nothing_and_warnings_are_no_failures) {
    project_files_write("tools/careless.lisp", "(defun helper (x)\n"
                                               "  (flet ((inner () (inside x)))\n"
                                               "    (mapcar #'referred (list x (inner)))))\n"
                                               "(warn \"Take care.\")\n"
                                               "(mcp:deftool \"careless\" (x)\n"
                                               "  (lambda () (setf (place x) 1))\n"
                                               "  (typo (car x) 'not-called) (helper x))\n");
    project_files_write("tools/fails.lisp", "(mcp:deftool \"fails\" () (ext:quit 3))");
    project_files_write("tools/plain-one.lisp",
                        "(defun plain-one (x) (if x (plain-one (rest x)) 1))");
    struct command_result result = check(0);
    expect_contains(result.output, "  warning tools/careless.lisp: Take care.\n");
    static const char *const undefined[] = {"INSIDE", "REFERRED", "(SETF PLACE)", "TYPO"};
    for (size_t i = 0; i < sizeof undefined / sizeof *undefined; i++) {
        char text[100];
        snprintf(text, sizeof text, "tools/careless.lisp: The function %s is not defined",
                 undefined[i]);
        expect_contains(result.output, text);
    }
    cr_assert_null(strstr(result.output, "NOT-CALLED"));
    cr_assert_null(strstr(result.output, "plain-one.lisp"));
    expect_contains(result.output, "sources: 3 loaded, 0 not;");
    command_result_free(&result);
}

Test(project_commands, check_tells_which_test_is_not_met) {
    project_files_write("tools/value.lisp", "(mcp:deftool value (&key n) (mcp:object \"n\" n))");
    project_files_write("tools/value.test.jsonl",
                        "{\"args\": {\"n\": 1}, \"expect\": {\"n\": 1}}\n"
                        "\n"
                        "{\"args\": {\"n\": 1}, \"expect\": {\"n\": 2}}\n"
                        "{\"args\": {\"n\": 1}}\n"
                        "{\"args\": {\"n\": 1}, \"expectError\": \"no\"}\n"
                        "{\"arg\": {}}\n"
                        "not JSON\n"
                        "{\"args\": {\"m\": 1}}\n");
    struct command_result result = check(1);
    expect_contains(result.output, "  ok      tools/value.test.jsonl:1\n");
    expect_contains(result.output, "  FAILED  tools/value.test.jsonl:3: wanted {\"n\":2}, came "
                                   "\"{\\\"n\\\":1}\"\n");
    expect_contains(result.output, "  ok      tools/value.test.jsonl:4\n");
    expect_contains(result.output, "value.test.jsonl:5: wanted a failure with \"no\"");
    expect_contains(result.output, "value.test.jsonl:6: the unknown member \"arg\"\n");
    expect_contains(result.output, "  FAILED  tools/value.test.jsonl:7: ");
    expect_contains(result.output, "value.test.jsonl:8: wanted no failure");
    expect_contains(result.output, "tests: 2 met, 5 not\n");
    command_result_free(&result);
}

Test(project_commands, check_shows_what_a_client_sees) {
    const char *arguments[] = {"check", ECLAVE_SOURCE_DIR "/tests/conformance/project", NULL};
    struct command_result result = run(0, arguments);
    expect_contains(result.output, "  test_sampling(prompt: string)\n");
    expect_contains(result.output, "  test://static-text  text/plain\n");
    expect_contains(result.output, "  test://template/{id}/data  application/json\n");
    expect_contains(result.output, "  test_prompt_with_arguments(arg1, arg2)\n");
    command_result_free(&result);
}

Test(project_commands, check_takes_no_line_of_null_bytes_for_a_blank_one) {
    project_files_write("tools/a.lisp", "(mcp:deftool a () 1)");
    char file[PATH_BYTES];
    snprintf(file, sizeof file, "%s/tools/a.test.jsonl", project_files_path());
    FILE *out = fopen(file, "w");
    cr_assert_not_null(out);
    fwrite("\0\0\n", 1, 3, out);
    fclose(out);
    expect_check(1, "  FAILED  tools/a.test.jsonl:1: ");
}

/* U+009B begins a command of a terminal, U+202E turns around what follows.
 * NOLINTBEGIN(misc-misleading-bidirectional): that is what is tested */
Test(project_commands, check_shows_what_would_command_the_terminal) {
    project_files_write("tools/a.lisp",
                        ";;; {\"description\": \"na\302\233ughty \\u001b[2J\342\200\256txt "
                        "\303\251 \342\202\254\"}\n(mcp:deftool a () \"\342\200\256\")");
    project_files_write("tools/a.test.jsonl", "{\"expect\": \"\302\233\"}\n");
    project_files_write("tools/b.lisp", ";;; {\"\342\200\256x\": 1}\n");
    project_files_write("tools/c.lisp", "(error \"\342\200\256~cx\" (code-char 155))");
    struct command_result result = check(1);
    expect_contains(result.output, "na\\u009Bughty \\u001B[2J\\u202Etxt \303\251 \342\202\254\n");
    expect_contains(result.output, "wanted \"\\u009B\", came \"\\u202E\"\n");
    expect_contains(result.output, "unknown member \"\\u202Ex\"");
    expect_contains(result.output, "tools/c.lisp: \\u202E\\u009Bx\n");
    cr_assert_null(strstr(result.output, "\342\200\256"));
    cr_assert_null(strstr(result.output, "\302\233"));
    command_result_free(&result);
}

/* What `check` says of files, and what the log of a server says of them. */
Test(project_commands, names_of_files_cannot_command_the_terminal) {
    project_files_write("resources/\342\200\256x.lisp", "(error \"no\")");
    project_files_write("resources/\342\200\256x.lisp.meta.json", "{\"uriTemplate\": \"a:{b}\"}");
    project_files_write("tools/\302\233.lisp", "1");
    project_files_write("tools/\342\200\256y.lisp", "1");
    struct command_result result = check(1);
    expect_contains(result.output, "FAILED  resources/\\u202Ex.lisp: no\n");
    expect_contains(result.output, "  tools/\\u009B.lisp: a name has");
    expect_contains(result.output, "  tools/\\u202Ey.lisp: a name has");
    cr_expect_null(strstr(result.output, "\342\200\256"));
    cr_expect_null(strstr(result.output, "\302\233"));
    command_result_free(&result);
    static const char *const formats[] = {"text", "json"};
    for (size_t i = 0; i < 2; i++) {
        result = run(0, (const char *const[]){"--project", project_files_path(), "--log-format",
                                              formats[i], "--log-level", "warning", NULL});
        expect_contains(result.error, "\\u009B.lisp: a name has");
        expect_contains(result.error, "\\u202Ey.lisp: a name has");
        cr_expect_null(strstr(result.error, "\342\200\256"));
        command_result_free(&result);
    }
}
/* NOLINTEND(misc-misleading-bidirectional) */

Test(project_commands, check_of_what_is_no_directory_is_a_mistake) {
    struct command_result result = run(2, (const char *const[]){"check", "/dev/null", NULL});
    expect_contains(result.error, "/dev/null");
    command_result_free(&result);
    result = run(2, (const char *const[]){"check", NULL});
    expect_contains(result.error, "usage: eclave check");
    command_result_free(&result);
}
