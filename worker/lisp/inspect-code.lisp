;;;; Operations of inspect-lisp on code: sources, macro expansion, references, measuring.

(in-package "ECLAVE")

;;; Sources.

(defun function-source (name)
  (let ((record (function-record name)))
    (if record
        (record-source record)
        (let ((expression (safely nil (function-lambda-expression (function-of name)))))
          (and expression (pretty-text (as-definition expression)))))))

(defun as-definition (expression)
  "The DEFUN form that ECL has made EXPRESSION of, or EXPRESSION."
  (if (and (eq (first expression) 'ext:lambda-block) (not (macro-function-name-p expression)))
      (destructuring-bind (name lambda-list &rest body) (rest expression)
        `(defun ,name ,lambda-list
           ,@(let ((text (safely nil (documentation name 'function))))
               (and text (list text)))
           ,@(remove '(declare (si::c-global)) body :test #'equal)))
      expression))

(defun macro-function-name-p (expression)
  (let ((name (second expression)))
    (and (symbolp name) (macro-function name) t)))

(defun method-sources (name)
  (mapcar #'record-source (gethash (list "method" name) *records*)))

(defun other-sources (name)
  "(title text) of what else NAME defines."
  (loop for kind in '("variable" "class" "setf function" "compiler macro" "method combination"
                      "package")
        for record = (record-of kind (if (string= kind "package") (string name) name))
        when (and record (still-defined-p kind name))
          collect (list kind (record-source record))))

(defun still-defined-p (kind name)
  (safely nil
    (cond ((string= kind "variable") (variable-kind name))
          ((string= kind "class") (class-kind name))
          ((string= kind "package") (find-package (string name)))
          (t t))))

(define-operation "source" ("name")
  (let* ((name (named-function-name (name-argument)))
         (kind (function-kind name))
         (function (and kind (function-source name)))
         (methods (and kind (method-sources name)))
         (others (and (symbolp name) (other-sources name))))
    (unless (or function methods others)
      (refuse-name "The session has no source of ~a, which is: ~:[not defined~;~:*~a~]."
                   (brief-text name) (if (symbolp name) (kinds-text name) kind)))
    (apply #'answer
           (format nil "~a: ~a" (brief-text name) (if (symbolp name) (kinds-text name) kind))
           (when function (section kind function))
           (when methods (section "methods" methods))
           (loop for (title text) in others
                 collect (section title text)))))

;;; Macro expansion.

(defun expansion-answer (form expansion expanded)
  (answer (format nil "~a" (brief-text form))
          (section "expansion" (if expanded (pretty-text expansion) "(not a macro form)"))))

(define-operation "macroexpand-1" ("form")
  (let ((form (read-form)))
    (multiple-value-bind (expansion expanded) (macroexpand-1 form)
      (expansion-answer form expansion expanded))))

(define-operation "macroexpand-all" ("form")
  (let* ((form (read-form))
         (expansion (walker:macroexpand-all form)))
    (expansion-answer form expansion (not (equal form expansion)))))

;;; References. ECL's compiler of bytecodes hands each form that it compiles, macro forms and their
;;; expansions too, to SI:*CODE-WALKER*, with the names that are bound around it. So the references
;;; of a definition are found by compiling it again.

(defstruct (references (:copier nil))
  (functions '()) ; in order of appearance
  (reads '())
  (writes '()))

(defun bound-in-p (name environment)
  (loop for rest = environment then (cdr rest)
        while (consp rest)
        thereis (and (consp (car rest)) (eq (caar rest) name))))

(defun note-references (form environment references)
  (destructuring-bind (variables . functions) environment
    (flet ((function-reference (name)
             (when (and (function-name-p name) name
                        (not (and (symbolp name)
                                  (or (special-operator-p name) (bound-in-p name functions)))))
               (pushnew name (references-functions references) :test #'equal)))
           (variable-reference (name)
             (and (symbolp name) name (not (keywordp name)) (not (eq name t))
                  (not (bound-in-p name variables)))))
      (cond ((atom form)
             (when (variable-reference form)
               (pushnew form (references-reads references))))
            (t
             (function-reference (first form))
             (case (first form)
               (function (when (consp (rest form)) (function-reference (second form))))
               (setq (loop for (name) on (proper-part (rest form)) by #'cddr
                           when (variable-reference name)
                             do (pushnew name (references-writes references))))))))))

(defun references-in (expression)
  "The references of EXPRESSION, a lambda expression, or NIL if it does not compile."
  (let ((references (make-references)))
    (when (safely nil
            (let ((si::*code-walker* (lambda (form environment)
                                      (note-references form environment references)
                                      form)))
              (si::eval-with-env `(function ,expression)))
            t)
      references)))

