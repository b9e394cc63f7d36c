/* Definitions run in the confined worker, with this process in place of the supervisor: contents,
 * JSON to Lisp and back, failures, and what a run sends before it ends. */
#include "common/cleanup.h"
#include "tests/support/json.h"
#include "tests/support/lines.h"
#include "tests/support/random.h"
#include "tests/worker/driver.h"

#include <criterion/criterion.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENDLESS_MS = 300 };

TestSuite(run, .init = driver_begin, .fini = driver_end);

/* One run and its expected end. A member that is not set is not checked, except that without `type`
 * there must be no condition. */
struct row {
    const char *code;
    const char *kind;      /* NULL: "tool" */
    const char *arguments; /* NULL: {} */
    const char *json;      /* equal as JSON */
    const char *text;      /* the first text of the contents, in full */
    const char *error;     /* likewise, with isError */
    const char *type;      /* of the condition */
    const char *message;   /* a part of it */
    const char *frame;     /* the innermost */
    const char *sent;      /* lines as the driver records them, in full */
    const char *answers[4];
    const char *output;
    bool endless;
};

#define TOOL(body) "(mcp:deftool \"x\" () " body ")"
/* A circular list. */
#define ENDLESS_LIST "(let ((l (list \"a\"))) (setf (cdr l) l) l)"
/* What is sent for a form without fields. */
#define ASKED(key)                                                                                 \
    "ask {\"requests\":{\"" key                                                                    \
    "\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"m\","                         \
    "\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}}}}\n"

