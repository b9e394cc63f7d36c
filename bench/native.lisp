;;;; What --native is measured with (scripts/bench-native): the same functions in eclave, as bytecode and as
;;;; native code, in plain ECL, whose compiler runs gcc, and in SBCL. Each line of the output has a name, the
;;;; processor time of a call in milliseconds, the least of some runs of several calls, and the result, which
;;;; must be the same everywhere.

(defun fib (n)
  (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))

(defun fixnum-fib (n)
  (declare (fixnum n) (optimize (speed 3) (safety 0)))
  (if (< n 2)
      n
      (the fixnum (+ (the fixnum (fixnum-fib (- n 1))) (the fixnum (fixnum-fib (- n 2)))))))

(defun tak (x y z)
  (if (not (< y x)) z (tak (tak (1- x) y z) (tak (1- y) z x) (tak (1- z) x y))))

(defun queens (n)
  (let ((count 0))
    (labels ((safe (row placed distance)
               (or (null placed)
                   (and (/= row (car placed)) (/= (abs (- row (car placed))) distance)
                        (safe row (cdr placed) (1+ distance)))))
             (try (k placed)
               (if (= k n)
                   (incf count)
                   (dotimes (row n)
                     (when (safe row placed 1)
                       (try (1+ k) (cons row placed)))))))
      (try 0 nil))
    count))

(defun mandelbrot (width height)
  (declare (fixnum width height))
  (let ((sum 0))
    (declare (fixnum sum))
    (dotimes (y height sum)
      (dotimes (x width)
        (let* ((cr (- (/ (* 3d0 (float x 1d0)) (float width 1d0)) 2d0))
               (ci (- (/ (* 2d0 (float y 1d0)) (float height 1d0)) 1d0))
               (zr 0d0) (zi 0d0) (i 0))
          (declare (double-float cr ci zr zi) (fixnum i))
          (loop
            (when (or (>= i 100) (> (+ (* zr zr) (* zi zi)) 4d0))
              (return))
            (let ((next-zr (+ (- (* zr zr) (* zi zi)) cr))
                  (next-zi (+ (* 2d0 zr zi) ci)))
              (declare (double-float next-zr next-zi))
              (setq zr next-zr zi next-zi))
            (incf i))
          (incf sum i))))))

(defun strings (n)
  (let ((out (make-string-output-stream)))
    (dotimes (i n)
      (write-string "ab" out)
      (write-char (code-char (+ 97 (mod i 26))) out))
    (let ((text (get-output-stream-string out)) (count 0))
      (loop for char across text when (char= char #\a) do (incf count))
      (+ count (length (string-upcase (concatenate 'string text "x")))))))

(defun hashing (n)
  (let ((table (make-hash-table)) (sum 0))
    (dotimes (i n)
      (setf (gethash i table) (* i i)))
    (dotimes (i n sum)
      (incf sum (gethash i table)))))

(defun sorting (n)
  (let ((numbers (make-array n)) (number 42))
    (dotimes (i n)
      (setq number (mod (+ (* number 1103515245) 12345) 2147483648))
      (setf (aref numbers i) number))
    (aref (sort numbers (lambda (a b) (< a b))) 0)))

(defclass shape () ((size :initarg :size :accessor size)))
(defclass square (shape) ())
(defclass circle (shape) ())
(defgeneric area (shape))
(defmethod area ((shape square)) (* (size shape) (size shape)))
(defmethod area ((shape circle)) (* 3 (size shape) (size shape)))

(defun methods (n)
  (let ((shapes (list (make-instance 'square :size 2) (make-instance 'circle :size 3))) (sum 0))
    (dotimes (i n sum)
      (dolist (shape shapes)
        (incf sum (area shape))))))

(defun exits (n)
  (let ((count 0))
    (dotimes (i n count)
      (catch 'out (unwind-protect (throw 'out i) (incf count)))
      (incf count (block found
                    (mapc (lambda (x) (when (= x 2) (return-from found x))) '(1 2 3))
                    0)))))

(defparameter *calls*
  '((fib 27) (fixnum-fib 27) (tak 18 12 6) (queens 8) (mandelbrot 100 100) (strings 100000)
    (hashing 100000) (sorting 100000) (methods 100000) (exits 100000)))

(defun measure (call runs repetitions)
  (let ((least nil) (value nil))
    (dotimes (i runs)
      (let ((start (get-internal-run-time)))
        (dotimes (j repetitions)
          (setq value (apply (symbol-function (first call)) (rest call))))
        (let ((took (- (get-internal-run-time) start)))
          (when (or (null least) (< took least))
            (setq least took)))))
    (format t "~(~a~) ~,3f ~a~%" (first call)
            (/ (* 1000.0 least) internal-time-units-per-second repetitions) value)))

(defun measure-all (runs repetitions)
  "ECL counts in whole milliseconds, so that one repetition is not enough for the fast ones."
  (dolist (call *calls*)
    (measure call runs repetitions)))

(defun compile-all ()
  (dolist (call *calls*)
    (compile (first call)))
  (compile 'area))
