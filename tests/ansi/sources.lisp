;;;; Loads ECL's own Lisp sources over the functions that are built in, so that with --native they are
;;;; native code and the tests use them. Loaded with --preload; *SOURCES* names the folder.

(defpackage "ANSI-SOURCES" (:use "COMMON-LISP"))
(in-package "ANSI-SOURCES")

(defvar *sources*) ; set by a file that loads this one

;;; Macros first. The others of ECL's files need its C compiler, or are what evaluation itself runs on.
(defparameter *files* '("seqmacros" "listlib" "seqlib" "arraylib" "mislib" "packlib" "assert" "iolib"))

(defun includes-c-p (form)
  (loop for rest = form then (cdr rest)
        while (consp rest)
        thereis (or (eq (car rest) 'ffi:c-inline) (includes-c-p (car rest)))))

(defun load-forms (file)
  "As LOAD, but a form that includes C or cannot be evaluated is left out."
  (let ((*package* (find-package "SYSTEM")))
    (with-open-file (in file)
      (loop for form = (read in nil in)
            until (eq form in)
            unless (includes-c-p form)
              do (ignore-errors
                (handler-bind ((warning #'muffle-warning))
                  (eval form)))))))

(ext:package-lock "COMMON-LISP" nil)
(dolist (name *files*)
  (load-forms (merge-pathnames (concatenate 'string name ".lsp") *sources*)))
(ext:package-lock "COMMON-LISP" t)

(defun native-count ()
  "The number of functions that are native code, and a list of those that are not."
  (let ((count 0)
        (others '()))
    (dolist (package '("COMMON-LISP" "SYSTEM"))
      (do-symbols (symbol package)
        (when (and (eq (symbol-package symbol) (find-package package))
                   (fboundp symbol)
                   (not (macro-function symbol))
                   (not (special-operator-p symbol)))
          (let ((function (fdefinition symbol)))
            (cond ((nth-value 1 (si:bc-split function)) (push symbol others))
                  ((search "made from" (with-output-to-string (*standard-output*)
                                         (ignore-errors (disassemble function))))
                   (incf count)))))))
    (values count others)))
