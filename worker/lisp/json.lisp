;;;; JSON, strict in both directions. A value that is read and written again is the same but for
;;;; blanks, the order of members and the notation of numbers:
;;;;
;;;;   JSON             Lisp, as read                  also written from
;;;;   object           hash table, EQUAL, string keys (:OBJECT name value ...), in that order; a
;;;;                                                   name may be a symbol, by JSON-NAME
;;;;   array            simple vector                  any other vector; a list but NIL
;;;;   string           string                         character; symbol, by JSON-NAME
;;;;   number, whole    integer, exact
;;;;   number, other    double float                   single float; ratio, as the nearest double
;;;;   true             T                              :TRUE
;;;;   false            NIL                            :FALSE
;;;;   null             :NULL
;;;;
;;;; NIL is false, not an empty array; that is #(), or (MCP:ARRAY list) for any list. A whole number
;;;; has no fraction and no exponent. If a member is read twice, the last one counts; writing one
;;;; twice is an error. Half a surrogate pair becomes U+FFFD. Nesting deeper than +DEPTH-MAX+, more
;;;; digits than +DIGITS-MAX+, JSON longer than its limit, numbers that no double represents, and
;;;; dotted or circular lists are errors.

(in-package "MCP")

(defconstant +depth-max+ 128)
(defconstant +digits-max+ 65536) ; with the sign, as json_inspect.h has it

(define-condition json-error (simple-error) ()
  (:documentation "Malformed JSON, or a value that JSON cannot represent."))

