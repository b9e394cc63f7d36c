/* The commands `eclave new`, `eclave check` and `eclave tool`, run in the directory of a project.
 */
#include "tests/support/command.h"
#include "tests/support/project_files.h"
#include "tests/support/user.h"

#include <stdio.h>
#include <unistd.h>

static void begin(void) {
    project_files_begin();
    cr_assert_eq(chdir(project_files_path()), 0);
}

TestSuite(project_commands, .init = begin, .fini = project_files_end);

/* Runs `eclave ARGUMENTS...` on INPUT; it must exit with STATUS. */
#define RUN_ON(input, status, ...)                                                                 \
    command_expect(status, (const char *const[]){__VA_ARGS__, NULL}, input)
#define RUN(status, ...) RUN_ON(NULL, status, __VA_ARGS__)
/* The same; its output must be WHOLE, or contain PART. */
#define EXPECT(status, whole, ...)     cr_assert_str_eq(RUN(status, __VA_ARGS__)->output, whole)
#define EXPECT_PART(status, part, ...) expect_contains(RUN(status, __VA_ARGS__)->output, part)
/* The same; it must fail with PART on standard error. */
#define EXPECT_REFUSED(part, ...) expect_refused(part, RUN(2, __VA_ARGS__))

#define NEW(kind, name)       "new", kind, name, "--project", "."
#define CHECK                 "check", "."
#define TOOL(name)            "tool", name, "--project", "."
#define TOOL_WITH(name, args) TOOL(name), "--args", args

static void expect_refused(const char *part, const struct command_result *result) {
    cr_assert_str_eq(result->output, "");
    expect_contains(result->error, part);
}

/* --- new --- */

Test(project_commands, a_new_tool_passes_its_own_tests_and_can_be_called) {
    RUN(0, NEW("tool", "greet"));
    EXPECT_PART(0, "greet(name: string, age?: integer)\n", CHECK);
    EXPECT_PART(0, "refused: 0; sources: 1 loaded, 0 failed; tests: 4 passed, 0 failed\n", CHECK);
    EXPECT(0, "Hello, Ada! You are 36.\n", TOOL_WITH("greet", "{\"name\": \"Ada\", \"age\": 36}"));
    EXPECT(1, "Whom shall I greet?\n", TOOL_WITH("greet", "{\"name\": \"\"}"));
}

Test(project_commands, new_makes_the_directory_of_the_project) {
    RUN(0, "new", "tool", "first", "--project", "new");
    EXPECT_PART(0, "tools: 1, ", "check", "new");
}

Test(project_commands, new_uses_the_current_directory_by_default) {
    RUN(0, "new", "tool", "here");
    EXPECT_PART(0, "tools: 1,", CHECK);
}

/* Each kind, what `check` shows of it, and a file besides its own that new must not overwrite. */
static const struct {
    const char *kind, *name, *shown, *taken;
} scaffolds[] = {
    {"resource", "guide.md", "  eclave:///guide.md  text/markdown\n",
     "resources/guide.md.meta.json"},
    {"template", "numbers", "  eclave:///numbers/{number}  text/plain\n", "resources/numbers.lisp"},
    {"prompt", "review", "  review(code, language?)\n", "prompts/review.txt"},
    {"completion", "colours", "completions: 1; refused: 0;", "completions/colours.json"},
};

Test(project_commands, new_makes_each_kind_so_that_check_accepts_it) {
    for (size_t i = 0; i < COUNT_OF(scaffolds); i++) {
        EXPECT_PART(0, "wrote ", NEW(scaffolds[i].kind, scaffolds[i].name));
        EXPECT_REFUSED("nothing was written", NEW(scaffolds[i].kind, scaffolds[i].name));
        EXPECT_PART(0, scaffolds[i].shown, CHECK);
    }
    const struct command_result *result = RUN(0, CHECK);
    expect_contains(result->output, "resources: 1, templates: 1, prompts: 1, completions: 1; "
                                    "refused: 0; sources: 3 loaded, 0 failed;");
    expect_lacks(result->output, "warning");
}

