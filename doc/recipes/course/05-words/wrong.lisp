;;; Only looks at the first line, and does not sort.
(defun print-words ()
  (let ((line (read-line *standard-input* nil "")))
    (unless (string= line "")
      (format t "~a 1~%" line))))