static const struct row rows[] = {
    /* Contents */
    {TOOL("\"hello\""), .json = "{\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]}"},
    {TOOL("\"a\\\"b\\\\\303\251\360\237\230\200\""), .text = "a\"b\\\303\251\360\237\230\200"},
    {TOOL("(format nil \"a~cb~%c\" (code-char 0))"),
     .json = "{\"content\":[{\"type\":\"text\",\"text\":\"a\\u0000b\\nc\"}]}"},
    {TOOL("(string (code-char #xD800))"), .text = "\357\277\275"},
    {TOOL("(mcp:text \"~a and ~a\" 1 2)"), .text = "1 and 2"},
    {TOOL("(mcp:text \"100% ~a\")"), .text = "100% ~a"},
    {TOOL("(mcp:image (vector 0 1 2 255) \"image/png\")"),
     .json =
         "{\"content\":[{\"type\":\"image\",\"data\":\"AAEC/w==\",\"mimeType\":\"image/png\"}]}"},
    {TOOL("(mcp:image \"AAEC\" \"image/png\")"),
     .json = "{\"content\":[{\"type\":\"image\",\"data\":\"AAEC\",\"mimeType\":\"image/png\"}]}"},
    {TOOL("(mcp:audio (coerce '(1 2) '(vector (unsigned-byte 8))) \"audio/wav\")"),
     .json = "{\"content\":[{\"type\":\"audio\",\"data\":\"AQI=\",\"mimeType\":\"audio/wav\"}]}"},
    {TOOL("(mcp:resource \"test://r\" \"body\" \"text/plain\")"),
     .json = "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"test://"
             "r\",\"text\":\"body\","
             "\"mimeType\":\"text/plain\"}}]}"},
    {TOOL("(mcp:resource \"test://r\" (vector 65))"),
     .json = "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"test://"
             "r\",\"blob\":\"QQ==\"}}]}"},
    {TOOL("(mcp:link \"test://r\" \"r\" :title \"R\" :size 5)"),
     .json = "{\"content\":[{\"type\":\"resource_link\",\"uri\":\"test://"
             "r\",\"name\":\"r\",\"title\":\"R\","
             "\"size\":5}]}"},
    {TOOL("(list \"a\" (mcp:image #(1) \"image/png\") \"b\")"),
     .json =
         "{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\",\"data\":\"AQ==\","
         "\"mimeType\":\"image/png\"},{\"type\":\"text\",\"text\":\"b\"}]}"},
    {TOOL("(mcp:annotate (mcp:text \"a\") :audience :user :priority 1/2)"),
     .json =
         "{\"content\":[{\"type\":\"text\",\"text\":\"a\",\"annotations\":{\"audience\":[\"user\"],"
         "\"priority\":0.5}}]}"},
    {TOOL("nil"), .json = "{\"content\":[]}"},
    {TOOL("42"), .text = "42"},
    {TOOL("t"), .text = "true"},
    {TOOL("(mcp:object \"a\" 1)"),
     .json = "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"a\\\":1}\"}],"
             "\"structuredContent\":{\"a\":1}}"},
    {TOOL("'(:object \"b\" (:object) :the-a (1 2))"), .text = "{\"b\":{},\"theA\":[1,2]}"},
    {TOOL("'(:object \"b\")"), .type = "MCP:JSON-ERROR", .message = "without a value"},
    {TOOL("(list \"shown\" (mcp:structured (list 1 2)))"),
     .json = "{\"content\":[{\"type\":\"text\",\"text\":\"shown\"}],\"structuredContent\":[1,2]}"},
    {TOOL("(mcp:structured nil)"),
     .json = "{\"content\":[{\"type\":\"text\",\"text\":\"false\"}],\"structuredContent\":false}"},
    {TOOL("(mcp:object :mime-type :read-only :n 'two)"),
     .json = "{\"content\":[{\"type\":\"text\",\"text\":"
             "\"{\\\"mimeType\\\":\\\"readOnly\\\",\\\"n\\\":\\\"two\\\"}\"}],"
             "\"structuredContent\":{\"mimeType\":\"readOnly\",\"n\":\"two\"}}"},

    /* Definitions */
    {"(defun x () \"plain\")", .text = "plain"},
    {"(defun x (a &optional (b 5) &key c) (list (format nil \"~s\" (list a b c))))",
     .arguments = "{\"a\":1,\"b\":5,\"c\":\"z\"}", .text = "(1 5 \"z\")"},
    {"(defun x (a &optional (b 5) &key c) (list a b c))", .arguments = "{\"a\":1,\"c\":\"z\"}",
     .error = "The argument b is missing."},
    {"(defun x (&optional (b 5)) (list (princ-to-string b)))", .text = "5"},
    {"(mcp:deftool x (&key city-name (limit 3)) \"doc\" (format nil \"~a ~a\" "
     "city-name limit))",
     .arguments = "{\"cityName\":\"Bonn\"}", .text = "Bonn 3"},
    {"(mcp:deftool x (&key city-name) city-name)", .arguments = "{\"city_name\":\"Bonn\"}",
     .text = "Bonn"},
    {"(mcp:deftool x (&key (a 7)) a)", .arguments = "{\"a\":null}", .text = "7"},
    {"(mcp:deftool x (&key ((:b c) 7)) c)", .arguments = "{\"c\":8}", .text = "8"},
    {"(mcp:deftool x (&key flag) (if flag \"on\" \"off\"))", .arguments = "{\"flag\":false}",
     .text = "off"},
    {"(mcp:deftool x (&rest all) (mcp:ref mcp:*arguments* \"list\" 1))",
     .arguments = "{\"list\":[\"p\",\"q\"]}", .text = "q"},
    {"(mcp:deftool x () (return-from x \"early\"))", .text = "early"},
    {"(defpackage :p (:use :cl :mcp) (:shadowing-import-from :mcp #:log #:array)) (in-package :p)"
     " (deftool x () (log :info \"l\") (text \"in p\"))",
     .text = "in p", .sent = "event {\"type\":\"log\",\"level\":\"info\",\"data\":\"l\"}\n"},
    {"(princ 1)" TOOL("(princ 2) \"a\""), .text = "a", .output = "12"},
    {"(mcp:deftool x (a) a)", .error = "The argument a is missing."},
    {"(mcp:deftool x (&key city-name) city-name)", .arguments = "{\"town\":1}",
     .error = "There is no argument town. The arguments are: cityName."},
    {"(mcp:deftool x () 1)", .arguments = "{\"town\":1}", .error = "There is no argument town."},
    {"(mcp:defprompt \"x\" (&key a) (format nil \"say ~a\" a))", .kind = "prompt",
     .arguments = "{\"a\":\"hi\",\"other\":\"o\"}",
     .json = "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"say "
             "hi\"}}]}"},
    {"(mcp:defprompt \"x\" () (list \"q\" (mcp:message :assistant (mcp:image #(1) "
     "\"image/png\"))))",
     .kind = "prompt",
     .json = "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"q\"}},{"
             "\"role\":"
             "\"assistant\",\"content\":{\"type\":\"image\",\"data\":\"AQ==\",\"mimeType\":\"image/"
             "png\"}}]}"},
    {"(mcp:defresource \"x\" (&key uri id) (format nil \"~a of ~a\" id uri))", .kind = "resource",
     .arguments = "{\"uri\":\"test://7\",\"id\":\"7\"}",
     .json = "{\"contents\":[{\"uri\":\"test://7\",\"text\":\"7 of test://7\"}]}"},
    {"(mcp:defresource \"x\" () (list #(1 2) (mcp:resource \"test://b\" \"t\" \"text/x\")))",
     .kind = "resource", .arguments = "{\"uri\":\"test://a\"}",
     .json = "{\"contents\":[{\"uri\":\"test://a\",\"blob\":\"AQI=\"},{\"uri\":\"test://"
             "b\",\"text\":\"t\","
             "\"mimeType\":\"text/x\"}]}"},
    {"(mcp:defcompletion \"x\" (&key argument value) (list argument value))", .kind = "completion",
     .arguments = "{\"argument\":\"a\",\"value\":\"v\"}",
     .json = "{\"values\":[\"a\",\"v\"],\"total\":2,\"hasMore\":false}"},
    {"(mcp:defcompletion \"x\" () '())", .kind = "completion",
     .json = "{\"values\":[],\"total\":0,\"hasMore\":false}"},

    /* Failures */
    {TOOL("(mcp:fail \"no ~a\" \"~b\")"), .error = "no ~b"},
    {TOOL("(mcp:fail \"100%~\")"), .error = "100%~"},
    {TOOL("(mcp:fail \"~a\")"), .error = "~a"},
    {TOOL("(handler-case (error \"~a\" \"why\") (error (e) (mcp:fail e)))"), .error = "why"},
    {TOOL("(mcp:fail 5)"), .type = "TYPE-ERROR",
     .message = "MCP:FAIL: the reason must be a string or a condition, not 5."},
    {TOOL("(mcp:text \"50~\")"), .text = "50~"},
    {TOOL("(mcp:log :info \"50~\") (mcp:progress 1 2 \"50~\") \"~\""), .text = "~",
     .sent = "event {\"type\":\"log\",\"level\":\"info\",\"data\":\"50~\"}\n"
             "event {\"type\":\"progress\",\"progress\":1,\"total\":2,\"message\":\"50~\"}\n"},
    {TOOL("(handler-case (mcp:fail \"no\") (mcp:failure () \"caught\"))"), .text = "caught"},
    {"(mcp:defprompt \"x\" () (mcp:fail \"why\"))", .kind = "prompt", .type = "MCP:FAILURE",
     .message = "why"},
    {"(mcp:deftool x (&key a) (car a))", .arguments = "{\"a\":5}", .type = "TYPE-ERROR",
     .message = "The value 5 is not of type LIST.", .frame = "(CAR 5)"},
    {"(/ 1 0)" TOOL("1"), .type = "DIVISION-BY-ZERO", .message = "begins at line 1 of the source"},
    {"; a \303\251\n#| b\n |#\n(defun y () (car 5))\n\n  ; c\n #|d|# (list\n (y))\n" TOOL("1"),
     .type = "TYPE-ERROR", .message = "begins at line 7 of the source", .frame = "(CAR 5)"},
    {"\n(defun y () (y))\n(labels ((f (n) (+ 1 (f n)))) (f 1))", .type = "STACK-OVERFLOW",
     .message = "begins at line 3 of the source"},
    {"1\n(car ')", .type = "READER-ERROR", .message = "line 2"},
    {"(defun y (z) (car z))\n" TOOL("(y 5)"), .type = "TYPE-ERROR", .message = "argument of CAR.",
     .frame = "(CAR 5)"},
    {"(mcp:deftool x (", .type = "END-OF-FILE", .message = "line 1, column 16"},
    {"(mcp:deftool y () 1) (mcp:defprompt \"z\" ())", .type = "SIMPLE-ERROR",
     .message = "no tool \"x\", and no function of that name. It defines the prompt \"z\", "
                "the tool \"y\"."},
    {"(dotimes (i 12) (eval `(mcp:deftool ,(format nil \"y~2,'0d\" i) ())))",
     .type = "SIMPLE-ERROR", .message = "\"y09\", and more."},
    {"", .type = "SIMPLE-ERROR", .message = "no tool \"x\""},
    {"(+ 1 2)\n\n; now\n(car 1)", .type = "TYPE-ERROR",
     .message = "\n(in the form that begins at line 4 of the source)"},
    {TOOL("(error \"No.\")"), .type = "SIMPLE-ERROR", .message = "No."},
    {TOOL("(ext:quit 3)"), .kind = "load", .arguments = "{\"kind\":\"tool\"}", .json = "{}"},
    {TOOL("1"), .kind = "load", .arguments = "{\"kind\":\"prompt\"}", .type = "SIMPLE-ERROR",
     .message = "no prompt \"x\". It defines the tool \"x\"."},
    {TOOL("1"), .kind = "load", .type = "SIMPLE-ERROR", .message = "Unknown kind of definition"},
    {"", .kind = "prompt", .type = "SIMPLE-ERROR", .message = "no prompt \"x\"."},
    {"(defun x ())", .kind = "prompt", .type = "SIMPLE-ERROR"},
    {TOOL("1"), .kind = "car", .type = "SIMPLE-ERROR", .message = "definition: car"},
    {TOOL("'(1 2)"), .type = "SIMPLE-ERROR",
     .message = "1 is not a content block. Content blocks are strings and"},
    {TOOL("(list (mcp:text \"a\") (mcp:object))"), .type = "SIMPLE-ERROR",
     .message = "(MCP:STRUCTURED value) makes any value a structured one."},
    {TOOL("(list nil \"a\" (when nil \"b\") (mcp:text \"c\") nil)"),
     .json =
         "{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"c\"}]}"},
    {TOOL("(list nil)"), .json = "{\"content\":[]}"},
    {TOOL("(mcp:message :user \"hi\")"), .type = "SIMPLE-ERROR",
     .message = "#<MCP:MESSAGE \"hi\"> is a message, which only a prompt may return."},
    {TOOL("(list \"a\" (mcp:question :roots))"), .type = "SIMPLE-ERROR",
     .message = "#<MCP:QUESTION \"roots\"> is a question"},
    {TOOL("(format nil \"~{~a~^ ~}\" (list (mcp:text \"a b\") (mcp:image #(1) \"image/png\")"
          " (mcp:resource \"x:y\" \"t\") (mcp:link \"x:z\" \"n\") (mcp:structured 5)))"),
     .text = "#<MCP:TEXT \"a b\"> #<MCP:IMAGE image/png, 1 byte> #<MCP:RESOURCE \"x:y\"> "
             "#<MCP:LINK \"x:z\"> #<MCP:STRUCTURED 5>"},
    {"(mcp:defprompt \"x\" () (list nil \"a\"))", .kind = "prompt",
     .json = "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"a\"}}]}"},
    {"(mcp:defprompt \"x\" () (mcp:structured 1))", .kind = "prompt", .type = "SIMPLE-ERROR",
     .message = "#<MCP:STRUCTURED 1> is a structured value"},
    {"(mcp:defresource \"x\" () (list nil \"a\"))", .kind = "resource",
     .arguments = "{\"uri\":\"x:y\"}", .json = "{\"contents\":[{\"uri\":\"x:y\",\"text\":\"a\"}]}"},
    {"(mcp:defresource \"x\" () 5)", .kind = "resource", .type = "SIMPLE-ERROR",
     .message = "5 is not the content of a resource"},

    /* Endless lists and duplicate members */
    {TOOL(ENDLESS_LIST), .type = "MCP:JSON-ERROR", .message = "dotted or circular"},
    {TOOL("(cons \"a\" \"b\")"), .type = "MCP:JSON-ERROR",
     .message = "The list (\"a\" . \"b\") is dotted or circular"},
    {TOOL("(let ((l (list :object \"a\" 1))) (setf (cdddr l) l) l)"), .type = "MCP:JSON-ERROR"},
    {TOOL("(list \"a\" (mcp:structured " ENDLESS_LIST "))"), .type = "MCP:JSON-ERROR"},
    {TOOL("(mcp:object \"a\" " ENDLESS_LIST ")"), .type = "MCP:JSON-ERROR"},
    {TOOL("(let ((h (mcp:object))) (setf (gethash \"h\" h) h) h)"), .type = "MCP:JSON-ERROR",
     .message = "circular"},
    {TOOL("(let ((h (mcp:object))) (dotimes (i 9 h) (setf (gethash (princ-to-string i) h)"
          " (vector h h))))"),
     .type = "MCP:JSON-ERROR"},
    {TOOL("(mcp:array " ENDLESS_LIST ")"), .type = "MCP:JSON-ERROR"},
    {TOOL("(mcp:write-json " ENDLESS_LIST ")"), .type = "MCP:JSON-ERROR"},
    {TOOL("(mcp:log :info " ENDLESS_LIST ")"), .type = "MCP:JSON-ERROR"},
    {TOOL("(mcp:annotate (mcp:text \"a\") :audience (let ((l (list :user))) (setf (cdr l) l)))"),
     .type = "MCP:JSON-ERROR"},
    {TOOL("(mcp:ask-all (let ((l (list (mcp:question :roots)))) (setf (cdr l) l)))"),
     .type = "MCP:JSON-ERROR"},
    {TOOL("(mcp:ask :sample " ENDLESS_LIST ")"), .type = "MCP:JSON-ERROR"},
    {TOOL("(mcp:ask :sample \"a\" :stop-sequences " ENDLESS_LIST ")"), .type = "MCP:JSON-ERROR"},
    {TOOL("(mcp:ask :elicit \"m\" (list :object \"a\" " ENDLESS_LIST "))"),
     .type = "MCP:JSON-ERROR"},
    {"(mcp:defprompt \"x\" () " ENDLESS_LIST ")", .kind = "prompt", .type = "MCP:JSON-ERROR"},
    {"(mcp:defresource \"x\" () " ENDLESS_LIST ")", .kind = "resource", .type = "MCP:JSON-ERROR"},
    {"(mcp:defcompletion \"x\" () " ENDLESS_LIST ")", .kind = "completion",
     .type = "MCP:JSON-ERROR"},
    {"(mcp:defcompletion \"x\" () '(\"a\" . \"b\"))", .kind = "completion",
     .type = "MCP:JSON-ERROR"},
    {"(mcp:defcompletion \"x\" () '(1))", .kind = "completion", .type = "TYPE-ERROR",
     .message = "each of its values must be a string, not 1."},
    {"(mcp:defcompletion \"x\" () \"abc\")", .kind = "completion", .type = "TYPE-ERROR",
     .message = "the result must be a list or a vector, not \"abc\"."},
    {TOOL("(list :object \"a\" 1 \"b\" 2 \"a\" 3)"), .type = "MCP:JSON-ERROR",
     .message = "An object has the member \"a\" twice."},
    {TOOL("(mcp:structured (list (list :object :the-a 1 \"theA\" 2)))"), .type = "MCP:JSON-ERROR",
     .message = "member \"theA\" twice"},
    {TOOL("(let ((h (make-hash-table))) (setf (gethash :a h) 1 (gethash \"a\" h) 2) h)"),
     .type = "MCP:JSON-ERROR", .message = "member \"a\" twice"},
    {TOOL("(let ((h (make-hash-table :test 'equal))) (setf (gethash :a h) 1 (gethash \"a\" h) 2)"
          " (mcp:write-json h))"),
     .type = "MCP:JSON-ERROR", .message = "member \"a\" twice"},
    {TOOL("(mcp:object :a 1 \"a\" 2)"), .type = "MCP:JSON-ERROR", .message = "member \"a\" twice"},
    {TOOL("(mcp:object \"a\" nil :a 2)"), .type = "MCP:JSON-ERROR", .message = "\"a\" twice"},
    {TOOL("(mcp:object \"a\")"), .type = "MCP:JSON-ERROR", .message = "a name without a value"},
    {TOOL("(list (mcp:structured 1) \"a\" (mcp:structured 2))"), .type = "SIMPLE-ERROR",
     .message = "more than one structured value: #<MCP:STRUCTURED 1> and #<MCP:STRUCTURED 2>."},
    {TOOL("(mcp:structured (list (mcp:text \"a\")))"), .type = "MCP:JSON-ERROR",
     .message = "#<MCP:TEXT \"a\"> is content"},

    /* Metadata in a body */
    {"\n\n" TOOL("(:timeout 5) 1"), .type = "SIMPLE-ERROR",
     .message =
         "(:TIMEOUT 5) in the body of \"x\" has no effect: metadata belongs in the head of the "
         "file or in its JSON file.\n(in the form that begins at line 3 "},
    {TOOL("\"Says.\" (:title \"T\") \"a\""), .type = "SIMPLE-ERROR",
     .message = "metadata belongs in the head"},
    {"(mcp:defprompt \"x\" () (:title \"T\"))", .kind = "prompt", .type = "SIMPLE-ERROR"},
    {TOOL("(list :object \"timeout\" 5)"), .text = "{\"timeout\":5}"},
    {"(mcp:deftool 5 () 1)", .type = "TYPE-ERROR",
     .message = "the name must be a string or a symbol"},
    {TOOL("(mcp:text 5)"), .type = "TYPE-ERROR",
     .message = "MCP:TEXT: the text must be a string, not 5."},
    {TOOL("(mcp:image '(1) \"image/png\")"), .type = "TYPE-ERROR"},
    {TOOL("(mcp:image #(256) \"image/png\")"), .type = "TYPE-ERROR"},
    {TOOL("(mcp:image \"A===\" \"image/png\")"), .type = "TYPE-ERROR"},
    {TOOL("(mcp:image \"AA\303\251A\" \"image/png\")"), .type = "TYPE-ERROR"},
    {TOOL("(mcp:image #(1) \"png\")"), .type = "TYPE-ERROR"},
    {TOOL("(mcp:link \"no uri\" \"n\")"), .type = "TYPE-ERROR"},
    {TOOL("(mcp:link \"a:{b}\" \"n\")"), .type = "TYPE-ERROR"},
    {TOOL("(mcp:link \"a:%4\" \"n\")"), .type = "TYPE-ERROR"},
    {TOOL("(mcp:resource \"\" \"n\")"), .type = "TYPE-ERROR"},
    {TOOL("(make-hash-table :test 'eq)"), .json =
                                              "{\"content\":[{\"type\":\"text\",\"text\":\"{}\"}],"
                                              "\"structuredContent\":{}}"},
    {TOOL("(list (mcp:structured #'car))"), .type = "MCP:JSON-ERROR",
     .message = "cannot be written"},
    {TOOL("(let ((v (vector 1))) (setf (aref v 0) v) (mcp:structured v))"),
     .type = "MCP:JSON-ERROR", .message = "circular"},
    {TOOL("(let ((v (list 1))) (setf (cdr v) v) (mcp:structured v))"), .type = "MCP:JSON-ERROR"},
    {TOOL("(mcp:structured '(1 . 2))"), .type = "MCP:JSON-ERROR"},
    {TOOL("(mcp:structured (expt 10 70000))"), .type = "MCP:JSON-ERROR"},
    {TOOL("(make-string 17000000 :initial-element #\\a)"), .type = "MCP:JSON-ERROR",
     .message = "too long"},
    {TOOL("(mcp:object 5 1)"), .type = "MCP:JSON-ERROR"},
    {TOOL("(labels ((f (n) (+ 1 (f n)))) (f 1))"), .type = "STACK-OVERFLOW"},
    {TOOL("(progn (sleep 100) \"a\")"), .endless = true},
    {TOOL("(mcp:question :other)"), .type = "TYPE-ERROR"},

    /* What a run sends */
    {TOOL("(mcp:progress 1) (mcp:progress 2.5 10 \"half\") \"ok\""), .text = "ok",
     .sent = "event {\"type\":\"progress\",\"progress\":1}\n"
             "event {\"type\":\"progress\",\"progress\":2.5,\"total\":10,\"message\":\"half\"}\n"},
    {TOOL("(mcp:log :warning (list 1 \"a\") \"me\") \"ok\""), .text = "ok",
     .sent =
         "event {\"type\":\"log\",\"level\":\"warning\",\"data\":[1,\"a\"],\"logger\":\"me\"}\n"},
    {TOOL("(mcp:publish-change :tools) (mcp:publish-change :resource \"test://a\") \"ok\""),
     .text = "ok",
     .sent = "event {\"type\":\"change\",\"kind\":\"tools\"}\n"
             "event {\"type\":\"change\",\"kind\":\"resource\",\"uri\":\"test://a\"}\n"},
    {TOOL("(mcp:ref (mcp:ask :elicit \"who?\" (mcp:object) :key \"user_name\") \"content\" "
          "\"name\")"),
     .text = "Ann",
     .sent = "ask {\"requests\":{\"user_name\":{\"method\":\"elicitation/create\",\"params\":{"
             "\"message\":\"who?\",\"requestedSchema\":{}}}}}\n",
     .answers = {"{\"responses\":{\"user_name\":{\"action\":\"accept\",\"content\":{\"name\":"
                 "\"Ann\"}}}}"}},
    {TOOL("(mcp:ask :elicit \"m\" :key \"k\") (mcp:ask :elicit \"m\" nil :key \"k\") "
          "(mcp:ask :elicit \"m\") \"a\""),
     .text = "a", .sent = ASKED("k") ASKED("k") ASKED("elicit"),
     .answers = {"{\"responses\":{\"k\":1}}", "{\"responses\":{\"k\":1}}",
                 "{\"responses\":{\"elicit\":1}}"}},
    {TOOL("(mcp:ask :elicit \"m\" :url \"x:y\" :id \"1\") \"a\""), .text = "a",
     .sent =
         "ask {\"requests\":{\"elicit\":{\"method\":\"elicitation/create\",\"params\":{\"mode\":"
         "\"url\",\"message\":\"m\",\"url\":\"x:y\",\"elicitationId\":\"1\"}}}}\n",
     .answers = {"{\"responses\":{\"elicit\":1}}"}},
    {TOOL("(princ-to-string (mcp:ask-all '()))"), .text = "NIL", .sent = ""},
    {TOOL("(mcp:ask :elicit)"), .type = "SIMPLE-ERROR",
     .message = "MCP:ASK :ELICIT needs a message."},
    {TOOL("(mcp:ask :sample)"), .type = "SIMPLE-ERROR",
     .message = "MCP:ASK :SAMPLE needs messages."},
    {TOOL("(mcp:ask :other)"), .type = "TYPE-ERROR",
     .message = "the kind of question must be one of :ELICIT, :SAMPLE, :ROOTS, not :OTHER."},
    {TOOL("(mcp:ask :elicit :key \"k\")"), .type = "TYPE-ERROR",
     .message = "MCP:ASK :ELICIT: the message must be a string, not :KEY."},
    {TOOL("(mcp:ask :elicit \"m\" 5)"), .type = "TYPE-ERROR",
     .message = "MCP:ASK :ELICIT: the schema must be an object, not 5."},
    {TOOL("(mcp:ask :elicit \"m\" '(1 2))"), .type = "TYPE-ERROR"},
    {TOOL("(mcp:ask :elicit \"m\" nil :key)"), .type = "SIMPLE-ERROR",
     .message = "the option :KEY has no value."},
    {TOOL("(mcp:ask :elicit \"m\" :kee 1)"), .type = "SIMPLE-ERROR",
     .message = "MCP:ASK :ELICIT has no option :KEE; its options are :KEY, :URL, :ID."},
    {TOOL("(mcp:ask :elicit \"m\" :key \"\")"), .type = "SIMPLE-ERROR", .message = "1 to 128"},
    {TOOL("(mcp:ask :elicit \"m\" :url \"x:y\")"), .type = "TYPE-ERROR",
     .message = ":ID must be a string, not NIL."},
    {TOOL("(mcp:ask :roots \"k\")"), .type = "SIMPLE-ERROR",
     .message = "MCP:ASK :ROOTS has no option \"k\"; its options are :KEY."},
    {TOOL("(mcp:ask :sample \"a\" :temperature \"b\")"), .type = "TYPE-ERROR",
     .message = ":TEMPERATURE must be a number"},
    {TOOL("(mcp:ask :sample \"a\" :max-tokens 0)"), .type = "TYPE-ERROR",
     .message = ":MAX-TOKENS must be a whole number from 1 to 2147483648, not 0."},
    {TOOL("(mcp:ask :sample \"a\" :stop-sequences '(1))"), .type = "TYPE-ERROR",
     .message = "each of :STOP-SEQUENCES must be a string"},
    {TOOL("(mcp:ask :sample \"a\" :stop-sequences 1)"), .type = "TYPE-ERROR",
     .message = ":STOP-SEQUENCES must be a list or a vector, not 1."},
    {TOOL("(mcp:ask-all 5)"), .type = "TYPE-ERROR", .message = "must be a list, not 5."},
    {TOOL("(mcp:ask-all (list \"a\"))"), .type = "SIMPLE-ERROR",
     .message = "\"a\" is not a question. MCP:QUESTION makes one."},
    {TOOL("(mcp:ask-all (loop for i below 17 collect (mcp:question :roots :key (princ-to-string "
          "i))))"),
     .type = "SIMPLE-ERROR", .message = "at most 16 questions"},
    {TOOL("(mcp:ref (mcp:ask :sample \"hi\") \"content\" \"text\")"), .text = "yo",
     .answers = {"{\"responses\":{\"sample\":{\"content\":{\"type\":\"text\",\"text\":\"yo\"}}}}"}},
    {TOOL("(format nil \"~a~a\" (mcp:ref (mcp:ask :roots) \"roots\" 0 \"uri\")"
          " (mcp:ref (mcp:ask :roots) \"roots\"))"),
     .text = "file:///aNIL",
     .answers = {"{\"responses\":{\"roots\":{\"roots\":[{\"uri\":\"file:///a\"}]}}}",
                 "{\"responses\":{\"roots\":{}}}"}},
    {TOOL("(format nil \"~{~a~}\" (mapcar (lambda (a) (mcp:ref a \"v\")) (mcp:ask-all (list"
          " (mcp:question :roots :key \"a\") (mcp:question :sample \"s\" :key \"b\")))))"),
     .text = "12", .answers = {"{\"responses\":{\"b\":{\"v\":2},\"a\":{\"v\":1}}}"}},
    {TOOL("(mcp:ask :roots)"), .type = "MCP:UNANSWERED", .message = "cannot be asked",
     .answers = {"{\"error\":{\"code\":-32021,\"message\":\"It cannot be asked.\"}}"}},
    {TOOL("(handler-case (mcp:ask :roots) (mcp:unanswered () \"no\"))"), .text = "no",
     .answers = {"{\"responses\":{}}"}},
    {TOOL("(mcp:ask :roots)"), .type = "MCP:JSON-ERROR", .answers = {"nonsense"}},
    {TOOL("(mcp:ask :roots)"), .endless = true},
    {TOOL("(mcp:log :loud 1)"), .type = "TYPE-ERROR"},
    {TOOL("(mcp:progress \"1\")"), .type = "TYPE-ERROR"},
    {TOOL("(mcp:log :info (make-string 70000 :initial-element #\\a))"), .type = "MCP:JSON-ERROR"},
    {TOOL("(mcp:ask-all (list (mcp:question :roots) (mcp:question :roots)))"),
     .type = "SIMPLE-ERROR", .message = "key \"roots\""},
    {"(mcp:progress 1)" TOOL("\"ok\""), .text = "ok",
     .sent = "event {\"type\":\"progress\",\"progress\":1}\n"},
};

