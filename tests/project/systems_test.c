/* ASDF systems: those of --systems, which every session has, and those that a session loads from
 * directories that it may read. */
#include "policy/policy.h"
#include "tests/support/available.h"
#include "tests/support/client_sessions.h"
#include "tests/support/command.h"
#include "tests/support/lisp_file.h"
#include "tests/support/project_files.h"
#include "tests/support/skip.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { ARGUMENTS_MAX = 8 };

#define LANDLOCK POLICY_LAYER_BIT(POLICY_LAYER_LANDLOCK)

static const struct {
    const char *name, *text;
} files[] = {
    {"lib/fine/fine.asd", "(defsystem \"fine\" :version \"1.2\" :depends-on (\"base\")\n"
                          " :components ((:file \"fine\")))\n"
                          "(defsystem \"fine/more\" :depends-on (\"fine\")\n"
                          " :components ((:file \"more\")))\n"},
    {"lib/fine/fine.lisp", "; remark-of-the-author\n"
                           "(defpackage :fine (:use :cl) (:export #:twice))\n"
                           "(in-package :fine)\n"
                           "(defun twice (x) (* 2 (base:one) x))\n"},
    {"lib/fine/more.lisp", "(defvar cl-user::*more* (list \"\xc3\xa9\"))\n"},
    {"lib/base.asd", "(defsystem \"base\" :version \"1.0\" :components ((:file \"base\")))\n"},
    {"lib/base.lisp", "(defpackage :base (:use :cl) (:export #:one))\n"
                      "(in-package :base)\n"
                      "(defun one () 1)\n"},
    {"lib/needs.asd", "(defsystem \"needs\" :depends-on (\"absent\"))\n"},
    {"lib/deep.asd", "(defsystem \"deep\" :depends-on (\"base\" \"needs\"))\n"},
    {"lib/later.asd", "(defsystem \"later\" :depends-on ((:version \"base\" \"2.0\")))\n"},
    {"lib/newer.asd", "(defsystem \"newer\" :depends-on ((:version \"asdf\" \"9.8\")))\n"},
    {"lib/gone.asd", "(defsystem \"gone\" :components ((:file \"no-file\")))\n"},
    {"lib/wrong.asd", "(defsystem \"wrong\" :components ((:file \"wrong\")))\n"},
    {"lib/wrong.lisp", "(defvar *x* 1)\n(car 5)\n"},
    {"lib/says.asd", "(defsystem \"says\" :components ((:file \"says\")))\n"},
    {"lib/says.lisp", "(error \"no such luck\")\n"},
    {"lib/open.asd", "(defsystem \"open\" :components ((:file \"base\"\n"},
    {"lib/cut.asd", "(defsystem \"cut\" :components ((:file \"cut\")))\n"},
    {"lib/cut.lisp", "(defun cut (x)\n"},
    {"lib/stray.asd", "(defsystem \"stray\" :components ((:file \"stray\")))\n"},
    {"lib/stray.lisp", "(nowhere:call 1)\n"},
    {"lib/runs.asd", "(defsystem \"runs\" :components ((:file \"runs\")))\n"},
    {"lib/runs.lisp", "(ext:run-program \"true\" '())\n"},
    {"lib/before.asd", "(defsystem \"before\" :defsystem-depends-on (\"absent\"))\n"},
    /* Newer than ECL's, as that of Debian's cl-asdf, but it cannot be loaded. */
    {"new/asdf.asd", "(defsystem \"asdf\" :version \"9.9\" :components ((:file \"boom\")))\n"
                     "(defsystem \"uiop\" :version \"9.9\" :components ((:file \"boom\")))\n"},
    {"new/boom.lisp", "(error \"an ASDF was loaded\")\n"},
    {"home/common-lisp/at-home.asd", "(defsystem \"at-home\")\n"},
    {"home/.local/share/common-lisp/source/local.asd", "(defsystem \"local\")\n"},
    {"data/common-lisp/source/in-data.asd", "(defsystem \"in-data\")\n"},
    {"tools/double.lisp", "(mcp:deftool \"double\" (n) (format nil \"~d\" (fine:twice n)))"},
    {"policy.json", "{\"systems\":[\"base\",\"fine/more\"],\"allow-read\":\"lib\"}"},
    {"one.json", "{\"systems\":\"base,fine\",\"allow-read\":\"lib\"}"},
};

