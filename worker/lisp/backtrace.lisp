;;;; Prints frames as "(FUNCTION ARGUMENTS)". ECL does not record arguments, only a list of the
;;;; local variables of each interpreted function, innermost first. The arguments are found there.

(in-package "ECLAVE")

(defun write-call (function arguments stream)
  (write-string "(" stream)
  (write-part function stream)
  (dolist (argument arguments)
    (write-string " " stream)
    (write-part argument stream))
  (write-string ")" stream))

(defun write-part (object stream)
  (if (eq object '%unknown)
      (write-string "..." stream)
      (write-brief object stream)))

;;; The failing call, if ECL has no frame for it.

(defun argument-call (condition origin)
  "The call of a built-in function that rejected an argument. ECL reports only the argument and its
position; the last call is the one if it had that argument there."
  (let* ((control (simple-condition-format-control condition))
         (arguments (simple-condition-format-arguments condition))
         (function (origin-builtin origin))
         (last-call (origin-arguments origin)))
    (cond ((search "only argument" control)
           (list function (second arguments)))
          ((search "index into the object" control)
           (list function (third arguments) (fourth arguments)))
          ((not (search "~:R argument" control))
           (list function '%unknown))
          ((and (listp last-call)
                (<= (second arguments) (length last-call))
                (eq (nth (1- (second arguments)) last-call) (third arguments)))
           (cons function last-call))
          (t
           (append (list function)
                   (make-list (1- (second arguments)) :initial-element '%unknown)
                   (list (third arguments) '%unknown))))))

(defun undefined-call (condition origin)
  (cons (cell-error-name condition)
        (if (and (origin-certain origin) (listp (origin-arguments origin)))
            (origin-arguments origin)
            '(%unknown))))

(defun failing-call (condition origin)
  "A form, or NIL if the error is in the user's own code."
  (case (class-name (class-of condition))
    ((division-by-zero floating-point-overflow floating-point-underflow floating-point-inexact
      floating-point-invalid-operation)
     (let ((call (operation-call condition origin)))
       (and (first call) call)))
    (undefined-function
     (undefined-call condition origin))
    (t
     (when (origin-builtin origin)
       (if (wrong-argument-p condition)
           (argument-call condition origin)
           (list (origin-builtin origin) '%unknown))))))

(defun write-failing-call (condition origin stream)
  (let ((call (failing-call condition origin)))
    (when call
      (write-call (first call) (rest call) stream))))

;;; Frames of user functions.

(defun parameters (lambda-list)
  "Rows (variable keyword) in the order in which ECL binds them. KEYWORD is NIL for a positional
parameter, T for a rest list, :HIDDEN for a variable that the caller does not pass."
  (let ((kind 'required)
        (rows '()))
    (flet ((add (variable keyword)
             (push (list variable keyword) rows)))
      (dolist (item lambda-list (nreverse rows))
        (cond ((member item lambda-list-keywords) (setf kind item))
              (t
               (let* ((specification (if (consp item) item (list item)))
                      (name (first specification))
                      (variable (if (consp name) (second name) name))
                      (supplied (third specification)))
                 (case kind
                   ((required &optional) (add variable nil))
                   (&rest (add variable t))
                   (&key (add variable (if (consp name)
                                           (first name)
                                           (intern (symbol-name variable) "KEYWORD"))))
                   (t (add variable :hidden)))
                 (when supplied (add supplied :hidden)))))))))

(defun variable-record-p (record)
  (and (consp record) (symbolp (car record)) (car record)))

(defun matching-records (rows environment)
  "The records in ENVIRONMENT of the parameters ROWS, in order; NIL if they are not adjacent there."
  (let ((count (length rows)))
    (loop for tail on environment
          do (let ((run (loop repeat count
                              for rest on tail
                              collect (first rest))))
               (when (and (= (length run) count)
                          (every (lambda (record row)
                                   (and (variable-record-p record)
                                        (eq (car record) (first row))))
                                 (reverse run) rows))
                 (return (reverse run)))))))

(defun special-variable-p (row)
  (si:specialp (first row)))

(defun frame-arguments (rows environment)
  "The arguments as the caller passed them; %UNKNOWN replaces those that are not found."
  (let* ((lexical (remove-if #'special-variable-p rows))
         (records (and lexical (matching-records lexical environment))))
    (if (and lexical (null records))
        (list '%unknown)
        (loop for row in rows
              for record = (and (not (special-variable-p row)) (pop records))
              for value = (if record (cdr record) '%unknown)
              for keyword = (second row)
              append (cond ((eq keyword :hidden) '())
                           ((null keyword) (list value))
                           ((eq keyword t) (if (listp value) (proper-part value) (list value)))
                           (t (list keyword value)))))))

(defun proper-part (list)
  "The first 10 elements of LIST, which may be circular or dotted."
  (loop for rest = list then (cdr rest)
        repeat 10
        while (consp rest)
        collect (car rest)))

(defun refused-arguments (condition)
  "The arguments that the innermost function did not accept, if that is the error; else T."
  (if (eq (class-name (class-of condition)) 'si::simple-program-error) ; made at its first use
      (argument-list condition)
      t))

(defun write-place (function stream)
  "The line of the form that defined FUNCTION, if evaluate.c has noted it. ECL's own notes have pathnames."
  (multiple-value-bind (file line) (si:bc-file function)
    (when (and (stringp file) (typep line '(integer 1)))
      (format stream ", line ~d of ~a" line file))))

(defvar *native-lambda-list* (constantly nil) "Called with a function; native.lisp replaces it.")

(defun write-frame (function environment arguments condition stream)
  "ARGUMENTS are exact, or T if unknown. CONDITION is NIL except for the innermost frame."
  (let* ((name (ext:compiled-function-name function))
         (lambda-list (or (funcall *native-lambda-list* function)
                          (ext:function-lambda-list function)))
         (lambda-list (if (listp lambda-list) lambda-list '()))
         (arguments (if (listp arguments) arguments (refused-arguments condition))))
    (write-call (or name (list 'lambda lambda-list))
                (if (listp arguments)
                    arguments
                    (frame-arguments (parameters lambda-list) environment))
                stream)
    (write-place function stream)))
