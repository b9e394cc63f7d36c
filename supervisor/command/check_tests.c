/* Runs the tests of tools: tools/NAME.test.jsonl beside tools/NAME.lisp has one a line.
 *
 *   {"args": {…}, "expect": "string"}     what `eclave tool` prints, without its last newline
 *   {"args": {…}, "expect": {…}}          any other JSON: the structured value
 *   {"args": {…}, "expectError": "part"}  the call fails, and its text contains this
 *
 * `args` may be left out, and blank lines are skipped. Without an expectation the call must not
 * fail. */
#include "common/cleanup.h"
#include "supervisor/base/terminal.h"
#include "supervisor/base/whole_file.h"
#include "supervisor/command/project_commands.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/registry/beneath.h"
#include "supervisor/registry/metadata.h"
#include "supervisor/schema/schema.h"

#include <dirent.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

enum { FILE_MAX_BYTES = 1 << 20, PATH_BYTES = 300, SHOWN_BYTES = 300, MESSAGE_BYTES = 65536 };

struct tests {
    const struct settings *settings;
    const struct registry_entry *entry;
    int root;
    struct one_shot *one_shot;
    char file[PATH_BYTES];
    size_t line;
    struct tests_tally tally;
};

struct test {
    struct json_object *args, *expect, *expect_error;
    bool has_expect; /* since `expect` may be null */
};

static void report(struct tests *tests, const char *failure) {
    const struct colours colours = colours_of(stdout);
    printf("  %s%-7s%s ", failure ? colours.bad : colours.good, failure ? "FAILED" : "ok",
           colours.end);
    shown_print_text(stdout, tests->file);
    printf(":%zu%s", tests->line, failure ? ": " : "");
    if (failure)
        shown_print_text(stdout, failure);
    putchar('\n');
    fflush(stdout);
    *(failure ? &tests->tally.failed : &tests->tally.passed) += 1;
}

/* --- expected and actual results --- */

/* The text of the result without its last newline, or the structured value if there is no text. */
static struct span actual(const struct offline_call *call) {
    return call->text.length
               ? (struct span){call->text.data, call->text.length - 1}
               : (struct span){call->structured_text.data, call->structured_text.length};
}

static bool passes(const struct test *test, const struct offline_call *call) {
    const struct span wanted = json_tree_string(test->expect);
    const struct span part = json_tree_string(test->expect_error);
    if (test->expect_error)
        return call->failed && memmem(call->text.data, call->text.length, part.bytes, part.length);
    if (call->failed || !test->has_expect)
        return !call->failed;
    size_t work = SIZE_MAX;
    return wanted.bytes ? span_equal(actual(call), wanted)
                        : call->structured_text.length &&
                              schema_equal(test->expect, call->structured, &work);
}

static void judge(struct tests *tests, const struct test *test, const struct offline_call *call) {
    cleanup_buffer struct buffer message = buffer_make(MESSAGE_BYTES);
    if (passes(test, call)) {
        report(tests, NULL);
        return;
    }
    struct span got = actual(call);
    bool whole = got.length <= SHOWN_BYTES;
    buffer_append_text(&message, test->expect_error ? "expected an error with " : "expected ");
    if (test->has_expect || test->expect_error)
        json_write_tree(&message, test->expect_error ? test->expect_error : test->expect);
    else
        buffer_append_text(&message, "no error");
    buffer_append_text(&message, ", got ");
    json_write_bytes(&message, got.bytes, whole ? got.length : SHOWN_BYTES);
    buffer_append_text(&message, whole ? "" : " …");
    report(tests, buffer_string(&message, "not the expected result"));
}

/* --- one test --- */

static bool read_test(struct json_object *line, struct test *test, struct error *error) {
    *test = (struct test){0};
    json_object_object_foreach(line, name, value) {
        if (strcmp(name, "args") == 0) {
            test->args = value;
        } else if (strcmp(name, "expect") == 0) {
            test->expect = value;
            test->has_expect = true;
        } else if (strcmp(name, "expectError") == 0) {
            test->expect_error = value;
        } else {
            return error_set(error, 0, "unknown member \"%.60s\"", name);
        }
    }
    if (test->args && !json_object_is_type(test->args, json_type_object))
        return error_set(error, 0, "\"args\" must be an object");
    if (test->expect_error && !json_object_is_type(test->expect_error, json_type_string))
        return error_set(error, 0, "\"expectError\" must be a string");
    return !(test->expect_error && test->has_expect) ||
           error_set(error, 0, "\"expect\" and \"expectError\" exclude each other");
}

static void run_test(struct tests *tests, const struct test *test) {
    cleanup_json struct json_object *args =
        test->args ? json_object_get(test->args) : json_object_new_object();
    if (!args) {
        report(tests, "out of memory");
        return;
    }
    struct offline_call call = {.one_shot = tests->one_shot,
                                .settings = tests->settings,
                                .entry = tests->entry,
                                .arguments = args,
                                .quiet = true};
    offline_call_run(&call);
    if (call.interrupted)
        tests->tally.interrupted = true;
    else
        judge(tests, test, &call);
    offline_call_free(&call);
}

