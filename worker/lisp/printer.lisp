;;;; How values, and parts of messages and frames, are printed. Bounded, whatever the object.

(in-package "ECLAVE")

(defun write-value (object stream)
  "A value of the evaluation. The limits are ours, the rest is as the user has it."
  (settle-printer)
  (let* ((structured (structured-p object))
         (*print-escape* t)
         (*print-readably* nil)
         (*print-length* 100)
         (*print-level* 10)
         (*print-lines* nil)
         (*print-circle* structured)
         (*print-pretty* structured))
    (write object :stream stream)))

(defun structured-p (object)
  "Can it matter for OBJECT whether it is printed prettily, and circles marked? For a large number
it matters that it is not printed three times."
  (not (or (numberp object) (characterp object) (stringp object) (symbolp object))))

(defun write-class-name (object stream)
  (let ((*print-escape* nil)
        (*print-readably* nil)
        (*print-pretty* nil))
    (write (class-name (class-of object)) :stream stream)))

(defun write-unprintable (object stream)
  "In the place of a value whose printing fails."
  (write-string "#<unprintable " stream)
  (write-class-name object stream)
  (write-string ">" stream))

(defconstant +brief-string+ 60)
(defconstant +brief-bits+ 256)

(defmacro with-brief-printing (&body body)
  `(let ((*print-readably* nil)
         (*print-circle* nil)
         (*print-pretty* nil)
         (*print-lines* nil)
         (*print-length* 8)
         (*print-level* 4)
         (*print-base* 10)
         (*print-radix* nil)
         (*print-case* :upcase))
     ,@body))

(defun write-brief-plainly (object stream)
  (typecase object
    (string
     (if (<= (length object) +brief-string+)
         (prin1 object stream)
         (format stream "~s..." (subseq object 0 +brief-string+))))
    (integer
     (let ((bits (integer-length object)))
       (if (<= bits +brief-bits+)
           (prin1 object stream)
           (format stream "#<an integer of ~d bits>" bits))))
    (t (prin1 object stream))))

(defun write-brief (object stream)
  "An object as a part of a message or a frame: short, and never an error."
  (handler-case
      (with-brief-printing (write-brief-plainly object stream))
    (serious-condition () (write-unprintable object stream))))
