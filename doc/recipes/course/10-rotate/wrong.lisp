;;; Reflects.
(defun turn (matrix)
  (destructuring-bind (rows columns) (array-dimensions matrix)
    (let ((turned (make-array (list columns rows))))
      (dotimes (row rows turned)
        (dotimes (column columns)
          (setf (aref turned column row) (aref matrix row column)))))))