static struct json_object *parse(struct span text) {
    cleanup_free char *copy = strndup((const char *)text.bytes, text.length);
    struct json_tokener *tokener = json_tokener_new_ex(200);
    struct json_object *json = json_tokener_parse_ex(tokener, copy, (int)text.length + 1);
    json_tokener_free(tokener);
    return json;
}

static bool same_json(struct span text, const char *wanted) {
    struct json_object *one = parse(text), *other = parse(span_of(wanted));
    bool same = one && other && json_object_equal(one, other);
    json_object_put(one);
    json_object_put(other);
    return same;
}

static bool first_text_is(struct span text, const char *wanted, bool is_error) {
    struct json_object *json = parse(text), *content, *member;
    bool same = json_object_object_get_ex(json, "content", &content) &&
                json_object_object_get_ex(json_object_array_get_idx(content, 0), "text", &member) &&
                strcmp(json_object_get_string(member), wanted) == 0 &&
                json_object_object_get_ex(json, "isError", NULL) == is_error;
    json_object_put(json);
    return same;
}

static const char *wrong_condition(const struct row *row, const struct result_message *result) {
    if (!span_is(result->condition, row->type))
        return "type";
    if (row->message && !span_has(result->text, row->message))
        return "message";
    if (row->frame && (!result->frame_count || !span_is(result->frames[0], row->frame)))
        return "frame";
    return NULL;
}

