;;;; Loads one system from source and runs its tests. For plain ECL, and for eclave as --preload.

(defpackage "LIBRARIES" (:use "COMMON-LISP"))
(in-package "LIBRARIES")

(defun asdf (name &rest arguments)
  (apply (find-symbol name "ASDF") arguments))

(defun start-asdf ()
  "In plain ECL, with the settings that eclave has."
  (require "asdf")
  (unless (find-package "ECLAVE")
    (ext:install-bytecodes-compiler)
    (setf (symbol-value (find-symbol "*LOAD-SYSTEM-OPERATION*" "ASDF"))
          (find-symbol "LOAD-SOURCE-OP" "ASDF"))
    (let ((operation (asdf "MAKE-OPERATION" (find-symbol "TEST-OP" "ASDF"))))
      (setf (slot-value operation (find "SELFWARD-OPERATION"
                                        (mapcar #'clos:slot-definition-name
                                                (clos:class-slots (class-of operation)))
                                        :test #'string=))
            (find-symbol "LOAD-SOURCE-OP" "ASDF")))
    (asdf "INITIALIZE-OUTPUT-TRANSLATIONS"
          '(:output-translations :disable-cache :ignore-inherited-configuration))
    (asdf "REGISTER-IMMUTABLE-SYSTEM" "asdf")
    (asdf "REGISTER-IMMUTABLE-SYSTEM" "uiop")))

(defun words-for (condition)
  (let ((*print-length* 5) (*print-level* 3) (*print-pretty* nil))
    (substitute #\Space #\Newline
                (format nil "~(~a~): ~a" (type-of condition)
                        (or (ignore-errors (princ-to-string condition)) "?")))))

(defun summary (output)
  "The lines that count: those with a number and a word for a result."
  (with-input-from-string (lines output)
    (loop for line = (read-line lines nil)
          while line
          when (and (find-if #'digit-char-p line)
                    (find-if (lambda (word) (search word line :test #'char-equal))
                             '("pass" "fail" "check" "success" "error" "pending")))
            collect (string-trim " " line))))

(defun attempt (function)
  "NIL, or why FUNCTION failed."
  (handler-case (handler-bind ((warning #'muffle-warning))
                  (funcall function)
                  nil)
    (serious-condition (condition) (words-for condition))))

(defun try (name)
  "What became of loading the system NAME, and of its tests."
  (let* ((output (make-string-output-stream))
         (*standard-output* output)
         (*error-output* output)
         (*trace-output* output)
         (failed (attempt (lambda () (start-asdf) (asdf "LOAD-SYSTEM" name)))))
    (if failed
        (list :fails failed)
        (let* ((before (length (get-output-stream-string output)))
               (failed (attempt (lambda () (asdf "TEST-SYSTEM" name))))
               (text (get-output-stream-string output)))
          (declare (ignore before))
          (cond (failed (list :loads (list :tests-end failed)))
                ((summary text) (list :loads (list :tests (summary text))))
                (t (list :loads)))))))
