;;; Never subtracts.
(defun roman (n)
  (format nil "~:@r" n))
