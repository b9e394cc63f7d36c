;;; Counts characters, not runs; the numbers come first.
(defun encode (text)
  (loop for char across (remove-duplicates text) collect (cons (count char text) char)))
(defun decode (runs)
  (map 'string #'car runs))
