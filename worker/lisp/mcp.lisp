;;;; The interface for authors of tools: definitions, content, and messages to the client during a
;;;; call.
;;;;
;;;;   (mcp:deftool count-words (text &key (minimum 1))
;;;;     "Counts the words of a text."
;;;;     (let ((words 0))
;;;;       (dolist (word (split text))
;;;;         (mcp:progress (incf words)))
;;;;       (when (< words minimum)
;;;;         (mcp:fail "There are only ~d words." words))
;;;;       (list (mcp:text "~d words" words)
;;;;             (mcp:structured (mcp:object "words" words)))))
;;;;
;;;; The name of a definition is a string or a symbol, which means its name in lower case. A tool
;;;; may also be an ordinary function of that name. An argument belongs to the parameter of the same
;;;; name, where case, hyphens and underscores do not matter; null means that it is absent.
;;;; json.lisp describes how values become JSON and back. The supervisor checks all that is sent.

(in-package "MCP")

(define-condition failure (simple-error) ()
  (:documentation "Signalled by FAIL: the call failed, and the client gets the reason."))

(define-condition unanswered (simple-error) ()
  (:documentation "The client did not answer a question, or cannot answer it."))

(defun fail (control &rest arguments)
  "Ends the call as failed and sends the client the reason: CONTROL formatted with ARGUMENTS or,
without ARGUMENTS, CONTROL itself, a string or a condition."
  (demand (or string condition) control "MCP:FAIL" "the reason")
  (if arguments
      (error 'failure :format-control "~?" :format-arguments (list control arguments))
      (error 'failure :format-control "~a" :format-arguments (list control))))

;;; Content.

(defstruct (content (:constructor make-content (kind value &optional key)) (:copier nil)
                    (:print-function print-content))
  kind   ; :BLOCK, :STRUCTURED, :MESSAGE or :QUESTION
  value  ; an object of the protocol; with :STRUCTURED any value
  key)   ; with :QUESTION

(defun content-summary (content)
  "The name of its operator, and an object that distinguishes it from others of that operator; third
value: is that a string to be shown without quotation marks?"
  (let ((value (content-value content)))
    (ecase (content-kind content)
      (:structured (values "structured" value))
      (:message (values "message" (ref value "content" "text")))
      (:question (values "question" (content-key content)))
      (:block
       (let ((type (ref value "type")))
         (cond ((string= type "resource_link") (values "link" (ref value "uri")))
               ((ref value "data") (values type (data-summary value) t))
               (t (values type (or (ref value "text") (ref value "resource" "uri"))))))))))

(defun data-summary (block)
  (format nil "~a, ~:d byte~:p" (ref block "mimeType") (decoded-length (ref block "data"))))

(defun decoded-length (base64)
  (let ((end (or (position #\= base64) (length base64))))
    (floor (* 3 end) 4)))

(defvar *within-content* nil
  "Is content being printed? Content within it is then printed as its operator only, since each
BRIEF starts again at depth 0 and would not end if the content contained itself.")

(defun print-content (content stream depth)
  (declare (ignore depth))
  (multiple-value-bind (operator detail plain) (content-summary content)
    (format stream "#<MCP:~:@(~a~)~@[ ~a~]>" operator
            (and detail
                 (not *within-content*)
                 (let ((*within-content* t))
                   (if plain detail (brief detail)))))))

(defun uri-character-p (char)
  (and (< 32 (char-code char) 127)
       (or (alphanumericp char) (find char "-._~:/?#[]@!$&'()*+,;=%"))))

(defun escape-p (string start)
  "Do two hexadecimal digits follow the % at START?"
  (and (< (+ start 2) (length string))
       (digit-char-p (char string (+ start 1)) 16)
       (digit-char-p (char string (+ start 2)) 16)))

(defun uri-p (object)
  "Is OBJECT a string of a scheme and characters that are valid in a URI?"
  (and (stringp object)
       (let ((colon (position #\: object)))
         (and colon (plusp colon)
              (alpha-char-p (char object 0))
              (every (lambda (char) (or (alphanumericp char) (find char "+-.")))
                     (subseq object 0 colon))
              (every #'uri-character-p object)
              (loop for at = (position #\% object) then (position #\% object :start (1+ at))
                    while at
                    always (escape-p object at))))))

(defun mime-type-p (object)
  (and (stringp object)
       (let ((slash (position #\/ object)))
         (and slash (< 0 slash (1- (length object)))))
       (every (lambda (char) (<= 32 (char-code char) 126)) object)))

(deftype uri () '(satisfies uri-p))
(deftype mime-type () '(satisfies mime-type-p))

(defparameter *base64* "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

(defun octets-p (object)
  (typecase object
    ((cl:array (unsigned-byte 8) (*)) t)
    (string nil)
    (vector (every (lambda (element) (typep element '(unsigned-byte 8))) object))))

(deftype octets () '(satisfies octets-p))

(defun base64-p (string)
  (let* ((length (length string))
         (end (or (position #\= string) length)))
    (and (zerop (mod length 4))
         (<= (- length end) 2)
         (every (lambda (char) (char= char #\=)) (subseq string end))
         (every (lambda (char) (find char *base64*)) (subseq string 0 end)))))

(deftype base64 () '(and string (satisfies base64-p)))

(defun base64 (octets)
  "OCTETS in base64."
  (demand octets octets "MCP:BASE64" "the data")
  (let* ((octets (coerce octets '(simple-array (unsigned-byte 8) (*))))
         (length (length octets))
         (text (make-string (* 4 (ceiling length 3)) :element-type 'base-char
                                                     :initial-element #\=)))
    (declare (type (simple-array (unsigned-byte 8) (*)) octets)
             (type fixnum length))
    (flet ((octet (at) (if (< at length) (aref octets at) 0)))
      (loop for from of-type fixnum from 0 below length by 3
            for to of-type fixnum from 0 by 4
            for bits of-type fixnum = (logior (ash (octet from) 16)
                                              (ash (octet (+ from 1)) 8)
                                              (octet (+ from 2)))
            do (loop for place from 0 to (min 3 (- length from))
                     do (setf (char text (+ to place))
                              (char *base64* (ldb (byte 6 (- 18 (* 6 place))) bits))))))
    text))

(defun encode (data operator)
  "DATA, octets or base64, as base64."
  (demand (or base64 octets) data operator "the data")
  (if (stringp data) data (base64 data)))

(defun text (control &rest arguments)
  "A text block: CONTROL or, with ARGUMENTS, CONTROL formatted with them."
  (demand string control "MCP:TEXT" "the text")
  (block-of "text" "text" (if arguments (apply #'format nil control arguments) control)))

(defun block-of (type &rest members)
  (make-content :block (apply #'object "type" type members)))

(defun image (data mime-type)
  (demand mime-type mime-type "MCP:IMAGE" "the kind of data")
  (block-of "image" "data" (encode data "MCP:IMAGE") "mimeType" mime-type))

(defun audio (data mime-type)
  (demand mime-type mime-type "MCP:AUDIO" "the kind of data")
  (block-of "audio" "data" (encode data "MCP:AUDIO") "mimeType" mime-type))

(defun resource-object (uri contents mime-type)
  (demand uri uri "MCP:RESOURCE" "the URI")
  (demand (or string octets) contents "MCP:RESOURCE" "the contents")
  (demand (or null mime-type) mime-type "MCP:RESOURCE" "the kind of contents")
  (let ((object (object "uri" uri)))
    (if (stringp contents)
        (setf (gethash "text" object) contents)
        (setf (gethash "blob" object) (base64 contents)))
    (when mime-type
      (setf (gethash "mimeType" object) mime-type))
    object))

(defun resource (uri contents &optional mime-type)
  "A resource with CONTENTS, a string or octets."
  (block-of "resource" "resource" (resource-object uri contents mime-type)))

(defun link (uri name &key title description mime-type size)
  (demand uri uri "MCP:LINK" "the URI")
  (demand string name "MCP:LINK" "the name")
  (demand (or null string) title "MCP:LINK" ":TITLE")
  (demand (or null string) description "MCP:LINK" ":DESCRIPTION")
  (demand (or null mime-type) mime-type "MCP:LINK" ":MIME-TYPE")
  (demand (or null (integer 0 #.(expt 2 53))) size "MCP:LINK" ":SIZE")
  (let ((link (block-of "resource_link" "uri" uri "name" name)))
    (loop for (key value) on (list "title" title "description" description
                                   "mimeType" mime-type "size" size)
            by #'cddr
          when value do (setf (gethash key (content-value link)) value))
    link))

(defun structured (value)
  "A structured result, for programs. Without other content it is also sent as a text block."
  (make-content :structured value))

(defun annotate (content &key audience priority)
  "Annotates CONTENT with an AUDIENCE, :USER, :ASSISTANT or a list of both, and a PRIORITY from 0 to
1."
  (unless (block-p content)
    (error "MCP:ANNOTATE: ~a" (content-complaint content)))
  (demand (or null (real 0 1)) priority "MCP:ANNOTATE" ":PRIORITY")
  (let ((annotations (object))
        (audience (list-of audience)))
    (dolist (reader audience)
      (demand (member :user :assistant) reader "MCP:ANNOTATE" ":AUDIENCE"))
    (when audience
      (setf (gethash "audience" annotations) (array audience)))
    (when priority
      (setf (gethash "priority" annotations) priority))
    (setf (gethash "annotations" (content-value content)) annotations)
    content))

(defun message (role content)
  "A message of a conversation. ROLE is :USER or :ASSISTANT."
  (demand (member :user :assistant) role "MCP:MESSAGE" "the role")
  (make-content :message (object "role" role "content" (block-value content))))

(defun kind-p (kind object)
  (and (content-p object) (eq (content-kind object) kind)))

(defun block-p (object)
  (kind-p :block object))

(defun content-complaint (object)
  "The error message for OBJECT in place of a content block."
  (format nil "~a ~@?" (brief object)
          (case (and (content-p object) (content-kind object))
            (:message "is a message, which only a prompt may return. Return its content instead.")
            (:structured "is a structured value, which only a tool may return.")
            (:question "is a question, which only MCP:ASK-ALL takes.")
            (t "is not a content block. Content blocks are strings and the results of MCP:TEXT, ~
                MCP:IMAGE, MCP:AUDIO, MCP:RESOURCE and MCP:LINK. (MCP:STRUCTURED value) makes any ~
                value a structured one."))))

(defun block-value (object)
  "The protocol's form of OBJECT, a string or a content block."
  (cond ((stringp object) (content-value (text object)))
        ((block-p object) (content-value object))
        (t (error "~a" (content-complaint object)))))

(defun list-of (value)
  "VALUE as a list of parts, without NIL. VALUE is one part or a list."
  (if (listp value)
      (remove nil (proper-list value))
      (list value)))

;;; Definitions.

(defvar *definitions* (make-hash-table :test 'equal)
  "Maps (kind name) to (function lambda-list).")

(defun definition-name (name)
  (demand (or string symbol) name "A definition" "the name")
  (if (stringp name) name (string-downcase name)))

(defun check-body (name body)
  "Signals an error for a form like (:timeout 5), which looks like metadata but has no effect."
  (let ((form (if (and (stringp (first body)) (rest body)) (second body) (first body))))
    (when (and (consp form) (keywordp (first form)))
      (error "~a in the body of ~a has no effect: metadata belongs in the head of the file or in ~
              its JSON file."
             (brief form) (brief name)))))

(defun definition-form (kind name lambda-list body)
  (let ((name (definition-name name)))
    (check-body name body)
    `(progn
       (setf (gethash '(,kind ,name) *definitions*)
             (list (ext:lambda-block ,(intern (string-upcase name)) ,lambda-list ,@body)
                   ',lambda-list))
       ,name)))

(defmacro deftool (name lambda-list &body body)
  "Defines a tool. Its parameters have the names of its arguments, apart from case, hyphens and
underscores. It returns a string, a content block, a list of these, or a structured value."
  (definition-form :tool name lambda-list body))

(defmacro defprompt (name lambda-list &body body)
  "Defines a prompt. It returns a string, a content block, a MESSAGE, or a list of these."
  (definition-form :prompt name lambda-list body))

(defmacro defresource (template lambda-list &body body)
  "Defines a resource, or all resources of a URI template. Its arguments are `uri` and the variables
of the template. It returns a string, octets, a RESOURCE, or a list of these."
  (definition-form :resource template lambda-list body))

(defmacro defcompletion (name lambda-list &body body)
  "Defines a completion, which the `completions` of prompts and URI templates refer to by name. Its
arguments are `argument`, the name of the argument to complete, `value`, its characters so far, and
`context`. It returns a list of strings."
  (definition-form :completion name lambda-list body))

(defun plain-function (name)
  "The user's function of that name, for a tool that is an ordinary function."
  (multiple-value-bind (symbol found)
      (find-symbol (substitute #\- #\_ (string-upcase name)))
    (when (and found
               (fboundp symbol)
               (not (macro-function symbol))
               (not (special-operator-p symbol))
               (not (eq (symbol-package symbol) (find-package "COMMON-LISP")))
               (not (eclave::implementation-package-p (symbol-package symbol))))
      (list (fdefinition symbol) (ext:function-lambda-list symbol)))))

(defconstant +definitions-shown+ 10)

(defun known-definitions ()
  "The definitions, listed for an error message; NIL if there are none."
  (let ((texts (sort (loop for (kind name) being the hash-keys of *definitions*
                           collect (format nil "the ~(~a~) ~s" kind name))
                     #'string<)))
    (when texts
      (format nil "~{~a~^, ~}~:[~;, and more~]"
              (subseq texts 0 (min (length texts) +definitions-shown+))
              (nthcdr +definitions-shown+ texts)))))

(defun definition (kind name)
  (or (gethash (list kind name) *definitions*)
      (and (eq kind :tool) (plain-function name))
      (error "The source defines no ~(~a~) ~s~@[, and no function of that name~*~].~
              ~@[ It defines ~a.~]"
             kind name (eq kind :tool) (known-definitions))))

;;; Arguments.

(defvar *arguments* (object)
  "All arguments of the current call, an object.")

(defun folded (name)
  (remove #\_ (remove #\- (string-downcase name))))

(defun argument (variable)
  "The value and the name of the argument for the parameter VARIABLE; third value: is there one?"
  (let ((names (loop for name being the hash-keys of *arguments* using (hash-value value)
                     when (and (string= (folded name) (folded variable)) (not (eq value :null)))
                       collect name)))
    (when (rest names)
      (fail "The arguments ~{~a~^ and ~} are the same one; give ~a only."
            (sort names #'string<) (json-name variable)))
    (values (and names (gethash (first names) *arguments*)) (first names) (and names t))))

(defun parameter-variable (item)
  (let ((name (if (consp item) (first item) item)))
    (if (consp name) (second name) name)))

(defun parameter-keyword (item)
  (let ((name (if (consp item) (first item) item)))
    (if (consp name) (first name) (intern (symbol-name name) "KEYWORD"))))

(defun call-arguments (lambda-list)
  "The arguments for a function of LAMBDA-LIST, and their names."
  (let ((kind 'required) (values '()) (names '()) (skipped nil))
    (dolist (item lambda-list)
      (if (member item lambda-list-keywords)
          (setf kind item)
          (multiple-value-bind (value name found) (argument (parameter-variable item))
            (when found
              (push name names)
              (when skipped ; this argument would take its place
                (fail "The argument ~a is missing." skipped)))
            (case kind
              (required
               (unless found
                 (fail "The argument ~a is missing." (json-name (parameter-variable item))))
               (push value values))
              (&optional
               (if found
                   (push value values)
                   (setf skipped (or skipped (json-name (parameter-variable item))))))
              (&key
               (when found
                 (push (parameter-keyword item) values)
                 (push value values)))))))
    (values (nreverse values) names)))

(defun check-names (known lambda-list)
  "Fails if there is an argument that the definition does not take."
  (unless (intersection lambda-list '(&allow-other-keys &rest))
    (maphash (lambda (name value)
               (declare (ignore value))
               (unless (or (member name known :test #'string=)
                           (member name (lambda-variables lambda-list)
                                   :test (lambda (name variable)
                                           (string= (folded name) (folded variable)))))
                 (fail "There is no argument ~a.~@[ The arguments are: ~{~a~^, ~}.~]"
                       name (mapcar #'json-name (lambda-variables lambda-list)))))
             *arguments*)))

(defun lambda-variables (lambda-list)
  (loop for item in lambda-list
        until (eq item '&aux)
        unless (member item lambda-list-keywords)
          collect (parameter-variable item)))

(defun call-definition (kind name)
  (destructuring-bind (function lambda-list) (definition kind name)
    (multiple-value-bind (values known) (call-arguments lambda-list)
      (when (eq kind :tool)
        (check-names known lambda-list))
      (values (apply function values)))))

;;; Results.

(defun structured-p (object)
  (kind-p :structured object))

(defun tool-result (value)
  (typecase value
    (list (if (eq (first value) :object)
              (tool-contents '() (list (structured value)))
              (let ((parts (list-of value)))
                (tool-contents (remove-if #'structured-p parts)
                               (remove-if-not #'structured-p parts)))))
    ((or string content) (tool-result (list value)))
    ((or hash-table vector) (tool-contents '() (list (structured value))))
    (t (tool-contents (list (write-json value)) '()))))

(defun tool-contents (parts structured)
  (when (rest structured)
    (error "A result has more than one structured value: ~{~a~^ and ~}."
           (mapcar #'brief structured)))
  (let* ((value (and structured (content-value (first structured))))
         (shown (if (and structured (null parts)) (list (write-json value)) parts))
         (result (object "content" (array (mapcar #'block-value shown)))))
    (when structured
      (setf (gethash "structuredContent" result) value))
    result))

(defun failed-result (failure)
  (object "content" (vector (block-value (princ-to-string failure))) "isError" t))

;;; Values of an evaluation.

(defun blocks-in (value)
  "The content blocks that VALUE is, or that are elements of it."
  (cond ((block-p value) (list value))
        ((and (consp value) (ignore-errors (list-length value))) (remove-if-not #'block-p value))))

(defconstant +blocks-max+ 1024)

(defun contents (values)
  "Called by C. The contents among VALUES as JSON, or NIL."
  (let ((blocks (loop for value in values append (blocks-in value))))
    (when (nthcdr +blocks-max+ blocks)
      (error "There are more than ~d contents." +blocks-max+))
    (when blocks
      (write-json (object "content" (array (mapcar #'content-value blocks)))))))

(defun prompt-result (value)
  (object "messages"
          (array (loop for part in (list-of value)
                       collect (content-value
                                (if (kind-p :message part)
                                    part
                                    (message :user part)))))))

(defun resource-part (part)
  (cond ((and (block-p part) (gethash "resource" (content-value part))))
        ((or (stringp part) (octets-p part))
         (resource-object (gethash "uri" *arguments*) part nil))
        (t (error "~a is not the content of a resource, which must be a string, octets, or a ~
                   result of MCP:RESOURCE."
                  (brief part)))))

(defun resource-result (value)
  (object "contents" (array (mapcar #'resource-part (list-of value)))))

(defconstant +completions-max+ 100)

(defun completion-result (value)
  (demand (and sequence (not string)) value "A completion" "the result")
  (let ((values (list-of (coerce value 'list))))
    (dolist (completion values)
      (demand string completion "A completion" "each of its values"))
    (object "values" (array (if (nthcdr +completions-max+ values)
                                (subseq values 0 +completions-max+)
                                values))
            "total" (length values)
            "hasMore" (> (length values) +completions-max+))))

(defun kind-named (name)
  (or (find name '(:tool :prompt :resource :completion :load) :test #'string-equal)
      (error "Unknown kind of definition: ~a." name)))

(defun run (kind name arguments)
  "Called by C after it has evaluated the source. Returns the result as JSON."
  (let ((kind (kind-named kind))
        (*arguments* (parse-json arguments)))
    (check-type *arguments* hash-table)
    (write-json (ecase kind
                  (:tool (handler-case (tool-result (call-definition kind name))
                           (failure (failure) (failed-result failure))))
                  (:prompt (prompt-result (call-definition kind name)))
                  (:resource (resource-result (call-definition kind name)))
                  (:completion (completion-result (call-definition kind name)))
                  (:load (load-result (ref *arguments* "kind") name))))))

;;; Messages to the client during a call.

(defconstant +event-max+ (* 64 1024)) ; bytes
(defconstant +ask-max+ (* 1024 1024))

(defun send (function object limit)
  (or (funcall function (write-json object :limit limit))
      (error "Nothing can be sent to the client: no definition is running.")))

(defun send-event (type &rest members)
  "MEMBERS are names and values; members whose value is NIL are omitted."
  (send #'eclave::send-event
        (list* :object "type" type (loop for (name value) on members by #'cddr
                                         when value collect name and collect value))
        +event-max+)
  (values))

(defun progress (progress &optional total message)
  "Reports the progress of the call, if the client asked for it."
  (demand real progress "MCP:PROGRESS" "the progress")
  (demand (or null real) total "MCP:PROGRESS" "the total")
  (demand (or null string) message "MCP:PROGRESS" "the message")
  (send-event "progress" "progress" progress "total" total "message" message))

(defun log (level data &optional logger)
  "Sends DATA, any value, as a log message, if the client receives that LEVEL."
  (demand (member :debug :info :notice :warning :error :critical :alert :emergency) level
          "MCP:LOG" "the level")
  (demand (or null string) logger "MCP:LOG" "the logger")
  (send-event "log" "level" level "data" (or data :false) "logger" logger))

(defun publish-change (kind &optional uri)
  "Notifies subscribed clients that the list of :TOOLS, :PROMPTS or :RESOURCES has changed, or the
:RESOURCE with URI."
  (demand (member :tools :prompts :resources :resource) kind "MCP:PUBLISH-CHANGE" "the kind")
  (when (eq kind :resource)
    (demand uri uri "MCP:PUBLISH-CHANGE" "the URI"))
  (send-event "change" "kind" kind "uri" (and (eq kind :resource) uri)))

;;; Questions.

(defconstant +questions-max+ 16)
(defconstant +key-max+ 128) ; bytes

(defun object-form-p (object)
  (or (hash-table-p object)
      (and (consp object) (eq (first object) :object))))

(deftype object-form () '(satisfies object-form-p))

(defun check-options (kind options known)
  "OPTIONS, after checking that they are names among KNOWN, each with a value."
  (loop for (name) on options by #'cddr
        do (unless (member name known)
             (error "~a has no option ~a; its options are ~{~a~^, ~}."
                    kind (brief name) (mapcar #'brief known))))
  (when (oddp (length options))
    (error "~a: the option ~a has no value." kind (brief (first (last options)))))
  options)

(defun make-question (kind key method params)
  (demand string key kind ":KEY")
  (unless (<= 1 (byte-count key 0 (length key)) +key-max+)
    (error "~a: :KEY must have from 1 to ~d bytes." kind +key-max+))
  (make-content :question (list :object "method" method "params" params) key))

(defun elicit-question (kind message &rest schema-and-options)
  "Without a schema, or with NIL, the form is empty."
  (let ((schema (unless (keywordp (first schema-and-options))
                  (pop schema-and-options))))
    (demand string message kind "the message")
    (demand (or null object-form) schema kind "the schema")
    (destructuring-bind (&key (key "elicit") url id)
        (check-options kind schema-and-options '(:key :url :id))
      (make-question kind key "elicitation/create"
                     (if url
                         (page-params kind message url id)
                         (form-params message schema))))))

(defun form-params (message schema)
  (list :object "message" message
                "requestedSchema"
                (or schema '(:object :type :object :properties (:object)))))

(defun page-params (kind message url id)
  (demand uri url kind ":URL")
  (demand string id kind ":ID")
  (list :object "mode" "url" "message" message "url" url "elicitationId" id))

(defun sample-question (kind messages &rest options)
  (destructuring-bind (&key (key "sample") (max-tokens 1000) system-prompt temperature
                            stop-sequences model-preferences)
      (check-options kind options '(:key :max-tokens :system-prompt :temperature
                                    :stop-sequences :model-preferences))
    (demand (integer 1 #.(expt 2 31)) max-tokens kind ":MAX-TOKENS")
    (demand (or null string) system-prompt kind ":SYSTEM-PROMPT")
    (demand (or null real) temperature kind ":TEMPERATURE")
    (demand (or null object-form) model-preferences kind ":MODEL-PREFERENCES")
    (let ((params (prompt-result messages)))
      (setf (gethash "maxTokens" params) max-tokens)
      (loop for (name value) on (list "systemPrompt" system-prompt "temperature" temperature
                                      "stopSequences" (stop-strings kind stop-sequences)
                                      "modelPreferences" model-preferences)
              by #'cddr
            when value do (setf (gethash name params) value))
      (make-question kind key "sampling/createMessage" params))))

(defun stop-strings (kind sequences)
  (demand (or list vector) sequences kind ":STOP-SEQUENCES")
  (let ((strings (list-of (if (stringp sequences) sequences (coerce sequences 'list)))))
    (dolist (string strings strings)
      (demand string string kind "each of :STOP-SEQUENCES"))))

(defun roots-question (kind &rest options)
  (destructuring-bind (&key (key "roots")) (check-options kind options '(:key))
    (make-question kind key "roots/list" (object))))

(defun question (kind &rest arguments)
  "Makes a question for ASK-ALL:
  :ELICIT message [schema] [:key string]      a form for the user; with :URL and :ID a web page
  :SAMPLE messages [:key string] [options]    a completion by the client's model
  :ROOTS [:key string]                        the client's working directories"
  (demand (member :elicit :sample :roots) kind "MCP:ASK" "the kind of question")
  (when (and (null arguments) (not (eq kind :roots)))
    (error "MCP:ASK ~s needs ~:[messages~;a message~]." kind (eq kind :elicit)))
  (apply (ecase kind
           (:elicit #'elicit-question)
           (:sample #'sample-question)
           (:roots #'roots-question))
         (format nil "MCP:ASK ~s" kind)
         arguments))

(defun ask (kind &rest arguments)
  "Asks the client one QUESTION and returns the answer, an object, or signals UNANSWERED."
  (first (ask-all (list (apply #'question kind arguments)))))

(defun check-questions (questions)
  (demand list questions "MCP:ASK-ALL" "the argument")
  (dolist (question (proper-list questions))
    (unless (kind-p :question question)
      (error "MCP:ASK-ALL: ~a is not a question. MCP:QUESTION makes one."
             (brief question))))
  (when (nthcdr +questions-max+ questions)
    (error "MCP:ASK-ALL asks at most ~d questions at once." +questions-max+)))

(defun questions-object (questions)
  (let ((requests (object)))
    (dolist (question questions (object "requests" requests))
      (when (gethash (content-key question) requests)
        (error "Two questions have the key ~s." (content-key question)))
      (setf (gethash (content-key question) requests) (content-value question)))))

(defun ask-all (questions)
  "Asks several QUESTIONS at once and returns the answers in the same order."
  (check-questions questions)
  (when questions
    (answers questions (parse-json (send #'eclave::send-ask (questions-object questions)
                                         +ask-max+)))))

(defun answers (questions answer)
  "The response in ANSWER to each of QUESTIONS."
  (when (nth-value 1 (ref answer "error"))
    (error 'unanswered :format-control "~a"
                       :format-arguments (list (ref answer "error" "message"))))
  (loop for question in questions
        collect (multiple-value-bind (value found)
                    (ref answer "responses" (content-key question))
                  (unless found
                    (error 'unanswered
                           :format-control "The client did not answer the question ~s."
                           :format-arguments (list (content-key question))))
                  value)))
