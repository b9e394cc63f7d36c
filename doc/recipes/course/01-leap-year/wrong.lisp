;;; Forgets the centuries.
(defun leap-year-p (year)
  (zerop (mod year 4)))
