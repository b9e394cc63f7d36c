;;;; The package of the runtime. No security depends on it: user code can change all of it.

(defpackage "ECLAVE"
  (:use "COMMON-LISP"))

(in-package "ECLAVE")

(defvar *stdout*) ; set by C
(defvar *stderr*) ; set by C

;;; The package for authors of tools. Its LOG is not the logarithm.
(defpackage "MCP"
  (:use "COMMON-LISP")
  (:shadow "ARRAY" "LOG")
  (:export "DEFTOOL" "DEFPROMPT" "DEFRESOURCE" "DEFCOMPLETION" "*ARGUMENTS*"
           "TEXT" "IMAGE" "AUDIO" "RESOURCE" "LINK" "STRUCTURED" "MESSAGE" "ANNOTATE"
           "FAIL" "FAILURE" "PROGRESS" "LOG" "PUBLISH-CHANGE"
           "ASK" "ASK-ALL" "QUESTION" "UNANSWERED"
           "OBJECT" "ARRAY" "REF" "PARSE-JSON" "WRITE-JSON" "JSON-ERROR" "BASE64"))
