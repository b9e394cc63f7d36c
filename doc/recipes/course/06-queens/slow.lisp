;;; Tries all boards.
(defun queens (n)
  (let ((count 0))
    (dotimes (board (expt n n) count)
      (let ((columns (loop repeat n
                           for rest = board then (floor rest n)
                           collect (mod rest n))))
        (when (loop for (a . others) on columns
                    always (loop for b in others
                                 for distance from 1
                                 never (or (= a b) (= (abs (- a b)) distance))))
          (incf count))))))
