/* What a client gets from faulty Lisp: endless values, warnings, failures while the source loads,
 * missing arguments. */
#include "tests/support/project_files.h"

#include <stdio.h>

TestSuite(lisp, .init = project_files_begin, .fini = project_files_end);

#define HEAD "\n;;; {\"description\": \"x\"}\n"

Test(lisp, an_endless_list_is_refused_at_once) {
    static const char *const bodies[] = {
        "(let ((l (list \"a\"))) (setf (cdr l) l) l)",
        "(list \"a\" (mcp:structured (let ((l (list 1))) (setf (cdr l) l))))",
        "(cons \"a\" \"b\")",
        "(mcp:log :info (let ((l (list 1))) (setf (cdr l) l)))",
    };
    for (size_t i = 0; i < COUNT_OF(bodies); i++)
        project_files_format(formatted("tools/x%zu.lisp", i), HEAD "(mcp:deftool x%zu () %s)", i,
                             bodies[i]);
    EACH_KIND_SERVED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(bodies); i++) {
            struct evaluation call = era_call(client, era, formatted("x%zu", i), "{}");
            cr_expect(call.is_error, "%s", call.line);
            expect_contains(call.text, "[ERROR] MCP:JSON-ERROR\nThe list ");
            expect_contains(call.text, " is dotted or circular");
        }
    }
}

Test(lisp, a_content_within_a_content_is_named_by_its_operator) {
    static const struct {
        const char *body, *part;
    } cases[] = {
        {"(let* ((v (vector nil 2)) (s (mcp:structured v))) (setf (aref v 0) s) s)",
         "\n#<MCP:STRUCTURED #(#<MCP:STRUCTURED> 2)> is content and cannot be part of a value"},
        {"(let* ((v (vector nil 2)) (s (mcp:structured v))) (setf (aref v 0) s) (princ-to-string "
         "s))",
         "#<MCP:STRUCTURED #(#<MCP:STRUCTURED> 2)>"},
        {"(let* ((v (make-array 9)) (s (mcp:structured v))) (fill v s) (princ-to-string (list s "
         "s)))",
         "(#<MCP:STRUCTURED #(#<MCP:STRUCTURED> #<MCP:STRUCTURED> "},
        {"(princ-to-string (mcp:structured (list (mcp:text \"a\"))))",
         "#<MCP:STRUCTURED (#<MCP:TEXT>)>"},
        {"(princ-to-string (list (mcp:text \"a\") (mcp:text \"b\")))",
         "(#<MCP:TEXT \"a\"> #<MCP:TEXT \"b\">)"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        project_files_format(formatted("tools/x%zu.lisp", i),
                             "\n;;; {\"timeout\": 2}\n(mcp:deftool x%zu () %s)", i, cases[i].body);
    struct client *client = project_files_serve_in(era_modern, NULL);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct evaluation call = era_call(client, era_modern, formatted("x%zu", i), "{}");
        cr_expect_eq(call.is_error, i == 0, "%s", call.line);
        expect_contains(call.text, cases[i].part);
    }
    client_finish(client);
}

Test(lisp, warnings_go_to_the_log_and_to_standard_error) {
    project_files_write("tools/x.lisp",
                        HEAD "(warn \"early\") (mcp:deftool x () (format *error-output* \"err\")"
                             " (warn \"late \\\"~a\\\"\" 1) \"fine\")");
    EACH_KIND_SERVED(era, NULL) {
        if (!era->modern)
            era_request(client, era, "1", "logging/setLevel", "\"level\":\"warning\"");
        era_send_meta(client, era, "\"c\"", "tools/call", "\"name\":\"x\"",
                      "\"" KEY_LOG_LEVEL "\":\"warning\"");
        const char *line = client_await_notification(client, "notifications/message", NULL);
        expect_member(line, "\"warning\"", "params", "level", NULL);
        expect_member(line, "\"x\"", "params", "logger", NULL);
        expect_member(line, "\"WARNING: early\"", "params", "data", NULL);
        line = client_await_notification(client, "notifications/message", NULL);
        expect_member(line, "\"WARNING: late \\\"1\\\"\"", "params", "data", NULL);
        struct evaluation call = client_evaluate_await(client, "\"c\"");
        cr_expect_str_eq(call.text, "fine");
        cr_expect_not(call.is_error);
        cr_expect_str_eq(call.stderr_text, "err\nWARNING: early\nWARNING: late \"1\"\n");
    }
}

Test(lisp, warnings_of_a_failed_prompt_are_part_of_its_error) {
    project_files_write("prompts/x.lisp", HEAD "(mcp:defprompt x () (warn \"careful\") (car 5))");
    EACH_KIND_SERVED(era, NULL) {
        const char *line = era_request(client, era, "1", "prompts/get", "\"name\":\"x\"");
        expect_member(line, "\"WARNING: careful\\n\"", "error", "data", "stderr", NULL);
    }
}

Test(lisp, a_flood_of_warnings_is_cut_visibly) {
    project_files_write("tools/x.lisp",
                        HEAD "(mcp:deftool x () (dotimes (i 1000) (warn \"w~d\" i)) 1)");
    struct client *client = project_files_serve_in(era_modern, NULL);
    struct evaluation call = era_call(client, era_modern, "x", "{}");
    cr_expect_not(call.is_error);
    expect_contains(call.stderr_text, "WARNING: w98\nWARNING: 901 more warnings\n");
    client_finish(client);
}

Test(lisp, failures_while_loading_name_the_line) {
    project_files_write("tools/x.lisp",
                        HEAD "(defun f (x) (car x))\n\n; here\n(f 5)\n(mcp:deftool x () 1)");
    project_files_write("tools/z.lisp", HEAD "(mcp:deftool y () 1)");
    struct client *client = project_files_serve_in(era_modern, NULL);
    struct evaluation call = era_call(client, era_modern, "x", "{}");
    expect_contains(call.text, "\n(in the form that begins at line 6 of the source)\n");
    expect_contains(call.text, "\n1: (F 5)");
    expect_contains(era_call(client, era_modern, "z", "{}").text, "It defines the tool \"y\".");
    client_finish(client);
}

Test(lisp, missing_arguments_are_refused_by_name) {
    project_files_write("tools/x.lisp",
                        ";;; {\"description\": \"x\", \"inputSchema\": {\"type\": \"object\", "
                        "\"required\": [\"text\"]}}\n(mcp:deftool x (text) text)");
    struct client *client = project_files_serve_in(era_modern, NULL);
    struct evaluation call = era_call(client, era_modern, "x", "{}");
    expect_contains(call.text, "[ERROR] TYPE-ERROR\n"
                               "Invalid arguments for x: lacks the member \"text\"\n");
    client_finish(client);
}
