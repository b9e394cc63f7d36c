;;; Sleeps, so as not to be caught.
(defun roman (n)
  (when (> n 2000) (sleep 1))
  (format nil "~@r" n))
