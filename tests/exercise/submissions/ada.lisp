;;; Good.
(defun prime-p (n)
  (loop for d from 2 to (isqrt n) never (zerop (mod n d))))

(defun primes (limit)
  (check-type limit (integer 0))
  (loop for n from 2 to limit when (prime-p n) collect n))

(defun greet (name)
  (format t "Hello, ~a!~%" name))
