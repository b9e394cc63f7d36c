;;;; Defines ECL's own functions, macros and methods once more, from its Lisp sources, so that with --native they
;;;; are native code and the tests use them. Loaded with --preload.

(defpackage "ANSI-SOURCES" (:use "COMMON-LISP"))
(in-package "ANSI-SOURCES")

;;; Set by a file that loads this one: the folder, and which half of the files is compiled, 0 or 1. What is
;;; compiled before the first session is limited in time.
(defvar *sources*)
(defvar *half*)

;;; In the order in which ECL loads them.
(defparameter *files*
  '("lsp/seqmacros" "lsp/defmacro" "lsp/evalmacros" "lsp/defstruct" "lsp/setf" "lsp/predlib" "lsp/arraylib"
    "lsp/seq" "lsp/listlib" "lsp/seqlib" "lsp/numlib" "lsp/assert" "lsp/iolib" "lsp/mislib" "lsp/packlib"
    "lsp/module" "lsp/trace" "lsp/format" "lsp/defpackage" "lsp/loop" "lsp/cmuutil"
    "clos/hierarchy" "clos/cpl" "clos/std-slot-value" "clos/slot" "clos/boot" "clos/kernel" "clos/method"
    "clos/combin" "clos/std-accessors" "clos/defclass" "clos/slotvalue" "clos/standard" "clos/builtin"
    "clos/change" "clos/stdmethod" "clos/generic" "clos/fixup" "clos/conditions" "clos/print"
    "lsp/pprint" "lsp/describe" "lsp/unicode" "lsp/autoload" "lsp/helpfile" "lsp/export" "lsp/cdr-5"
    "lsp/cmdline" "lsp/mp" "lsp/ffi" "lsp/process" "clos/walk" "clos/inspect" "clos/streams" "lsp/top"))

;;; Methods of the others are what methods and slots themselves run on: bytecode there calls itself without end.
(defparameter *files-with-methods*
  '("clos/conditions" "clos/print" "clos/streams" "lsp/pprint" "lsp/describe" "clos/inspect"))

;;; That are there only while ECL is built. The reader evaluates them.
(defparameter *constants*
  '(("+BUILT-IN-TYPE-LIST+" ())
    ("+ECL-SAFE-DECLARATIONS+" (optimize (safety 2) (speed 1) (debug 1) (space 1)))
    ("+ECL-UNSAFE-DECLARATIONS+" (optimize (safety 0) (speed 3) (debug 0) (space 0)))))

