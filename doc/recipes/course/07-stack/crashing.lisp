;;; Overflows the stack of the machine.
(defun make-stack () '())
(defun push-on (stack item) (cons item stack))
(defun pop-from (stack) (1+ (pop-from stack)))
