;;; Tries all.
(defun ways (amount coins)
  (cond ((zerop amount) 1)
        ((or (minusp amount) (null coins)) 0)
        (t (+ (ways amount (rest coins))
              (ways (- amount (first coins)) coins)))))
