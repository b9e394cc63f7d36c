;;; Copies the whole matrix for each element.
(defun turn (matrix)
  (destructuring-bind (rows columns) (array-dimensions matrix)
    (let ((turned (make-array (list columns rows))))
      (dotimes (row rows turned)
        (dotimes (column columns)
          (let ((copy (make-array (list columns rows))))
            (dotimes (i (* rows columns))
              (setf (row-major-aref copy i) (row-major-aref turned i)))
            (setf turned copy
                  (aref turned column (- rows row 1)) (aref matrix row column))))))))
