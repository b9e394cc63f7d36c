;;; Signals without an end, in the report of its condition.
(define-condition empty-stack (error) ()
  (:report (lambda (condition stream) (declare (ignore condition stream)) (loop))))
(defun make-stack () :stack)
(defun push-on (stack item) (declare (ignore item)) stack)
(defun pop-from (stack)
  (declare (ignore stack))
  (loop (ignore-errors (error 'empty-stack))))
