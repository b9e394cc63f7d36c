;;; Removes one pair at a time.
(defun balanced-p (text)
  (let ((text (remove-if-not (lambda (char) (find char "()[]{}")) text)))
    (loop for at = (or (search "()" text) (search "[]" text) (search "{}" text))
          while at
          do (setf text (concatenate 'string (subseq text 0 at) (subseq text (+ at 2)))))
    (string= text "")))
