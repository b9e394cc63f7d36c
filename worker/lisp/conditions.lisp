;;;; Types and messages of conditions. Reports of ECL's own conditions are replaced if they are
;;;; empty, contain addresses, or differ from what users of other implementations expect. Conditions
;;;; that the user defines keep their reports.

(in-package "ECLAVE")

(define-condition unknown-package (package-error)
  ()
  (:report (lambda (condition stream)
             (format stream "There is no package with the name ~s."
                     (package-error-package condition)))))

(defvar *standard-readtable* (copy-readtable nil))

(defun implementation-package-p (package)
  (and package
       (member (package-name package)
               '("SI" "EXT" "C" "CLOS" "MP" "GRAY" "FFI" "WALKER" "ECL-CDB" "ECLAVE")
               :test #'string=)))

(defun own-name (class)
  "The name of CLASS if it is standard, the user's, or an exported extension of ECL; else NIL."
  (let* ((name (class-name class))
         (package (and name (symbolp name) (symbol-package name))))
    (cond ((null package) nil)
          ((not (implementation-package-p package)) name)
          ((and (string= (package-name package) "EXT")
                (eq (nth-value 1 (find-symbol (symbol-name name) package)) :external))
           name))))

(defun vague-p (name)
  "Is NAME too general to describe a condition?"
  (member name '(simple-error simple-condition simple-warning error warning condition
                 serious-condition standard-object t)))

(defun standard-name (condition)
  "For a condition of an internal class: the name of the nearest ancestor that describes it."
  (let ((names (remove nil (mapcar #'own-name
                                   (clos:class-precedence-list (class-of condition))))))
    (or (find-if-not #'vague-p names)
        (first names)
        'condition)))

(defun missing-package-p (condition)
  "ECL's reader signals a SIMPLE-ERROR for a missing package."
  (and (eq (class-name (class-of condition)) 'simple-error)
       (equal (simple-condition-format-control condition)
              "There is no package with the name ~A.")))

(defun type-name (condition)
  (let ((name (class-name (class-of condition))))
    (cond ((member name '(simple-type-error bad-argument)) 'type-error)
          ((eq name 'unavailable) 'simple-error)
          ((eq name 'unknown-name) name)
          ((missing-package-p condition) 'package-error)
          ((own-name (class-of condition)))
          (t (standard-name condition)))))

(defun write-type (condition stream)
  (let ((name (type-name condition))
        (*package* (user-package))
        (*readtable* *standard-readtable*))
    (if (or (eq (symbol-package name) (find-package "EXT"))
            (eq name 'unknown-name))
        (write-string (symbol-name name) stream)
        (with-brief-printing
          (prin1 name stream)))))

;;; Messages.

(defun starts-with-p (prefix string)
  (and (stringp string)
       (>= (length string) (length prefix))
       (string= prefix string :end2 (length prefix))))

(defun report (condition stream)
  (let ((*print-escape* nil)
        (*print-readably* nil)
        (*print-circle* nil)
        (*print-length* 50)
        (*print-level* 8))
    (princ condition stream)))

(defun write-type-sentence (datum type stream)
  (write-string "The value " stream)
  (write-brief datum stream)
  (write-string " is not of type " stream)
  (write-brief type stream)
  (write-string "." stream))

(defun expected-type (condition builtin)
  "ECL reports a cons as the expected type of CAR and CDR, and an internal type for proper lists."
  (let ((type (type-error-expected-type condition)))
    (if (or (eq type 'si::proper-list)
            (and (eq type 'cons) (member builtin '(car cdr))))
        'list
        type)))

(defun report-type-error (condition origin stream)
  (write-type-sentence (type-error-datum condition)
                       (expected-type condition (origin-builtin origin))
                       stream))

(defun function-title (function)
  (if function
      (let ((*print-escape* t)) (with-brief-printing (prin1-to-string function)))
      "an anonymous function"))

(defun wrong-argument-p (condition)
  "Is this ECL's report on an argument of a built-in function?"
  (starts-with-p "In ~:[an anonymous function" (simple-condition-format-control condition)))

(defparameter *folding* '(+ - * / = /= < > <= >= max min gcd lcm logand logior logxor)
  "Functions that ECL folds over their arguments, so that the position it reports is another one.")

(defun report-argument (condition stream)
  "The second sentence, on the position of the argument. The format arguments are (function which
value type), (function value type) for an only argument, or (function which object index type)."
  (let* ((control (simple-condition-format-control condition))
         (arguments (simple-condition-format-arguments condition))
         (function (function-title (first arguments)))
         (which (second arguments)))
    (flet ((place (words)
             (search words control)))
      (cond ((member (first arguments) *folding*)
             (format stream "~%It is an argument of ~a." function))
            ((place "only argument")
             (format stream "~%It is the argument of ~a." function))
            ((place "~:R argument")
             (format stream "~%It is the ~:r argument of ~a." which function))
            ((place "the argument ~S")
             (format stream "~%It is the argument ~s of ~a." which function))
            ((place "index into the object")
             (format stream "~%It is the index into ")
             (write-brief (third arguments) stream)
             (format stream " in ~a." function))))))

(defparameter *type-error-controls*
  '("~S is not a valid index into the object ~S"
    "Not a valid index ~A into sequence ~A"
    "Not a proper list ~D"
    "Circular list ~D"
    "Not a valid property list ~D"
    "Not a non-negative number ~S"
    "~A is not an file stream"
    "~A is not an input stream"
    "~A is not an output stream"
    "~A is not a character stream"
    "~A is not a binary stream")
  "Other reports of ECL for type errors; they are kept as a second sentence.")

(defun report-simple-type-error (condition origin stream)
  (let ((control (simple-condition-format-control condition)))
    (cond ((wrong-argument-p condition)
           (report-type-error condition origin stream)
           (handler-case (report-argument condition stream)
             (error () nil)))
          ((member control *type-error-controls* :test #'equal)
           (report-type-error condition origin stream)
           (terpri stream)
           (report condition stream)
           (write-string "." stream))
          (t (report condition stream)))))

(defparameter *arithmetic*
  '(+ - * / 1+ 1- abs acos acosh ash asin asinh atan atanh ceiling cos cosh exp expt fceiling
    ffloor float floor fround ftruncate isqrt log mod rational rationalize rem round scale-float
    sin sinh sqrt tan tanh truncate)
  "Functions that can cause a floating-point trap.")

(defun trapped-function (function code)
  "The name of the arithmetic function that trapped: FUNCTION if ECL recorded it, else the only one
that CODE refers to."
  (let ((name (and (functionp function) (ext:compiled-function-name function)))
        (named (and (null function)
                    (intersection *arithmetic* (coerce (nth-value 2 (si:bc-split code)) 'list)))))
    (cond ((member name *arithmetic*) name)
          ((null (rest named)) (first named)))))

(defstruct (origin (:type list))
  "Where a condition came from, as C found it (backtrace.h)."
  builtin   ; name of the built-in function that rejected an argument, or NIL
  arguments ; of the last call by the innermost code, or T
  certain   ; is that call certainly the one that failed?
  code      ; the code that called the function that trapped, or NIL
  function) ; the function that trapped, or NIL

(defun operation-call (condition origin)
  "The call that failed, as a form; its function is NIL if only the arguments are known."
  (if (and (slot-boundp condition 'si::operation)
           (arithmetic-error-operation condition))
      (cons (arithmetic-error-operation condition) (arithmetic-error-operands condition))
      (when (origin-code origin)
        (let ((name (trapped-function (origin-function origin) (origin-code origin)))
              (arguments (origin-arguments origin)))
          (when (or name (listp arguments))
            (cons name (if (listp arguments) arguments '(%unknown))))))))

(defun sentence-start (name)
  "FLOATING-POINT-OVERFLOW as \"Floating point overflow\"."
  (let ((words (substitute #\space #\- (string-downcase (symbol-name name)))))
    (setf (char words 0) (char-upcase (char words 0)))
    words))

(defun report-arithmetic-error (condition origin stream)
  (let ((call (operation-call condition origin)))
    (write-string (sentence-start (type-name condition)) stream)
    (when call
      (write-string " in " stream)
      (write-call (or (first call) '%unknown) (rest call) stream))
    (write-string "." stream)))

(defun stream-title (stream)
  (cond ((or (eq stream *stdin*) (eq stream *terminal*) (eq stream *query*) (eq stream *debug*))
         (if (typep *stdin* 'string-stream)
             "standard input, which has no more"
             "standard input, which is empty here"))
        ((typep stream 'string-stream) "a string stream")
        (t "a stream")))

(defun report-end-of-file (condition origin stream)
  (declare (ignore origin))
  (format stream "Unexpected end of file on ~a." (stream-title (stream-error-stream condition))))

(defun report-reader-error (condition origin stream)
  "Omits the start of ECL's report, which names a stream and a position."
  (declare (ignore origin))
  (let ((control (simple-condition-format-control condition))
        (arguments (simple-condition-format-arguments condition)))
    (if (starts-with-p "Reader error in file" control)
        (format stream "~?" (subseq control (+ 2 (search "~%" control))) (cddr arguments))
        (report condition stream))))

(defun argument-list (condition)
  "The arguments that a function did not accept, if ECL reports them; else T."
  (let ((control (simple-condition-format-control condition)))
    (if (and (stringp control) (search "Argument list:" control))
        (second (simple-condition-format-arguments condition))
        t)))

(defun callee-name (function)
  (if (functionp function)
      (ext:compiled-function-name function)
      function))

(defun report-syntax-error (form control arguments stream)
  "For a form that the compiler refuses."
  (if (starts-with-p "FUNCTION: Not a valid argument" control)
      (progn
        (write-brief (first arguments) stream)
        (write-string " is not the name of a function." stream))
      (format stream "~?" control arguments))
  (format stream "~%In the form ")
  (write-brief form stream)
  (write-string "." stream))

(defun report-program-error (condition origin stream)
  "For a call with wrong arguments, names the function instead of printing the object."
  (declare (ignore origin))
  (let* ((control (simple-condition-format-control condition))
         (end (and (stringp control) (search " passed to function ~" control))))
    (cond ((equal control "In form~%~S~%~?")
           (destructuring-bind (form control arguments) (simple-condition-format-arguments condition)
             (report-syntax-error form control arguments stream)))
          (end
           (let ((name (callee-name (first (simple-condition-format-arguments condition)))))
             (format stream "~a passed to ~:[an anonymous function~;~:*~a~]."
                     (subseq control 0 end)
                     (and name (format nil "function ~a" (function-title name))))))
          (t (report condition stream)))))

(defun report-stack-overflow (condition origin stream)
  (declare (ignore origin))
  (format stream "The ~a stack is exhausted: the recursion is too deep."
          (case (ext:stack-overflow-type condition)
            (ext:c-stack "control")
            (ext:binding-stack "binding")
            (ext:frame-stack "frame")
            (t "Lisp"))))

(defun report-storage-exhausted (condition origin stream)
  (declare (ignore condition origin))
  (write-string "The memory limit of the session is reached." stream))

(defun report-file-error (condition origin stream)
  "ECL lists three possible causes, none of which is the sandbox."
  (declare (ignore origin))
  (write-string "The file " stream)
  (write-brief (ignore-errors (namestring (file-error-pathname condition))) stream)
  (write-string " cannot be opened. " stream)
  (write-string (files-hint) stream))

(defparameter *reports*
  '((file-error . report-file-error)
    (si::simple-file-error . report-file-error)
    (type-error . report-type-error)
    (simple-type-error . report-simple-type-error)
    (division-by-zero . report-arithmetic-error)
    (floating-point-overflow . report-arithmetic-error)
    (floating-point-underflow . report-arithmetic-error)
    (floating-point-inexact . report-arithmetic-error)
    (floating-point-invalid-operation . report-arithmetic-error)
    (arithmetic-error . report-arithmetic-error)
    (end-of-file . report-end-of-file)
    (si::simple-reader-error . report-reader-error)
    (si::simple-program-error . report-program-error)
    (ext:stack-overflow . report-stack-overflow)
    (ext:storage-exhausted . report-storage-exhausted))
  "Replaced reports, by exact class: functions of the condition, its origin and the stream.")

(defun slot-values (condition)
  "(name value) of each bound slot."
  (loop for slot in (clos:class-slots (class-of condition))
        for name = (clos:slot-definition-name slot)
        when (and (slot-boundp condition name)
                  (not (implementation-package-p (symbol-package name))))
          collect (list name (slot-value condition name))))

(defun reportless-p (condition)
  "Does CONDITION print as an object because it has no report?"
  (string= (let ((*print-length* 1)
                 (*print-level* 1)
                 (*omitted* condition))
             (princ-to-string condition))
           ""))

(defun write-fallback (condition stream)
  "For a condition without a report, or whose report fails or is empty."
  (write-string "A condition of type " stream)
  (write-type condition stream)
  (write-string " was signalled" stream)
  (loop for (name value) in (slot-values condition)
        for before = " with " then ", "
        do (write-string before stream)
           (write-brief name stream)
           (write-string " = " stream)
           (write-brief value stream))
  (when (typep condition 'simple-condition)
    (write-string ", format control " stream)
    (write-brief (simple-condition-format-control condition) stream))
  (write-string "." stream))

(defun write-missing-package (condition stream)
  (report condition stream)
  (let ((hint (package-hint (first (simple-condition-format-arguments condition)))))
    (when hint
      (write-char #\Newline stream)
      (write-string hint stream))))

(defun write-report (condition origin stream)
  (let ((own (cdr (assoc (class-name (class-of condition)) *reports*))))
    (cond (own (funcall own condition origin stream))
          ((missing-package-p condition) (write-missing-package condition stream))
          ((reportless-p condition) (write-fallback condition stream))
          (t (report condition stream)))))

(defun write-message (condition origin stream)
  "Called by C for the condition that ended the call."
  (write-report condition origin stream)
  (unless (typep condition 'serious-condition)
    (format stream "~%The code entered the debugger, which needs a person, and nobody is here.")))

(defun write-warning (warning stream)
  (if (eq (class-name (class-of warning)) 'simple-warning)
      (write-string "WARNING" stream)
      (write-type warning stream))
  (write-string ": " stream)
  (write-report warning nil stream))

;;; Names that are undefined at the end of a call.

(define-condition undefined-name (style-warning)
  ((kind :initarg :kind :reader undefined-kind)
   (name :initarg :name :reader undefined-name))
  (:report (lambda (condition stream)
             (format stream "The ~a " (undefined-kind condition))
             (write-brief (undefined-name condition) stream)
             (write-string " is undefined." stream))))

(defun defined-variable-p (name)
  (or (boundp name)
      (si:specialp name)
      (not (eq (macroexpand-1 name) name))))

(defun warn-undefined (functions variables condition)
  "Adds a warning for each of these names that is still undefined, but for the one that CONDITION,
which ended the call, names itself."
  (flet ((warn-of (kind names defined-p)
           (dolist (name (delete-duplicates names :from-end t))
             (unless (or (funcall defined-p name)
                         (and (typep condition 'cell-error)
                              (eq name (cell-error-name condition))))
               (keep-warning (make-condition 'undefined-name :kind kind :name name))))))
    (warn-of "function" functions #'fboundp)
    (warn-of "variable" variables #'defined-variable-p)))

(defun error-position (condition source)
  "Where in SOURCE the reader failed: T for its end, a position, or NIL if CONDITION is not from the
reader."
  (cond ((and (typep condition 'end-of-file)
              (eq (stream-error-stream condition) source))
         t)
        ((or (typep condition 'arithmetic-error) ; a float that is out of range
             (and (typep condition 'reader-error)
                  (eq (stream-error-stream condition) source))
             (typep condition 'package-error)
             (missing-package-p condition))
         (file-position source))))
