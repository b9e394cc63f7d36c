/* The commands for projects: `eclave new`, `eclave check` and `eclave tool`, as a shell sees them.
 */
#include "tests/support/command.h"
#include "tests/support/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 200 };

static char project[PATH_BYTES];

/* An empty project for the test that runs. */
static void make_project(void) {
    snprintf(project, sizeof project, "/tmp/eclave-project-XXXXXX");
    cr_assert_not_null(mkdtemp(project));
}

static void remove_project(void) {
    const char *arguments[] = {"/bin/rm", "-r", "-f", project, NULL};
    struct command_result result = command_run(&(struct command){.arguments = arguments});
    command_result_free(&result);
}

TestSuite(project_commands, .init = make_project, .fini = remove_project);

static void write_file(const char *name, const char *text) {
    char path[PATH_BYTES + 100];
    snprintf(path, sizeof path, "%s/tools", project);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s", project, name);
    FILE *out = fopen(path, "w");
    cr_assert_not_null(out, "%s", path);
    fputs(text, out);
    cr_assert_eq(fclose(out), 0);
}

/* Runs the program; its status must be STATUS. */
static struct command_result run(int status, const char *const *arguments) {
    struct command_result result = command_eclave(arguments, NULL);
    cr_assert_eq(result.status, status, "status %d: %s%s", result.status, result.output,
                 result.error);
    return result;
}

static void expect_tool(const char *name, const char *args, int status, const char *output) {
    struct command_result result = run(
        status, (const char *const[]){"tool", name, "--project", project, "--args", args, NULL});
    cr_assert_str_eq(result.output, output);
    command_result_free(&result);
}

static void expect_tool_error(const char *name, const char *args, int status, const char *part) {
    struct command_result result = run(
        status, (const char *const[]){"tool", name, "--project", project, "--args", args, NULL});
    expect_contains(status == 2 ? result.error : result.output, part);
    command_result_free(&result);
}

static struct command_result check(int status) {
    return run(status, (const char *const[]){"check", project, NULL});
}

static void expect_check(int status, const char *part) {
    struct command_result result = check(status);
    expect_contains(result.output, part);
    command_result_free(&result);
}

static void begin_tool(const char *name) {
    struct command_result result =
        run(0, (const char *const[]){"new", "tool", name, "--project", project, NULL});
    command_result_free(&result);
}

/* --- new --- */

Test(project_commands, a_new_tool_passes_its_own_tests_and_can_be_called) {
    begin_tool("greet");
    expect_check(0, "greet(name: string, age?: integer)\n");
    expect_check(0, "refused: 0; tests: 4 met, 0 not\n");
    expect_tool("greet", "{\"name\": \"Ada\", \"age\": 36}", 0, "Hello, Ada! You are 36.\n");
    expect_tool("greet", "{\"name\": \"\"}", 1, "Whom shall I greet?\n");
}

Test(project_commands, new_makes_the_directory_of_the_project) {
    cr_assert_eq(rmdir(project), 0);
    begin_tool("first");
    expect_check(0, "tools: 1, ");
}

Test(project_commands, new_begins_in_the_current_directory) {
    cr_assert_eq(chdir(project), 0);
    struct command_result result = run(0, (const char *const[]){"new", "tool", "here", NULL});
    command_result_free(&result);
    expect_check(0, "tools: 1,");
}

static void expect_new_refused(const char *name, const char *part) {
    struct command_result result =
        run(2, (const char *const[]){"new", "tool", name, "--project", project, NULL});
    cr_assert_str_eq(result.output, "");
    expect_contains(result.error, part);
    command_result_free(&result);
}

Test(project_commands, new_overwrites_nothing) {
    write_file("tools/mine.lisp", "(mine)");
    write_file("tools/other.json", "{}");
    expect_new_refused("mine", "tools/mine.lisp is there already");
    expect_new_refused("other", "tools/other.json is there already");
    expect_new_refused("evaluate-lisp", "eclave's own");
    expect_new_refused("../x", "a name has");
    char link[PATH_BYTES + 100];
    snprintf(link, sizeof link, "%s/tools/linked.lisp", project);
    cr_assert_eq(symlink("/tmp/eclave-not-there", link), 0);
    expect_new_refused("linked", "tools/linked.lisp is there already");
}

/* --- tool --- */

Test(project_commands, tool_prints_texts_as_they_are_and_all_else_as_json_lines) {
    write_file("tools/mixed.lisp",
               "(mcp:deftool mixed ()\n"
               "  (list (mcp:text \"two~%lines\" 0) (mcp:image \"AAAA\" \"image/png\")\n"
               "        (mcp:structured (mcp:object \"n\" 123456789012345678901234567890))))");
    write_file("tools/value.lisp", "(mcp:deftool value () (mcp:object \"n\" #(1 2)))");
    struct command_result result =
        run(0, (const char *const[]){"tool", "mixed", "--project", project, NULL});
    cr_assert_eq(strncmp(result.output, "two\nlines\n{", 11), 0, "%s", result.output);
    expect_contains(result.output, "\"data\":\"AAAA\"");
    expect_contains(result.output, "}\n{\"n\":123456789012345678901234567890}\n");
    command_result_free(&result);
    expect_tool("value", "{}", 0, "{\"n\":[1,2]}\n");
}

