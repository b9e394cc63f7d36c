;;;; The tool inspect-lisp: its arguments, its answers and its safe printing. The operations are in
;;;; inspect-*.lisp.
;;;;
;;;; An answer is a headline and sections, "[name]" with a line for each item. The call is undone
;;;; afterwards, so that an operation may run code of the user: macro functions, printing methods, the
;;;; form to measure.

(in-package "ECLAVE")

(define-condition bad-argument (simple-type-error) ()
  (:documentation "An argument is missing or of the wrong kind."))

(define-condition unknown-name (simple-error) ()
  (:documentation "There is nothing of that name or number."))

(defun refuse-argument (control &rest arguments)
  (error 'bad-argument :datum nil :expected-type t
                       :format-control control :format-arguments arguments))

(defun refuse-name (control &rest arguments)
  (error 'unknown-name :format-control control :format-arguments arguments))

;;; Safe printing. Code of the user may signal, throw, invoke restarts or enter the debugger while it
;;; prints.

(defun call-safely (function default)
  (block nil
    (let ((*break-on-signals* nil)
          (*debugger-hook* nil)
          (si::*restart-clusters* '())
          (ext:*invoke-debugger-hook* (lambda (condition hook)
                                        (declare (ignore condition hook))
                                        (return default))))
      (handler-case (funcall function)
        (serious-condition () default)))))

(defmacro safely (default &body body)
  "The value of BODY, or DEFAULT if BODY does not return."
  `(call-safely (lambda () ,@body) ,default))

(defconstant +line-chars+ 300)
(defconstant +text-chars+ 20000)

(defun cut (string limit)
  (if (<= (length string) limit)
      string
      (format nil "~a... (~d more characters)" (subseq string 0 limit) (- (length string) limit))))

(defun plain-line (string)
  "STRING on one line."
  (substitute-if #\Space (lambda (char) (< (char-code char) 32)) string))

(defconstant +brief-elements+ 8)
(defconstant +brief-depth+ 4)

(defstruct (part (:copier nil) (:constructor make-part (label value &optional unbound)))
  "A part of an object."
  label value unbound)

(defvar *run-printers* t "May printing methods of the user run?")

(defun instance-p (object)
  (typep object '(or standard-object structure-object condition)))

(defun put-instance (object depth out)
  "Prints the slots of OBJECT without its printing method."
  (write-string "#<" out)
  (write-string (brief-atom (class-title (class-of object))) out)
  (when (plusp depth)
    (loop for part in (slot-parts object)
          for count from 0
          do (when (= count +brief-elements+)
               (write-string " ..." out)
               (loop-finish))
             (format out " ~a = " (part-label part))
             (if (part-unbound part)
                 (write-string "(unbound)" out)
                 (put-brief (part-value part) (1- depth) out))))
  (write-string ">" out))

(defun without-blanks-for-numbers (text)
  "TEXT without \" @...\", which stands for an object that the last answer does not show."
  (let ((mark (search " @...>" text)))
    (if mark
        (concatenate 'string (subseq text 0 mark)
                     (without-blanks-for-numbers (subseq text (+ mark 5))))
        text)))

(defun brief-atom (object)
  (let ((text (or (safely nil
                    (plain-line (with-output-to-string (out) (write-brief object out))))
                  (safely "#<unprintable object>"
                    (with-output-to-string (out) (write-unprintable object out))))))
    (if (typep object '(or string symbol))
        text
        (without-blanks-for-numbers text))))

(defun put-elements (list open depth out)
  (write-string open out)
  (loop for rest = list then (cdr rest)
        for count from 0
        while (consp rest)
        do (when (plusp count)
             (write-char #\Space out))
           (when (= count +brief-elements+)
             (write-string "..." out)
             (loop-finish))
           (put-brief (car rest) (1- depth) out)
        finally (when (and rest (atom rest))
                  (write-string " . " out)
                  (put-brief rest (1- depth) out)))
  (write-char #\) out))

(defun put-brief (object depth out)
  "Like WRITE-BRIEF, but each element of a list or vector by itself, since one of them may fail."
  (cond ((and (zerop depth) (or (consp object) (simple-vector-p object)))
         (write-char #\# out))
        ((consp object)
         (put-elements object "(" depth out))
        ((simple-vector-p object)
         (put-elements (coerce (subseq object 0 (min (length object) (1+ +brief-elements+))) 'list)
                       "#(" depth out))
        ((and (not *run-printers*) (instance-p object))
         (put-instance object (min depth 2) out))
        ((and (not *run-printers*) (arrayp object) (not (stringp object)))
         (format out "#<~a>" (object-kind object)))
        (t (write-string (brief-atom object) out))))

(defun brief-text (object &optional (limit +line-chars+))
  "OBJECT on one line of about LIMIT characters."
  (cut (with-output-to-string (out) (put-brief object +brief-depth+ out)) limit))

(defvar *standard-pprint-dispatch* (copy-pprint-dispatch nil))

(defconstant +tree-nodes+ 20000)

(defun small-tree-p (form)
  "Has FORM, as a tree, few nodes? Then it is not circular."
  (let ((agenda (list form)))
    (loop repeat +tree-nodes+
          while agenda
          do (let ((next (pop agenda)))
               (when (consp next)
                 (push (cdr next) agenda)
                 (push (car next) agenda))))
    (null agenda)))

(defun pretty-text (form)
  "FORM, which is code, on several lines."
  (or (safely nil
        (let ((*print-readably* nil) (*print-escape* t) (*print-pretty* t)
              (*print-circle* (not (small-tree-p form)))
              (*print-case* :downcase) (*print-base* 10) (*print-radix* nil) (*print-lines* nil)
              (*print-length* 500) (*print-level* 50) (*print-right-margin* 100)
              (*print-miser-width* nil) (*print-pprint-dispatch* *standard-pprint-dispatch*))
          (cut (write-to-string form) +text-chars+)))
      (brief-text form)))

(defun joined (objects &optional (separator " "))
  "The briefly printed OBJECTS, or \"(none)\"."
  (if objects
      (with-output-to-string (out)
        (loop for (object . more) on objects
              do (write-string (brief-text object) out)
                 (when more (write-string separator out))))
      "(none)"))

;;; Answers.

(defvar *limit* 50 "Lines of a section.")

(defun section (title &rest parts)
  "A section of the lines PARTS: strings, lists of strings, and NIL for nothing."
  (cons title (loop for part in parts
                    if (listp part) append part else collect part)))

(defun write-section (section out)
  (destructuring-bind (title . lines) section
    (when lines
      (format out "~%[~a]" title)
      (loop for line in lines
            repeat *limit*
            do (terpri out)
               (write-string line out))
      (let ((rest (nthcdr *limit* lines)))
        (when rest
          (format out "~%... ~d more (limit ~d)" (length rest) *limit*))))))

(defun answer (headline &rest sections)
  "The text of an answer. An empty section is left out."
  (with-output-to-string (out)
    (write-string headline out)
    (dolist (section sections)
      (when section
        (write-section section out)))))

;;; Arguments.

(defvar *inspection* nil "The arguments of the call: a hash table from names to JSON values.")

(defun given (name)
  "The argument NAME, or NIL. Null and an empty string count as absent."
  (let ((value (gethash name *inspection*)))
    (unless (or (eq value :null) (equal value ""))
      value)))

(defun given-of-type (name type words)
  (let ((value (given name)))
    (unless (or (null value) (typep value type))
      (refuse-argument "The argument ~a must be ~a." name words))
    value))

(defun given-string (name)
  (given-of-type name 'string "a string"))

(defun given-integer (name)
  (given-of-type name '(integer 0) "an integer, at least 0"))

(defvar *operations* (make-hash-table :test 'equal)
  "From the name of an operation to its function and the arguments that it needs. A list within them
has alternatives.")

(defmacro define-operation (name needs &body body)
  `(setf (gethash ,name *operations*) (list (lambda () ,@body) ',needs)))

(defun check-needs (operation needs)
  (dolist (need needs)
    (let ((names (if (listp need) need (list need))))
      (unless (some #'given names)
        (refuse-argument "The operation ~a needs the argument ~{~a~^ or ~}." operation names)))))

(defun operation-names ()
  (sort (loop for name being the hash-keys of *operations* collect name) #'string<))

(defun inspect-session (json)
  "Called by C. The answer to the call with the arguments JSON, a string."
  (let* ((*inspection* (mcp:parse-json json))
         (operation (given-string "operation"))
         (*package* (let ((name (given-string "package")))
                      (if name (resolve-package name) *package*)))
         (*limit* (or (given-integer "limit") 50)))
    (destructuring-bind (&optional function needs) (gethash operation *operations*)
      (unless function
        (refuse-argument "The operation ~a does not exist; there are ~{~a~^, ~}."
                         (brief-text operation) (operation-names)))
      (check-needs operation needs)
      (funcall function))))

;;; Names. They are not read but looked up, so that none is interned.

(defun split-symbol-name (text)
  "The package of the symbol that TEXT names, or NIL, and its name."
  (let ((colon (position #\: text)))
    (if (and colon (char/= (char text 0) #\|))
        (values (subseq text 0 colon)
                (subseq text (if (and (< (1+ colon) (length text))
                                      (char= (char text (1+ colon)) #\:))
                                 (+ colon 2)
                                 (1+ colon))))
        (values nil text))))

(defun bare-name (text)
  "The name that the reader would make of TEXT, part of a symbol; and whether it was between bars."
  (let ((end (1- (length text))))
    (if (and (plusp end) (char= (char text 0) #\|) (char= (char text end) #\|))
        (values (subseq text 1 end) t)
        (values (string-upcase text) nil))))

(defun find-symbol-named (text)
  "The symbol that TEXT names, and whether there is one."
  (multiple-value-bind (package-name name) (split-symbol-name (string-trim " '#" text))
    (let ((package (cond ((null package-name) *package*)
                         ((string= package-name "") (find-package "KEYWORD"))
                         (t (resolve-package package-name)))))
      (multiple-value-bind (bare exact) (bare-name name)
        (multiple-value-bind (symbol found) (find-symbol bare package)
          (when (and (not found) (not exact))
            (multiple-value-setq (symbol found) (find-symbol name package)))
          (values symbol (and found t)))))))

(defun named-symbol (text)
  (multiple-value-bind (symbol found) (find-symbol-named text)
    (unless found
      (refuse-name "There is no symbol ~a~@[ in package ~a~]." (cut text 100)
                   (unless (find #\: text) (package-name *package*))))
    symbol))

(defun setf-name (text)
  "NAME as a string, if TEXT is \"(setf NAME)\"."
  (let ((text (string-trim " " text)))
    (and (> (length text) 7)
         (string-equal "(setf " text :end2 6)
         (char= (char text (1- (length text))) #\))
         (string-trim " " (subseq text 6 (1- (length text)))))))

(defun named-function-name (text)
  "The function name that TEXT stands for: a symbol or (SETF symbol)."
  (let ((setf-name (setf-name text)))
    (if setf-name
        (list 'setf (named-symbol setf-name))
        (named-symbol text))))

(defun name-argument ()
  (given-string "name"))

(defun read-form ()
  "The argument `form`, read."
  (let ((text (given-string "form")))
    (with-input-from-string (in text)
      (let ((form (read in)))
        (when (peek-char t in nil nil)
          (refuse-argument "The argument form must be one form; wrap several in PROGN."))
        form))))
