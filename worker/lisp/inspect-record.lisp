;;;; What a session keeps for inspect-lisp: the source of its definitions, and its last error.

(in-package "ECLAVE")

;;; Sources. ECL keeps the lambda expression of a function, without its layout and comments, and
;;; nothing of other definitions.

(defvar *definers* (make-hash-table :test 'eq)
  "From the operator of a definition to the kind of what it defines.")

(loop for (operator kind) in '((defun "function") (defmacro "function") (defgeneric "function")
                               (define-compiler-macro "compiler macro") (defmethod "method")
                               (defsetf "setf function") (define-setf-expander "setf function")
                               (define-modify-macro "function")
                               (defvar "variable") (defparameter "variable")
                               (defconstant "variable") (define-symbol-macro "variable")
                               (defclass "class") (defstruct "class") (define-condition "class")
                               (deftype "class") (defpackage "package")
                               (define-method-combination "method combination")
                               (progn :body) (eval-when :body) (locally :body)
                               (let :body) (let* :body) (flet :body) (labels :body)
                               (macrolet :body) (symbol-macrolet :body))
      do (setf (gethash operator *definers*) kind))

(defstruct (record (:copier nil))
  form
  text      ; as it was written, or NIL
  function) ; that the form defined, or NIL

(defvar *records* (make-hash-table :test 'equal)
  "From (kind name) to a record; of methods, to a list of records.")

(defun function-of (name)
  "The present definition of the function name NAME, or NIL."
  (cond ((and (symbolp name) (macro-function name)))
        ((fboundp name) (fdefinition name))))

(defun definition-name-of (form)
  (let ((name (second form)))
    (cond ((and (consp name) (eq (first form) 'defstruct)) (first name))
          ((and (eq (first form) 'defpackage) (or (symbolp name) (stringp name))) (string name))
          (t name))))

(defun function-name-p (object)
  (or (symbolp object)
      (and (consp object) (eq (first object) 'setf) (consp (rest object))
           (symbolp (second object)) (null (cddr object)))))

(defun method-key (form)
  "The qualifiers and specializers of a DEFMETHOD form."
  (loop for rest on (cddr form)
        while (atom (car rest)) ; NIL is an empty lambda list
        while (car rest)
        collect (car rest) into qualifiers
        finally (return (list qualifiers
                              (loop for parameter in (car rest)
                                    until (member parameter lambda-list-keywords)
                                    collect (if (consp parameter) (second parameter) t))))))

(defun keep-method (name record)
  (let* ((key (list "method" name))
         (same (method-key (record-form record)))
         (others (remove same (gethash key *records*)
                         :key (lambda (other) (method-key (record-form other))) :test #'equal)))
    (setf (gethash key *records*) (append others (list record)))))

(defun keep-definition (form kind text)
  (let ((name (definition-name-of form)))
    (when (or (stringp name) (function-name-p name))
      (let ((record (make-record :form form :text text
                                 :function (and (string= kind "function") (function-of name)))))
        (if (string= kind "method")
            (keep-method name record)
            (setf (gethash (list kind name) *records*) record))))))

(defun keep-definitions-in (forms)
  (loop for rest = forms then (cdr rest)
        while (consp rest)
        do (note-definition (car rest) nil)))

(defun note-definition (form text)
  (let ((kind (and (consp form) (symbolp (car form)) (consp (cdr form))
                   (gethash (car form) *definers*))))
    (cond ((null kind))
          ((eq kind :body) (keep-definitions-in (cdr form)))
          ((eq (car form) 'defgeneric)
           (keep-definition form kind text)
           (loop for option in (proper-part (cdddr form))
                 when (and (consp option) (eq (first option) :method))
                   do (keep-definition `(defmethod ,(second form) ,@(rest option)) "method" nil)))
          (t (keep-definition form kind text)))))

(defconstant +kept-source+ 20000)

(defun note-form (form source start end)
  "Called by C after each form of a call; START and END are its place in the string SOURCE."
  (when (and (symbolp (car form)) (gethash (car form) *definers*))
    (safely nil
      (note-definition form (and (<= (- end start) +kept-source+)
                                 (string-trim '(#\Space #\Newline #\Tab #\Return #\Page)
                                              (subseq source start end)))))))

(defun record-of (kind name)
  (gethash (list kind name) *records*))

(defun function-record (name)
  "The record of the function name NAME, unless it was defined in another way since."
  (let ((record (record-of "function" name)))
    (and record (eq (record-function record) (safely nil (function-of name))) record)))

(defun record-source (record)
  (or (record-text record) (pretty-text (record-form record))))

(defun recorded-lambda-list (name)
  "The lambda list of the session's function or macro NAME as it was written; second value: is there
one?"
  (let* ((record (function-record name))
         (form (and record (record-form record))))
    (if (and (member (first form) '(defun defmacro)) (listp (third form)))
        (values (third form) t)
        (values nil nil))))

;;; The last error, as strings: its objects may be large, or gone. No printing method runs for them,
;;; since each error pays for this, and one that does not return would hide the error.

(defvar *last-error* nil)

(defstruct (noted-error (:copier nil))
  type message frames locals restarts)

(defconstant +locals-shown+ 10)

(defconstant +local-chars+ 150)

(defun local-lines (environment)
  "A line for each local variable in ENVIRONMENT, innermost first, without repeated names."
  (let ((seen '()))
    (loop for rest = environment then (cdr rest)
          while (and (consp rest) (< (length seen) +locals-shown+))
          for record = (car rest)
          when (and (variable-record-p record) (not (member (car record) seen)))
            collect (progn (push (car record) seen)
                           (format nil "~a = ~a" (brief-text (car record))
                                   (brief-text (cdr record) +local-chars+))))))

(defun restart-lines (clusters)
  (loop for cluster in clusters
        append (loop for restart in (if (listp cluster) cluster (list cluster))
                     collect (cut (plain-line
                                   (format nil "~:[(no name)~;~:*~a~]: ~a"
                                           (restart-name restart)
                                           (or (safely nil (princ-to-string restart))
                                               "(cannot be described)")))
                                  +line-chars+))))

(defun note-error (type message frames environments clusters)
  "Called by C for the condition that ended a call. FRAMES are strings, innermost first; ENVIRONMENTS
belong to the last of them."
  (let ((*run-printers* nil))
    (setf *last-error*
          (make-noted-error :type type :message message :frames frames
                            :locals (mapcar #'local-lines environments)
                            :restarts (safely '() (restart-lines clusters))))))

(define-operation "last-error" ()
  (let ((noted *last-error*))
    (if (null noted)
        (answer "No call of this session has ended with an error yet.")
        (let ((bare (- (length (noted-error-frames noted)) (length (noted-error-locals noted)))))
          (answer (format nil "~a: the last error of this session" (noted-error-type noted))
                  (section "message" (noted-error-message noted))
                  (section "restarts" (noted-error-restarts noted))
                  (section "backtrace"
                           (loop for frame in (noted-error-frames noted)
                                 for number from 0
                                 collect (format nil "~d: ~a" number frame)
                                 when (>= number bare)
                                   append (loop for line in (nth (- number bare)
                                                                 (noted-error-locals noted))
                                                collect (format nil "   ~a" line)))))))))
