;;; A cell with a list.
(define-condition empty-stack (error) ())
(defstruct stack (items '()))
(defun push-on (stack item)
  (push item (stack-items stack))
  stack)
(defun pop-from (stack)
  (unless (stack-items stack) (error 'empty-stack))
  (pop (stack-items stack)))