static const char *path_of(const char *name) {
    return formatted("%s/%s", project_files_path(), name);
}

static void make_folders(const char *name) {
    char path[200];
    snprintf(path, sizeof path, "%s", path_of(name));
    for (char *slash = path + strlen(project_files_path()) + 1; (slash = strchr(slash, '/'));
         *slash++ = '/') {
        *slash = 0;
        mkdir(path, 0755);
    }
}

static void begin(void) {
    project_files_begin();
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        make_folders(files[i].name);
        project_files_write(files[i].name, files[i].text);
    }
}

TestSuite(systems, .init = begin, .fini = project_files_end);

/* Runs the program with the operator's variables. */
static struct command_result run(const char *const *arguments, const char *input,
                                 const char *variable) {
    const char *all[ARGUMENTS_MAX + 4] = {ECLAVE_BINARY};
    for (size_t count = 1; *arguments; arguments++)
        all[count++] = *arguments;
    const char *const environment[] = {formatted("HOME=%s", path_of("home")), variable, NULL};
    return command_run(
        &(struct command){.arguments = all, .input = input, .environment = environment});
}

static const char *registry(const char *directory) {
    return formatted("CL_SOURCE_REGISTRY=%s//", path_of(directory));
}

static void expect_end(struct command_result result, int status, const char *part) {
    cr_expect_eq(result.status, status, "status %d: %s%s", result.status, result.output,
                 result.error);
    cr_expect(strstr(result.output, part) || strstr(result.error, part), "%s is not in: %s%s", part,
              result.output, result.error);
    command_result_free(&result);
}

static void expect_value(const char *const *arguments, const char *variable, const char *value) {
    expect_end(run(arguments, NULL, variable), 0, value);
}

Test(systems, that_are_missing_or_fail_are_named_with_what_they_lack) {
    static const struct {
        const char *names, *part; /* a part that begins with "/" is below the project's directory */
    } rows[] = {
        {"nope", "cannot load the system nope: the system nope is not in "},
        {"fine,nope", "the system nope is not in "},
        {"fine/none", "fine/none"},
        {"Fine", "the system Fine is not in "},
        {"needs", "cannot load the system needs: the system absent, which needs needs, is not in "},
        {"deep", "cannot load the system deep: the system absent, which needs needs, is not in "},
        {"later", "the system base, which later needs, is older than version 2.0"},
        {"newer", "the system asdf, which newer needs, is older than version 9.8"},
        {"gone", "/lib/no-file.lisp is missing or cannot be read"},
        {"wrong", "/lib/wrong.lisp: In function CAR"},
        {"says", "/lib/says.lisp: no such luck"},
        {"open", "/lib/open.asd: Unexpected end of file"},
        {"cut", "/lib/cut.lisp: Unexpected end of file"},
        {"stray", "/lib/stray.lisp: There is no package with the name NOWHERE"},
        {"runs", "/lib/runs.lisp: There are no other programs here"},
        {"before", "the system absent is not in "},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *part = rows[i].part;
        if (part[0] == '/')
            part = path_of(part + 1);
        expect_end(run(STRINGS("eval", "--systems", rows[i].names, "-e", "(+ 1 2)"), NULL,
                       registry("lib")),
                   70, part);
    }
    expect_end(run(STRINGS("eval", "--systems", "nope", "-e", "1"), NULL, registry("lib")), 70,
               formatted("is not in %s/. CL_SOURCE_REGISTRY and --allow-read add directories",
                         path_of("lib")));
    expect_end(run(STRINGS("eval", "--systems", "nope", "-e", "1"), NULL, NULL), 70,
               formatted("%s/", path_of("home/common-lisp")));
    expect_end(run(STRINGS("eval", "--systems", "fine", "-e", "1"), NULL,
                   "CL_SOURCE_REGISTRY=(:source-registry"),
               70, "cannot load the system fine: ");
}

