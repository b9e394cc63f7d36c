;;; Only counts.
(defun balanced-p (text)
  (= (count-if (lambda (char) (find char "([{")) text)
     (count-if (lambda (char) (find char ")]}")) text)))
