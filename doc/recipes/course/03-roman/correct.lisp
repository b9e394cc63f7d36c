;;; FORMAT knows how.
(defun roman (n)
  (format nil "~@r" n))
