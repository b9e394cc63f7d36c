;;; Divides by every smaller number.
(defun primes-below (limit)
  (loop for n from 2 below limit
        when (= (loop for divisor from 1 to n count (zerop (mod n divisor))) 2) collect n))
