/* What the operator may grant, files to read and a scratch directory, to the letter and not beyond
 * it; and Lisp that is loaded before any session begins. */
#include "policy/policy.h"
#include "tests/support/client_sessions.h"
#include "tests/support/command.h"
#include "tests/support/lines.h"
#include "tests/support/lisp_file.h"
#include "tests/support/outer_filter.h"
#include "tests/support/skip.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 16, CODE_BYTES = 2048 };

#define NAMESPACES POLICY_LAYER_BIT(POLICY_LAYER_NAMESPACES)
#define LANDLOCK   POLICY_LAYER_BIT(POLICY_LAYER_LANDLOCK)
/* What a scratch directory takes. */
#define SCRATCH (NAMESPACES | LANDLOCK)

/* A directory with a granted one in it, a file in each, a link out, and a program to load. */
struct tree {
    char root[64], granted[80], code[CODE_BYTES];
};

static void write_file(const char *directory, const char *name, const char *text) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "we");
    cr_assert_not_null(file, "%s", path);
    fputs(text, file);
    fclose(file);
}

static struct tree make_tree(void) {
    struct tree tree = {.root = "/var/tmp/eclave-files-XXXXXX"};
    cr_assert_not_null(mkdtemp(tree.root));
    snprintf(tree.granted, sizeof tree.granted, "%s/granted", tree.root);
    cr_assert(chmod(tree.root, 0755) == 0 && mkdir(tree.granted, 0777) == 0 &&
              chmod(tree.granted, 0777) == 0);
    write_file(tree.root, "beside.txt", "\"beside\"\n");
    write_file(tree.granted, "text.txt", "\"inside\"\n");
    write_file(tree.granted, "load.lisp", "(defun loaded () 42)\n");
    char link[120], target[120];
    snprintf(link, sizeof link, "%s/link.txt", tree.granted);
    snprintf(target, sizeof target, "%s/beside.txt", tree.root);
    cr_assert_eq(symlink(target, link), 0);
    return tree;
}

static void remove_tree(const struct tree *tree) {
    static const char *const names[] = {"granted/text.txt", "granted/load.lisp", "granted/link.txt",
                                        "beside.txt",       "granted",           ""};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char path[160];
        snprintf(path, sizeof path, "%s/%s", tree->root, names[i]);
        remove(path);
    }
}

/* Runs `eclave eval` with OPTIONS (ends with NULL) and -e CODE. */
static struct command_result evaluate(const char *const *options, const char *code,
                                      bool unprivileged) {
    const char *arguments[ARGUMENTS_MAX] = {ECLAVE_BINARY, "eval"};
    size_t count = 2;
    for (; *options; options++)
        arguments[count++] = *options;
    arguments[count++] = "-e";
    arguments[count] = code;
    return command_run(&(struct command){.arguments = arguments, .unprivileged = unprivileged});
}

/* The same, and wants a status and a part of what is printed. */
static void expect(const char *const *options, const char *code, bool unprivileged, int status,
                   const char *part) {
    struct command_result result = evaluate(options, code, unprivileged);
    cr_expect(result.status == status && strstr(result.output, part), "%s: %d, not %d: %s%s", code,
              result.status, status, result.output, result.error);
    command_result_free(&result);
}