Test(project_commands, new_refuses_invalid_names_and_overwrites_nothing) {
    static const struct {
        const char *kind, *name, *why;
    } names[] = {
        {"tool", ".x", "begins with a dot"},
        {"tool", "../x", "the name must"},
        {"tool", "mine", "tools/mine.lisp"},
        {"tool", "other", "tools/other.json"},
        {"tool", "linked", "tools/linked.lisp"},
        {"tool", "evaluate-lisp", "is a built-in tool"},
        {"prompt", "lisp-session", "is a built-in prompt"},
        {"resource", "guide", "is a built-in resource"},
        {"resource", "x.meta.json", "metadata of another"},
        {"resource", "a/b", "the name must"},
        {"tols", "x", "unknown kind tols"},
    };
    project_files_write("tools/mine.lisp", "(mine)");
    project_files_write("tools/other.json", "{}");
    cr_assert_eq(symlink("/tmp/eclave-not-there", "tools/linked.lisp"), 0);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        EXPECT_REFUSED(names[i].why, NEW(names[i].kind, names[i].name));
    for (size_t i = 0; i < COUNT_OF(scaffolds); i++) {
        project_files_write(scaffolds[i].taken, "");
        EXPECT_REFUSED(scaffolds[i].taken, NEW(scaffolds[i].kind, scaffolds[i].name));
    }
}

/* The disk is full after SIZE KiB. What was half made is removed, and the next try succeeds. */
Test(project_commands, new_on_a_full_disk_leaves_nothing) {
    static const char script[] =
        "ulimit -f %d; \"$1\" new %s x --project made >/dev/null 2>errors && exit 9; "
        "status=$?; ulimit -f unlimited 2>/dev/null; test ! -e made || exit 8; exit $status";
    for (size_t i = 0; i < COUNT_OF(scaffolds); i++) {
        const char *arguments[] = {
            "/bin/sh", "-c", formatted(script, 0, scaffolds[i].kind), "sh", ECLAVE_BINARY, NULL};
        struct command_result result = command_run(&(struct command){.arguments = arguments});
        cr_expect_eq(result.status, 2, "%s: %d %s", scaffolds[i].kind, result.status, result.error);
        command_result_free(&result);
    }
    for (size_t i = 0; i < COUNT_OF(scaffolds); i++)
        EXPECT_PART(0, "wrote ", NEW(scaffolds[i].kind, scaffolds[i].name));
}

Test(project_commands, new_that_is_refused_leaves_no_directory) {
    static const char *const names[] = {"../x", ".x", "evaluate-lisp", "", "a/b"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        RUN(2, "new", "tool", names[i], "--project", "made");
        cr_expect_neq(access("made", F_OK), 0, "%s", names[i]);
    }
    RUN(2, "new", "tols", "x", "--project", "made");
    RUN(2, "new", "tool", "--project", "made");
    RUN(2, "new", "tool", "x", "--project", "made", "--nonsense");
    cr_expect_neq(access("made", F_OK), 0);
}

/* --- tool --- */

Test(project_commands, tool_prints_strings_verbatim_and_other_results_as_json_lines) {
    project_files_write(
        "tools/mixed.lisp",
        "(mcp:deftool mixed ()\n"
        "  (list (mcp:text \"two~%lines\" 0) (mcp:image \"AAAA\" \"image/png\")\n"
        "        (mcp:structured (mcp:object \"n\" 123456789012345678901234567890))))");
    project_files_write("tools/value.lisp", "(mcp:deftool value () (mcp:object \"n\" #(1 2)))");
    const struct command_result *result = RUN(0, TOOL("mixed"));
    cr_assert_eq(strncmp(result->output, "two\nlines\n{", 11), 0, "%s", result->output);
    expect_contains(result->output, "\"data\":\"AAAA\"");
    expect_contains(result->output, "}\n{\"n\":123456789012345678901234567890}\n");
    EXPECT(0, "{\"n\":[1,2]}\n", TOOL("value"));
}

Test(project_commands, tool_reports_progress_log_warnings_and_output_on_standard_error) {
    project_files_write("tools/loud.lisp",
                        "(mcp:deftool loud ()\n"
                        "  (mcp:progress 1 3 \"one\")\n"
                        "  (mcp:log :warning \"careful\") (write-line \"printed\")\n"
                        "  (format *error-output* \"err\") (warn \"w ~a\" 1)\n"
                        "  \"done\")");
    const struct command_result *result = RUN(0, TOOL("loud"));
    cr_assert_str_eq(result->output, "done\n");
    expect_contains(result->error, "progress: 1 of 3: one\n");
    expect_contains(result->error, "warning: tool: careful\n");
    expect_contains(result->error, "printed\n");
    expect_contains(result->error, "err\nWARNING: w 1\n");
}