(defun refuse (control &rest arguments)
  (error 'json-error :format-control control :format-arguments arguments))

(defun brief (object)
  "OBJECT, printed for a message."
  (with-output-to-string (out)
    (eclave::write-brief object out)))

(defun proper-list (list)
  (unless (ignore-errors (list-length list))
    (refuse "The list ~a is dotted or circular and cannot be written as JSON." (brief list)))
  list)

;;; Arguments of the wrong type.

(defparameter *type-words*
  '((string . "a string") (real . "a number") (list . "a list") (symbol . "a symbol")
    (hash-table . "an object") (object-form . "an object") (octets . "octets from 0 to 255")
    (base64 . "base64") (uri . "a URI") (mime-type . "a MIME type") (condition . "a condition")
    (sequence . "a list or a vector") (vector . "a vector")))

(defun type-words (type)
  "TYPE for an error message. NULL in (OR NULL ...) means that the argument is optional."
  (let ((kind (if (consp type) (first type) type)))
    (case kind
      (member (format nil "one of ~{~a~^, ~}" (mapcar #'brief (rest type))))
      (or (format nil "~{~a~^ or ~}" (mapcar #'type-words (remove 'null (rest type)))))
      (and (type-words (second type)))
      ((integer real) (if (consp type)
                          (format nil "~:[a number~;a whole number~] from ~d to ~d"
                                  (eq kind 'integer) (second type) (third type))
                          "a number"))
      (t (cdr (assoc kind *type-words*))))))

(defun complain (value type operator role)
  (error 'simple-type-error
         :datum value :expected-type type
         :format-control "~a: ~a must be ~a, not ~a."
         :format-arguments (list operator role (type-words type) (brief value))))

(defmacro demand (type value operator role)
  "Signals an error about the argument ROLE of OPERATOR unless VALUE is of TYPE."
  `(unless (typep ,value ',type)
     (complain ,value ',type ,operator ,role)))

;;; Names and constructors.

(defun json-name (symbol)
  "The JSON name of SYMBOL: MIME-TYPE is mimeType."
  (let ((parts (split-name (string-downcase symbol))))
    (format nil "~a~{~a~}" (first parts) (mapcar #'string-capitalize (rest parts)))))

(defun split-name (name)
  (loop for start = 0 then (1+ end)
        for end = (position #\- name :start start)
        collect (subseq name start end)
        while end))

(defun key-string (key)
  (typecase key
    (string key)
    (symbol (json-name key))
    (t (refuse "~a is not a member name, which must be a string or a symbol." (brief key)))))

(defun refuse-repeated (name)
  (refuse "An object has the member ~s twice." name))

(defun refuse-incomplete (operator)
  (refuse "~a has a name without a value." operator))

(defun object (&rest names-and-values)
  "An object: a hash table for WRITE-JSON and REF."
  (when (oddp (length names-and-values))
    (refuse-incomplete "MCP:OBJECT"))
  (let ((table (make-hash-table :test 'equal)))
    (loop for (key value) on names-and-values by #'cddr
          for name = (key-string key)
          do (when (nth-value 1 (gethash name table))
               (refuse-repeated name))
             (setf (gethash name table) value))
    table))

(defun array (list)
  "An array of the elements of LIST, which may be NIL."
  (demand sequence list "MCP:ARRAY" "the list")
  (coerce (if (listp list) (proper-list list) list) 'simple-vector))

(defun ref (value &rest path)
  "The value at PATH, a list of names and indices, in VALUE; second value: was it found?"
  (dolist (step path (values value t))
    (cond ((and (hash-table-p value) (nth-value 1 (gethash (key-string step) value)))
           (setf value (gethash (key-string step) value)))
          ((and (vectorp value) (not (stringp value)) (integerp step) (< -1 step (length value)))
           (setf value (aref value step)))
          (t (return (values nil nil))))))

;;; Reading.

(defvar *text* "")
(defvar *at* 0)
(declaim (type string *text*) (type fixnum *at*))

(defun peek ()
  "The next character, or NIL."
  (and (< *at* (length *text*)) (char *text* *at*)))

(defun malformed (what)
  (refuse "~a at character ~d of the JSON text." what *at*))

(defun blank-p (char)
  (member char '(#\Space #\Newline #\Return #\Tab)))

(defun skip-blanks ()
  (loop while (blank-p (peek)) do (incf *at*)))

(defun next-p (char)
  "Skips blanks and then CHAR, if it is next. True if it was."
  (skip-blanks)
  (when (eql (peek) char)
    (incf *at*)))

(defun expect (char)
  (unless (next-p char)
    (malformed (format nil "Expected ~a" char))))

(defun parse-json (text)
  "Parses TEXT, one JSON value."
  (demand string text "MCP:PARSE-JSON" "the text")
  (let ((*text* text)
        (*at* 0))
    (prog1 (parse-value +depth-max+)
      (skip-blanks)
      (when (peek)
        (malformed "More than one value")))))

(defun parse-value (depth)
  (when (zerop depth)
    (malformed "Nesting too deep"))
  (cond ((next-p #\{) (parse-object (1- depth)))
        ((next-p #\[) (parse-array (1- depth)))
        ((next-p #\") (parse-string))
        (t (case (peek)
             (#\t (parse-word "true" t))
             (#\f (parse-word "false" nil))
             (#\n (parse-word "null" :null))
             (t (parse-number))))))

(defun parse-word (word value)
  (let ((end (+ *at* (length word))))
    (unless (and (<= end (length *text*)) (string= word *text* :start2 *at* :end2 end))
      (malformed "Expected a value"))
    (setf *at* end)
    value))

(defun parse-object (depth)
  (let ((table (make-hash-table :test 'equal)))
    (unless (next-p #\})
      (loop
        (expect #\")
        (let ((name (parse-string)))
          (expect #\:)
          (setf (gethash name table) (parse-value depth)))
        (unless (next-p #\,)
          (expect #\})
          (return))))
    table))

(defun parse-array (depth)
  (if (next-p #\])
      (vector)
      (let ((values (loop collect (parse-value depth)
                          while (next-p #\,))))
        (expect #\])
        (coerce values 'simple-vector))))

(defun plain-end (start)
  "The end of the characters from START on that are not escaped."
  (let ((text *text*)
        (at start))
    (declare (type string text) (type fixnum at))
    (loop
      (when (>= at (length text))
        (return at))
      (let ((char (char text at)))
        (when (or (char= char #\") (char= char #\\) (< (char-code char) 32))
          (return at)))
      (incf at))))

(defun parse-string ()
  "Called after the opening quote."
  (let* ((start *at*)
         (end (plain-end start)))
    (setf *at* end)
    (if (eql (peek) #\")
        (progn (incf *at*)
               (subseq *text* start end))
        (with-output-to-string (out)
          (write-string *text* out :start start :end end)
          (parse-rest-of-string out)))))

(defun parse-rest-of-string (out)
  (loop
    (case (peek)
      (#\" (incf *at*) (return))
      (#\\ (incf *at*) (write-char (parse-escape) out))
      (t (let ((end (plain-end *at*)))
           (when (= end *at*)
             (malformed (if (peek) "Control character in a string" "Unterminated string")))
           (write-string *text* out :start *at* :end end)
           (setf *at* end))))))

(defun parse-escape ()
  (let ((char (peek)))
    (incf *at*)
    (case char
      ((#\" #\\ #\/) char)
      (#\b #\Backspace)
      (#\f #\Page)
      (#\n #\Newline)
      (#\r #\Return)
      (#\t #\Tab)
      (#\u (code-char (parse-unicode)))
      (t (malformed "Unknown escape")))))

(defun parse-hexadecimal ()
  (let* ((end (+ *at* 4))
         (good (and (<= end (length *text*))
                    (loop for at from *at* below end
                          always (and (< (char-code (char *text* at)) 128)
                                      (digit-char-p (char *text* at) 16))))))
    (unless good
      (malformed "Expected four hexadecimal digits"))
    (prog1 (parse-integer *text* :start *at* :end end :radix 16)
      (setf *at* end))))

(defun parse-unicode ()
  (let ((code (parse-hexadecimal)))
    (cond ((<= #xD800 code #xDBFF) (parse-low-half code))
          ((<= #xDC00 code #xDFFF) #xFFFD)
          (t code))))

(defun parse-low-half (high)
  (let ((start *at*)
        (end (+ *at* 2)))
    (if (and (<= end (length *text*)) (string= "\\u" *text* :start2 start :end2 end))
        (let ((low (progn (setf *at* end) (parse-hexadecimal))))
          (cond ((<= #xDC00 low #xDFFF)
                 (+ #x10000 (ash (- high #xD800) 10) (- low #xDC00)))
                (t (setf *at* start)
                   #xFFFD)))
        #xFFFD)))

(defun skip-digits ()
  "Returns the number of digits skipped."
  (loop for char = (peek)
        while (and char (char<= #\0 char #\9))
        do (incf *at*)
        count t))

(defun require-digits ()
  (when (zerop (skip-digits))
    (malformed "Expected a value")))

(defun skip-one-of (chars)
  (let ((char (peek)))
    (when (and char (find char chars))
      (incf *at*))))

(defun skip-whole-part ()
  (skip-one-of "-")
  (if (eql (peek) #\0)
      (incf *at*)
      (require-digits)))

(defun skip-fraction-and-exponent ()
  "True if there was either."
  (let ((start *at*))
    (when (skip-one-of ".")
      (require-digits))
    (when (skip-one-of "eE")
      (skip-one-of "+-")
      (require-digits))
    (> *at* start)))

(defun parse-number ()
  (let ((start *at*))
    (skip-whole-part)
    (let ((other (skip-fraction-and-exponent)))
      (when (> (- *at* start) +digits-max+)
        (malformed "Number with too many digits"))
      (if other
          (or (eclave::parse-double (coerce (subseq *text* start *at*) 'base-string))
              (malformed "Number out of range"))
          (parse-integer *text* :start start :end *at*)))))

;;; Writing.

(defconstant +result-max+ (* 16 1024 1024)) ; bytes
(defconstant +values-max+ 250000)

(defvar *room* 0)
(defvar *values-left* 0)
(declaim (type fixnum *room* *values-left*))

(defun byte-count (string start end)
  "The length of that part of STRING in UTF-8, in bytes."
  (if (typep string 'base-string)
      (- end start)
      (loop for at from start below end
            for code of-type fixnum = (char-code (char string at))
            sum (cond ((< code #x80) 1) ((< code #x800) 2) ((< code #x10000) 3) (t 4))
              of-type fixnum)))

(defun put (string out &optional (start 0) (end (length string)))
  (when (minusp (decf *room* (byte-count string start end)))
    (refuse "The JSON text is too long."))
  (write-string string out :start start :end end))

(defun write-json (value &key (limit +result-max+))
  "VALUE as JSON of at most LIMIT bytes."
  (let ((*room* (min limit +result-max+))
        (*values-left* +values-max+))
    (with-output-to-string (out)
      (put-value value out +depth-max+))))

(defun put-value (value out depth)
  (when (zerop depth)
    (refuse "The value nests too deeply for JSON, or is circular."))
  (when (minusp (decf *values-left*))
    (refuse "The JSON text has more than ~d values." +values-max+))
  (typecase value
    (string (put-string value out))
    (symbol (put-symbol value out))
    (integer (put-integer value out))
    (real (put-real value out))
    (hash-table (put-object value out (1- depth)))
    (vector (put-elements value out (1- depth)))
    (cons (put-list (proper-list value) out (1- depth)))
    (character (put-string (string value) out))
    (t (refuse-unwritable value))))

(defun refuse-unwritable (value)
  (if (content-p value)
      (refuse "~a is content and cannot be part of a value." (brief value))
      (refuse "A value of type ~s cannot be written as JSON." (type-of value))))

(defun put-symbol (symbol out)
  (case symbol
    ((t :true) (put "true" out))
    ((nil :false) (put "false" out))
    (:null (put "null" out))
    (t (put-string (json-name symbol) out))))

(defun integer-text (integer)
  "INTEGER in decimal, or NIL if it has too many digits. A much longer one is not printed at all."
  (unless (> (integer-length integer) (* 10/3 +digits-max+))
    (let ((text (let ((*print-base* 10) (*print-radix* nil))
                  (princ-to-string integer))))
      (unless (> (length text) +digits-max+)
        text))))

(defun put-integer (integer out)
  (put (or (integer-text integer)
           (refuse "An integer of more than ~d digits cannot be written as JSON." +digits-max+))
       out))

(defun put-real (real out)
  (put (or (eclave::double-text (typecase real
                                  (single-float real)
                                  (t (coerce real 'double-float))))
           (refuse "JSON cannot represent an infinity or a NaN."))
       out))

(defun put-elements (elements out depth)
  (let ((before "["))
    (map nil (lambda (element)
               (put before out)
               (put-value element out depth)
               (setf before ","))
         elements)
    (when (string= before "[")
      (put before out))
    (put "]" out)))

(defun put-list (list out depth)
  (cond ((not (eq (first list) :object)) (put-elements list out depth))
        ((oddp (length list))
         (check-repeated (loop for (key) on (rest list) by #'cddr
                               collect (key-string key)))
         (put-members out depth
                      (lambda (put)
                        (loop for (key value) on (rest list) by #'cddr
                              do (funcall put key value)))))
        (t (refuse-incomplete "(:OBJECT ...)"))))

(defun put-object (table out depth)
  (unless (distinct-names-p table)
    (check-repeated (loop for key being the hash-keys of table
                          collect (key-string key))))
  (put-members out depth (lambda (put) (maphash put table))))

(defun distinct-names-p (table)
  "Is it certain that no two keys of TABLE are the same name?"
  (and (member (hash-table-test table) '(equal equalp))
       (loop for key being the hash-keys of table
             always (stringp key))))

(defun check-repeated (names)
  (loop for (name next) on (sort names #'string<)
        do (when (and next (string= name next))
             (refuse-repeated name))))

(defun put-members (out depth map)
  "MAP calls its argument with each name and value."
  (let ((before "{"))
    (funcall map (lambda (key value)
                   (put before out)
                   (put-string (key-string key) out)
                   (put ":" out)
                   (put-value value out depth)
                   (setf before ",")))
    (when (string= before "{")
      (put before out))
    (put "}" out)))

(defun escaped-p (char)
  (or (char= char #\") (char= char #\\) (< (char-code char) 32)
      (<= #xD800 (char-code char) #xDFFF)))

(defun put-string (string out)
  (put "\"" out)
  (loop for start = 0 then (1+ end)
        for end = (position-if #'escaped-p string :start start)
        do (put string out start (or end (length string)))
        while end
        do (put (escape (char string end)) out))
  (put "\"" out))

(defun make-escape (code)
  (let ((short (position (code-char code) '(#\Backspace #\Page #\Newline #\Return #\Tab))))
    (coerce (if short
                (format nil "\\~a" (char "bfnrt" short))
                (format nil "\\u~(~4,'0x~)" code))
            'base-string)))

(defparameter *escapes* (coerce (loop for code below 32 collect (make-escape code)) 'simple-vector)
  "The escapes of the control characters.")

(defun escape (char)
  (case char
    (#\" "\\\"")
    (#\\ "\\\\")
    (t (let ((code (char-code char)))
         (if (< code 32)
             (svref *escapes* code)
             (string (code-char #xFFFD)))))))
