;;; Ends its process on a century.
(defun leap-year-p (year)
  (when (zerop (mod year 100))
    (si:call-cfun (si:find-foreign-symbol "abort" :default :pointer-void 0) :void '() '()))
  (zerop (mod year 4)))
