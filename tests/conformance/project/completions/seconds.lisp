;;; {"description": "What may follow upon the first argument."}

(mcp:defcompletion "seconds" (argument value context)
  (declare (ignore argument))
  (loop for ending in '("one" "two" "three")
        collect (format nil "~a-~@[~a-~]~a" value (mcp:ref context "arg1") ending)))
