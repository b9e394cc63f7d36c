/* Values of evaluate-lisp that are content: they are sent as such after the text, in the form that
 * the revision has, and checked as those of a tool are. */
#include "tests/support/client.h"
#include "tests/support/eras.h"
#include "tests/support/lines.h"
#include <string.h>

/* In the text of a JSON string. */
#define IMAGE      "(mcp:image #(1 2 3) \\\"image/png\\\")"
#define IMAGE_JSON "\"type\":\"image\""
#define SHOWN      "#<MCP:IMAGE image/png, 3 bytes>"

/* The response to an evaluation of CODE, the text of a JSON string. */
static const char *evaluate(struct client *client, const struct era *era, const char *code) {
    return era_request(
        client, era, client_new_id(client), "tools/call",
        formatted("\"name\":\"evaluate-lisp\",\"arguments\":{\"code\":\"%s\"}", code));
}

/* The same, which must succeed. */
static const char *evaluated(struct client *client, const struct era *era, const char *code) {
    const char *line = evaluate(client, era, code);
    expect_contains(line, "\"isError\":false");
    return line;
}

Test(contents, each_kind_is_sent_where_the_revision_has_it) {
    static const char code[] =
        "(list :a " IMAGE " (mcp:audio \\\"AAAA\\\" \\\"audio/wav\\\")"
        " (mcp:resource \\\"x:r\\\" \\\"inside\\\") (mcp:link \\\"x:l\\\" \\\"that\\\")"
        " (mcp:text \\\"words\\\"))";
    EACH_ERA_STARTED(era, NULL) {
        const char *line = evaluated(client, era, code);
        expect_contains(line, "{\"type\":\"text\",\"text\":\"=> (:A " SHOWN);
        expect_contains(line, IMAGE_JSON);
        expect_contains(line, "\"data\":\"AQID\"");
        expect_contains_if(era >= eras + 1, line, "\"type\":\"audio\"");
        expect_contains_if(era < eras + 1, line,
                           "[audio left out: 4 characters of base64, audio/wav]");
        expect_contains(line, "\"text\":\"inside\"");
        expect_contains_if(era >= eras + 2, line, "\"type\":\"resource_link\"");
        expect_contains_if(era < eras + 2, line, "[resource that: x:l]");
        expect_contains(line, "\"text\":\"words\"");
        expect_lacks(line, "structuredContent");
    }
}

Test(contents, content_is_a_value_or_an_element_of_one) {
    static const struct {
        const char *code, *text;
        bool sent;
    } rows[] = {
        {IMAGE, "\"=> " SHOWN "\"", true},
        {"(values 1 " IMAGE ")", "\"=> 1\\n=> " SHOWN "\"", true},
        {"(list 1 (list " IMAGE "))", "\"=> (1 (" SHOWN "))\"", false},
        {"(vector " IMAGE ")", "\"=> #(" SHOWN ")\"", false},
        {"(cons 1 " IMAGE ")", "\"=> (1 . " SHOWN ")\"", false},
        {"(let ((x (list " IMAGE "))) (setf (cdr x) x) x)", "\"=> #1=(", false},
        {IMAGE " nil", "\"=> NIL\"", false},
        {"(mcp:structured 5)", "\"=> #<MCP:STRUCTURED 5>\"", false},
    };
    struct client *client = client_start_ready(NULL, NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *line = evaluated(client, era_legacy, rows[i].code);
        expect_contains(line, rows[i].text);
        expect_contains_if(rows[i].sent, line, IMAGE_JSON);
    }
    /* The value itself is not changed. */
    evaluated(client, era_legacy, "(defvar *l* (list " IMAGE " " IMAGE ")) (values *l* *l*)");
    expect_contains(client_evaluate(client, "(length *l*)").text, "=> 2");
    client_finish(client);
}

