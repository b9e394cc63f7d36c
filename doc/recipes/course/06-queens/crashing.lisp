;;; Asks for a number of bits that no memory has.
(defun queens (n)
  (if (= n 1) 1 (ash 1 (expt 2 40))))