(defun method-lambda (form)
  "A lambda expression for a DEFMETHOD form."
  (let* ((rest (member-if #'listp (cddr form)))
         (parameters (loop for tail on (first rest)
                           until (member (first tail) lambda-list-keywords)
                           collect (if (consp (first tail)) (first (first tail)) (first tail))
                             into required
                           finally (return (append required tail)))))
    `(lambda ,parameters
       (flet ((call-next-method (&rest arguments) arguments) (next-method-p () nil))
         (declare (ignorable #'call-next-method #'next-method-p))
         ,@(rest rest)))))

(defun variables-in (lambda-list)
  "The symbols in LAMBDA-LIST, of a macro, that can be variables."
  (cond ((consp lambda-list)
         (remove-duplicates (append (variables-in (car lambda-list))
                                    (variables-in (cdr lambda-list)))))
        ((and lambda-list (symbolp lambda-list) (not (constantp lambda-list))
              (not (member lambda-list lambda-list-keywords)))
         (list lambda-list))))

(defun code-of (name)
  "A lambda expression for the function or macro NAME, or NIL. That of a macro in ECL has the code
that takes its arguments apart."
  (let* ((record (function-record name))
         (form (and record (record-form record))))
    (safely nil
      (if (and form (eq (first form) 'defmacro))
          `(lambda ,(variables-in (third form)) ,@(cdddr form))
          (function-lambda-expression (function-of name))))))

(defun session-code ()
  "A list of (title . lambda expression) for all code that the session has defined."
  (append
   (loop for name in (session-functions)
         for expression = (code-of name)
         when expression
           collect (cons (brief-text name) expression))
   (loop for key being the hash-keys of *records* using (hash-value records)
         when (string= (first key) "method")
           append (loop for record in records
                        collect (cons (method-title (second key) (record-form record))
                                      (method-lambda (record-form record)))))))

