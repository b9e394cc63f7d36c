;;; Rooks, not queens.
(defun queens (n)
  (if (<= n 1) 1 (* n (queens (1- n)))))
