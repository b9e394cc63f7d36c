;;; Divides, and ends its process when that fails.
(defun ways (amount coins)
  (if (zerop amount)
      1
      (progn (ext:quit 3) coins)))