static const char *wrong(const struct row *row, const struct call_end *end) {
    const struct result_message *result = &end->result;
    if (row->endless)
        return end->kind == END_TIMEOUT ? NULL : "endless";
    if (end->kind != END_RESULT)
        return "result";
    if (row->sent && !buffer_is(&end->sent, row->sent))
        return "what was sent";
    if (row->output && !buffer_is(&end->output, row->output))
        return "output";
    if (row->type)
        return wrong_condition(row, result);
    if (!result->json.bytes)
        return "JSON";
    if (row->json && !same_json(result->json, row->json))
        return "value";
    if (row->text && !first_text_is(result->json, row->text, false))
        return "text";
    return row->error && !first_text_is(result->json, row->error, true) ? "error" : NULL;
}

static const struct call_end *run(const char *code, const char *kind, const char *arguments,
                                  const char *const *answers, int timeout_ms) {
    const struct run_message message = {.kind = span_of(kind),
                                        .name = span_of("x"),
                                        .code = span_of(code),
                                        .arguments = span_of(arguments)};
    return driver_run(&message, answers, timeout_ms);
}

static const struct call_end *run_tool(const char *code, const char *arguments) {
    return run(code, "tool", arguments, NULL, DRIVER_PATIENCE_MS);
}

Test(run, does_what_each_row_says, .timeout = 240) {
    size_t failed = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++, driver_renew()) {
        const struct row *row = &rows[i];
        const struct call_end *end =
            run(row->code, row->kind ? row->kind : "tool", row->arguments ? row->arguments : "{}",
                row->answers, row->endless ? ENDLESS_MS : DRIVER_PATIENCE_MS);
        const char *what = wrong(row, end);
        if (what) {
            failed++;
            fprintf(stderr, "row %zu: wrong %s: %s\n", i, what, row->code);
            driver_describe(end);
        }
    }
    cr_assert_eq(failed, 0, "%zu rows failed", failed);
}

