;;; Crashing: asks the library for big numbers for more memory than there is, and it gives up.
(defun primes (limit)
  (declare (ignore limit))
  (ash 1 (expt 2 40)))

(defun greet (name)
  (ext:quit (length name)))
