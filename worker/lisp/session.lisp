;;;; Repairs the global variables before each call. A user's valid settings stay; values that would
;;;; break the reader, the printer or the streams are replaced by the standard ones.

(in-package "ECLAVE")

(defvar *stdin* nil)
(defvar *terminal* nil)
(defvar *query* nil)
(defvar *debug* nil)
(defvar *warning-handlers* nil)
(defvar *restarts* nil "ABORT, which ends the call without a value.")

(defun radix-p (object)
  (typep object '(integer 2 36)))

(defun limit-p (object)
  (or (null object) (typep object '(integer 0))))

(defun live-package-p (object)
  (and (packagep object) (package-name object)))

(defun float-format-p (object)
  (member object '(single-float double-float short-float long-float)))

(defun print-case-p (object)
  (member object '(:upcase :downcase :capitalize)))

(defun type-specifier-p (object)
  (let ((*break-on-signals* nil))
    (ignore-errors (typep nil object) t)))

(defun callable-or-nil-p (object)
  (or (null object) (callable-p object)))

(defun callable-p (object)
  (or (functionp object)
      (and object (symbolp object) (fboundp object))))

;;; Each row: variable, predicate, replacement for a value that fails it.
(defmacro settle-variables (&rest rows)
  `(progn
     ,@(loop for (variable test standard) in rows
             collect `(unless (and (boundp ',variable) (,test ,variable))
                        (setf ,variable ,standard)))))

(defun user-package ()
  "The package of the user's code, which the code may have deleted."
  (or (find-package "COMMON-LISP-USER")
      (make-package "COMMON-LISP-USER" :nicknames '("CL-USER") :use '("COMMON-LISP"))))

(defun settle-printer ()
  (settle-variables
   (*package* live-package-p (user-package))
   (*print-base* radix-p 10)
   (*print-case* print-case-p :upcase)
   (*print-length* limit-p nil)
   (*print-level* limit-p nil)
   (*print-lines* limit-p nil)
   (*print-miser-width* limit-p nil)
   (*print-right-margin* limit-p nil)
   (*print-pprint-dispatch* si::pprint-dispatch-table-p (copy-pprint-dispatch nil))
   (*readtable* readtablep (copy-readtable nil))
   (*read-default-float-format* float-format-p 'single-float)))

(defun settle-streams ()
  (unless (open-stream-p *stdin*)
    (setf *stdin* (make-concatenated-stream)))
  (unless (and (open-stream-p *terminal*) (open-stream-p *query*) (open-stream-p *debug*))
    (make-terminals))
  (setf *standard-input* *stdin*
        *standard-output* *stdout*
        *error-output* *stderr*
        *trace-output* *stderr*
        *terminal-io* *terminal*
        *query-io* *query*
        *debug-io* *debug*))

(defun make-terminals ()
  (setf *terminal* (make-two-way-stream *stdin* *stdout*)
        *query* (make-two-way-stream *stdin* *stdout*)
        *debug* (make-two-way-stream *stdin* *stderr*)))

(defun open-input (text)
  "Called by C before SETTLE: makes TEXT what standard input has."
  (setf *stdin* (make-string-input-stream text))
  (make-terminals))

(defun settle ()
  "Called by C before each evaluation."
  (setf si::*handler-clusters* *warning-handlers*
        si::*restart-clusters* *restarts*
        ext:*invoke-debugger-hook* #'stop
        *read-suppress* nil)
  (user-package)
  (settle-variables
   (*debugger-hook* callable-or-nil-p nil)
   (*break-on-signals* type-specifier-p nil)
   (*read-base* radix-p 10)
   (*random-state* random-state-p (make-random-state t))
   (*gensym-counter* (lambda (value) (typep value '(integer 0))) 1)
   (*macroexpand-hook* callable-p #'funcall)
   (*features* listp nil)
   (*default-pathname-defaults* pathnamep (pathname "/")))
  (settle-printer)
  (settle-streams))

(defun note-warning (warning)
  "Adds a warning that user code does not handle to the result and muffles it."
  (let ((restart (find-restart 'muffle-warning warning)))
    (when restart ; not if it was only signalled
      (let ((si::*handler-clusters* *warning-handlers*) ; for warnings in a printing method
            (*break-on-signals* nil))
        (keep-warning warning))
      (invoke-restart restart))))

(defun resolve-package (name)
  "The package of a call's `package` argument."
  (or (find-package name)
      (find-package (string-upcase name))
      (error 'unknown-package :package name)))

(defun handle-stack-overflow (continue datum arguments)
  "Replaces ECL's handler, which offers to enlarge the stack. That may move the stack during an
unwinding, so that a jump goes to its old address."
  (declare (ignore continue))
  (unwind-protect (si::universal-error-handler nil datum arguments)
    (reset-stacks)))

(defvar *universal-error-handler* #'si::universal-error-handler)

(defun signal-unlocked (continue datum arguments)
  "Replaces ECL's entry from C. An error while ECL holds the lock of its names, such as exhausted
memory in INTERN, would leave it locked when a handler unwinds, and even making the condition takes
it."
  (let ((held (unlock-names)))
    (prog1 (funcall *universal-error-handler* continue datum arguments)
      (lock-names held)))) ; a restart returned

(defun install ()
  "Called by C once, in the zygote."
  (ext:install-bytecodes-compiler)
  (setf (fdefinition 'si::default-debugger) (lambda (condition) (stop condition nil))
        (fdefinition 'si::search-help-file) #'search-help
        (fdefinition 'si::stack-error-handler) #'handle-stack-overflow
        (fdefinition 'si::universal-error-handler) #'signal-unlocked
        *warning-handlers* (list (list (cons 'warning #'note-warning)))
        *restarts* (list (first (restart-bind ((abort (lambda () (stop nil nil))
                                                 :report-function
                                                 (lambda (stream)
                                                   (write-string "End this call." stream))))
                                  si::*restart-clusters*)))
        *stdin* (make-concatenated-stream))
  (make-terminals)
  (install-refusals)
  (install-systems)
  (settle))

(defun search-help (name file)
  "Replaces ECL's function, which opens the file."
  (declare (ignore file))
  (let* ((key (with-standard-io-syntax
                (let ((si::*print-package* (find-package "COMMON-LISP")))
                  (write-to-string name :pretty nil :readably nil :escape t))))
         (text (help-text (coerce key 'base-string))))
    (when text
      (with-standard-io-syntax
        (let ((*package* (find-package "COMMON-LISP")))
          (read-from-string text))))))
