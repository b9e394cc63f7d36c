;;; Not even Lisp.
(defun primes (limit)
  (loop for n from 2 to limit collect n)