Test(systems, are_found_where_asdf_and_the_operator_say) {
    const struct {
        const char *name, *variable;
    } rows[] = {
        {"fine", registry("lib")},
        {"base,fine", registry("lib")},
        {"fine/more", registry("lib")},
        {"at-home", NULL},
        {"local", NULL},
        {"in-data", formatted("XDG_DATA_HOME=%s", path_of("data"))},
        {"in-data", formatted("XDG_DATA_DIRS=%s", path_of("data"))},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        expect_value(STRINGS("eval", "--systems", rows[i].name, "-e", "(+ 1 2)"), rows[i].variable,
                     "=> 3");
    expect_value(STRINGS("eval", "--systems", "fine", "-e", "(fine:twice 4)"), registry("lib"),
                 "=> 8");
}

Test(systems, are_named_by_flags_a_variable_or_a_policy_file) {
    skip_without_layers(LANDLOCK, false);
    static const char code[] = "(list (fine:twice 4) (ignore-errors (symbol-value '*more*)))";
    expect_value(STRINGS("eval", "--systems=base,fine", "-e", code), registry("lib"), "=> (8 NIL)");
    expect_value(STRINGS("eval", "--systems", "base", "--systems", "fine/more", "-e", code),
                 registry("lib"), "=> (8 (\"\303\251\"))");
    expect_value(STRINGS("eval", "--policy", path_of("policy.json"), "-e", code), NULL,
                 "=> (8 (\"\303\251\"))");
    expect_value(STRINGS("eval", "--policy", path_of("one.json"), "-e", code), NULL, "=> (8 NIL)");
    expect_value(STRINGS("eval", "--allow-read", path_of("lib"), "-e", code), "ECLAVE_SYSTEMS=fine",
                 "=> (8 NIL)");
}

/* A newer ASDF among the sources, such as that of Debian's cl-asdf, is not loaded. */
Test(systems, are_loaded_by_the_asdf_of_ecl) {
    const char *both = formatted("CL_SOURCE_REGISTRY=%s//:%s//", path_of("new"), path_of("lib"));
    expect_value(STRINGS("eval", "--systems", "fine", "-e", "(fine:twice 4)"), both, "=> 8");
    expect_value(STRINGS("eval", "--systems", "asdf,uiop", "-e", "(+ 1 2)"), both, "=> 3");
    skip_without_layers(LANDLOCK, false);
    expect_value(STRINGS("eval", "--allow-read", project_files_path(), "-e",
                         "(require :asdf) (asdf:load-system \"fine\") (fine:twice 4)"),
                 NULL, "=> 8");
}

Test(systems, are_in_each_command) {
    const char *where = registry("lib");
    expect_end(run(STRINGS("batch", "--systems", "fine"), "{\"code\":\"(fine:twice 4)\"}\n", where),
               0, "\"values\":[\"8\"]");
    expect_end(run(STRINGS("tool", "--project", project_files_path(), "double", "--args",
                           "{\"n\":4}", "--systems", "fine"),
                   NULL, where),
               0, "8\n");
    expect_end(run(STRINGS("check", project_files_path(), "--systems", "fine"), NULL, where), 0,
               "sources: 1 loaded, 0 failed");
    expect_end(run(STRINGS("check", project_files_path()), NULL, where), 1, "1 failed");
    setenv("CL_SOURCE_REGISTRY", path_of("lib//"), 1);
    struct client *client = client_start_ready(
        &(struct client_options){.arguments = STRINGS("--systems", "fine")}, NULL);
    client_session_expect(client, NULL, "(fine:twice 4)", "=> 8");
    client_session_expect(client, client_session_open(client), "(fine:twice 5)", "=> 10");
    client_session_reset(client, NULL);
    client_session_expect(client, NULL, "(fine:twice 6)", "=> 12");
    client_finish(client);
    client = client_start_ready(&(struct client_options){.arguments = STRINGS("--systems", "nope")},
                                NULL);
    struct evaluation evaluation = client_evaluate(client, "1");
    cr_expect_eq(evaluation.error_code, -32603);
    expect_contains(evaluation.text, "the system nope is not in ");
    client_finish(client);
    unsetenv("CL_SOURCE_REGISTRY");
}

/* --- in a session --- */

/* What code can ask for, and the first line of the answer without and with files that it may read,
 * and where the operator has loaded the system. */
static const struct {
    const char *code, *without, *readable, *loaded;
} requests[] = {
    {"(progn (require :asdf) :good)", "--systems and --preload", "=> :GOOD", "=> :GOOD"},
    {"(progn (require \"asdf\") :good)", "no module asdf", "=> :GOOD", "=> :GOOD"},
    {"(progn (require 'asdf) (require :asdf) :good)", "no module ASDF", "=> :GOOD", "=> :GOOD"},
    {"(progn (require :uiop) :good)", "no module UIOP", "=> :GOOD", "=> :GOOD"},
    {"(require \"fine\") (fine:twice 4)", "no module fine", "=> 8", "=> 8"},
    {"(require :fine) (fine:twice 4)", "no module FINE", "=> 8", "=> 8"},
    {"(require :asdf) (asdf:load-system \"fine\") (fine:twice 4)", "no module ASDF", "=> 8",
     "=> 8"},
    {"(require :asdf) (asdf:load-system :fine) (asdf:load-system :fine) (fine:twice 4)",
     "no module ASDF", "=> 8", "=> 8"},
    {"(require :asdf) (asdf:operate 'asdf:load-source-op \"fine\") (fine:twice 4)",
     "no module ASDF", "=> 8", "=> 8"},
    {"(require :asdf) (asdf:load-system \"fine/more\") (length *more*)", "no module ASDF", "=> 1",
     "MISSING-COMPONENT"},
    {"(require :asdf) (asdf:component-version (asdf:find-system \"fine\"))", "no module ASDF",
     "\\\"1.2\\\"", "\\\"1.2\\\""},
    {"(require :asdf) (asdf:load-system \"needs\")", "no module ASDF", "MISSING-DEPENDENCY",
     "MISSING-COMPONENT"},
    {"(require :asdf) (asdf:load-system \"nope\")", "no module ASDF", "MISSING-COMPONENT",
     "MISSING-COMPONENT"},
    {"(require :nope)", "no module NOPE", "no module NOPE", "no module NOPE"},
    {"(require :sockets)", "no module SOCKETS", "no module SOCKETS", "no module SOCKETS"},
    {"(require :cmp)", "no module CMP", "no module CMP", "no module CMP"},
    {"(asdf:load-system \"fine\")", "--systems and --preload", "(require :asdf) loads it", "=> T"},
    {"(uiop:getenv \"HOME\")", "--systems and --preload", "(require :asdf) loads it", "=> NIL"},
    {"(find-package \"ASDF\")", "=> NIL", "=> NIL", "ASDF"},
    {"(ext:getenv \"CL_SOURCE_REGISTRY\")", "=> NIL", "=> NIL", "=> NIL"},
};

/* A line of a batch for each request, and at its end one that defines nothing. */
static const char *batch_of_requests(void) {
    static char lines[8192];
    char *end = lines;
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        end += sprintf(end, "{\"id\":%zu,\"code\":\"", i);
        for (const char *byte = requests[i].code; *byte; byte++)
            end += sprintf(end, *byte == '"' ? "\\%c" : "%c", *byte);
        end += sprintf(end, "\"}\n");
    }
    return lines;
}

