;;; Prints without an end.
(defun balanced-p (text)
  (loop (write-line text)))