Test(run, an_evaluation_cannot_reach_a_client) {
    static const char *const codes[] = {"(mcp:progress 1)", "(mcp:log :info 1)", "(mcp:ask :roots)",
                                        "(mcp:publish-change :tools)"};
    run_tool(TOOL("\"before\""), "{}");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const struct call_end *end = driver_call(codes[i], NULL, DRIVER_PATIENCE_MS);
        cr_assert_eq(end->kind, END_RESULT);
        cr_assert(span_is(end->result.condition, "SIMPLE-ERROR") &&
                  span_has(end->result.text, "no definition is running"));
    }
}

Test(run, an_answer_without_a_question_ends_the_worker) {
    const struct frame_header answer = {.type = FRAME_ANSWER, .length = 2};
    struct frame_header failed;
    unsigned char *payload = NULL;
    int descriptors[FRAME_DESCRIPTORS_MAX];
    size_t count;
    cr_assert(frame_send(worker.channel, &answer, "{}", NULL, 0, NULL));
    cr_assert_eq(frame_receive(worker.channel, &failed, &payload, descriptors, &count, NULL), 1);
    cr_assert_eq(failed.type, FRAME_FAILED);
    free(payload);
}

Test(run, a_session_keeps_what_its_tools_defined) {
    static const char good[] = "(defvar *n* 0) (mcp:deftool x () (princ-to-string (incf *n*)))";
    static const char bad[] = "(in-package :mcp) (defvar cl-user::*n* 0)"
                              "(cl-user::deftool x () (princ-to-string (incf cl-user::*n*)))";
    static const char *const results[] = {"1", "2", "3"};
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        const struct result_message *result = &run_tool(good, "{}")->result;
        cr_assert(first_text_is(result->json, results[i], false));
        cr_assert(span_is(result->package, "COMMON-LISP-USER"));
        result = &run_tool(bad, "{}")->result; /* fails in its own package */
        cr_assert(result->condition.bytes);
        cr_assert(span_is(result->package, "COMMON-LISP-USER"), "a run changes no package");
    }
}