/* Without the namespaces, code sees that the modules of ECL are there. */
static bool is_found_but_native(const char *answer) {
    return !(available_layers() & POLICY_LAYER_BIT(POLICY_LAYER_NAMESPACES)) &&
           strstr(answer, "is native code, which cannot be loaded here");
}

/* Makes all requests with OPTIONS; WANTED(row) must be in the answer. */
static void expect_answers(const char *const *options, const char *(*wanted)(size_t row)) {
    struct command_result result = run(options, batch_of_requests(), registry("lib"));
    cr_expect_eq(result.status, 0, "%s", result.error);
    const char *line = result.output;
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        const char *end = strchrnul(line, '\n');
        const char *answer = formatted("%.*s", (int)(end - line), line);
        const char *part = wanted(i);
        cr_expect(strstr(answer, part) || is_found_but_native(answer), "%s: %s is not in: %s",
                  requests[i].code, part, answer);
        cr_expect(strstr(answer, "\"outcome\":\"value\"") ||
                      strstr(answer, "\"outcome\":\"error\""),
                  "%s: %s", requests[i].code, answer);
        line = *end ? end + 1 : end;
    }
    command_result_free(&result);
}

static const char *without(size_t row) {
    return requests[row].without;
}

static const char *readable(size_t row) {
    return requests[row].readable;
}

