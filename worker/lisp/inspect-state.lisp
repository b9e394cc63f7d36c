;;;; Operations of inspect-lisp on the state of a session: its definitions, its objects, and what has
;;;; changed since an earlier state.

(in-package "ECLAVE")

;;; Definitions. What is defined is read from the symbols of the session's packages, however it came
;;; about; records add what has no such symbol, like (SETF CAR) or a method.

(defun map-session-symbols (function)
  "Calls FUNCTION with each symbol whose home is a package of the session."
  (dolist (package (session-packages))
    (do-symbols (symbol package)
      (when (eq (symbol-package symbol) package)
        (funcall function symbol)))))

(defun session-names (test)
  (let ((names '()))
    (map-session-symbols (lambda (symbol) (when (safely nil (funcall test symbol))
                                            (push symbol names))))
    (sorted-symbols names)))

(defun recorded-names (kind)
  "The recorded names of KIND whose symbol is not of the session, or that are no symbols."
  (loop for (a-kind name) being the hash-keys of *records*
        when (and (string= kind a-kind)
                  (or (consp name)
                      (and (symbolp name)
                           (not (member (symbol-package name) (session-packages))))))
          collect name))

(defun session-functions ()
  (append (session-names #'fboundp)
          (remove-if-not (lambda (name) (safely nil (function-of name)))
                         (recorded-names "function"))))

(defun session-variables ()
  (session-names (lambda (symbol)
                   (and (not (keywordp symbol)) (variable-kind symbol)))))

(defun session-classes ()
  (session-names #'class-kind))

(defun function-line (name)
  (format nil "~a ~a" (brief-text name) (or (lambda-list-text name) "(...)")))

(defun functions-of-kind (kind)
  (loop for name in (session-functions)
        when (equal (function-kind name) kind)
          collect (function-line name)))

(defun variable-line (symbol)
  (let ((kind (variable-kind symbol)))
    (format nil "~a~:[~; (~:*~a)~] = ~a" (brief-text symbol)
            (and (not (string= kind "variable")) kind)
            (if (string= kind "symbol macro")
                (brief-text (macroexpand-1 symbol))
                (value-line symbol)))))

(defun session-method-lines ()
  (loop for key being the hash-keys of *records* using (hash-value records)
        when (string= (first key) "method")
          append (loop for record in records
                       collect (method-title (second key) (record-form record)))))

(define-operation "definitions" ()
  (let ((sections
          (remove-if-not
           #'rest
           (list (section "functions" (functions-of-kind "function"))
                 (section "macros" (functions-of-kind "macro"))
                 (section "generic functions" (functions-of-kind "generic function"))
                 (section "methods" (session-method-lines))
                 (section "classes" (mapcar (lambda (symbol)
                                              (format nil "~a: ~a" (brief-text symbol)
                                                      (class-kind symbol)))
                                            (session-classes)))
                 (section "variables" (mapcar #'variable-line (session-variables)))
                 (section "packages"
                          (mapcar #'package-name
                                  (remove (user-package) (session-packages))))))))
    (apply #'answer
           (if sections
               (format nil "The session has ~d definition~:p"
                       (reduce #'+ sections :key (lambda (section) (length (rest section)))))
               "The session has no definitions")
           sections)))

;;; Objects. The parts of an object are numbered, and a path of numbers walks into it.

(defconstant +parts-max+ 1000)

(defun list-parts (list)
  "The elements of LIST; and its end, unless that is NIL, or the cons at which a circle closes."
  (loop with seen = (make-hash-table :test 'eq)
        for rest = list then (cdr rest)
        for index from 0 below +parts-max+
        while (and (consp rest) (not (gethash rest seen)))
        do (setf (gethash rest seen) t)
        collect (make-part nil (car rest)) into parts
        finally (return (cond ((null rest) parts)
                              ((atom rest) (append parts (list (make-part "the end" rest))))
                              ((gethash rest seen)
                               (append parts (list (make-part "the rest, a circle" rest))))
                              (t parts)))))

(defun array-parts (array)
  (loop for index from 0 below (min +parts-max+ (array-total-size array))
        collect (make-part nil (row-major-aref array index))))

(defun table-parts (table)
  (let ((parts '()) (count 0))
    (block nil
      (maphash (lambda (key value)
                 (when (>= (incf count) +parts-max+) (return))
                 (push (make-part (brief-text key) value) parts))
               table))
    (nreverse parts)))

(defun slot-parts (object)
  (loop for slot in (slots-of (class-of object))
        for name = (clos:slot-definition-name slot)
        collect (let ((slot-name name))
                  (if (safely nil (slot-boundp object slot-name))
                      (make-part (brief-text slot-name)
                                 (safely "(cannot be read)" (slot-value object slot-name)))
                      (make-part (brief-text slot-name) nil t)))))

(defun symbol-parts (symbol)
  (list (make-part "name" (symbol-name symbol))
        (make-part "package" (symbol-package symbol))
        (if (boundp symbol)
            (make-part "value" (symbol-value symbol))
            (make-part "value" nil t))
        (if (fboundp symbol)
            (make-part "function" (safely nil (function-of symbol)))
            (make-part "function" nil t))
        (make-part "properties" (symbol-plist symbol))))

(defun function-parts (function)
  (multiple-value-bind (expression closure name)
      (safely nil (function-lambda-expression function))
    (declare (ignore closure))
    (list (make-part "name" (cond (name)
                                  ((typep function 'generic-function)
                                   (safely nil (clos:generic-function-name function)))
                                  (t (safely nil (ext:compiled-function-name function)))))
          (make-part "lambda list" (safely nil (values (ext:function-lambda-list function))))
          (make-part "lambda expression" expression))))

(defun parts (object)
  (typecase object
    (null '())
    (cons (list-parts object))
    (string '())
    (array (array-parts object))
    (hash-table (table-parts object))
    (symbol (symbol-parts object))
    (ratio (list (make-part "numerator" (numerator object))
                 (make-part "denominator" (denominator object))))
    (complex (list (make-part "real part" (realpart object))
                   (make-part "imaginary part" (imagpart object))))
    (pathname (list (make-part "name" (safely nil (namestring object)))))
    (package (list (make-part "name" (package-name object))
                   (make-part "uses" (package-use-list object))))
    (generic-function (function-parts object))
    (class (slot-parts object))
    (function (function-parts object))
    ((or standard-object structure-object condition) (slot-parts object))))

(defun object-kind (object)
  (typecase object
    (null "NIL")
    (cons (let ((length (safely :dotted (list-length object))))
            (case length
              (:dotted "a dotted list")
              ((nil) "a circular list")
              (t (format nil "a list of ~d" length)))))
    (string (format nil "a string of ~d" (length object)))
    (vector (format nil "a vector of ~d" (length object)))
    (array (format nil "an array of ~{~d~^ x ~}" (array-dimensions object)))
    (hash-table (format nil "a hash table of ~d, test ~a" (hash-table-count object)
                        (brief-text (hash-table-test object))))
    (integer (if (> (integer-length object) 64)
                 (format nil "an integer of ~d bits" (integer-length object))
                 "an integer"))
    (character (format nil "a character, code ~d" (char-code object)))
    (t (brief-text (safely "(unknown)" (class-title (class-of object)))))))

(defun part-line (part number)
  (format nil "~d: ~@[~a = ~]~a" number (part-label part)
          (if (part-unbound part) "(unbound)" (brief-text (part-value part)))))

(defun path-steps ()
  (let ((path (given "path")))
    (typecase path
      (null '())
      (string (loop with start = 0
                    for end = (position-if (lambda (char) (find char "/. ")) path :start start)
                    for step = (subseq path start end)
                    unless (string= step "") collect step
                    while end
                    do (setf start (1+ end))))
      (t (refuse-argument "The argument path must be a string like 0/2.")))))

(defun part-at (object step)
  "The part of OBJECT that STEP, a string, is the number or the label of."
  (let* ((parts (parts object))
         (number (and (every #'digit-char-p step) (< (length step) 9) (parse-integer step)))
         (part (or (and number (nth number parts))
                   (find step parts :key (lambda (part) (or (part-label part) ""))
                                    :test #'string-equal))))
    (cond ((null part)
           (refuse-name "There is no part ~a of ~a, which has ~d." (cut step 40)
                        (brief-text object) (length parts)))
          ((part-unbound part)
           (refuse-name "The part ~a of ~a is unbound." (cut step 40) (brief-text object)))
          (t (part-value part)))))

(defun object-argument ()
  (let* ((given (given "object"))
         (text (if (stringp given) (string-left-trim "@# " given) given))
         (number (cond ((integerp text) text)
                       ((and (stringp text) (plusp (length text)) (< (length text) 9)
                             (every #'digit-char-p text))
                        (parse-integer text)))))
    (unless number
      (refuse-argument "The argument object must be @N or N, a number that the last answer of the session shows."))
    (multiple-value-bind (object found)
        (if (fboundp 'numbered-object) (funcall 'numbered-object number) (values nil nil))
      (unless found
        (refuse-name "There is no object @~d: ~a." number (numbered-objects-text)))
      object)))

(defun numbered-objects-text ()
  (let ((count (loop for number from 1
                     while (and (fboundp 'numbered-object)
                                (nth-value 1 (funcall 'numbered-object number)))
                     count t)))
    (case count
      (0 "the last answer of the session shows none")
      (1 "the last answer of the session shows @1 only")
      (t (format nil "the last answer of the session shows @1 to @~d" count)))))

(define-operation "object" (("object" "form"))
  (let ((object (if (given "object") (object-argument) (eval (read-form)))))
    (dolist (step (path-steps))
      (setf object (part-at object step)))
    (answer (format nil "~a: ~a" (brief-text object) (object-kind object))
            (when (stringp object)
              (section "text" (cut object +text-chars+)))
            (section "parts" (loop for part in (safely '() (parts object))
                                   for number from 0
                                   collect (part-line part number))))))

;;; Changes. A state is described by a fingerprint of each definition and each variable. The earlier
;;; state, held by another process of the session, answers first; its answer is the arguments of the
;;; call on the present state, which compares.

(defconstant +fingerprint-nodes+ 20000 "Of one value; what lies beyond is not compared.")
(defconstant +snapshot-chars+ 1000000)

(defun mix (hash number)
  (logand (+ (* 31 hash) number) most-positive-fixnum))

(defun text-hash (string)
  (let ((hash 7))
    (loop for char across string
          repeat +fingerprint-nodes+
          do (setf hash (mix hash (char-code char))))
    hash))

(defun atom-hash (object)
  (typecase object
    (symbol (text-hash (symbol-name object)))
    (string (mix (length object) (text-hash object)))
    (integer (if (typep object 'fixnum) (logand object most-positive-fixnum) (sxhash object)))
    (number (sxhash object))
    (character (char-code object))
    (t (text-hash (brief-text (class-title (class-of object)))))))

(defun children (object)
  "What is compared of OBJECT beside itself."
  (typecase object
    ((or symbol string number character package pathname stream) '())
    (cons (list (car object) (cdr object)))
    (generic-function '())
    (class '())
    (function (list (safely nil (function-lambda-expression object))))
    (t (mapcar (lambda (part) (if (part-unbound part) '%unknown (part-value part)))
               (safely '() (parts object))))))

(defun fingerprint (object)
  "A number that depends on the structure of OBJECT, which may be circular or large."
  (let ((seen (make-hash-table :test 'eq))
        (left +fingerprint-nodes+)
        (agenda (list object))
        (hash 1))
    (loop while (and agenda (plusp left))
          for next = (pop agenda)
          do (decf left)
             (setf hash (mix hash (or (gethash next seen)
                                      (let ((children (children next)))
                                        (when children
                                          (setf (gethash next seen) left
                                                agenda (append children agenda)))
                                        (atom-hash next))))))
    hash))

(defun class-fingerprint (symbol)
  (let ((class (class-named symbol)))
    (fingerprint (if class
                     (list (class-titles (class-supers class))
                           (mapcar #'slot-line (safely '() (clos:class-direct-slots class)))
                           (initarg-lines class))
                     (let ((record (record-of "class" symbol)))
                       (and record (record-form record)))))))

(defun snapshot ()
  "From the title of each definition to (fingerprint text)."
  (let ((table (make-hash-table :test 'equal)))
    (flet ((add (kind name fingerprint text)
             (setf (gethash (format nil "~a ~a" kind (if (stringp name) name (brief-text name)))
                            table)
                   (list fingerprint text))))
      (dolist (name (session-functions))
        (let ((function (function-of name)))
          (add (function-kind name) name
               (if (typep function 'generic-function)
                   (fingerprint (safely nil (clos:generic-function-lambda-list function)))
                   (fingerprint function))
               (lambda-list-text name))))
      (loop for key being the hash-keys of *records* using (hash-value records)
            when (string= (first key) "method")
              do (dolist (record records)
                   (add "method" (method-title (second key) (record-form record))
                        (fingerprint (record-form record)) nil)))
      (dolist (symbol (session-variables))
        (add (variable-kind symbol) symbol
             (if (boundp symbol) (fingerprint (symbol-value symbol)) 0)
             (cut (value-line symbol) 100)))
      (dolist (symbol (session-classes))
        (add (class-kind symbol) symbol (class-fingerprint symbol) nil))
      (dolist (package (session-packages))
        (add "package" (package-name package)
             (fingerprint (list (exported-names package) (package-names
                                                          (package-use-list package))))
             nil)))
    table))

(defun snapshot-json ()
  (let ((table (mcp:object)))
    (maphash (lambda (title row)
               (setf (gethash title table)
                     (mcp:array (list (first row) (or (second row) "")))))
             (snapshot))
    table))

(defun row-text (row)
  "The text of ROW, of a snapshot or parsed."
  (let ((text (elt row 1)))
    (and text (string/= text "") text)))

(defun title-order (lines)
  (sort lines #'string<))

(defun compare-snapshots (before now)
  "Three lists of lines: added, changed and removed."
  (let ((added '()) (changed '()) (removed '()))
    (maphash (lambda (title row)
               (let ((old (gethash title before)))
                 (cond ((null old)
                        (push (format nil "~a~@[ ~a~]" title (row-text row)) added))
                       ((/= (elt old 0) (elt row 0))
                        (push (if (equal (row-text old) (row-text row))
                                  title
                                  (format nil "~a: ~a -> ~a" title (row-text old) (row-text row)))
                              changed)))))
             now)
    (maphash (lambda (title row)
               (unless (gethash title now)
                 (push (format nil "~a~@[ ~a~]" title (row-text row)) removed)))
             before)
    (values (title-order added) (title-order changed) (title-order removed))))

(defun describe-state ()
  "The arguments of the call that compares this state with another one."
  (setf (gethash "before" *inspection*) (snapshot-json))
  (let ((json (mcp:write-json *inspection*)))
    (when (> (length json) +snapshot-chars+)
      (refuse-name "The session has too many definitions to compare its states."))
    ;; Nothing in it may look like an unreadable object, of which C removes the address.
    (with-output-to-string (out)
      (loop for char across json
            do (if (char= char #\<) (write-string "\\u003c" out) (write-char char out))))))

(define-operation "changes" ("state")
  (let ((before (given "before")))
    (if (null before)
        (describe-state)
        (multiple-value-bind (added changed removed) (compare-snapshots before (snapshot))
          (answer (format nil "Since state ~d: ~d added, ~d changed, ~d removed" (given "state")
                          (length added) (length changed) (length removed))
                  (section "added" added)
                  (section "changed" changed)
                  (section "removed" removed))))))
