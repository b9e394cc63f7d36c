;;; Element by element.
(defun turn (matrix)
  (destructuring-bind (rows columns) (array-dimensions matrix)
    (let ((turned (make-array (list columns rows))))
      (dotimes (row rows turned)
        (dotimes (column columns)
          (setf (aref turned column (- rows row 1)) (aref matrix row column)))))))
