;;;; The package of the runtime. It holds what is natural to say in Lisp; what guards is C.

(defpackage "ECLAVE"
  (:use "COMMON-LISP"))

(in-package "ECLAVE")

(defvar *stdout*) ; set by C
(defvar *stderr*) ; set by C
