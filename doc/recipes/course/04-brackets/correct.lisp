;;; A stack of the brackets that are expected.
(defun balanced-p (text)
  (let ((expected '()))
    (loop for char across text
          for open = (position char "([{")
          do (cond (open (push (char ")]}" open) expected))
                   ((and (find char ")]}") (not (eql char (pop expected))))
                    (return-from balanced-p nil))))
    (null expected)))