(defvar *definitions* '() "Lists of a package, a form and whether it is of this half, newest first.")
(defvar *functions* '() "Lists of a name, and a symbol that has its function.")
(defvar *methods* '())
(defvar *left-out* '() "Pairs of a reason and a name.")

;;; Reading.

(defun includes-c-p (form)
  (loop for rest = form then (cdr rest)
        while (consp rest)
        thereis (or (eq (car rest) 'ffi:c-inline) (includes-c-p (car rest)))))

(defvar *collected* nil "Is the file that is read of this half?")

(defun collect (form with-methods)
  (when (consp form)
    (case (first form)
      ((progn locally) (dolist (each (rest form)) (collect each with-methods)))
      (eval-when
       (dolist (each (cddr form)) (collect each with-methods)))
      (in-package (eval form))
      ((defvar defparameter defconstant) ; of which ECL has dropped some
       (unless (boundp (second form))
         (ignore-errors (eval form))))
      ((defun defmacro)
       (push (list *package* form *collected*) *definitions*))
      (defmethod
       (if with-methods
           (push (list *package* form *collected*) *definitions*)
           (push (cons :metaobject (second form)) *left-out*))))))

(defun read-definitions (file)
  (let ((*package* (find-package "SYSTEM"))
        (*collected* (= (mod (position file *files* :test #'string=) 2) *half*)))
    (with-open-file (in (merge-pathnames (concatenate 'string file ".lsp") *sources*))
      (progv (mapcar (lambda (pair) (intern (first pair) "SYSTEM")) *constants*) (mapcar #'second *constants*)
        (loop for form = (read in nil in)
              until (eq form in)
              do (collect form (member file *files-with-methods* :test #'string=)))))))

;;; What may be replaced: what ECL has defined, and eclave has not replaced itself.

(defvar *own-blocks*
  (let ((blocks '()))
    (do-symbols (symbol "ECLAVE" blocks)
      (when (and (eq (symbol-package symbol) (find-package "ECLAVE"))
                 (fboundp symbol)
                 (not (macro-function symbol))
                 (compiled-function-p (fdefinition symbol)))
        (pushnew (si::compiled-function-block (fdefinition symbol)) blocks :test #'eq)))))

(defun own-p (function)
  (and (compiled-function-p function)
       (not (eq (si::compiled-function-block function) (si::compiled-function-block #'car)))
       (member (si::compiled-function-block function) *own-blocks* :test #'eq)))

(defvar *missing* (mapcar (lambda (name) (intern name "SYSTEM"))
          '("INSPECT-PRINT" "INSPECT-RECURSIVELY" "PPRINT-TAGBODY-GUTS"))
  "Functions and macros that are local to a file of ECL, and cannot be had. These are there only while ECL is built.")

(defun mentions-p (names form)
  (if (consp form)
      (loop for rest = form then (cdr rest)
            while (consp rest)
            thereis (mentions-p names (car rest)))
      (and form (symbolp form) (member form names))))

(defun find-missing ()
  "Those that include C, or mention one of those."
  (loop for before = (length *missing*)
        do (loop for (nil form) in *definitions*
                 for name = (second form)
                 do (when (and (member (first form) '(defun defmacro))
                               (not (fboundp name))
                               (or (includes-c-p form) (mentions-p *missing* form)))
                      (pushnew name *missing* :test #'equal)))
        until (= before (length *missing*))))

(defun reason-against (form)
  "NIL if FORM may be evaluated."
  (destructuring-bind (operator name &rest rest) form
    (declare (ignore rest))
    (let ((old (and (fboundp name)
                    (or (and (symbolp name) (macro-function name))
                        (fdefinition name)))))
      (cond ((or (includes-c-p form) (mentions-p *missing* form)) :includes-c)
            ((and (symbolp name) (special-operator-p name)) :special-operator)
            ((own-p old) :of-eclave)
            ((and (eq operator 'defun) (typep old 'generic-function)) :generic)
            ((and (eq operator 'defmacro) old) :macro)
            ((and (eq operator 'defmethod) (not (typep old 'generic-function))) :not-generic)))))

(defun evaluated (package form)
  "The value of FORM, or NIL if it may not be evaluated or cannot be."
  (let* ((*package* package)
         (reason (reason-against form)))
    (handler-case
        (handler-bind ((warning #'muffle-warning))
          (cond (reason
                 (push (cons reason (second form)) *left-out*)
                 nil)
                ((eq (first form) 'defun)
                 (destructuring-bind (name &rest rest) (rest form)
                   (eval `#'(ext:lambda-block ,(if (consp name) (second name) name) ,@rest))))
                (t (eval form))))
      (error (condition)
        (push (list :error (second form) (princ-to-string condition)) *left-out*)
        nil))))

;;; Of what ECL defines twice, since it needs it before it can define it properly, the last is right.
(defun read-all ()
  (mapc #'read-definitions *files*)
  (let ((seen (make-hash-table :test #'equal))
        (kept '()))
    (loop for definition in *definitions*
          for (nil (operator name) wanted) = definition
          do (unless (and (member operator '(defun defmacro)) (gethash name seen))
               (setf (gethash name seen) t)
               (when (or wanted (eq operator 'defmacro))
                 (push definition kept))))
    (setf *definitions* kept)))

(defun note (package form)
  "Has the function or the method of FORM compiled at the end of preloading. ECL's own functions remain
until INSTALL replaces them, since the compiler uses them."
  (let ((value (evaluated package form))
        (name (second form)))
    (when value
      (ecase (first form)
        (defun
         (let ((symbol (make-symbol (princ-to-string name))))
           (setf (fdefinition symbol) value)
           (unless (fboundp name) ; local to a file of ECL
             (setf (fdefinition name) value))
           (push (list name symbol) *functions*)
           (let ((*package* package))
             (eclave::note-thing symbol))))
        (defmethod (push value *methods*))
        (defmacro)))))

(defun install ()
  "Called by each test, in its process. What is still bytecode does not replace what ECL has."
  (let ((si:*ignore-package-locks* t))
    (loop for (name symbol) in *functions*
          do (when (eclave::native-p (fdefinition symbol))
               (si:fset name (fdefinition symbol))))))

(defun native-count ()
  "How many functions and methods are native code, how many are not, and those."
  (let ((native 0)
        (others '()))
    (flet ((note (thing function)
             (if (eclave::native-p function)
                 (incf native)
                 (push thing others))))
      (loop for (name symbol) in *functions* do (note name (fdefinition symbol)))
      (dolist (method *methods*) (note method (eclave::function-of method))))
    (list native (length others) others)))

(ext:package-lock "COMMON-LISP" nil)
(read-all)
(find-missing)
(loop for (package form) in *definitions*
      do (note package form))
(ext:package-lock "COMMON-LISP" t)