static const struct {
    const char *code; /* @: the granted directory */
    int status;
    const char *part;
} readings[] = {
    {"(with-open-file (s \"@/text.txt\") (read s))", 0, "=> \"inside\""},
    {"(progn (load \"@/load.lisp\") (loaded))", 0, "=> 42"},
    {"(not (probe-file \"@/text.txt\"))", 0, "=> NIL"},
    {"(length (directory \"@/*.lisp\"))", 0, "=> 1"},
    {"(with-open-file (s \"@/text.txt\") (file-length s))", 0, "=> 9"},
    {"(with-open-file (s \"@/../beside.txt\") (read s))", 1, "[ERROR]"},
    {"(with-open-file (s \"@/link.txt\") (read s))", 1, "[ERROR]"},
    {"(with-open-file (s \"@/new.txt\" :direction :output) (write 1 :stream s))", 1, "[ERROR]"},
    {"(with-open-file (s \"@/text.txt\" :direction :output :if-exists :append) (print 1 s))", 1,
     "[ERROR]"},
    {"(delete-file \"@/text.txt\")", 1, "[ERROR]"},
    {"(rename-file \"@/text.txt\" \"other.txt\")", 1, "[ERROR]"},
    {"(progn \"@\" (with-open-file (s \"/etc/passwd\") (read-line s)))", 1, "[ERROR]"},
    {"(progn \"@\" (with-open-file (s \"/proc/self/status\") (read-line s)))", 1, "[ERROR]"},
};

static void check_readings(bool with_namespaces, bool unprivileged) {
    skip_without_layers(LANDLOCK, unprivileged);
    struct tree tree = make_tree();
    const char *options[] = {"--allow-read", tree.granted, with_namespaces ? NULL : "--without",
                             "namespaces", NULL};
    for (size_t i = 0; i < COUNT_OF(readings); i++) {
        const char *place = strchr(readings[i].code, '@');
        snprintf(tree.code, sizeof tree.code, "%.*s%s%s", (int)(place - readings[i].code),
                 readings[i].code, tree.granted, place + 1);
        expect(options, tree.code, unprivileged, readings[i].status, readings[i].part);
    }
    remove_tree(&tree);
}

Test(files, are_read_below_a_granted_directory_and_nowhere_else) {
    check_readings(true, false);
}

Test(files, are_read_below_a_granted_directory_and_nowhere_else_without_namespaces) {
    check_readings(false, false);
}

Test(files, are_read_below_a_granted_directory_and_nowhere_else_by_nobody) {
    skip_unless_root();
    check_readings(true, true);
    check_readings(false, true);
}

Test(scratch, belongs_to_one_session_and_lasts_as_long) {
    skip_without_layers(SCRATCH, false);
    const char *arguments[] = {"--scratch", "2", NULL};
    struct client *client =
        client_start_ready(&(struct client_options){.arguments = arguments}, NULL);
    const char *other = client_session_open(client);
    client_session_expect(client, NULL,
                          "(with-open-file (s \"/scratch/a\" :direction :output) (print 7 s) 1)",
                          "=> 1");
    client_session_expect(client, NULL, "(with-open-file (s \"/scratch/a\") (read s))", "=> 7");
    client_session_expect(client, other, "(probe-file \"/scratch/a\")", "=> NIL");
    client_session_reset(client, NULL);
    client_session_expect(client, NULL, "(probe-file \"/scratch/a\")", "=> NIL");
    client_finish(client);
}

Test(scratch, is_there_for_an_ordinary_user_too) {
    static const char *const options[] = {"--scratch", "1", NULL};
    static const char code[] = "(with-open-file (s \"/scratch/a\" :direction :output) (print 7 s))"
                               " (with-open-file (s \"/scratch/a\") (read s))";
    skip_unless_root();
    skip_without_layers(SCRATCH, true);
    expect(options, code, true, 0, "=> 7");
}

/* A fork can make no directory of its own, so there is none. */
Test(scratch, is_shared_with_no_copy_of_a_session) {
    skip_without_layers(SCRATCH, false);
    const char *arguments[] = {"--scratch", "1", NULL};
    struct client *client =
        client_start_ready(&(struct client_options){.arguments = arguments}, NULL);
    char from[120];
    snprintf(from, sizeof from, "{\"from\":\"%s\"}", client_session_open(client));
    struct evaluation copy = client_tool(client, "open-session", from);
    cr_expect(copy.is_error, "%s", copy.line);
    expect_contains(copy.text, "scratch directory");
    client_finish(client);
}

