;;; Lets a signal through.
(defun turn (matrix)
  (si:call-cfun (si:find-foreign-symbol "abort" :default :pointer-void 0) :void '() '())
  matrix)