static void take_line(struct tests *tests, struct span text) {
    struct error error = {0};
    struct test test;
    cleanup_json struct json_object *line = json_file_parse(text, &error);
    if (line && read_test(line, &test, &error))
        run_test(tests, &test);
    else
        report(tests, error.text);
}

/* --- files --- */

static bool is_blank(struct span line) {
    for (size_t i = 0; i < line.length; i++)
        if (!line.bytes[i] || !strchr(" \t\r", line.bytes[i]))
            return false;
    return true;
}

static void take_lines(struct tests *tests, struct span text) {
    while (text.length && !tests->tally.interrupted) {
        const unsigned char *end = memchr(text.bytes, '\n', text.length);
        size_t length = end ? (size_t)(end - text.bytes) : text.length;
        const struct span line = {text.bytes, length};
        tests->line++;
        if (!is_blank(line))
            take_line(tests, line);
        length += end != NULL;
        text = (struct span){text.bytes + length, text.length - length};
    }
}

static const char tests_ending[] = ".test.jsonl";

static bool ends_in(const char *name, const char *ending) {
    size_t length = strlen(name), cut = strlen(ending);
    return length > cut && strcmp(name + length - cut, ending) == 0;
}

/* Sets the name of the file of tests of ENTRY. False if it cannot have one. */
static bool name_file(const struct registry_entry *entry, char file[PATH_BYTES]) {
    static const char ending[] = ".lisp";
    if (!ends_in(entry->file, ending))
        return false;
    snprintf(file, PATH_BYTES, "%.*s%s", (int)(strlen(entry->file) - strlen(ending)), entry->file,
             tests_ending);
    return true;
}

/* Sets the name of the file of tests. False if there is none. */
static bool find_file(struct tests *tests) {
    struct stat status;
    return name_file(tests->entry, tests->file) && beneath_stat(tests->root, tests->file, &status);
}

static bool read_file(const struct tests *tests, struct buffer *text, struct error *error) {
    int code, fd = beneath_open_file(tests->root, tests->file, error);
    if (fd < 0)
        return false;
    FILE *file = fdopen(fd, "r");
    if (!file) {
        error_set(error, errno, "opening it");
        close(fd);
        return false;
    }
    bool good = whole_file_append(file, text, &code);
    fclose(file);
    return good || error_set(error, code ? code : EFBIG, "reading it");
}

static void print_title(const struct tests *tests) {
    if (!tests->tally.passed && !tests->tally.failed)
        puts("Tests");
}

static void run_tool(struct tests *tests) {
    struct error error;
    cleanup_buffer struct buffer text = buffer_make(FILE_MAX_BYTES);
    if (!find_file(tests))
        return;
    print_title(tests);
    tests->line = 0;
    if (read_file(tests, &text, &error))
        take_lines(tests, (struct span){text.data, text.length});
    else
        report(tests, error.text);
}

bool check_tests(struct one_shot *one_shot, const struct settings *settings,
                 const struct snapshot *snapshot, struct tests_tally *tally, struct error *error) {
    struct tests tests = {.settings = settings, .one_shot = one_shot};
    const struct entry_list *tools = &snapshot->lists[REGISTRY_TOOL];
    tests.root = beneath_open_root(settings->project.paths[0], error);
    if (tests.root < 0)
        return false;
    for (size_t i = 0; i < tools->count && !tests.tally.interrupted; i++) {
        tests.entry = tools->entries[i];
        run_tool(&tests);
    }
    close(tests.root);
    *tally = tests.tally;
    return true;
}

/* --- tests without a tool --- */

static bool belongs_to_tool(const struct snapshot *snapshot, const char *file) {
    const struct entry_list *tools = &snapshot->lists[REGISTRY_TOOL];
    char own[PATH_BYTES];
    for (size_t i = 0; i < tools->count; i++)
        if (name_file(tools->entries[i], own) && strcmp(own, file) == 0)
            return true;
    return false;
}

static int is_file_of_tests(const struct dirent *found) {
    return found->d_name[0] != '.' && ends_in(found->d_name, tests_ending);
}

static void name_strays_in(struct tests *tests, const struct snapshot *snapshot,
                           const char *place) {
    struct dirent **found = NULL;
    cleanup_fd int folder = beneath_open_folder(tests->root, place);
    int count = folder < 0 ? 0 : scandirat(folder, ".", &found, is_file_of_tests, alphasort);
    for (int i = 0; i < count; i++) {
        snprintf(tests->file, PATH_BYTES, "%s/%s", place, found[i]->d_name);
        if (!belongs_to_tool(snapshot, tests->file)) {
            print_title(tests);
            report(tests, "there is no tool for these tests; they were not run");
        }
        free(found[i]);
    }
    free(found);
}

bool check_stray_tests(const struct settings *settings, const struct snapshot *snapshot,
                       struct tests_tally *tally, struct error *error) {
    static const enum project_folder folders[] = {FOLDER_TOOLS, FOLDER_PROMPTS, FOLDER_COMPLETIONS};
    struct tests tests = {.settings = settings, .tally = *tally, .line = 1};
    tests.root = beneath_open_root(settings->project.paths[0], error);
    if (tests.root < 0)
        return false;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        name_strays_in(&tests, snapshot, folder_name(folders[i]));
    close(tests.root);
    *tally = tests.tally;
    return true;
}
