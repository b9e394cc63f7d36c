;;;; What a tool is written with: definitions, contents, and words to the client while a call runs.
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
;;;; A definition is named by a string, or by a symbol, which stands for its name in lower case; a
;;;; tool may be a plain function of that name as well. An argument belongs to the parameter of the
;;;; same name, whatever the case, hyphens and underscores of both; null counts as none. How values
;;;; become JSON and the reverse stands in json.lisp. Nothing here guards anything: whatever it
;;;; sends, the supervisor checks.

(in-package "MCP")

(define-condition failure (simple-error) ()
  (:documentation "What FAIL signals: the call failed for a reason that the client is told."))

(define-condition unanswered (simple-error) ()
  (:documentation "The client did not answer a question, or cannot be asked."))

(defun fail (control &rest arguments)
  "Ends the call as failed; the reason is what the client reads."
  (error 'failure :format-control "~?" :format-arguments (list control arguments)))

;;; Contents.

(defstruct (content (:constructor make-content (kind value &optional key)) (:copier nil))
  kind   ; :BLOCK, :STRUCTURED, :MESSAGE or :QUESTION
  value  ; an object of the protocol; of :STRUCTURED any value
  key)   ; of a question

(defun uri-character-p (char)
  (and (< 32 (char-code char) 127)
       (or (alphanumericp char) (find char "-._~:/?#[]@!$&'()*+,;=%"))))

(defun escape-p (string start)
  "Do two hexadecimal digits follow the % at START?"
  (and (< (+ start 2) (length string))
       (digit-char-p (char string (+ start 1)) 16)
       (digit-char-p (char string (+ start 2)) 16)))

(defun uri-p (object)
  "A string that begins with a scheme and has only characters that a URI may have?"
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
  "OCTETS as text."
  (check-type octets octets)
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

(defun encode (data)
  "DATA is octets, or base64 already."
  (check-type data (or base64 octets))
  (if (stringp data) data (base64 data)))

(defun text (control &rest arguments)
  "A text; with ARGUMENTS, CONTROL is for FORMAT."
  (check-type control string)
  (block-of "text" "text" (if arguments (apply #'format nil control arguments) control)))

(defun block-of (type &rest members)
  (make-content :block (apply #'object "type" type members)))

(defun image (data mime-type)
  (check-type mime-type mime-type)
  (block-of "image" "data" (encode data) "mimeType" mime-type))

(defun audio (data mime-type)
  (check-type mime-type mime-type)
  (block-of "audio" "data" (encode data) "mimeType" mime-type))

(defun resource-object (uri contents mime-type)
  (check-type uri uri)
  (check-type contents (or string octets))
  (check-type mime-type (or null mime-type))
  (let ((object (object "uri" uri)))
    (if (stringp contents)
        (setf (gethash "text" object) contents)
        (setf (gethash "blob" object) (base64 contents)))
    (when mime-type
      (setf (gethash "mimeType" object) mime-type))
    object))

(defun resource (uri contents &optional mime-type)
  "A resource with its CONTENTS, a string or octets."
  (block-of "resource" "resource" (resource-object uri contents mime-type)))

(defun link (uri name &key title description mime-type size)
  (check-type uri uri)
  (check-type name string)
  (check-type title (or null string))
  (check-type description (or null string))
  (check-type mime-type (or null mime-type))
  (check-type size (or null (integer 0 #.(expt 2 53))))
  (let ((link (block-of "resource_link" "uri" uri "name" name)))
    (loop for (key value) on (list "title" title "description" description
                                   "mimeType" mime-type "size" size)
            by #'cddr
          when value do (setf (gethash key (content-value link)) value))
    link))

(defun structured (value)
  "A result for programs; people are shown it as JSON text when there is no other content."
  (make-content :structured value))

(defun annotate (content &key audience priority)
  "CONTENT for an AUDIENCE, :USER, :ASSISTANT or a list of both, of a PRIORITY from 0 to 1."
  (check-type content content)
  (let ((annotations (object)))
    (when audience
      (dolist (reader (if (listp audience) audience (list audience)))
        (check-type reader (member :user :assistant)))
      (setf (gethash "audience" annotations)
            (array (if (listp audience) audience (list audience)))))
    (when priority
      (check-type priority (real 0 1))
      (setf (gethash "priority" annotations) priority))
    (setf (gethash "annotations" (content-value content)) annotations)
    content))

(defun message (role content)
  "A part of a conversation; ROLE is :USER or :ASSISTANT."
  (check-type role (member :user :assistant))
  (make-content :message (object "role" role "content" (block-value content))))

(defun block-value (object)
  "The block that a part of a result stands for."
  (cond ((stringp object) (content-value (text object)))
        ((and (content-p object) (eq (content-kind object) :block)) (content-value object))
        (t (error "~s is no content: that is a string, or what TEXT, IMAGE, AUDIO, RESOURCE or LINK ~
                   returns. (MCP:STRUCTURED value) returns any value as JSON."
                  object))))

;;; Definitions.

(defvar *definitions* (make-hash-table :test 'equal)
  "By kind and name: (function lambda-list).")

(defun definition-name (name)
  (etypecase name
    (string name)
    (symbol (string-downcase name))))

(defun option-p (form)
  (and (consp form) (keywordp (first form))))

(defun without-options (body)
  "BODY without what is said about the definition, for those who read the source: forms like
(:timeout 5) at its beginning or behind its documentation."
  (let ((documentation (and (stringp (first body)) (rest body) (list (pop body)))))
    (append documentation (member-if-not #'option-p body))))

(defun definition-form (kind name lambda-list body)
  (let ((name (definition-name name)))
    `(progn
       (setf (gethash '(,kind ,name) *definitions*)
             (list (ext:lambda-block ,(intern (string-upcase name)) ,lambda-list
                     ,@(without-options body))
                   ',lambda-list))
       ,name)))

(defmacro deftool (name lambda-list &body body)
  "A tool. Its parameters are named as the arguments, whatever their case, hyphens and underscores;
it returns a string, a content, a list of them, or a value for programs."
  (definition-form :tool name lambda-list body))

(defmacro defprompt (name lambda-list &body body)
  "A prompt. It returns a string, a content, a MESSAGE, or a list of them."
  (definition-form :prompt name lambda-list body))

(defmacro defresource (template lambda-list &body body)
  "A resource, or those of a URI template. It gets `uri` and the parts of the template, and returns
a string, octets, a RESOURCE, or a list of them."
  (definition-form :resource template lambda-list body))

(defmacro defcompletion (name lambda-list &body body)
  "Completes arguments of the prompt or the URI template NAME. It gets `argument`, the name,
`value`, what there is of it, and `context`, and returns a list of strings."
  (definition-form :completion name lambda-list body))

(defun plain-function (name)
  "The user's function of that name, where a tool is no more than that."
  (multiple-value-bind (symbol found)
      (find-symbol (substitute #\- #\_ (string-upcase name)))
    (when (and found
               (fboundp symbol)
               (not (macro-function symbol))
               (not (special-operator-p symbol))
               (not (eq (symbol-package symbol) (find-package "COMMON-LISP")))
               (not (eclave::implementation-package-p (symbol-package symbol))))
      (list (fdefinition symbol) (ext:function-lambda-list symbol)))))

(defun definition (kind name)
  (or (gethash (list kind name) *definitions*)
      (and (eq kind :tool) (plain-function name))
      (error "The source defines no ~(~a~) ~s~@[, and no function of that name~]."
             kind name (eq kind :tool))))

;;; Arguments.

(defvar *arguments* (object)
  "All arguments of the running call, as an object.")

(defun folded (name)
  (remove #\_ (remove #\- (string-downcase name))))

(defun argument (variable)
  "The value of the argument for a parameter, its name, and whether there is one. Null is none."
  (maphash (lambda (name value)
             (when (and (string= (folded name) (folded variable)) (not (eq value :null)))
               (return-from argument (values value name t))))
           *arguments*)
  (values nil nil nil))

(defun parameter-variable (item)
  (let ((name (if (consp item) (first item) item)))
    (if (consp name) (second name) name)))

(defun parameter-keyword (item)
  (let ((name (if (consp item) (first item) item)))
    (if (consp name) (first name) (intern (symbol-name name) "KEYWORD"))))

(defun call-arguments (lambda-list)
  "The list to call a function of LAMBDA-LIST with, and the names of the arguments in it."
  (let ((kind 'required) (values '()) (names '()) (skipped nil))
    (dolist (item lambda-list)
      (if (member item lambda-list-keywords)
          (setf kind item)
          (multiple-value-bind (value name found) (argument (parameter-variable item))
            (when found
              (push name names)
              (when skipped ; what stands behind it would take its place
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
  "Fails for an argument that the definition does not take."
  (unless (intersection lambda-list '(&allow-other-keys &rest))
    (maphash (lambda (name value)
               (declare (ignore value))
               (unless (or (member name known :test #'string=)
                           (member name (lambda-variables lambda-list)
                                   :test (lambda (name variable)
                                           (string= (folded name) (folded variable)))))
                 (fail "There is no argument ~a.~@[ There is: ~{~a~^, ~}.~]"
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
  (and (content-p object) (eq (content-kind object) :structured)))

(defun tool-result (value)
  (typecase value
    (string (tool-contents (list value) nil))
    (list (if (eq (first value) :object)
              (tool-contents '() (structured value))
              (tool-contents (remove-if #'structured-p value) (find-if #'structured-p value))))
    (content (if (structured-p value)
                 (tool-contents '() value)
                 (tool-contents (list value) nil)))
    ((or hash-table vector) (tool-contents '() (structured value)))
    (t (tool-contents (list (write-json value)) nil))))

(defun tool-contents (parts structured)
  (when (and structured (null parts))
    (setf parts (list (write-json (content-value structured)))))
  (let ((result (object "content" (array (mapcar #'block-value parts)))))
    (when structured
      (setf (gethash "structuredContent" result) (content-value structured)))
    result))

(defun failed-result (failure)
  (object "content" (vector (block-value (princ-to-string failure))) "isError" t))

(defun list-of (value)
  (if (listp value) value (list value)))

(defun prompt-result (value)
  (object "messages"
          (array (loop for part in (list-of value)
                       collect (content-value
                                (if (and (content-p part) (eq (content-kind part) :message))
                                    part
                                    (message :user part)))))))

(defun resource-part (part)
  (cond ((and (content-p part) (eq (content-kind part) :block)
              (gethash "resource" (content-value part))))
        ((or (stringp part) (octets-p part))
         (resource-object (gethash "uri" *arguments*) part nil))
        (t (error "~s is no content of a resource: that is a string, octets, or what RESOURCE ~
                   returns."
                  part))))

(defun resource-result (value)
  (object "contents" (array (mapcar #'resource-part (list-of value)))))

(defconstant +completions-max+ 100)

(defun completion-result (value)
  (let ((values (coerce value 'list)))
    (dolist (completion values)
      (check-type completion string))
    (object "values" (array (if (nthcdr +completions-max+ values)
                                (subseq values 0 +completions-max+)
                                values))
            "total" (length values)
            "hasMore" (> (length values) +completions-max+))))

(defun kind-named (name)
  (or (find name '(:tool :prompt :resource :completion) :test #'string-equal)
      (error "There is nothing of the kind ~a." name)))

(defun run (kind name arguments)
  "Called by C when the source is evaluated. The result as JSON text."
  (let ((kind (kind-named kind))
        (*arguments* (parse-json arguments)))
    (check-type *arguments* hash-table)
    (write-json (ecase kind
                  (:tool (handler-case (tool-result (call-definition kind name))
                           (failure (failure) (failed-result failure))))
                  (:prompt (prompt-result (call-definition kind name)))
                  (:resource (resource-result (call-definition kind name)))
                  (:completion (completion-result (call-definition kind name)))))))

;;; Words to the client while the call runs.

(defconstant +event-max+ (* 64 1024)) ; bytes
(defconstant +ask-max+ (* 1024 1024))

(defun send (function object limit)
  (or (funcall function (write-json object :limit limit))
      (error "There is nobody to tell or to ask: no tool is running.")))

(defun send-event (type &rest members)
  "MEMBERS are names and values; those that are NIL are left out."
  (send #'eclave::send-event
        (list* :object "type" type (loop for (name value) on members by #'cddr
                                         when value collect name and collect value))
        +event-max+)
  (values))

(defun progress (progress &optional total message)
  "Tells how far the call is. The client sees it when it asked for that."
  (check-type progress real)
  (check-type total (or null real))
  (check-type message (or null string))
  (send-event "progress" "progress" progress "total" total "message" message))

(defun log (level data &optional logger)
  "A line of the log, of any value. The client sees it when it listens to that level."
  (check-type level (member :debug :info :notice :warning :error :critical :alert :emergency))
  (check-type logger (or null string))
  (send-event "log" "level" level "data" (or data :false) "logger" logger))

(defun publish-change (kind &optional uri)
  "Tells those who listen that the :TOOLS, :PROMPTS or :RESOURCES there are have changed, or the
:RESOURCE of URI."
  (check-type kind (member :tools :prompts :resources :resource))
  (when (eq kind :resource)
    (check-type uri uri))
  (send-event "change" "kind" kind "uri" (and (eq kind :resource) uri)))

(defun make-question (key method params)
  (check-type key string)
  (make-content :question (list :object "method" method "params" params) key))

(defun elicit-question (message &optional (schema '(:object :type :object :properties (:object)))
                        &key (key "elicit") url id)
  (check-type message string)
  (cond (url
         (check-type url uri)
         (check-type id string)
         (make-question key "elicitation/create"
                        (list :object "mode" "url" "message" message "url" url
                              "elicitationId" id)))
        (t
         (check-type schema (or hash-table cons))
         (make-question key "elicitation/create"
                        (list :object "message" message "requestedSchema" schema)))))

(defun sample-question (messages &key (key "sample") (max-tokens 1000) system-prompt temperature
                                   stop-sequences model-preferences)
  (check-type max-tokens (integer 1 #.(expt 2 31)))
  (let ((params (prompt-result messages)))
    (setf (gethash "maxTokens" params) max-tokens)
    (loop for (name value) on (list "systemPrompt" system-prompt "temperature" temperature
                                    "stopSequences" stop-sequences
                                    "modelPreferences" model-preferences)
            by #'cddr
          when value do (setf (gethash name params) value))
    (make-question key "sampling/createMessage" params)))

(defun roots-question (&key (key "roots"))
  (make-question key "roots/list" (object)))

(defun question (kind &rest arguments)
  "What ASK-ALL asks:
  :ELICIT message [schema] [:key string]      a form for the user; :URL and :ID for a page instead
  :SAMPLE messages [:key string] [options]    an answer of the client's model
  :ROOTS [:key string]                        the directories that the client works in"
  (apply (ecase kind
           (:elicit #'elicit-question)
           (:sample #'sample-question)
           (:roots #'roots-question))
         arguments))

(defun ask (kind &rest arguments)
  "Asks the client one QUESTION and returns its answer, an object. Signals UNANSWERED."
  (first (ask-all (list (apply #'question kind arguments)))))

(defun questions-object (questions)
  (let ((requests (object)))
    (dolist (question questions (object "requests" requests))
      (check-type question content)
      (when (gethash (content-key question) requests)
        (error "Two questions have the key ~s." (content-key question)))
      (setf (gethash (content-key question) requests) (content-value question)))))

(defun ask-all (questions)
  "Asks several at once and returns the answers in the same order."
  (let* ((answer (parse-json (send #'eclave::send-ask (questions-object questions) +ask-max+)))
         (reason (ref answer "error" "message")))
    (when (nth-value 1 (ref answer "error"))
      (error 'unanswered :format-control "~a" :format-arguments (list reason)))
    (loop for question in questions
          collect (multiple-value-bind (value found)
                      (ref answer "responses" (content-key question))
                    (unless found
                      (error 'unanswered
                             :format-control "The client did not answer the question ~s."
                             :format-arguments (list (content-key question))))
                    value))))
