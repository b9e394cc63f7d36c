;;; Rows that are placed, as a list of columns.
(defun queens (n)
  (labels ((safe-p (column placed)
             (loop for other in placed
                   for distance from 1
                   never (or (= other column) (= (abs (- other column)) distance))))
           (place (placed rows)
             (if (zerop rows)
                 1
                 (loop for column below n
                       when (safe-p column placed)
                         sum (place (cons column placed) (1- rows))))))
    (place '() n)))