Test(project_commands, tool_exits_with_a_status_for_each_outcome) {
    project_files_write("tools/ends.lisp",
                        ";;; {\"timeout\": 1}\n"
                        "(mcp:deftool ends (how)\n"
                        "  (cond ((string= how \"quit\") (ext:quit 5))\n"
                        "        ((string= how \"loop\") (loop))\n"
                        "        ((string= how \"ask\") (mcp:ask :elicit \"Who?\"))\n"
                        "        (t (error \"No.\"))))");
    EXPECT_PART(1, "[ERROR] SIMPLE-ERROR\nNo.", TOOL_WITH("ends", "{\"how\": \"\"}"));
    EXPECT_PART(5, "[ERROR] PROCESS-EXIT", TOOL_WITH("ends", "{\"how\": \"quit\"}"));
    EXPECT_PART(124, "[ERROR] TIMEOUT", TOOL_WITH("ends", "{\"how\": \"loop\"}"));
    EXPECT_PART(1, "[ERROR] MCP:UNANSWERED", TOOL_WITH("ends", "{\"how\": \"ask\"}"));
}

/* Each way of passing arguments: the value of --args, standard input, and what comes of both. */
static const struct {
    const char *args, *input, *output, *error; /* one of the last two */
} passings[] = {
    {"@args.json", NULL, "from a file\n", NULL},
    {"-", "{\"text\":\n\"from standard input\"}\n", "from standard input\n", NULL},
    {"@-", "{\"text\": \"the same\"}", "the same\n", NULL},
    {"@/dev/stdin", "{\"text\": \"by its name\"}", "by its name\n", NULL},
    {"@/nowhere/args.json", NULL, NULL, "--args: /nowhere/args.json: No such file or directory"},
    {"@", NULL, NULL, "--args: : No such file"},
    {"@.", NULL, NULL, "Is a directory"},
    {"-", "", NULL, "--args: not JSON, at byte 0"},
    {"-", "[]", NULL, "--args must be a JSON object"},
    {"-", "{\"text\": \"\xff\"}", NULL, "--args: not well-formed UTF-8"},
};

Test(project_commands, tool_takes_arguments_from_a_file_or_standard_input) {
    project_files_write("tools/echo.lisp", "(mcp:deftool echo (text) text)");
    project_files_write("args.json", "{\"text\": \"from a file\"}\n");
    for (size_t i = 0; i < COUNT_OF(passings); i++) {
        const struct command_result *result = RUN_ON(passings[i].input, passings[i].error ? 2 : 0,
                                                     TOOL_WITH("echo", passings[i].args));
        cr_assert_str_eq(result->output, passings[i].output ? passings[i].output : "");
        expect_contains(result->error, passings[i].error ? passings[i].error : "");
    }
}

Test(project_commands, tool_takes_arguments_up_to_the_limit_of_a_request) {
    enum { LIMIT = 2000 };
    char fits[LIMIT + 1], longer[LIMIT + 2];
    snprintf(fits, sizeof fits, "{\"text\": \"%0*d\"}\n", LIMIT - 13, 0);
    snprintf(longer, sizeof longer, "{\"text\": \"%0*d\"}\n", LIMIT + 1 - 13, 0);
    project_files_write("tools/echo.lisp",
                        "(mcp:deftool echo (text) (format nil \"~d\" (length text)))");
    project_files_write("fits.json", fits);
    project_files_write("longer.json", longer);
    const char *const arguments[][2] = {{"-", "-"}, {fits, longer}, {"@fits.json", "@longer.json"}};
#define LIMITED(args) TOOL_WITH("echo", args), "--request-max-bytes", "2000"
    for (size_t i = 0; i < COUNT_OF(arguments); i++) {
        cr_assert_str_eq(RUN_ON(fits, 0, LIMITED(arguments[i][0]))->output, "1987\n");
        expect_refused("is longer than request.max_bytes (2000)",
                       RUN_ON(longer, 2, LIMITED(arguments[i][1])));
    }
}