/* JSON to Lisp and back */

static const char lenient_echo[] =
    "(mcp:deftool \"x\" (&rest all) (mcp:structured (mcp:ref mcp:*arguments* \"v\")))";

/* The value that is returned for the value TEXT, malloc'd; NULL when it was refused. */
static char *round_trip(const char *text) {
    static const char member[] = "\"structuredContent\":";
    const struct call_end *end = run_tool(lenient_echo, formatted("{\"v\":%s}", text));
    cr_assert_eq(end->kind, END_RESULT, "%s", text);
    struct span json = end->result.json;
    if (!json.bytes)
        return NULL;
    struct json_object *result = parse(json), *value;
    cr_assert(result, "%.*s", (int)json.length, json.bytes);
    cr_assert(json_object_object_get_ex(result, "structuredContent", &value));
    char *back;
    if (json_object_is_type(value, json_type_object) ||
        json_object_is_type(value, json_type_array)) {
        back = strdup(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN |
                                                                JSON_C_TO_STRING_NOSLASHESCAPE));
    } else { /* as written, since json-c does not keep all digits */
        cleanup_free char *copy = strndup((const char *)json.bytes, json.length);
        const char *start = strstr(copy, member) + sizeof member - 1;
        back = strndup(start, strcspn(start, ",}"));
    }
    json_object_put(result);
    return back;
}

