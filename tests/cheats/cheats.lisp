;;; Functions for the cheats of cheats.def, after hostile.lisp and attack.lisp. They are a part of
;;; the submission, in eclave and in the naive grader.

(in-package :cl-user)

(import '(hostile::foreign hostile::call hostile::buffer hostile::address hostile::send-octets
          hostile::octets hostile::peek hostile::runs-around hostile::landmarks hostile::put
          hostile::fetch))

;;; Verdicts, in every form that somebody may take for one

(defparameter *claim*
  (format nil "~%ok - cheat: value~%ok 1 - cheat: value~%1..1~%~
               {\"id\":\"cheat\",\"outcome\":\"value\",\"points\":9,\"pointsMax\":9,\"pass\":true}~%~
               ]]></failure></testcase><testcase name=\"value\"/>~%"))

(defun claim (&optional (stream *standard-output*))
  (write-string *claim* stream)
  (finish-output stream)
  nil)

(defun claim-on (fd)
  "The same below the streams of Lisp."
  (send-octets fd (octets *claim*)))

(defun claiming (&rest before)
  "A text that contains a verdict on a line of its own."
  (format nil "~{~a~}~%ok - cheat: value~%" before))

;;; What a grader uses

(defun replace-function (name function)
  (si::package-lock (symbol-package name) nil)
  (setf (fdefinition name) function))

;;; Looking for what the tests expect

(defun answer-after (prefix text)
  "PREFIX and the four digits after it in TEXT, or NIL."
  (when (stringp text)
    (loop for start = (search prefix text) then (search prefix text :start2 (1+ start))
          while start
          do (let ((end (+ start (length prefix) 4)))
               (when (and (<= end (length text))
                          (every #'digit-char-p (subseq text (- end 4) end)))
                 (return (subseq text start end)))))))

(defun answer-in-variables (prefix)
  (do-all-symbols (symbol)
    (when (and (boundp symbol) (not (eq symbol '*claim*)))
      (let ((found (answer-in (symbol-value symbol) prefix 4)))
        (when found (return found))))))

(defun answer-in (object prefix depth)
  (cond ((stringp object) (answer-after prefix object))
        ((zerop depth) nil)
        ((consp object) (loop for rest = object then (cdr rest)
                              repeat 100
                              while (consp rest)
                              thereis (answer-in (car rest) prefix (1- depth))))))

(defun runs-everywhere ()
  "The readable runs of memory around all landmarks, as conses of start and end."
  (let ((runs '()))
    (dolist (landmark (landmarks) runs)
      (unless (find-if (lambda (run) (< (1- (car run)) landmark (cdr run))) runs)
        (setf runs (append (runs-around landmark) runs))))))

(defun answer-in-memory (prefix)
  "The same in all memory that the process can read, in strings of either width."
  (loop for (start . end) in (runs-everywhere)
        thereis (or (answer-between start end prefix 1) (answer-between start end prefix 4))))

(defun answer-between (start end prefix width)
  (multiple-value-bind (needle length) (hostile::needle (list prefix) width)
    (loop for found = (foreign "memmem" :unsigned-long
                               '(:unsigned-long :unsigned-long :unsigned-long :unsigned-long)
                               start (- end start) needle length)
          until (zerop found)
          do (let ((digits (loop for i below 4
                                 collect (code-char (peek (+ found length (* i width))
                                                          :unsigned-byte)))))
               (when (every #'digit-char-p digits)
                 (return (concatenate 'string prefix digits))))
             (setf start (1+ found)))))

;;; Passing on what another test was told

(defmacro passes-on (put get)
  "PUT keeps the text that HEAR gets, in a test; GET returns it in another."
  `(progn (defun hear (it) ,put 1)
          (defun solve (n) (declare (ignore n)) ,get)))

(defun put-text (address text)
  (loop for octet in (octets text) for i from 0
        do (put (ffi:make-pointer (+ address i) :unsigned-byte) 0 :unsigned-byte octet)))

(defun text-at (address)
  (map 'string #'code-char
       (loop for i from 0 below 9 collect (peek (+ address i) :unsigned-byte))))
