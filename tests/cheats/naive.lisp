;;; The grader that a course writes first: it loads a submission, runs the tests in the same process,
;;; compares there, and prints a line for each. The cheats of cheats.def succeed against it.

(in-package :cl-user)

(defconstant +slow+ (* 2 internal-time-units-per-second))

(defun value-of (code)
  (eval (read-from-string code)))

(defun meets-p (kind code wanted)
  (ecase kind
    (:expect (equal (princ-to-string (value-of code)) (remove #\" wanted)))
    (:expectstdout (equal (with-output-to-string (*standard-output*) (value-of code)) wanted))
    (:expectform (or (equalp (value-of code) (value-of wanted))
                     (equal (prin1-to-string (value-of code)) (prin1-to-string (value-of wanted)))))
    (:expectcondition (handler-case (progn (value-of code) nil)
                        (condition (condition)
                          (or (string-equal (type-of condition) wanted)
                              (search wanted (princ-to-string condition))))))))

(defun came-of (code)
  (handler-case (value-of code)
    (error (condition) (format nil "~a ~a" (type-of condition) condition))))

(defun try (who name kind code wanted)
  (let* ((start (get-internal-real-time))
         (met (ignore-errors (meets-p kind code wanted)))
         (slow (and (string= name "fast") (> (- (get-internal-real-time) start) +slow+)))
         (met (and met (not slow))))
    (format t "~:[not ok~;ok~] - ~a: ~a~%" met who name)
    (unless met
      (format t "  came ~a~%" (came-of code)))
    met))

(defun grade (submissions)
  (read-line) ; the rest of the line of this call; what follows is the input of the tests
  (let ((good t))
    (loop for (who source) in submissions
          do (handler-case (load (make-string-input-stream source))
               (error (condition) (format t "~a does not load: ~a~%" who condition)))
             (loop for (name kind code wanted) in *tests*
                   unless (try who name kind code wanted) do (setf good nil)))
    (finish-output)
    (ext:quit (if good 0 1))))