static const struct {
    const char *text, *back; /* NULL: it must be refused */
} mapping[] = {
    {"true", "true"},
    {"false", "false"},
    {"null", "null"},
    {"[]", "[]"},
    {"{}", "{}"},
    {"\"\"", "\"\""},
    {"0", "0"},
    {"-0", "0"},
    {"-1", "-1"},
    {"9007199254740993", "9007199254740993"},
    {"18446744073709551616", "18446744073709551616"},
    {"-123456789012345678901234567890", "-123456789012345678901234567890"},
    {"0.1", "0.1"},
    {"-0.0", "-0.0"},
    {"1.0", "1.0"},
    {"1e2", "100.0"},
    {"1E-2", "0.01"},
    {"1e100", "1e+100"},
    {"5e-324", "4.94065645841247e-324"},
    {"1.7976931348623157e308", "1.7976931348623157e+308"},
    {"1e-400", "0.0"},
    {"0.30000000000000004", "0.30000000000000004"},
    {"1e400", NULL},
    {"\"\\u\331\241234\"", NULL},
    {"\"a\nb\"", NULL},
#define MALFORMED(text) {text, NULL},
#define NOT_UTF8(text)  /* the supervisor refuses these */
#include "tests/support/malformed_json.def"
    {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\""},
    {"\"\\u0000\\u001f\\u007f\"", "\"\\u0000\\u001f\177\""},
    {"\"\\ud83d\\ude00\"", "\"\360\237\230\200\""},
    {"\"\\ud83d\"", "\"\357\277\275\""},
    {"\"\\ude00\"", "\"\357\277\275\""},
    {"\"\\ud83dx\"", "\"\357\277\275x\""},
    {"\"\\ud83d\\u0041\"", "\"\357\277\275A\""},
    {"\"\303\251\342\202\254\360\237\230\200\"", "\"\303\251\342\202\254\360\237\230\200\""},
    {"[1,[2,{\"a\":[]}],null,false]", "[1,[2,{\"a\":[]}],null,false]"},
    {"{\"a\":1,\"a\":2}", "{\"a\":2}"},
    {" [ 1 ,\t2 ] ", "[1,2]"},
};

