;;; Wrong: 1 is no prime, and a greeting has a comma.
(defun primes (limit)
  (loop for n from 1 to limit
        when (loop for d from 2 below n never (zerop (mod n d))) collect n))

(defun greet (name)
  (format t "Hello ~a!~%" name))
