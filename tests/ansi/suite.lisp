;;;; Loads an ANSI test suite (that of pfdietz) into ECL, as source, and runs one test of it. Loaded by
;;;; plain ECL and, with --preload, by eclave; *DIRECTORY* names the suite.

(defpackage "ANSI" (:use "COMMON-LISP"))
(in-package "ANSI")

(defvar *directory*) ; set by a file that loads this one
(defvar *entries* #() "The tests.")

;;; The suite sets variables of the native compiler, which is not there.
(unless (find-package "C")
  (make-package "C" :use '()))
(dolist (name '("*SUPPRESS-COMPILER-WARNINGS*" "*SUPPRESS-COMPILER-NOTES*"
                "*SUPPRESS-COMPILER-MESSAGES*"))
  (let ((symbol (intern name "C")))
    (export symbol "C")
    (proclaim `(special ,symbol))))

(defmacro with-replaced ((name function) &body body)
  `(let ((saved (fdefinition ',name)))
     (setf (fdefinition ',name) ,function)
     (unwind-protect (progn ,@body)
       (setf (fdefinition ',name) saved))))

(defun load-suite ()
  "The suite compiles some of its files beside their sources; a compilation is the source itself here."
  (ext:install-bytecodes-compiler)
  (ext:package-lock "COMMON-LISP" nil)
  (let ((*default-pathname-defaults* *directory*)
        (*package* (find-package "COMMON-LISP-USER")))
    (with-replaced (compile-file-pathname (lambda (file &rest options)
                                            (declare (ignore options))
                                            file))
      (with-replaced (compile-file (lambda (file &rest options)
                                     (declare (ignore options))
                                     file))
        (handler-bind ((warning #'muffle-warning))
          (load (merge-pathnames "gclload1.lsp"))
          (load (merge-pathnames "gclload2.lsp"))))))
  (setf *entries* (coerce (cdr (symbol-value (find-symbol "*ENTRIES*" "REGRESSION-TEST"))) 'vector)))

(defun entry-name (index)
  (with-standard-io-syntax
    (prin1-to-string (funcall (find-symbol "NAME" "REGRESSION-TEST") (aref *entries* index)))))

(defvar *random* nil "The random numbers that each test begins with.")

(defun run (index)
  "What the test with this number prints: nothing if it passes."
  (let ((*random-state* (make-random-state *random*))
        (*package* (find-package "CL-TEST")))
    (with-output-to-string (report)
      (funcall (find-symbol "DO-ENTRY" "REGRESSION-TEST") (aref *entries* index) report))))

(defun run-compiled (index)
  "The same, with the suite's own switch by which the body of each test is compiled first."
  (progv (list (find-symbol "*COMPILE-TESTS*" "REGRESSION-TEST")) '(t)
    (run index)))

(defun run-with-sources (index)
  "The same, with ECL's functions from its sources (sources.lisp)."
  (funcall (find-symbol "INSTALL" "ANSI-SOURCES"))
  (run-compiled index))

(setf *random* (make-random-state nil))
(load-suite)
