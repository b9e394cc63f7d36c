;;;; What eclave batch compares in a process of its own: the text on standard input, which a submission
;;;; made, with what was expected. No code of the submission runs here, and its text is data.

(in-package "ECLAVE")

(defun input-text ()
  "All of standard input."
  (with-output-to-string (out)
    (loop for line = (multiple-value-list (read-line *stdin* nil))
          while (first line)
          do (write-string (first line) out)
             (unless (second line) ; no newline
               (terpri out)))))

(defun regex-found-p (pattern)
  "Does the POSIX extended regular expression PATTERN match a part of the input?"
  (let ((found (find-regex pattern (input-text))))
    (if (stringp found)
        (error "The pattern is malformed: ~a." found)
        found)))

(defun blank-p (char)
  (find char '(#\Space #\Newline #\Tab #\Return #\Page)))

(defun delimiter-p (char)
  (or (blank-p char) (find char "()")))

(defun split-words (text)
  "The words of TEXT; a parenthesis is a word of its own."
  (let ((words '())
        (at 0))
    (loop (setf at (position-if-not #'blank-p text :start at))
          (unless at
            (return (nreverse words)))
          (let ((end (if (find (char text at) "()")
                         (1+ at)
                         (or (position-if #'delimiter-p text :start at) (length text)))))
            (push (subseq text at end) words)
            (setf at end)))))

(defun split-mark (word)
  "The mantissa of a number and its exponent marker with what follows; NIL: there is none."
  (let ((mark (position-if (lambda (char) (find char "eEsSfFdDlL")) word)))
    (if mark
        (values (subseq word 0 mark) (subseq word (1+ mark)))
        (values word nil))))

(defun parse-sign (text)
  (if (and (plusp (length text)) (find (char text 0) "+-"))
      (values (if (char= (char text 0) #\-) -1 1) (subseq text 1))
      (values 1 text)))

(defun parse-digits (text)
  (and (plusp (length text))
       (every (lambda (char) (char<= #\0 char #\9)) text)
       (parse-integer text)))

(defun parse-decimal (text)
  "An unsigned number of digits with at most one point."
  (let ((point (position #\. text)))
    (if (null point)
        (parse-digits text)
        (let* ((whole (subseq text 0 point))
               (fraction (subseq text (1+ point)))
               (digits (parse-digits (concatenate 'string whole fraction))))
          (and digits (/ digits (expt 10 (length fraction))))))))

(defun parse-ratio (text)
  (let* ((slash (position #\/ text))
         (above (parse-digits (subseq text 0 slash)))
         (below (parse-digits (subseq text (1+ slash)))))
    (and above below (plusp below) (/ above below))))

(defconstant +exponent-max+ 400) ; of a double float, with room

(defun parse-scale (text)
  "The exponent after a marker; NIL if it is none, or that of no float."
  (multiple-value-bind (sign digits) (parse-sign text)
    (let ((value (and (<= (length digits) 4) (parse-digits digits))))
      (and value (<= value +exponent-max+) (* sign value)))))

(defun parse-exact (word)
  "The number that WORD is in the syntax of Lisp, exactly, whatever its format; or NIL."
  (multiple-value-bind (sign rest) (parse-sign word)
    (if (find #\/ rest)
        (let ((ratio (parse-ratio rest)))
          (and ratio (* sign ratio)))
        (multiple-value-bind (mantissa exponent) (split-mark rest)
          (let ((number (parse-decimal mantissa))
                (scale (if exponent (parse-scale exponent) 0)))
            (and number scale (* sign number (expt 10 scale))))))))

(defun same-number-p (came wanted tolerance)
  (or (string= came wanted)
      (let ((one (parse-exact came))
            (other (parse-exact wanted)))
        (and one other (<= (abs (- one other)) tolerance)))))

(defun same-numbers-p (wanted tolerance)
  "Has the input the words of WANTED, where numbers may differ by TOLERANCE, a number as text?"
  (let ((came (split-words (input-text)))
        (wanted (split-words wanted))
        (tolerance (or (parse-exact tolerance) 0))) ; too small for a double
    (and (= (length came) (length wanted))
         (every (lambda (one other) (same-number-p one other tolerance)) came wanted))))