Test(run, json_values_are_returned_unchanged_or_refused) {
    size_t failed = 0;
    for (size_t i = 0; i < sizeof mapping / sizeof *mapping; i++) {
        cleanup_free char *back = round_trip(mapping[i].text);
        if (back && mapping[i].back ? strcmp(back, mapping[i].back) != 0
                                    : back != mapping[i].back) {
            failed++;
            fprintf(stderr, "%s became %s\n", mapping[i].text, back ? back : "(refused)");
        }
    }
    cr_assert_eq(failed, 0);
}

Test(run, json_has_limits_of_depth_and_digits) {
    enum { DIGITS_MAX = 65536 };
    static char text[DIGITS_MAX + 2];
    memset(text, '[', 126);
    memset(text + 126, ']', 126);
    cleanup_free char *shallow = round_trip(text);
    cr_assert(shallow);
    memset(text, '[', 128);
    memset(text + 128, ']', 128);
    cr_assert_null(round_trip(text));
    memset(text, '[', 20000);
    cr_assert_null(round_trip(text));
    memset(text, '7', DIGITS_MAX + 1);
    cr_assert_null(round_trip(text));
    text[DIGITS_MAX] = 0;
    cleanup_free char *long_integer = round_trip(text);
    cr_assert_str_eq(long_integer, text);
}

/* A random value, written as json-c writes it. */
static void random_value(struct random *random, struct buffer *out, unsigned depth) {
    static const char *const scalars[] = {
        "true", "false", "null", "0", "-7", "\"\"", "12345678901234567"};
    switch (random_below(random, depth ? 6 : 4)) {
    case 0:
        buffer_append_text(out, random_pick(random, scalars));
        break;
    case 1:
        buffer_append_format(out, "%ld", random_between(random, -1000000, 1000000));
        break;
    case 2: {
        union {
            uint64_t bits;
            double number;
        } any = {random_bits(random)};
        if (any.number - any.number == 0)
            buffer_append_format(out, "%.17g", any.number);
        else
            buffer_append_text(out, "0.5");
        break;
    }
    case 3:
        buffer_append_text(out, "\"");
        for (size_t i = random_below(random, 8); i; i--) {
            static const char *const pieces[] = {"a",        "\\n",     "\\\"",
                                                 "\303\251", "\\u0001", "\360\237\230\200",
                                                 "\\\\",     "/",       "\342\202\254"};
            buffer_append_text(out, random_pick(random, pieces));
        }
        buffer_append_text(out, "\"");
        break;
    default: {
        bool object = random_percent(random, 50);
        buffer_append_text(out, object ? "{" : "[");
        for (size_t i = 0, count = random_below(random, 5); i < count; i++) {
            if (i)
                buffer_append_text(out, ",");
            if (object)
                buffer_append_format(out, "\"k%zu\":", i);
            random_value(random, out, depth - 1);
        }
        buffer_append_text(out, object ? "}" : "]");
    }
    }
}

static bool comes_back(const char *text) {
    cleanup_free char *back = round_trip(text);
    return back && (strcmp(back, text) == 0 || same_json(span_of(back), text));
}

/* The values begin small and grow, so that the first one that fails is a small one. */
Test(run, random_json_is_returned_unchanged, .timeout = 240) {
    struct random random = random_for("random_json_is_returned_unchanged");
    size_t trials = random_trials(600, 20000);
    for (size_t trial = 0; trial < trials; trial++) {
        cleanup_buffer struct buffer text = buffer_make(1 << 20);
        random_value(&random, &text, (unsigned)(5 * trial / trials));
        buffer_append(&text, "", 1);
        cr_assert(comes_back((char *)text.data), "%s", (char *)text.data);
    }
}
