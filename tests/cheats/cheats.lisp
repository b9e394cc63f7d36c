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
  (let ((runs '()) (hostile::*gap-pages* 256))
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

(defun text-at (address &optional (length 9))
  (map 'string #'code-char
       (loop for i from 0 below length collect (peek (+ address i) :unsigned-byte))))

;;; A setup that answers for itself and makes the forks of the tests in place of its worker. Each
;;; fork inherits what came for those before it.

(defun receive-all (fd)
  "The next frame: type, call number, payload as a text, and descriptors; NIL at the end."
  (let ((header (buffer 12)) (part (buffer 16)) (control (buffer 64)) (message (buffer 56)))
    (put part 0 :uint64-t (address header))
    (put part 8 :uint64-t 12)
    (put message 16 :uint64-t (address part))
    (put message 24 :uint64-t 1)
    (put message 32 :uint64-t (address control))
    (put message 40 :uint64-t 64)
    (when (= (call :recvmsg fd (address message) 0) 12)
      (let* ((length (fetch header 8 :uint32-t)) (payload (buffer (1+ length)))
             (descriptors (floor (max 0 (- (fetch control 0 :uint64-t) 16)) 4)))
        (loop with got = 0
              while (< got length)
              do (incf got (call :read fd (address payload got) (- length got))))
        (values (loop for (name number) on hostile::*frames* by #'cddr
                      when (= number (fetch header 0 :uint16-t)) return name)
                (fetch header 4 :uint32-t)
                (map 'string #'code-char
                     (loop for i below length collect (fetch payload i :unsigned-byte)))
                (loop for i below descriptors collect (fetch control (+ 16 (* 4 i)) :int32-t)))))))

(defun serve-forks (child)
  "Calls CHILD in the N-th fork, with N, its channel, and the descriptors of all forks so far,
newest first."
  (hostile::answer 1 "T")
  (loop with all = '()
        for n from 1
        do (multiple-value-bind (type number payload descriptors) (receive-all 3)
             (declare (ignore payload))
             (case type
               (:fork
                (push descriptors all)
                (when (eql (hostile::clone) 0)
                  (hostile::announce (or (first descriptors) 3))
                  (funcall child n (or (first descriptors) 3) all)
                  (hostile::rest-in-sleep)))
               (:outputs)
               (:evaluate (hostile::answer number "T") (call :exit_group 0))
               (t (call :exit_group 0))))))

(defun receive-call (channel)
  "The number and the text of the call on CHANNEL, and the outputs that came for it."
  (loop with outputs = '()
        do (multiple-value-bind (type number payload descriptors) (receive-all channel)
             (case type
               (:outputs (setf outputs descriptors))
               (:evaluate (return (values number payload outputs)))
               (t (call :exit_group 0))))))

(defun answers (channel &optional (value "NIL"))
  "Answers the call of a fork, and returns its text."
  (multiple-value-bind (number payload) (receive-call channel)
    (hostile::answer number value channel)
    payload))

(defun channel-of (fork all)
  (first (nth (- (length all) fork) all)))

(defun number-of (fork)
  "The number of the call of a fork: each is a call as well."
  (1+ (* 2 fork)))

(defun writes-what-another-expects (n channel all)
  "The fork of the test `input' knows what the test `output' expects. It takes that test's call,
prints it and answers."
  (case n
    (3)
    (4 (multiple-value-bind (number told) (receive-call channel)
         (let ((outputs (nth-value 2 (receive-call (channel-of 3 all)))))
           (send-octets (first outputs) (octets (answer-after "pear-" told)))
           (hostile::answer (number-of 3) "NIL" (channel-of 3 all))
           (hostile::answer number "NIL" channel))))
    (t (answers channel))))

(defun reads-what-another-was-told (n channel all)
  "The fork of `value' reads the call of that of `told', which leaves it."
  (case n
    (1)
    (2 (let ((number (receive-call channel))
             (told (nth-value 1 (receive-call (channel-of 1 all)))))
         (hostile::answer number (format nil "~s" (answer-after "plum-" told)) channel)))
    (t (answers channel))))
