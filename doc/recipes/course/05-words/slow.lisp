;;; Waits for more input.
(defun print-words ()
  (loop until (listen *standard-input*)))
