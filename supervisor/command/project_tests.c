/* Runs the tests of a project's tools. Never counts one as met that did not come to its end. */
#include "supervisor/command/project_tests.h"
#include "common/cleanup.h"
#include "supervisor/base/terminal.h"
#include "supervisor/command/shell_call.h"
#include "supervisor/json/json_tree.h"
#include "supervisor/json/json_write.h"
#include "supervisor/registry/beneath.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_MAX_BYTES = 1 << 20, PATH_BYTES = 300, SHOWN_BYTES = 300 };

struct tests {
    const struct settings *settings;
    const struct registry_entry *entry;
    int root;
    struct one_shot *one_shot;
    char file[PATH_BYTES];
    size_t line;
    struct tests_tally tally;
};

/* One test, as it is written. */
struct test {
    struct json_object *args, *expect, *expect_error;
    bool has_expect; /* which may be null */
};

static bool report(struct tests *tests, const char *failure) {
    const struct colours colours = colours_of(stdout);
    printf("  %s%-7s%s ", failure ? colours.bad : colours.good, failure ? "FAILED" : "ok",
           colours.end);
    shown_print_text(stdout, tests->file);
    printf(":%zu%s", tests->line, failure ? ": " : "");
    if (failure)
        shown_print_text(stdout, failure);
    putchar('\n');
    fflush(stdout);
    *(failure ? &tests->tally.unmet : &tests->tally.met) += 1;
    return !failure;
}

/* --- what is expected against what came --- */

static void append_shown(struct buffer *out, const char *what, const void *bytes, size_t length) {
    bool whole = length <= SHOWN_BYTES;
    buffer_append_text(out, what);
    json_write_bytes(out, bytes ? bytes : "", whole ? length : SHOWN_BYTES);
    buffer_append_text(out, whole ? "" : " …");
}

static void append_came(struct buffer *out, const struct tool_call *call) {
    if (call->text.length)
        append_shown(out, ", came ", call->text.data, call->text.length - 1);
    else
        append_shown(out, ", came ", call->structured_text.data, call->structured_text.length);
}

static bool is_text(const struct tool_call *call, struct span wanted) {
    const struct buffer *text = call->text.length ? &call->text : &call->structured_text;
    size_t length = text == &call->text ? text->length - 1 : text->length;
    return length == wanted.length && (!length || memcmp(text->data, wanted.bytes, length) == 0);
}

static bool is_met(const struct test *test, const struct tool_call *call) {
    const struct span wanted = json_tree_string(test->expect);
    const struct span part = json_tree_string(test->expect_error);
    if (test->expect_error)
        return call->failed && memmem(call->text.data, call->text.length, part.bytes, part.length);
    if (call->failed || !test->has_expect)
        return !call->failed;
    return wanted.bytes
               ? is_text(call, wanted)
               : call->structured_text.length && json_object_equal(test->expect, call->structured);
}

static void judge(struct tests *tests, const struct test *test, const struct tool_call *call) {
    cleanup_buffer struct buffer message = buffer_make(65536);
    if (is_met(test, call)) {
        report(tests, NULL);
        return;
    }
    struct json_object *wanted = test->expect_error ? test->expect_error : test->expect;
    if (test->expect_error)
        buffer_append_text(&message, "wanted a failure with ");
    else
        buffer_append_text(&message, "wanted ");
    if (test->has_expect || test->expect_error)
        json_write_tree(&message, wanted);
    else
        buffer_append_text(&message, "no failure");
    append_came(&message, call);
    buffer_append(&message, "", 1);
    report(tests, message.failed ? "not what was expected" : (const char *)message.data);
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
            return error_set(error, 0, "the unknown member \"%.60s\"", name);
        }
    }
    if (test->args && !json_object_is_type(test->args, json_type_object))
        return error_set(error, 0, "\"args\" must be an object");
    if (test->expect_error && !json_object_is_type(test->expect_error, json_type_string))
        return error_set(error, 0, "\"expectError\" must be a text");
    return !(test->expect_error && test->has_expect) ||
           error_set(error, 0, "both \"expect\" and \"expectError\"");
}

static void run_test(struct tests *tests, const struct test *test) {
    cleanup_json struct json_object *args =
        test->args ? json_object_get(test->args) : json_object_new_object();
    if (!args)
        return;
    struct tool_call call = {.one_shot = tests->one_shot,
                             .settings = tests->settings,
                             .entry = tests->entry,
                             .arguments = args,
                             .quiet = true};
    tool_call_run(&call);
    if (call.interrupted)
        tests->tally.interrupted = true;
    else
        judge(tests, test, &call);
    tool_call_free(&call);
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
    tests->line = 0;
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

static bool read_file(int fd, struct buffer *text, struct error *error) {
    for (;;) {
        unsigned char *room = buffer_reserve(text, 65536);
        ssize_t got = room ? read(fd, room, 65536) : 0;
        if (got < 0 || !room)
            return error_set(error, room ? errno : EFBIG, "the file");
        if (got == 0)
            return true;
        text->length += (size_t)got;
    }
}

/* The tests that stand beside the source; false when there are none. */
static bool name_file(struct tests *tests) {
    static const char ending[] = ".lisp";
    struct stat status;
    size_t length = strlen(tests->entry->file), cut = sizeof ending - 1;
    if (length < cut || strcmp(tests->entry->file + length - cut, ending) != 0)
        return false;
    snprintf(tests->file, sizeof tests->file, "%.*s.test.jsonl", (int)(length - cut),
             tests->entry->file);
    return beneath_stat(tests->root, tests->file, &status);
}

static void run_tool(struct tests *tests) {
    struct error error;
    cleanup_buffer struct buffer text = buffer_make(FILE_MAX_BYTES + 65536);
    if (!name_file(tests))
        return;
    if (!tests->tally.met && !tests->tally.unmet)
        puts("Tests");
    cleanup_fd int fd = beneath_open_file(tests->root, tests->file, &error);
    tests->line = 0;
    if (fd < 0 || !read_file(fd, &text, &error))
        report(tests, error.text);
    else
        take_lines(tests, (struct span){text.data, text.length});
}

bool tests_run(struct one_shot *one_shot, const struct settings *settings,
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