Test(contents, forged_content_is_malformed_output_and_changes_nothing) {
    static const char *const forgeries[] = {
        "(setf (gethash \\\"data\\\" v) \\\"not base64\\\")",
        "(setf (gethash \\\"data\\\" v) 5)",
        "(remhash \\\"mimeType\\\" v)",
        "(setf (gethash \\\"type\\\" v) \\\"video\\\")",
        "(setf (gethash \\\"_meta\\\" v) t)",
        "(setf (gethash \\\"extra\\\" v) \\\"x\\\")",
    };
    struct client *client = client_start_ready(NULL, NULL);
    client_evaluate(client, "(defvar *x* 1)");
    for (size_t i = 0; i < COUNT_OF(forgeries); i++) {
        const char *line = evaluate(client, era_legacy,
                                    formatted("(setf *x* 2) (let* ((c " IMAGE
                                              ") (v (mcp::content-value c))) %s c)",
                                              forgeries[i]));
        expect_contains(line, "[ERROR] MALFORMED-OUTPUT");
        expect_contains(line, "\"isError\":true");
        expect_lacks(line, IMAGE_JSON);
        cr_assert_str_eq(client_evaluate(client, "*x*").text, "=> 1");
    }
    client_finish(client);
}

/* The state is kept, and the text is shown. */
Test(contents, content_that_cannot_be_sent_is_reported) {
    struct client *client = client_start_with("--response-max-bytes", "300000");
    const char *line = evaluated(client, era_legacy,
                                 "(defvar *x* 1) (mcp:image (make-array 150000 :element-type "
                                 "'(unsigned-byte 8)) \\\"image/png\\\")");
    expect_contains(line, "\"=> #<MCP:IMAGE image/png, 150,000 bytes>\"");
    expect_contains(line, "[1 content block left out: the response would exceed "
                          "response.max_bytes, 300000 bytes]");
    expect_contains(client_evaluate(client, "*x*").text, "=> 1");
    static const char warning[] = "WARNING: A value has content that cannot be sent";
    expect_contains(evaluated(client, era_legacy, "(make-list 1025 :initial-element " IMAGE ")"),
                    warning);
    expect_contains(evaluated(client, era_legacy,
                              "(let ((c " IMAGE ")) (setf (gethash \\\"data\\\" "
                              "(mcp::content-value c)) #'car) (setf *x* 2) c)"),
                    warning);
    expect_contains(client_evaluate(client, "*x*").text, "=> 2");
    client_finish(client);
}

/* Counts the members that the contract does not name. */
static bool count_unknown(struct text whole, struct text name, struct text value, void *context) {
    static const char *const allowed[] = {"\"exitCode\"", "\"stderr\"", "\"elapsedMs\"",
                                          "\"session\"", "\"io.modelcontextprotocol/serverInfo\""};
    size_t *unknown = context;
    (void)whole;
    (void)value;
    for (size_t i = 0; i < COUNT_OF(allowed); i++)
        if (text_is(name, allowed[i]))
            return true;
    ++*unknown;
    return true;
}

/* One client library shows its model results with other members as escaped JSON. */
Test(contents, meta_has_the_members_of_the_contract_only) {
    static const char *const codes[] = {"(princ 1 *error-output*) (warn \\\"w\\\") " IMAGE,
                                        "(error \\\"x\\\")", "(ext:quit 3)",
                                        "(dotimes (i 50000) (write-char (code-char 120)))"};
    EACH_ERA_STARTED(era, NULL) {
        for (size_t i = 0; i < COUNT_OF(codes); i++) {
            const char *line = evaluate(client, era, codes[i]);
            struct text meta, content;
            size_t unknown = 0;
            cr_assert(json_at(text_of(line), &meta, "result", "_meta", NULL), "%s", line);
            cr_assert(json_at(text_of(line), &content, "result", "content", NULL));
            json_walk(meta, count_unknown, &unknown);
            cr_assert_eq(unknown, 0, "%s", line);
            cr_assert_null(memmem(content.bytes, content.length, "\"_meta\"", 7), "%s", line);
        }
    }
}