static const char *loaded(size_t row) {
    return requests[row].loaded;
}

Test(systems, can_be_asked_for_in_a_session_or_the_answer_says_what_to_do) {
    expect_answers(STRINGS("batch"), without);
    expect_answers(STRINGS("batch", "--policy", "ci"), without);
    expect_answers(STRINGS("batch", "--systems", "fine"), loaded);
    skip_without_layers(LANDLOCK, false);
    expect_answers(STRINGS("batch", "--allow-read", path_of("lib")), readable);
}

/* --- what is left behind --- */

static size_t entries;

static int count_entry(const char *path, const struct stat *status, int type, struct FTW *ftw) {
    (void)path, (void)status, (void)type, (void)ftw;
    entries++;
    return 0;
}

static size_t count_entries(void) {
    entries = 0;
    cr_assert_eq(nftw(project_files_path(), count_entry, 8, FTW_PHYS), 0);
    return entries;
}

Test(systems, leave_no_file_behind) {
    skip_without_layers(LANDLOCK, false);
    size_t before = count_entries();
    expect_value(STRINGS("eval", "--systems", "fine/more", "-e", "(fine:twice 4)"), registry("lib"),
                 "=> 8");
    expect_value(
        STRINGS("eval", "--allow-read", path_of("lib"), "-e", "(require :fine) (fine:twice 4)"),
        registry("lib"), "=> 8");
    project_files_write("lib/boot.lisp", "(require :asdf)\n(asdf:load-system \"fine\")\n");
    expect_value(STRINGS("eval", "--preload", path_of("lib/boot.lisp"), "-e", "(fine:twice 4)"),
                 registry("lib"), "=> 8");
    cr_expect_eq(count_entries(), before + 1);
}

/* True if a session holds no comment of a source. */
static bool loads_cleanly(void) {
    struct client *client = client_start_ready(
        &(struct client_options){.arguments = STRINGS("--systems", "fine")}, NULL);
    cleanup_buffer struct buffer code = buffer_make(LISP_FILE_MAX);
    lisp_file_load_hostile(client, NULL);
    lisp_file_append(&code, "escape/attack.lisp");
    lisp_file_evaluate(client, NULL, &code);
    client_session_expect(client, NULL, "(in-package :hostile)", "=> #<\"HOSTILE\" package>");
    client_session_expect(client, NULL, "(list (fine:twice 4) (asdf:load-system \"fine\"))",
                          "=> (8 T)");
    client_session_expect(client, NULL, "(asdf:system-source-directory \"fine\")", "=> NIL");
    client_session_expect(client, NULL, "(values (ext:compiled-function-file #'fine:twice))",
                          "=> NIL");
    bool clean =
        strcmp(client_evaluate(client, "(memory-holds \"remark-\" \"of-the-\" \"author\")").text,
               "=> NIL") == 0;
    client_finish(client);
    return clean;
}

/* The collector is conservative, so that some boots are not clean. */
Test(systems, leave_neither_comments_nor_a_place_to_look_for_their_files) {
    enum { BOOTS = 6 };
    bool clean = false;
    setenv("CL_SOURCE_REGISTRY", path_of("lib//"), 1);
    for (int i = 0; !clean && i < BOOTS; i++)
        clean = loads_cleanly();
    cr_assert(clean, "no boot of %d was clean", BOOTS);
}
