;;; Right.
(defun leap-year-p (year)
  (and (zerop (mod year 4))
       (or (plusp (mod year 100)) (zerop (mod year 400)))
       t))