Test(project_commands, tool_checks_schemas_and_requirements) {
    project_files_write("tools/typed.lisp",
                        ";;; {\"inputSchema\": {\"type\": \"object\", \"required\": [\"n\"]},\n"
                        ";;;  \"outputSchema\": {\"type\": \"object\", \"required\": [\"m\"]}}\n"
                        "(mcp:deftool typed (n) (mcp:object \"n\" n))");
    project_files_write("tools/needy.lisp", ";;; {\"requires\": {\"sampling\": {}}}\n"
                                            "(mcp:deftool needy () \"\")");
    EXPECT_PART(1, "[ERROR] TYPE-ERROR\nInvalid arguments for typed", TOOL_WITH("typed", "{}"));
    EXPECT_PART(70, "[ERROR] MALFORMED-OUTPUT", TOOL_WITH("typed", "{\"n\": 1}"));
    EXPECT_PART(1, "[ERROR] MISSING-CAPABILITY", TOOL_WITH("needy", "{}"));
}

/* As for a client, `session` says where a tool runs and is not passed to its source. */
Test(project_commands, tool_takes_a_session_as_from_a_client) {
    project_files_write("tools/kept.lisp", ";;; {\"session\": \"caller\"}\n"
                                           "(mcp:deftool kept (text) text)");
    project_files_write("tools/kept.test.jsonl",
                        "{\"args\": {\"text\": \"a\", \"session\": \"s\"}, \"expect\": \"a\"}\n");
    EXPECT(0, "here\n", TOOL_WITH("kept", "{\"session\": \"s\", \"text\": \"here\"}"));
    EXPECT_PART(0, "tests: 1 passed, 0 failed\n", CHECK);
}

Test(project_commands, tool_says_why_it_cannot_run_one) {
    RUN(0, NEW("tool", "greet"));
    project_files_write("tools/bad.lisp", ";;; {\"tittle\": \"x\"}\n");
    EXPECT_REFUSED("did you mean greet?", TOOL("gret"));
    EXPECT_REFUSED("tools/bad.lisp", TOOL("bad"));
    EXPECT_REFUSED("--args must be a JSON object", TOOL_WITH("greet", "[]"));
    EXPECT_REFUSED("--args: ", TOOL_WITH("greet", "{"));
    EXPECT_REFUSED("usage: eclave tool", "tool", "greet");
}

/* --- check --- */

Test(project_commands, check_reports_each_refused_file_with_the_reason) {
    project_files_write("tools/good.lisp", "(mcp:deftool good () \"\")");
    project_files_write("tools/bad.lisp", ";;; {\"tittle\": \"x\"}\n");
    project_files_write("tools/worse.lisp", ";;; {\"inputSchema\": {\"type\": \"object\", "
                                            "\"properties\": {\"a\": {\"type\": \"nothing\"}}}}\n");
    const struct command_result *result = RUN(1, CHECK);
    expect_contains(result->output, "  good(any arguments)\n");
    expect_contains(result->output, "tools/bad.lisp: ");
    expect_contains(result->output, "unknown member \"tittle\"");
    expect_contains(result->output, "tools/worse.lisp: ");
    expect_contains(result->output, "refused: 2;");
}

Test(project_commands, check_refuses_files_that_its_user_may_not_read) {
    const bool readable = !user_nobody_wanted(false);
    project_files_write("tools/good.lisp", "(mcp:deftool good () \"\")");
    project_files_write("tools/secret.lisp", "(mcp:deftool secret () \"\")");
    project_files_hide("tools/secret.lisp");
    const struct command_result *result = RUN(readable ? 0 : 1, CHECK);
    expect_contains(result->output, "  good(any arguments)\n");
    expect_contains_if(readable, result->output, "  secret(any arguments)\n");
    expect_contains_if(!readable, result->output, "tools/secret.lisp: ");
    expect_contains_if(!readable, result->output, "Permission denied");
}