(defun method-title (name form)
  (destructuring-bind (qualifiers specializers) (method-key form)
    (format nil "~a~{ ~a~} ~a" (brief-text name) (mapcar #'brief-text qualifiers)
            (brief-text specializers))))

(defun callee-lines (names)
  (mapcar (lambda (name)
            (format nil "~a: ~:[undefined~;~:*~a~]~@[ of ~a~]" (brief-text name)
                    (function-kind name)
                    (let ((package (symbol-package (if (symbolp name) name (second name)))))
                      (and package (not (member package (session-packages)))
                           (package-name package)))))
          names))

(defun own-code (name)
  "The (title . lambda expression) of the function and the methods of NAME."
  (let ((expression (code-of name)))
    (append (and expression (list (cons (brief-text name) expression)))
            (loop for record in (gethash (list "method" name) *records*)
                  collect (cons (method-title name (record-form record))
                                (method-lambda (record-form record)))))))

(define-operation "callees" ("name")
  (let* ((name (named-function-name (name-argument)))
         (code (own-code name))
         (all (loop for (nil . expression) in code
                    for references = (references-in expression)
                    when references collect references)))
    (unless code
      (refuse-name "~a has no code that the session has defined; it is: ~:[not defined~;~:*~a~]."
                   (brief-text name) (function-kind name)))
    (flet ((names (part)
             (remove-duplicates (loop for references in all
                                      append (reverse (funcall part references)))
                                :test #'equal :from-end t)))
      (answer (format nil "~a: ~a" (brief-text name) (function-kind name))
              (section "calls" (or (callee-lines (names #'references-functions)) "(nothing)"))
              (section "reads variables" (mapcar #'brief-text (names #'references-reads)))
              (section "sets variables" (mapcar #'brief-text (names #'references-writes)))))))

(define-operation "callers" ("name")
  (let ((name (named-function-name (name-argument)))
        (callers '()) (readers '()) (writers '()) (count 0))
    (loop for (title . expression) in (session-code)
          for references = (references-in expression)
          do (incf count)
          when references
            do (when (member name (references-functions references) :test #'equal)
                 (push title callers))
               (when (member name (references-reads references)) (push title readers))
               (when (member name (references-writes references)) (push title writers)))
    (answer (format nil "~a: ~:[~a~;~:*~a~*~]" (brief-text name)
                    (and (symbolp name) (kinds-text name)) (function-kind name))
            (section "called by" (or (nreverse callers)
                                     (format nil "(none of the ~d function~:p and methods of the session)"
                                             count)))
            (section "read by" (nreverse readers))
            (section "set by" (nreverse writers)))))

;;; Disassembly.

(define-operation "disassemble" (("name" "form"))
  (let* ((name (if (given "name") (named-function-name (name-argument)) (read-form)))
         (function (cond ((given "form") (eval (if (eq (car (listp* name)) 'lambda)
                                                   `(function ,name)
                                                   `(lambda () ,name))))
                         (t (function-of name)))))
    (unless function
      (refuse-name "~a names no function or macro." (brief-text name)))
    (let ((text (with-output-to-string (*standard-output*)
                  (si::bc-disassemble function))))
      (when (string= text "")
        (refuse-name "~a is compiled to machine code, or has no code of its own; only interpreted functions can be shown."
                     (brief-text name)))
      (answer (format nil "~a" (brief-text name))
              (section "bytecode" (text-lines text))))))

(defun listp* (object)
  (if (listp object) object '()))

(defun text-lines (text)
  (with-input-from-string (in text)
    (loop for line = (read-line in nil)
          while line
          unless (string= line "") collect (cut (string-right-trim " " line) +line-chars+))))

;;; Measuring.

(defun value-lines (values)
  (or (mapcar (lambda (value) (format nil "=> ~a" (brief-text value))) values)
      '("; no values")))

(defun milliseconds (nanoseconds)
  (format nil "~,3f ms" (/ nanoseconds 1d6)))

(defun call-of-form (form)
  "A function that evaluates FORM, and shows as (:FORM) in a backtrace."
  (let ((function (eval `(ext:lambda-block :form () ,form))))
    (lambda ()
      (let ((*package* *package*))
        (funcall function)))))

(define-operation "time" ("form")
  (let* ((form (read-form))
         (title (brief-text form))
         (code (call-of-form form))
         (bytes (bytes-allocated))
         (run (get-internal-run-time))
         (start (clock-ns))
         (values (multiple-value-list (funcall code)))
         (real-ns (- (clock-ns) start))
         (run-ms (floor (* 1000 (- (get-internal-run-time) run)) internal-time-units-per-second))
         (consed (- (bytes-allocated) bytes)))
    (answer title
            (section "values" (value-lines values))
            (section "time"
                     (format nil "real: ~a" (milliseconds real-ns))
                     (format nil "processor: ~d ms" run-ms))
            (section "allocation" (format nil "~d bytes" consed)))))

;;; The profile. A worker can have no timer that interrupts it, so calls are counted and measured.

(defstruct (profile-row (:copier nil))
  name (calls 0) (self 0) (total 0) (depth 0))

(defvar *profile-mark* 0 "When the time was last accounted for, in nanoseconds.")
(defvar *profile-current* nil "The row of the function that runs.")

(defun account ()
  (let ((now (clock-ns)))
    (when *profile-current*
      (incf (profile-row-self *profile-current*) (- now *profile-mark*)))
    (setf *profile-mark* now)))

(defun measured (function row)
  (lambda (&rest arguments)
    (account)
    (incf (profile-row-calls row))
    (incf (profile-row-depth row))
    (let ((caller *profile-current*)
          (start *profile-mark*))
      (setf *profile-current* row)
      (unwind-protect (apply function arguments)
        (account)
        (setf *profile-current* caller)
        (when (zerop (decf (profile-row-depth row)))
          (incf (profile-row-total row) (- *profile-mark* start)))))))

(defun measure-functions (names)
  "Replaces the functions NAMES by measured ones, and returns their rows."
  (loop for name in names
        for function = (function-of name)
        unless (and (symbolp name) (macro-function name))
          collect (let ((row (make-profile-row :name name)))
                    (setf (fdefinition name) (measured function row))
                    row)))

(define-operation "profile" ("form")
  (let* ((form (read-form))
         (title (brief-text form))
         (code (call-of-form form))
         (rows (measure-functions (session-functions)))
         (rest (make-profile-row))
         (*profile-current* rest)
         (*profile-mark* (clock-ns))
         (start *profile-mark*)
         (values (multiple-value-list (funcall code))))
    (account)
    (let ((total (max 1 (- *profile-mark* start)))
          (called (sort (remove 0 rows :key #'profile-row-calls) #'> :key #'profile-row-self)))
      (answer title
              (section "values" (value-lines values))
              (section "time" (format nil "real: ~a, with the cost of measuring"
                                      (milliseconds total)))
              (section "profile: calls, own time, own share, time with callees"
                       (or (loop for row in called
                                 collect (format nil "~a: ~d, ~a, ~d%, ~a"
                                                 (brief-text (profile-row-name row))
                                                 (profile-row-calls row)
                                                 (milliseconds (profile-row-self row))
                                                 (round (* 100 (profile-row-self row)) total)
                                                 (milliseconds (profile-row-total row))))
                           "(no function of the session was called)")
                       (format nil "(everything else): ~a, ~d%"
                               (milliseconds (profile-row-self rest))
                               (round (* 100 (profile-row-self rest)) total)))))))
