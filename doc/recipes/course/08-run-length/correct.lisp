;;; From the end.
(defun encode (text)
  (let ((runs '()))
    (loop for char across (reverse text)
          do (if (and runs (eql char (car (first runs))))
                 (incf (cdr (first runs)))
                 (push (cons char 1) runs)))
    runs))
(defun decode (runs)
  (with-output-to-string (out)
    (loop for (char . count) in runs
          do (loop repeat count do (write-char char out)))))