/* A file, and what `check` prints about it after FAILED and the file's name. */
static const struct {
    const char *name, *text, *printed;
} sources[] = {
    {"tools/open.lisp", ";;; {\"title\": \"Open\"}\n(mcp:deftool \"open\" ()\n  (list 1",
     "END-OF-FILE: The code ends too early: the list that begins at line 3, column 3"},
    {"tools/closed.lisp", "(mcp:deftool \"closed\" () 1)\n)\n",
     "READER-ERROR: Unmatched right parenthesis, #\\)\n          (read up to line 2, column 2)\n"},
    {"tools/symbol.lisp", "(mcp:deftool \"symbol\" ()\n (nope:call))\n",
     "PACKAGE-ERROR: There is no package with the name NOPE.\n"
     "          (read up to line 2, column 9)\n"},
    {"tools/package.lisp", ";; A comment\n\n#| and\none |#\n(in-package \"NOPE\")\n",
     "PACKAGE-ERROR: There exists no package with name \"NOPE\"\n"
     "          (in the form that begins at line 5 of the source)\n"},
    {"tools/form.lisp", "(mcp:deftool \"form\" () (let (1) 2))", "PROGRAM-ERROR: "},
    {"tools/x.lisp", "(mcp:deftool \"y\" () 1)",
     "The source defines no tool \"x\", and no function of that name. It defines the tool "
     "\"y\".\n"},
    {"tools/empty.lisp", "(defun other ())",
     "The source defines no tool \"empty\", and no function of that name.\n"},
    {"tools/endless.lisp", ";;; {\"timeout\": 1}\n(loop)", "TIMEOUT: "},
    {"tools/quits.lisp", "(ext:quit 3)", "PROCESS-EXIT: The code ended its process with status 3."},
    {"prompts/other.lisp", "(mcp:defprompt \"a\" () 1) (mcp:deftool \"b\" () 1)",
     "The source defines no prompt \"other\". It defines the prompt \"a\", the tool \"b\".\n"},
    {"completions/c.lisp", "(mcp:defcompletion \"p\" () nil)",
     "The source defines no completion \"c\". It defines the completion \"p\".\n"},
};

Test(project_commands, check_loads_each_source_and_reports_failures) {
    for (size_t i = 0; i < COUNT_OF(sources); i++)
        project_files_write(sources[i].name, sources[i].text);
    project_files_write("resources/t.lisp", "(mcp:defresource \"test://a/{id}\" (id) id)");
    project_files_write("resources/t.lisp.meta.json", "{\"uriTemplate\": \"test://b/{id}\"}");
    const struct command_result *result = RUN(1, CHECK);
    for (size_t i = 0; i < COUNT_OF(sources); i++) {
        char line[300];
        snprintf(line, sizeof line, "  FAILED  %s: %s", sources[i].name, sources[i].printed);
        expect_contains(result->output, line);
    }
    expect_contains(result->output, "defines no resource \"test://b/{id}\". It defines the "
                                    "resource \"test://a/{id}\".\n");
    expect_contains(result->output, "refused: 0; sources: 0 loaded, 12 failed;");
}

Test(project_commands, check_calls_nothing_and_accepts_sources_that_warn) {
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
    const struct command_result *result = RUN(0, CHECK);
    expect_contains(result->output, "  warning tools/careless.lisp: Take care.\n");
    static const char *const undefined[] = {"INSIDE", "REFERRED", "(SETF PLACE)", "TYPO"};
    for (size_t i = 0; i < COUNT_OF(undefined); i++) {
        char text[100];
        snprintf(text, sizeof text, "tools/careless.lisp: The function %s is not defined",
                 undefined[i]);
        expect_contains(result->output, text);
    }
    expect_lacks(result->output, "NOT-CALLED");
    expect_lacks(result->output, "plain-one.lisp");
    expect_contains(result->output, "sources: 3 loaded, 0 failed;");
}

Test(project_commands, check_reports_which_test_failed) {
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
    const char *output = RUN(1, CHECK)->output;
    expect_contains(output, "  ok      tools/value.test.jsonl:1\n");
    expect_contains(output, "  FAILED  tools/value.test.jsonl:3: ");
    expect_contains(output, " {\"n\":2}, got \"{\\\"n\\\":1}\"\n");
    expect_contains(output, "  ok      tools/value.test.jsonl:4\n");
    expect_contains(output, "  FAILED  tools/value.test.jsonl:5: ");
    expect_contains(output, "value.test.jsonl:6: unknown member \"arg\"\n");
    expect_contains(output, "  FAILED  tools/value.test.jsonl:7: ");
    expect_contains(output, "  FAILED  tools/value.test.jsonl:8: ");
    expect_contains(output, "tests: 2 passed, 5 failed\n");
}

Test(project_commands, check_shows_what_a_client_sees) {
    const char *output = RUN(0, "check", ECLAVE_SOURCE_DIR "/tests/conformance/project")->output;
    expect_contains(output, "  test_sampling(prompt: string)\n");
    expect_contains(output, "  test://static-text  text/plain\n");
    expect_contains(output, "  test://template/{id}/data  application/json\n");
    expect_contains(output, "  test_prompt_with_arguments(arg1, arg2)\n");
}