Test(scratch, is_full_with_an_error_of_lisp) {
    skip_without_layers(SCRATCH, false);
    const char *arguments[] = {"--scratch", "1", NULL};
    struct client *client =
        client_start_ready(&(struct client_options){.arguments = arguments}, NULL);
    struct evaluation full = client_evaluate(
        client, "(with-open-file (s \"/scratch/a\" :direction :output)"
                " (dotimes (i 3000) (write-string (make-string 1024) s)) (finish-output s))");
    cr_expect(full.is_error && full.exit_code == 1, "%s", full.text);
    full = client_evaluate(
        client, "(dotimes (i 3) (with-open-file (s (format nil \"/scratch/~a\" i) :direction"
                " :output) (dotimes (i 500) (write-string (make-string 1024) s))))");
    cr_expect(full.is_error && full.exit_code == 1, "%s", full.text);
    cr_assert_str_eq(client_evaluate(client, "(+ 1 2)").text, "=> 3");
    client_finish(client);
}

Test(scratch, has_neither_links_nor_programs_nor_ways_out) {
    skip_without_layers(SCRATCH, false);
    static const char *const options[] = {"--scratch", "1", NULL};
    static const char *const codes[] = {
        FOREIGN "(c \"symlink\" :int '(:cstring :cstring) \"/\" \"/scratch/root\")",
        FOREIGN "(c \"link\" :int '(:cstring :cstring) \"/scratch/x\" \"/scratch/root\")",
        FOREIGN "(c \"chmod\" :int '(:cstring :unsigned-int) \"/scratch\" 511)",
        FOREIGN "(c \"mkfifo\" :int '(:cstring :unsigned-int) \"/scratch/pipe\" 384)",
        FOREIGN "(c \"chdir\" :int '(:cstring) \"/scratch\")"};
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        struct command_result result = evaluate(options, codes[i], false);
        cr_expect((result.status == 0 && strcmp(result.output, "=> -1\n") == 0) ||
                      result.status == 159,
                  "%s: %d %s", codes[i], result.status, result.output);
        command_result_free(&result);
    }
    expect(options, "(open \"/scratch/../x\" :direction :output)", false, 1, "[ERROR]");
    expect(options, "(directory \"/*\")", false, 0, "");
    expect(options, "(with-open-file (s \"/etc/passwd\") (read-line s))", false, 1, "[ERROR]");
}

Test(scratch, needs_namespaces) {
    static const char *const options[] = {"--scratch", "1", "--without", "namespaces", NULL};
    struct command_result result = evaluate(options, "1", false);
    cr_expect_eq(result.status, 70);
    expect_contains(result.error, "scratch");
    command_result_free(&result);
}

static const char notice[] = "eclave: info: layer-missing: landlock: ";

/* Runs eclave with ARGUMENTS and INPUT, which must succeed. */
static void expect_notice(bool wanted, const char *const *arguments, const char *input) {
    struct command_result result = command_eclave(arguments, input);
    cr_expect_eq(result.status, 0, "%s: %d %s", arguments[0], result.status, result.error);
    expect_contains_if(wanted, result.error, notice);
    if (!wanted)
        expect_lacks(result.error, "layer-missing");
    command_result_free(&result);
}

Test(layers, that_are_missing_are_reported_by_commands_only_when_asked) {
    static const char line[] = "{\"code\":\"(+ 1 2)\"}\n";
    char root[] = "/var/tmp/eclave-layers-XXXXXX";
    cr_assert_not_null(mkdtemp(root));
    struct command_result made =
        command_eclave((const char *const[]){"new", "tool", "t", "--project", root, NULL}, NULL);
    cr_assert_eq(made.status, 0, "%s", made.error);
    command_result_free(&made);
    outer_filter_forbid(SYS_landlock_create_ruleset, ENOSYS);
    const char *const commands[][7] = {
        {"eval", "-e", "(+ 1 2)"},
        {"batch"},
        {"check", root},
        {"tool", "t", "--project", root, "--args", "{\"name\":\"a\"}"}};
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        const char *asked[9] = {commands[i][0]};
        size_t count = 1;
        expect_notice(false, commands[i], line);
        for (; commands[i][count]; count++)
            asked[count] = commands[i][count];
        asked[count++] = "--log-level";
        asked[count] = "info";
        expect_notice(true, asked, line);
    }
}

