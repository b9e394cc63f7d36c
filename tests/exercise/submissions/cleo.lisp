;;; Slow: looks for the last prime.
(defun primes (limit)
  (declare (ignore limit))
  (loop for n from 2 collect n into numbers until (null numbers)))

(defun greet (name)
  (loop (sleep 1) (list name)))
