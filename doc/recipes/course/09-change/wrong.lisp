;;; Only the greedy way.
(defun ways (amount coins)
  (dolist (coin (sort (copy-list coins) #'>) (if (zerop amount) 1 0))
    (setf amount (mod amount coin))))
