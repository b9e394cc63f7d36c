;;; Fills the memory while it is loaded.
(loop with all = '()
      do (push (make-array 1000000) all))
