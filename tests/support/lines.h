/* Input lines as literals, so that a test shows what goes over the wire, and assertions about
 * strings. IDs and PARAMS are JSON. */
#ifndef ECLAVE_TESTS_SUPPORT_LINES_H
#define ECLAVE_TESTS_SUPPORT_LINES_H

#include <criterion/criterion.h>
#include <string.h>

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))
/* A list of strings that ends with NULL. */
#define STRINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

#define REQUEST(id, method) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\"}"
#define REQUEST_WITH(id, method, params)                                                           \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}"
#define NOTIFICATION(method) "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\"}"
#define NOTIFICATION_WITH(method, params)                                                          \
    "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":" params "}"

#define PING(id) REQUEST(id, "ping")
/* A call of evaluate-lisp; ARGUMENTS is a JSON object. */
#define CALL(id, arguments)                                                                        \
    REQUEST_WITH(id, "tools/call", "{\"name\":\"evaluate-lisp\",\"arguments\":" arguments "}")
/* CODE is already escaped for JSON. */
#define EVALUATE(id, code) CALL(id, "{\"code\":\"" code "\"}")
#define CANCEL(id)         NOTIFICATION_WITH("notifications/cancelled", "{\"requestId\":" id "}")
#define INITIALIZE(id, version)                                                                    \
    REQUEST_WITH(id, "initialize",                                                                 \
                 "{\"protocolVersion\":" version ",\"capabilities\":{},"                           \
                 "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}")

#define ENDLESS "(loop)"
/* Lisp that calls C: (c NAME RETURNS TYPES ARGUMENT...). For code that acts below Lisp. */
#define FOREIGN                                                                                    \
    "(defun c (name returns types &rest arguments) (si::call-cfun (si::find-foreign-symbol name "  \
    ":default :pointer-void 0) returns types arguments)) "
/* Ends the process by SIGSEGV: with all signals blocked, no handler gets the fault. */
#define CRASH                                                                                      \
    FOREIGN "(let ((set (c \"malloc\" :pointer-void '(:unsigned-long) 128)))"                      \
            " (c \"memset\" :pointer-void '(:pointer-void :int :unsigned-long) set 255 128)"       \
            " (c \"sigprocmask\" :int '(:int :pointer-void :unsigned-long) 0 set 0)"               \
            " (ffi:deref-pointer (ffi:make-pointer 0 :int) :int))"
/* Makes a system call that kills the worker. */
#define VIOLATION FOREIGN "(c \"kill\" :int '(:int :int) 1 0)"
/* Allocates memory outside Lisp's heap without end. */
#define MEMORY_HOG                                                                                 \
    FOREIGN                                                                                        \
    "(loop (c \"memset\" :pointer-void '(:pointer-void :int :unsigned-long) (c \"malloc\" "        \
    ":pointer-void '(:unsigned-long) 10000000) 1 10000000))"
/* Writes bytes that are not a frame to the worker's channel. */
#define FORGERY                                                                                    \
    FOREIGN "(c \"write\" :long '(:int :cstring :unsigned-long) 3 \"garbage garbage garbage\" 23)"

/* A string made as printf makes it. It is valid until the sixteenth call after this one. */
__attribute__((format(printf, 1, 2))) const char *formatted(const char *format, ...);

/* COUNT times OPENING, MIDDLE, COUNT times CLOSING; malloc'd. */
char *nested(const char *opening, size_t count, const char *middle, const char *closing);

#define expect_contains(text, part)                                                                \
    do {                                                                                           \
        const char *text_ = (text), *part_ = (part);                                               \
        cr_assert(strstr(text_, part_), "\"%s\" is not in: %s", part_, text_);                     \
    } while (0)
#define expect_lacks(text, part)                                                                   \
    do {                                                                                           \
        const char *text_ = (text), *part_ = (part);                                               \
        cr_assert(!strstr(text_, part_), "\"%s\" is in: %s", part_, text_);                        \
    } while (0)
/* Whether TEXT contains PART must be WANTED. */
#define expect_contains_if(wanted, text, part)                                                     \
    do {                                                                                           \
        const char *text_ = (text), *part_ = (part);                                               \
        const bool wanted_ = (wanted);                                                             \
        cr_expect_eq(strstr(text_, part_) != NULL, wanted_, "\"%s\" is %sin: %s", part_,           \
                     wanted_ ? "not " : "", text_);                                                \
    } while (0)

#endif
