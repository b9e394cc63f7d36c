;;; The sieve of Eratosthenes.
(defun primes-below (limit)
  (let ((composite (make-array (max limit 2) :element-type 'bit :initial-element 0)))
    (loop for n from 2 below limit
          when (zerop (aref composite n))
            collect n
            and do (loop for multiple from (* n n) below limit by n
                         do (setf (aref composite multiple) 1)))))