/* A client that asks for messages before the layers are reported. They are when Lisp has booted. */
static struct client *start_asking_for_messages(void) {
    enum { TRIALS = 100 };
    static const char *const boots[] = {"ECLAVE_IMAGE=off", NULL};
    for (int i = 0; i < TRIALS; i++) {
        struct client *client = client_start_ready(
            &(struct client_options){.notices = true, .environment = boots}, NULL);
        client_request(client, "1", "logging/setLevel", "{\"level\":\"info\"}");
        if (!strstr(client_stderr(client), notice))
            return client;
        client_finish(client);
    }
    cr_assert_fail("Lisp always boots before a client asks");
    return NULL;
}

Test(layers, that_are_missing_are_reported_by_the_server_once) {
    outer_filter_forbid(SYS_landlock_create_ruleset, ENOSYS);
    struct client *client = start_asking_for_messages();
    client_session_expect(client, NULL, "(+ 1 2)", "=> 3");
    const char *told;
    do
        told =
            client_string(client, client_await_notification(client, "notifications/message", NULL),
                          "params", "data", "cause", NULL);
    while (strncmp(told, "landlock: ", 10) != 0);
    client_await_stderr(client, notice);
    client_session_expect(client, client_session_open(client), "(+ 1 2)", "=> 3");
    const char *first = strstr(client_stderr(client), notice);
    cr_expect_null(strstr(first + 1, notice), "%s", first);
#ifndef __SANITIZE_ADDRESS__ /* a sanitized supervisor has fewer layers */
    client_await_stderr(client, "supervisor: its own layer landlock is missing");
#endif
    client_finish(client);
}

Test(layers, that_are_required_and_missing_allow_no_evaluation) {
    static const char *const required[] = {"--require", "landlock", NULL};
    outer_filter_forbid(SYS_landlock_create_ruleset, ENOSYS);
    struct command_result result = evaluate(required, "(+ 1 2)", false);
    cr_expect(result.status == 70 && !result.output_length, "%d %s", result.status, result.output);
    expect_contains(result.error, "landlock");
    command_result_free(&result);
    struct client *client = client_start(&(struct client_options){.arguments = required});
    const char *answer = client_initialize(client, NULL);
    expect_contains(client_string(client, answer, "result", "instructions", NULL), "minimal mode");
    client_expect_error(client, EVALUATE("1", "1"), -32601, "1");
    client_finish(client);
}

Test(layers, without_landlock_nothing_is_granted) {
    static const char *const granting[][3] = {{"--allow-read", "/usr", NULL},
                                              {"--scratch", "1", NULL}};
    outer_filter_forbid(SYS_landlock_create_ruleset, ENOSYS);
    for (size_t i = 0; i < COUNT_OF(granting); i++) {
        struct command_result result = evaluate(granting[i], "(+ 1 2)", false);
        cr_expect(result.status == 70 && !result.output_length, "%d %s", result.status,
                  result.output);
        expect_contains(result.error, "landlock");
        command_result_free(&result);
        result = command_eclave(granting[i], "");
        cr_expect_eq(result.status, 2, "%d %s", result.status, result.error);
        expect_contains(result.error, "landlock");
        command_result_free(&result);
    }
}

Test(layers, without_namespaces_code_is_evaluated_unless_they_are_required) {
    static const char *const required[] = {"--require", "namespaces", NULL};
    outer_filter_forbid(SYS_unshare, EPERM);
    expect((const char *const[]){NULL}, "(+ 1 2)", false, 0, "=> 3");
    struct command_result result = evaluate(required, "(+ 1 2)", false);
    cr_expect_eq(result.status, 70);
    expect_contains(result.error, "namespaces");
    command_result_free(&result);
}