Test(project_commands, check_names_tests_that_belong_to_no_tool) {
    static const char *const strays[] = {"tools/old.test.jsonl",     "tools/a.lisp.test.jsonl",
                                         "tools/A.test.jsonl",       "tools/a-.test.jsonl",
                                         "tools/data.test.jsonl",    "tools/empty.test.jsonl",
                                         "tools/refused.test.jsonl", "prompts/p.test.jsonl",
                                         "completions/c.test.jsonl", "tools/\303\244.test.jsonl"};
    for (size_t i = 0; i < COUNT_OF(strays); i++) {
        project_files_write(strays[i], "{}\n");
        EXPECT_PART(1, formatted("FAILED  %s:1: there is no tool", strays[i]), CHECK);
        project_files_remove(strays[i]);
    }
    project_files_write("tools/a.lisp", "(mcp:deftool a () 1)");
    project_files_write("tools/a.test.jsonl", "{}\n");
    project_files_write("tools/.hidden.test.jsonl", "{}\n");
    project_files_write("resources/r.test.jsonl", "{}\n");
    EXPECT_PART(0, "tests: 1 passed, 0 failed\n", CHECK);
    for (size_t i = 0; i < COUNT_OF(strays); i++)
        project_files_write(strays[i], "");
    EXPECT_PART(1, "tests: 1 passed, 10 failed\n", CHECK);
}

Test(project_commands, check_does_not_take_a_line_of_null_bytes_for_a_blank_one) {
    project_files_write("tools/a.lisp", "(mcp:deftool a () 1)");
    FILE *out = fopen("tools/a.test.jsonl", "w");
    cr_assert(out && fwrite("\0\0\n", 1, 3, out) == 3 && fclose(out) == 0);
    EXPECT_PART(1, "  FAILED  tools/a.test.jsonl:1: ", CHECK);
}

/* U+009B begins a control sequence of a terminal, U+202E reverses the text after it.
 * NOLINTBEGIN(misc-misleading-bidirectional): that is what is tested */
static void expect_harmless(const char *printed) {
    expect_lacks(printed, "\342\200\256");
    expect_lacks(printed, "\302\233");
}

Test(project_commands, check_escapes_terminal_controls) {
    project_files_write("tools/a.lisp",
                        ";;; {\"description\": \"na\302\233ughty \\u001b[2J\342\200\256txt "
                        "\303\251 \342\202\254\"}\n(mcp:deftool a () \"\342\200\256\")");
    project_files_write("tools/a.test.jsonl", "{\"expect\": \"\302\233\"}\n");
    project_files_write("tools/b.lisp", ";;; {\"\342\200\256x\": 1}\n");
    project_files_write("tools/c.lisp", "(error \"\342\200\256~cx\" (code-char 155))");
    const char *output = RUN(1, CHECK)->output;
    expect_contains(output, "na\\u009Bughty \\u001B[2J\\u202Etxt \303\251 \342\202\254\n");
    expect_contains(output, " \"\\u009B\", got \"\\u202E\"\n");
    expect_contains(output, "unknown member \"\\u202Ex\"");
    expect_contains(output, "tools/c.lisp: \\u202E\\u009Bx\n");
    expect_harmless(output);
}

Test(project_commands, check_and_the_log_escape_terminal_controls_in_file_names) {
    project_files_write("resources/\342\200\256x.lisp", "(error \"no\")");
    project_files_write("resources/\342\200\256x.lisp.meta.json", "{\"uriTemplate\": \"a:{b}\"}");
    project_files_write("tools/\302\233.lisp", "1");
    project_files_write("tools/\342\200\256y.lisp", "1");
    const char *output = RUN(1, CHECK)->output;
    expect_contains(output, "FAILED  resources/\\u202Ex.lisp: no\n");
    expect_contains(output, "  tools/\\u009B.lisp: the name must");
    expect_contains(output, "  tools/\\u202Ey.lisp: the name must");
    expect_harmless(output);
    static const char *const formats[] = {"text", "json"};
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        const char *log =
            RUN(0, "--project", ".", "--log-format", formats[i], "--log-level", "warning")->error;
        expect_contains(log, "\\u009B.lisp: the name must");
        expect_contains(log, "\\u202Ey.lisp: the name must");
        expect_harmless(log);
    }
}
/* NOLINTEND(misc-misleading-bidirectional) */

Test(project_commands, check_needs_a_directory) {
    EXPECT_REFUSED("/dev/null", "check", "/dev/null");
    EXPECT_REFUSED("usage: eclave check", "check");
}