Test(project_commands, tool_tells_progress_log_and_output_on_standard_error) {
    write_file("tools/loud.lisp",
               "(mcp:deftool loud ()\n"
               "  (mcp:progress 1 3 \"one\") (mcp:log :warning \"careful\") (princ \"printed\")\n"
               "  \"done\")");
    struct command_result result =
        run(0, (const char *const[]){"tool", "loud", "--project", project, NULL});
    cr_assert_str_eq(result.output, "done\n");
    expect_contains(result.error, "progress: 1 of 3: one\n");
    expect_contains(result.error, "warning: tool: careful\n");
    expect_contains(result.error, "printed\n");
    command_result_free(&result);
}

Test(project_commands, tool_ends_with_a_status_for_each_outcome) {
    write_file("tools/ends.lisp", ";;; {\"timeout\": 1}\n"
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
    const char *arguments[] = {
        "tool", "echo", "--project", project, "--args", args, "--request-max-bytes", "2000", NULL};
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
    write_file("tools/echo.lisp", "(mcp:deftool echo (text) text)");
    write_file("args.json", "{\"text\": \"from a file\"}\n");
    snprintf(file, sizeof file, "@%s/args.json", project);
    expect_echo(file, NULL, "from a file\n");
    expect_echo("-", "{\"text\":\n\"from standard input\"}\n", "from standard input\n");
    expect_echo("@-", "{\"text\": \"the same\"}", "the same\n");
    expect_echo("@/dev/stdin", "{\"text\": \"by its name\"}", "by its name\n");
}

Test(project_commands, tool_says_what_is_wrong_with_arguments_from_a_file) {
    char file[PATH_BYTES + 100];
    write_file("tools/echo.lisp", "(mcp:deftool echo (text) text)");
    expect_args_refused("@/nowhere/args.json", NULL,
                        "--args: /nowhere/args.json: No such file or directory");
    expect_args_refused("@", NULL, "--args: : No such file");
    snprintf(file, sizeof file, "@%s", project);
    expect_args_refused(file, NULL, "Is a directory");
    expect_args_refused("-", "", "--args: not JSON, at byte 0");
    expect_args_refused("-", "[]", "--args must be a JSON object");
    expect_args_refused("-", "{\"text\": \"\xff\"}", "--args: not well-formed UTF-8");
}

Test(project_commands, tool_takes_arguments_up_to_the_limit_of_a_request) {
    char file[PATH_BYTES + 100];
    char *fits = object_of(2000), *longer = object_of(2001);
    write_file("tools/echo.lisp", "(mcp:deftool echo (text) (format nil \"~d\" (length text)))");
    write_file("args.json", longer);
    snprintf(file, sizeof file, "@%s/args.json", project);
    expect_echo("-", fits, "1987\n");
    expect_echo(fits, NULL, "1987\n");
    expect_args_refused("-", longer, "--args: - is longer than request.max_bytes (2000)");
    expect_args_refused(longer, NULL, "--args is longer than request.max_bytes (2000)");
    expect_args_refused(file, NULL, "args.json is longer than request.max_bytes (2000)");
    write_file("args.json", fits);
    expect_echo(file, NULL, "1987\n");
    free(fits);
    free(longer);
}

Test(project_commands, tool_holds_schemas_and_requirements) {
    write_file("tools/typed.lisp",
               ";;; {\"inputSchema\": {\"type\": \"object\", \"required\": [\"n\"]},\n"
               ";;;  \"outputSchema\": {\"type\": \"object\", \"required\": [\"m\"]}}\n"
               "(mcp:deftool typed (n) (mcp:object \"n\" n))");
    write_file("tools/needy.lisp", ";;; {\"requires\": {\"sampling\": {}}}\n"
                                   "(mcp:deftool needy () \"\")");
    expect_tool_error("typed", "{}", 1, "[ERROR] TYPE-ERROR\nInvalid arguments for typed");
    expect_tool_error("typed", "{\"n\": 1}", 70, "[ERROR] MALFORMED-OUTPUT");
    expect_tool_error("needy", "{}", 1, "[ERROR] MISSING-CAPABILITY");
}

Test(project_commands, tool_says_why_it_cannot_run_one) {
    begin_tool("greet");
    write_file("tools/bad.lisp", ";;; {\"tittle\": \"x\"}\n");
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
    write_file("tools/good.lisp", "(mcp:deftool good () \"\")");
    write_file("tools/bad.lisp", ";;; {\"tittle\": \"x\"}\n");
    write_file("tools/worse.lisp", ";;; {\"inputSchema\": {\"type\": \"object\", "
                                   "\"properties\": {\"a\": {\"type\": \"nothing\"}}}}\n");
    struct command_result result = check(1);
    expect_contains(result.output, "  good(any arguments)\n");
    expect_contains(result.output, "tools/bad.lisp: ");
    expect_contains(result.output, "unknown member \"tittle\"");
    expect_contains(result.output, "tools/worse.lisp: ");
    expect_contains(result.output, "refused: 2;");
    command_result_free(&result);
}

Test(project_commands, check_tells_which_test_is_not_met) {
    write_file("tools/value.lisp", "(mcp:deftool value (&key n) (mcp:object \"n\" n))");
    write_file("tools/value.test.jsonl", "{\"args\": {\"n\": 1}, \"expect\": {\"n\": 1}}\n"
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

Test(project_commands, check_of_what_is_no_directory_is_a_mistake) {
    struct command_result result = run(2, (const char *const[]){"check", "/dev/null", NULL});
    expect_contains(result.error, "/dev/null");
    command_result_free(&result);
    result = run(2, (const char *const[]){"check", NULL});
    expect_contains(result.error, "usage: eclave check");
    command_result_free(&result);
}