/* A file of Lisp to preload; the caller removes it. */
static void write_program(char path[static 64], const char *text) {
    snprintf(path, 64, "/var/tmp/eclave-preload-XXXXXX");
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

Test(preload, is_in_every_session_from_its_beginning) {
    char path[64];
    write_program(path, "(defvar *loaded* 5)\n(defun twice (x) (* 2 x))\n");
    const char *arguments[] = {"--preload", path, NULL};
    struct client *client =
        client_start_ready(&(struct client_options){.arguments = arguments}, NULL);
    client_session_expect(client, NULL, "(twice (incf *loaded*))", "=> 12");
    client_session_expect(client, client_session_open(client), "(twice *loaded*)", "=> 10");
    client_session_reset(client, NULL);
    client_session_expect(client, NULL, "(twice *loaded*)", "=> 10");
    cr_assert_eq(client_evaluate(client, "(ext:quit 3)").exit_code, 3);
    client_session_expect(client, NULL, "(twice *loaded*)", "=> 10");
    client_finish(client);
    unlink(path);
}

/* Starts a server that preloads PATH into a Lisp that it boots, and searches the memory of a
 * session for texts that no source contains in one piece. True if it holds none of them. */
static bool preloads_cleanly(const char *path) {
    static const char *const absent[] = {
        "(memory-holds-in-lisp \"/var/tmp/ecl\" \"ave-prel\" \"oad-\")",
        "(memory-holds \"comment-\" \"of-the-\" \"operator\")",
        "(memory-holds \"note-\" \"of-the-\" \"operator\")"};
    static const struct {
        const char *code, *value;
    } rows[] = {{"(memory-holds-in-lisp \"string-\" \"that-\" \"stays\")", "=> T"},
                {"(values (ext:compiled-function-file #'cl-user::twice))", "=> NIL"},
                {"(cl-user::twice 4)", "=> 8"},
                {"(null (search \"eclave-preload-\" cl-user::*name*))", "=> NIL"}};
    const char *arguments[] = {"--preload",        path,  "--image", "rebuild",
                               "--call-timeout-s", "600", NULL};
    struct client *client =
        client_start_ready(&(struct client_options){.arguments = arguments}, NULL);
    cleanup_buffer struct buffer code = buffer_make(LISP_FILE_MAX);
    lisp_file_load_hostile(client, NULL);
    lisp_file_append(&code, "escape/attack.lisp");
    lisp_file_evaluate(client, NULL, &code);
    client_session_expect(client, NULL, "(in-package :hostile)", "=> #<\"HOSTILE\" package>");
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        client_session_expect(client, NULL, rows[i].code, rows[i].value);
    bool clean = true;
    for (size_t i = 0; clean && i < COUNT_OF(absent); i++)
        clean = strcmp(client_evaluate(client, absent[i]).text, "=> NIL") == 0;
    client_finish(client);
    return clean;
}

/* The collector is conservative: a stale word that looks like a pointer to a text keeps the text,
 * so that some boots are not clean. */
Test(preload, leaves_neither_its_path_nor_its_comments_in_a_session) {
    enum { BOOTS = 6 };
    char path[64];
    write_program(path, "; comment-of-the-operator\n"
                        "(defun twice (x) \"string-that-stays\" (* 2 x))\n"
                        "#| note-of-the-operator |#\n"
                        "(defvar *name* (subseq (pathname-name *load-truename*) 0 15))\n");
    bool clean = false;
    for (int i = 0; !clean && i < BOOTS; i++)
        clean = preloads_cleanly(path);
    cr_assert(clean, "no boot of %d was clean", BOOTS);
    unlink(path);
}

Test(preload, that_fails_is_told_and_starts_no_worker) {
    static const struct {
        const char *text, *part;
    } rows[] = {{"(error \"no such luck\")", "no such luck"},
                {"(mp:process-run-function 'x (lambda () (sleep 1000)))", "threads"},
                {"1\n\n(ext:quit 3)", "line 3: the code ended the process"},
                {"; 1\n(ext:quit 0)", "line 2: the code ended the process"},
                {"\n(si:exit 4)", "line 2: the code ended the process"},
                {"(abort)", "line 1: the code invoked the restart ABORT"},
                {"; a\n; b\n\n(car 1)", "line 4: The value 1 is not of type LIST"},
                {"1\n(list 1\n\n", "line 2: "},
                {"1\n)", "line 2: "},
                {"1 2\n3 (throw 'x 1)", "line 2: "},
                {"\n\n(in-package :nope)", "line 3: "},
                {"\n(defun r () (+ 1 (r)))\n(r)", "line 3: The control stack is exhausted"},
                {"\n(let (l) (loop (push (make-array 8000000) l)))", "line 2: The memory limit"},
                {"\n\n\n(loop)", "line 4: the file is not loaded within 15 s"},
                {"\n(loop (print 1))", "line 2: the file is not loaded within 15 s"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char path[64];
        write_program(path, rows[i].text);
        const char *options[] = {"--preload", path, NULL};
        struct command_result result = evaluate(options, "(+ 1 2)", false);
        cr_expect_neq(result.status, 0, "%s", result.output);
        cr_expect(strstr(result.error, rows[i].part), "%s is not in: %s", rows[i].part,
                  result.error);
        cr_expect(strstr(result.output, rows[i].part), "%s is not in: %s", rows[i].part,
                  result.output);
        cr_expect(!strstr(result.output, "=> 3"));
        command_result_free(&result);
        unlink(path);
    }
}

/* Runs the server with OPTIONS (ends with NULL) for the lines of INPUT. */
static struct command_result converse(const char *const *options, const char *input) {
    const char *arguments[ARGUMENTS_MAX] = {ECLAVE_BINARY};
    for (size_t count = 1; *options; options++)
        arguments[count++] = *options;
    return command_run(&(struct command){.arguments = arguments, .input = input});
}

Test(grants, of_files_are_told_to_the_client) {
    skip_without_layers(LANDLOCK, false);
    struct tree tree = make_tree();
    const char *options[] = {"--allow-read", tree.granted, NULL};
    struct command_result result = converse(options, INITIALIZE("1", "\"2025-11-25\""));
    char wanted[120];
    snprintf(wanted, sizeof wanted, "Files can be read and loaded below %s.", tree.granted);
    expect_contains(result.output, wanted);
    command_result_free(&result);
    remove_tree(&tree);
}

Test(grants, are_not_denied_by_the_error_for_a_missing_file) {
    skip_without_layers(LANDLOCK, false);
    struct tree tree = make_tree();
    const char *options[] = {"--allow-read", tree.granted, NULL};
    struct command_result result = converse(
        options, INITIALIZE("1", "\"2025-11-25\"") "\n" EVALUATE("2", "(open \\\"/nowhere/x\\\")"));
    expect_contains(result.output, "is outside the directories that code may use");
    command_result_free(&result);
    remove_tree(&tree);
}

Test(grants, of_a_scratch_directory_are_told_to_the_client) {
    skip_without_layers(SCRATCH, false);
    const char *options[] = {"--scratch", "3", NULL};
    struct command_result result = converse(options, INITIALIZE("1", "\"2025-11-25\""));
    expect_contains(result.output, "files of 3 MiB in /scratch");
    command_result_free(&result);
}

Test(scratch, is_not_shared_with_a_copy) {
    skip_without_layers(SCRATCH, false);
    const char *options[] = {"--scratch", "1", NULL};
    struct command_result result = converse(
        options,
        INITIALIZE("1", "\"2025-11-25\"") "\n" EVALUATE("2", "1") "\n" REQUEST_WITH(
            "3", "tools/call", "{\"name\":\"open-session\",\"arguments\":{\"from\":\"main\"}}"));
    expect_contains(result.output, "[ERROR] UNSUPPORTED-OPERATION");
    command_result_free(&result);
}
