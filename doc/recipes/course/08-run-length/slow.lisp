;;; Copies the rest for each character.
(defun encode (text)
  (if (string= text "")
      '()
      (let ((end (or (loop for i from 1 below (length text)
                           unless (string= (subseq text 0 i)
                                           (make-string i :initial-element (char text 0)))
                             return (1- i))
                     (length text))))
        (let ((end (or (position (char text 0) text :test-not #'eql) end)))
          (cons (cons (char text 0) end) (encode (subseq text end)))))))
(defun decode (runs)
  (format nil "~{~a~}" (loop for (char . count) in runs
                             collect (make-string count :initial-element char))))
