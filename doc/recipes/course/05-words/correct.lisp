;;; A table of counts.
(defun print-words ()
  (let ((counts (make-hash-table :test #'equal)) (word '()))
    (flet ((end ()
             (when word
               (incf (gethash (coerce (reverse word) 'string) counts 0))
               (setf word '()))))
      (loop for char = (read-char *standard-input* nil)
            while char
            do (if (member char '(#\Space #\Newline)) (end) (push char word)))
      (end))
    (dolist (word (sort (loop for word being the hash-keys of counts collect word) #'string<))
      (format t "~a ~d~%" word (gethash word counts)))))
