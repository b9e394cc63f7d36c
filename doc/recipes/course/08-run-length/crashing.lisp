;;; Writes past a string.
(defun encode (text)
  (si:call-cfun (si:find-foreign-symbol "memset" :default :pointer-void 0)
                :pointer-void '(:unsigned-long :int :unsigned-long) (list 8 0 (length text)))
  '())
(defun decode (runs) (if runs (encode "x") ""))
