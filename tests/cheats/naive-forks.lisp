;;; The grader of naive.lisp with a fork for each test: it loads a submission in a process of its own and
;;; asks that process to fork, by the frames of eclave and through its channel. So each fork inherits what
;;; those before it got. What a fork answers, it takes for the truth.

(in-package :cl-user)

(defun pair-of (name &rest arguments)
  "The two descriptors that socketpair or pipe makes."
  (let ((pair (buffer 8)))
    (apply #'foreign name :int (append (mapcar (constantly :int) arguments) '(:unsigned-long))
           (append arguments (list (address pair))))
    (list (fetch pair 0 :int32-t) (fetch pair 4 :int32-t))))

(defun socket-pair ()
  (pair-of "socketpair" 1 1 0))

(defun close-it (fd)
  (foreign "close" :int '(:int) fd))

(defun send-with (fd octets descriptors)
  (let* ((bytes (buffer (length octets))) (part (buffer 16)) (message (buffer 56))
         (size (+ 16 (* 4 (length descriptors)))) (control (buffer 64)))
    (loop for octet in octets for i from 0 do (put bytes i :unsigned-byte octet))
    (put part 0 :uint64-t (address bytes))
    (put part 8 :uint64-t (length octets))
    (put control 0 :uint64-t size)
    (put control 8 :int32-t 1)  ; SOL_SOCKET
    (put control 12 :int32-t 1) ; SCM_RIGHTS
    (loop for descriptor in descriptors for at from 16 by 4 do (put control at :int32-t descriptor))
    (put message 16 :uint64-t (address part))
    (put message 24 :uint64-t 1)
    (put message 32 :uint64-t (address control))
    (put message 40 :uint64-t size)
    (foreign "sendmsg" :long '(:int :unsigned-long :int) fd (address message) 0)))

(defun comes-p (fd)
  "Whether anything comes on FD within some seconds."
  (let ((poll (buffer 8)))
    (put poll 0 :int32-t fd)
    (put poll 4 :int32-t 1) ; POLLIN
    (eql (foreign "poll" :int '(:unsigned-long :unsigned-long :int) (address poll) 1 10000) 1)))

(defun frame-on (fd)
  "The type and the payload of the next frame, or NIL."
  (when (comes-p fd)
    (multiple-value-bind (type number payload) (receive-all fd)
      (declare (ignore number))
      (values type payload))))

(defun start-submission (source)
  "Its channel."
  (destructuring-bind (ours theirs) (socket-pair)
    (when (eql (foreign "fork" :int '()) 0)
      (foreign "dup2" :int '(:int :int) theirs 3)
      (load (make-string-input-stream source))
      (foreign "_exit" :void '(:int) 0))
    (close-it theirs)
    ours))

(defvar *forks-p* t "Whether the submission has forked whenever it was asked.")

(defun channel-for (source number ours theirs)
  "OURS if SOURCE forks with THEIRS, or else SOURCE, which then has to run its tests itself."
  (when *forks-p*
    (send-with source (hostile::frame :fork :call (1- number)) (list theirs))
    (setf *forks-p* (comes-p ours))
    (frame-on (if *forks-p* ours source))) ; it is ready, or has failed
  (if *forks-p* ours source))

(defun start-test (source number code)
  "The channel for a test, and where its output can be read."
  (destructuring-bind (ours theirs) (socket-pair)
    (destructuring-bind (in out) (pair-of "pipe")
      (let ((channel (channel-for source number ours theirs)))
        (send-with channel (hostile::frame :outputs) (list out out))
        (send-octets channel (hostile::frame :evaluate :call number :payload (octets code)))
        (close-it out)
        (close-it theirs)
        (list channel in)))))

(defun output-of (in)
  (let ((bytes (buffer 16)))
    (if (comes-p in)
        (progn (call :read in (address bytes) 9) (text-at (address bytes)))
        "")))

(defun answered-p (channel)
  (multiple-value-bind (type payload) (frame-on channel)
    (and (eq type :result) (not (search "NIL" payload)))))

(defun grade-by-forks (who source)
  (let ((channel (start-submission source)))
    (frame-on channel) ; the answer of the setup
    (let ((runs (loop for (nil nil nil code) in *tests*
                      for number from 3 by 2
                      collect (start-test channel number (format nil "~a pear-2846" code)))))
      (loop for (name kind nil nil wanted) in *tests*
            for (channel in) in runs
            for answer = (answered-p channel)
            do (format t "~:[not ok~;ok~] - ~a: ~a~%"
                       (if (eq kind :expectstdout) (equal (output-of in) wanted) answer) who name)))
    (finish-output)
    (ext:quit 1)))
