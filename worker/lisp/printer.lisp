;;;; Printing of values, and of objects in messages and frames, with bounded output.

(in-package "ECLAVE")

(defun write-value (object stream)
  "Prints a value of the evaluation with fixed limits and the user's other settings."
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
  "Can pretty printing or circle detection matter for OBJECT? Without them a large number is printed
once instead of three times."
  (not (or (numberp object) (characterp object) (stringp object) (symbolp object))))

(defun write-class-name (object stream)
  (let ((*print-escape* nil)
        (*print-readably* nil)
        (*print-pretty* nil))
    (write (class-name (class-of object)) :stream stream)))

(defun write-unprintable (object stream)
  "Replaces an object whose printing fails."
  (let ((*print-readably* nil)
        (*print-level* nil))
    (print-unreadable-object (object stream :identity t)
      (write-string "unprintable " stream)
      (write-class-name object stream))))

(defun write-plainly (instance stream)
  "Prints what no method prints otherwise. The identity is a number: worker/numbers.c."
  (print-unreadable-object (instance stream :identity t)
    (write (class-name (class-of instance))
           :stream stream :escape t :circle nil :pretty nil)))

(defvar *omitted* nil "An object that prints as nothing, unless a method prints it.")

(defmethod print-object ((instance standard-object) stream)
  (unless (eq instance *omitted*)
    (write-plainly instance stream))
  instance)

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
  "Prints an object in a message or a frame: short, and without signalling an error."
  (handler-case
      (with-brief-printing (write-brief-plainly object stream))
    (serious-condition () (write-unprintable object stream))))
