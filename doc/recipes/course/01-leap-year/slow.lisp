;;; Counts up to the year, again and again.
(defun leap-year-p (year)
  (let ((cycle 0) (leap nil))
    (dotimes (y (1+ year) leap)
      (setf cycle (mod y 400)
            leap (and (zerop (mod cycle 4)) (or (zerop cycle) (plusp (mod cycle 100))) t)))))
