;;; Recurses without an end.
(defun primes-below (limit)
  (append (primes-below (- limit 1)) (list limit)))
