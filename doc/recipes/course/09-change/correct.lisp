;;; The ways for all smaller amounts, one coin after another.
(defun ways (amount coins)
  (let ((table (make-array (1+ amount) :initial-element 0)))
    (setf (aref table 0) 1)
    (dolist (coin coins (aref table amount))
      (loop for sum from coin to amount
            do (incf (aref table sum) (aref table (- sum coin)))))))
