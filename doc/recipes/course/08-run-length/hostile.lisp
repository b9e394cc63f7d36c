;;; Is a list without an end.
(defun encode (text)
  (declare (ignore text))
  (let ((list (list (cons #\a 2))))
    (setf (cdr list) list *print-circle* nil *print-length* nil)
    list))
(defun decode (runs) (declare (ignore runs)) (loop))
