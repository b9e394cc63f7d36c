;;;; The package of the runtime. It holds what is natural to say in Lisp; what guards is C.

(defpackage "ECLAVE"
  (:use "COMMON-LISP"))

(in-package "ECLAVE")

(defvar *stdout*) ; set by C
(defvar *stderr*) ; set by C

;;; The package of those who write tools. LOG is not the logarithm there.
(defpackage "MCP"
  (:use "COMMON-LISP")
  (:shadow "ARRAY" "LOG")
  (:export "DEFTOOL" "DEFPROMPT" "DEFRESOURCE" "DEFCOMPLETION" "*ARGUMENTS*"
           "TEXT" "IMAGE" "AUDIO" "RESOURCE" "LINK" "STRUCTURED" "MESSAGE" "ANNOTATE"
           "FAIL" "FAILURE" "PROGRESS" "LOG" "PUBLISH-CHANGE"
           "ASK" "ASK-ALL" "QUESTION" "UNANSWERED"
           "OBJECT" "ARRAY" "REF" "PARSE-JSON" "WRITE-JSON" "JSON-ERROR" "BASE64"))
