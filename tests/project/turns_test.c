/* Results of a project's definitions that are costly to read. In a build with tests, a turn of the
 * loop that is too long ends the server (supervisor/base/turn.h), so that each test here only has
 * to produce the result and find the server alive. The sizes are twice those that once held it for
 * up to half a second. */
#include "tests/support/client.h"
#include "tests/support/eras.h"
#include "tests/support/lines.h"
#include "tests/support/project_files.h"
#include <stdio.h>
#include <stdlib.h>

TestSuite(turns, .init = project_files_begin, .fini = project_files_end);

static struct client *serve(void) {
    static const char *const arguments[] = {"--session-memory-mb", "512", NULL};
    return project_files_serve_in(era_modern, arguments);
}

static const char *call(struct client *client) {
    return era_request(client, era_modern, client_new_id(client), "tools/call",
                       "\"name\":\"long\",\"arguments\":{}");
}

static const struct result {
    const char *name, *body;
    const char *end; /* a part of the text of the answer */
} results[] = {
    {"blocks", "(make-list 80000 :initial-element (mcp:text \"abcd\"))", "run.values"},
    {"blocks", "(make-list 3000 :initial-element (mcp:text \"abcd\"))", "run.blocks"},
    {"blocks", "(make-list 1024 :initial-element (mcp:text \"abcd\"))", NULL},
    {"annotated",
     "(make-list 40000 :initial-element (mcp:text \"a\" :audience '(:user) :priority 1))",
     "run.values"},
    {"plain", "(make-string 9000000 :initial-element #\\a)", NULL},
    {"escapes", "(make-string 4000000 :initial-element #\\Newline)", NULL},
    {"letters", "(make-string 4000000 :initial-element (code-char 233))", NULL},
    {"long", "(make-string 12000000 :initial-element #\\a)", "response.max_bytes"},
    {"numbers", "(mcp:object \"a\" (make-array 240000 :initial-element 1))", NULL},
    {"text", "(mcp:object \"a\" (make-string 1200000 :initial-element #\\\"))", NULL},
};

Test(turns, a_long_result_does_not_hold_the_loop) {
    for (size_t i = 0; i < COUNT_OF(results); i++) {
        project_files_format("tools/long.lisp", "(mcp:deftool \"long\" () %s)", results[i].body);
        struct client *client = serve();
        call(client); /* turn.h forgives one turn */
        const char *line = call(client);
        const char *end = results[i].end ? results[i].end : "\"isError\":false";
        cr_expect(strstr(line, end), "%s: %.300s", results[i].body, line);
        client_finish(client);
    }
}

/* With an output schema the value is parsed and checked. */
Test(turns, a_long_checked_result_does_not_hold_the_loop) {
    static const struct {
        const char *value;
        bool good;
    } values[] = {
        {"(make-array 30000 :initial-element 1)", true},
        {"(make-array 30000 :initial-element (mcp:object))", true},
        {"(make-array 240000 :initial-element 1)", false},
        {"(make-string 1200000 :initial-element #\\\")", true},
    };
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        project_files_format("tools/long.lisp",
                             ";;; {\"description\": \"x\", \"outputSchema\": {\"type\": "
                             "\"object\", \"required\": [\"a\"]}}\n"
                             "(mcp:deftool \"long\" () (mcp:object \"a\" %s))",
                             values[i].value);
        struct client *client = serve();
        call(client);
        const char *line = call(client);
        const char *end = values[i].good ? "\"isError\":false" : "run.values";
        cr_expect(strstr(line, end), "%s: %.300s", values[i].value, line);
        client_finish(client);
    }
}
