;;; Takes odd numbers for primes.
(defun primes-below (limit)
  (loop for n from 2 below limit
        when (or (= n 2) (oddp n)) collect n))
