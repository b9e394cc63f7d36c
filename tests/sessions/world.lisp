;;; A world with one thing of each kind that a session can hold. (WORLD:PROBE) describes them all,
;;; (WORLD:SPOIL) changes them all. The tests send it to the server and evaluate it there.

(defpackage :world (:use :cl) (:export #:probe #:spoil #:mark #:hang-in-print))
(in-package :world)

(defvar *mark* 0)
(defvar *variable* (list 1 2.5d0 "text" #\λ 'symbol))
(defparameter *array* (make-array '(2 3) :initial-contents '((1 2 3) (4 5 6))))

(defun mark (number) (setf *mark* number))
(defun double (x) (* 2 x))
(defun (setf second-of) (value list) (setf (nth 1 list) value))
(defmacro twice (form) `(progn ,form ,form))
(define-symbol-macro the-variable *variable*)

(defstruct point (x 1) (y 2))
(defvar *point* (make-point :y 7))

(defclass animal () ((name :initarg :name :accessor name) (legs :initform 4 :accessor legs)))
(defclass bird (animal) ((legs :initform 2)))
(defvar *animals* (list (make-instance 'animal :name "cat") (make-instance 'bird :name "owl")))

(defgeneric sound (animal) (:method ((animal animal)) "?"))
(defmethod sound ((animal bird)) (format nil "hoo after ~a" (call-next-method)))
(defmethod sound :around ((animal bird)) (string-upcase (call-next-method)))

(define-condition mishap (error) ((depth :initarg :depth :reader depth))
  (:report (lambda (mishap stream) (format stream "mishap ~d" (depth mishap)))))

(defvar *table* (make-hash-table :test #'equal))
(setf (gethash "one" *table*) 1 (gethash '(two) *table*) 2)

(defvar *counter*
  (let ((count 5))
    (lambda (&optional (step 0)) (incf count step))))

(defpackage :world-other (:use :cl) (:nicknames :other) (:export #:exported))
(defvar other:exported 3)
(setf (get 'symbol 'property) 'value)

;; The next random numbers are a part of the world; PROBE reads them from a copy of the state.
(setf *random-state* (make-random-state t))

(setf *readtable* (copy-readtable nil))
(set-macro-character #\! (lambda (stream char) (declare (ignore char)) (list 'double (read stream))))
(setf *print-case* :downcase *print-base* 10 *print-right-margin* 99 *gensym-counter* 1000)

(defun next-numbers ()
  (let ((*random-state* (make-random-state nil)))
    (loop repeat 5 collect (random 1000000000))))

(defun things ()
  (list *mark* *variable* *array*
        (double 21)
        (let ((list (list 1 2))) (setf (second-of list) 3) list)
        (macroexpand-1 '(twice (x))) (macroexpand-1 'the-variable)
        *point*
        (mapcar (lambda (animal) (list (type-of animal) (name animal) (legs animal) (sound animal)))
                *animals*)
        (mapcar #'class-name (clos:class-direct-subclasses (find-class 'animal)))
        (handler-case (error 'mishap :depth 2) (error (mishap) (princ-to-string mishap)))
        (sort (loop for key being the hash-keys of *table* using (hash-value value)
                    collect (format nil "~s ~s" key value))
              #'string<)
        (funcall *counter*)
        (and (find-package :other)
             (list (package-nicknames :world-other)
                   (nth-value 1 (find-symbol "EXPORTED" :other))
                   (symbol-value (find-symbol "EXPORTED" :other))))
        (get 'symbol 'property)
        (next-numbers)
        (read-from-string "!4")
        *print-case* *print-right-margin* *gensym-counter* *read-default-float-format*
        (package-name *package*)))

(defun probe ()
  "Describes this world as a string that depends on nothing else."
  (let ((things (things)))
    (with-standard-io-syntax
      (let ((*print-readably* nil) (*package* (find-package :world)))
        (format nil "~{~s~^ ; ~}" things)))))

(defun spoil ()
  "Changes every one of THINGS."
  (setf *mark* -1
        *variable* 'spoilt
        (aref *array* 0 0) 99
        (point-x *point*) 99
        (name (first *animals*)) "spoilt"
        (gethash "three" *table*) 3
        (get 'symbol 'property) 'spoilt)
  (handler-bind ((warning #'muffle-warning))
    (eval '(progn
            (setf (symbol-function 'double) (lambda (x) (+ x 1000)))
            (defun (setf second-of) (value list) (setf (nth 0 list) value))
            (defmacro twice (form) `(list ,form))
            (define-symbol-macro the-variable *mark*)
            (defclass animal () ((name :initarg :name :accessor name)
                                 (legs :initform 8 :accessor legs)
                                 (more :initform 1)))
            (defclass fish (animal) ())
            (defmethod sound ((animal bird)) "spoilt")
            (define-condition mishap (error) ((depth :initarg :depth :reader depth))
              (:report (lambda (mishap stream) (format stream "spoilt ~d" (depth mishap))))))))
  (funcall *counter* 100)
  (delete-package :world-other)
  (random 1000000)
  (set-syntax-from-char #\! #\a)
  (setf *print-case* :upcase *print-right-margin* 20 *gensym-counter* 1
        *read-default-float-format* 'double-float
        *package* (find-package :cl-user)))

;;; A value whose printing spoils the world and never ends.
(defclass hanging () ())
(defmethod print-object ((hanging hanging) stream)
  (declare (ignore stream))
  (spoil)
  (loop))
(defun hang-in-print () (make-instance 'hanging))
