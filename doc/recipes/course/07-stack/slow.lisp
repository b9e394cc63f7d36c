;;; Waits on an empty stack until somebody pushes.
(define-condition empty-stack (error) ())
(defstruct stack (items '()))
(defun push-on (stack item)
  (push item (stack-items stack))
  stack)
(defun pop-from (stack)
  (loop until (stack-items stack))
  (pop (stack-items stack)))
