;;; Hostile code below Lisp: any system call that the policy allows, and with it any byte on the
;;; worker's own channel. The tests send it to the server and evaluate it there. lisp_file.c puts
;;; *NUMBERS* and *FRAMES*, lists of names and numbers, before it.
;;;
;;; Most functions take the number of the running call, which a worker can find in its memory. They
;;; forge the answer with it and continue to run while the supervisor takes the call for ended.

(in-package :hostile)

(defconstant +channel+ 3)
(defconstant +header-bytes+ 12)
(defconstant +parent-is-mine+ #x8000) ; CLONE_PARENT
(defconstant +death-of-child+ 17)     ; SIGCHLD

(defun foreign (name returns types &rest arguments)
  (si:call-cfun (si:find-foreign-symbol name :default :pointer-void 0) returns types arguments))

(defun call (name &rest arguments)
  "A system call; -1 when it fails."
  (apply #'foreign "syscall" :long (list* :long (mapcar (constantly :long) arguments))
         (getf *numbers* name) arguments))

(defun call-if-any (name)
  "A system call without arguments; -1 where the architecture lacks it."
  (if (getf *numbers* name) (call name) -1))

(defvar *buffers* '())

(defun buffer (size)
  "Zeroed memory that is never moved or freed."
  (let ((buffer (si:allocate-foreign-data :void size)))
    (dotimes (i size) (si:foreign-data-set-elt buffer i :unsigned-byte 0))
    (push buffer *buffers*)
    buffer))

(defun address (buffer &optional (offset 0))
  (+ (ffi:pointer-address buffer) offset))

(defun put (buffer offset type value)
  (si:foreign-data-set-elt buffer offset type value))

(defun fetch (buffer offset type)
  (si:foreign-data-ref-elt buffer offset type))

;;; Frames

(defun octets (text)
  (map 'list #'char-code text))

(defun little-endian (number count)
  (loop for i below count collect (ldb (byte 8 (* 8 i)) number)))

(defun send-octets (fd octets)
  (let ((buffer (buffer (max 1 (length octets)))))
    (loop for octet in octets for i from 0 do (put buffer i :unsigned-byte octet))
    (call :write fd (address buffer) (length octets))))

(defun frame (type &key (flags 0) (call 0) (payload '()) (length (length payload)))
  (append (little-endian (getf *frames* type type) 2) (little-endian flags 2)
          (little-endian call 4) (little-endian length 4) payload))

(defun section (tag octets)
  (append (little-endian tag 4) (little-endian (length octets) 4) octets))

(defun result (number text)
  "The frame of a lawful answer with one value, which prints as TEXT."
  (frame :result :call number
                 :payload (append (section 2 (octets "COMMON-LISP-USER")) (section 3 (octets text)))))

(defun answer (number text &optional (fd +channel+))
  (send-octets fd (result number text)))

(defun receive (&optional (fd +channel+))
  "The next frame: its type, its call number, and the first descriptor that came with it."
  (let ((header (buffer +header-bytes+)) (part (buffer 16)) (control (buffer 64))
        (message (buffer 56)) (descriptor nil))
    (put part 0 :uint64-t (address header))
    (put part 8 :uint64-t +header-bytes+)
    (put message 16 :uint64-t (address part))
    (put message 24 :uint64-t 1)
    (put message 32 :uint64-t (address control))
    (put message 40 :uint64-t 64)
    (unless (= (call :recvmsg fd (address message) 0) +header-bytes+) (return-from receive nil))
    (when (> (fetch message 40 :uint64-t) 16) (setf descriptor (fetch control 16 :int32-t)))
    (let ((length (fetch header 8 :uint32-t)))
      (when (plusp length) (call :read fd (address (buffer length)) length)))
    (values (let ((type (fetch header 0 :uint16-t)))
              (loop for (name number) on *frames* by #'cddr
                    when (= number type) return name))
            (fetch header 4 :uint32-t)
            descriptor)))

(defun fork-channel ()
  "Waits for the request to fork; returns the channel for the fork."
  (multiple-value-bind (type call descriptor) (receive)
    (declare (ignore call))
    (and (eq type :fork) descriptor)))

(defun refuse-a-fork ()
  "Waits for the request to fork and refuses it."
  (fork-channel)
  (send-octets +channel+ (frame :failed :payload (octets "no"))))

(defun clone ()
  (call :clone (logior +parent-is-mine+ +death-of-child+) 0 0 0 0))

(defun announce (channel)
  "Like a lawful fork, with the death signal set before."
  (call :prctl 1 9 0 0 0)
  (send-octets channel (frame :ready)))

(defun rest-in-sleep ()
  (loop (sleep 1000)))

(defun serve-lies (fd lie)
  "Answers every call on FD with LIE and refuses to fork."
  (loop (multiple-value-bind (type call) (receive fd)
          (case type
            (:evaluate (answer call lie fd))
            (:fork (send-octets fd (frame :failed :payload (octets "no"))))
            ((:outputs :track))
            (t (call :exit_group 0))))))

;;; During a call

(defun forks-everywhere ()
  "Tries every way to a second process or thread; lists those that worked."
  (loop for (name . attempt)
          in (list (cons :fork (lambda () (foreign "fork" :int '())))
                   (cons :vfork (lambda () (call-if-any :vfork)))
                   (cons :raw-fork (lambda () (call-if-any :fork)))
                   (cons :clone #'clone)
                   (cons :plain-clone (lambda () (call :clone +death-of-child+ 0 0 0 0)))
                   (cons :thread (lambda () (call :clone #x10f00 0 0 0 0)))
                   (cons :clone3 (lambda ()
                                   (let ((arguments (buffer 88)))
                                     (put arguments 32 :uint64-t +death-of-child+)
                                     (call :clone3 (address arguments) 88)))))
        for outcome = (funcall attempt)
        when (eql outcome 0) do (rest-in-sleep) ; a child, which must not exist
        unless (eql outcome -1) collect (list name outcome)))

(defun floods-with-refused-calls (count)
  (let ((path (buffer 2)))
    (put path 0 :unsigned-byte 47)
    (dotimes (i count count) (call :openat -100 (address path) 0))))

(defun passes-a-descriptor ()
  (let ((part (buffer 16)) (message (buffer 56)) (control (buffer 24)))
    (put part 0 :uint64-t (address control))
    (put part 8 :uint64-t 1)
    (put message 16 :uint64-t (address part))
    (put message 24 :uint64-t 1)
    (put message 32 :uint64-t (address control))
    (put message 40 :uint64-t 24)
    (put control 0 :uint64-t 20)
    (put control 8 :uint32-t 1)
    (put control 12 :uint32-t 1)
    (put control 16 :uint32-t 1)
    (call :sendmsg +channel+ (address message) 0)))

(defun kills (pid)
  (call :kill pid 9))

(defun closes-its-channel ()
  (call :close +channel+))

(defun blocks-every-signal ()
  (let ((set (buffer 8)))
    (dotimes (i 8) (put set i :unsigned-byte 255))
    (call :rt_sigprocmask 0 (address set) 0 8)))

(defun babbles-at-its-end ()
  "Ignores the request to end and writes to the channel until it is killed."
  (blocks-every-signal)
  (sleep 0.2)
  (loop (send-octets +channel+ (frame :ready)) (sleep 0.001)))

;;; After a forged answer, when the worker is asked to fork

(defun never-listens (number)
  (answer number "forged")
  (rest-in-sleep))

(defun never-forks (number)
  (answer number "forged")
  (fork-channel)
  (rest-in-sleep))

(defun refuses-to-fork (number)
  "Refuses; then every later answer is a lie."
  (answer number "forged")
  (refuse-a-fork)
  (serve-lies +channel+ "lie"))

(defun refuses-in-bad-text (number)
  (answer number "forged")
  (fork-channel)
  (send-octets +channel+ (frame :failed :payload (loop repeat 1024 collect 255)))
  (serve-lies +channel+ "lie"))

(defun never-announces (number)
  (answer number "forged")
  (fork-channel)
  (clone)
  (rest-in-sleep))

(defun refused-calls-before-announcing (number)
  (answer number "forged")
  (fork-channel)
  (if (eql (clone) 0)
      (loop (call :openat -100 0 0))
      (rest-in-sleep)))

(defun announces-by-a-wrong-frame (number)
  (answer number "forged")
  (let ((channel (fork-channel)))
    (when (eql (clone) 0)
      (answer number "wrong" channel))
    (rest-in-sleep)))

(defun announces-half (number)
  (answer number "forged")
  (let ((channel (fork-channel)))
    (when (eql (clone) 0)
      (send-octets channel (subseq (frame :ready) 0 5)))
    (rest-in-sleep)))

(defun announces-failure-in-bad-text (number)
  (answer number "forged")
  (let ((channel (fork-channel)))
    (if (eql (clone) 0)
        (send-octets channel (frame :failed :payload (loop repeat 1024 collect 255)))
        (serve-lies +channel+ "lie"))
    (rest-in-sleep)))

(defun announces-untied (number)
  "The fork sets no death signal, so it would outlive the supervisor."
  (answer number "forged")
  (let ((channel (fork-channel)))
    (when (eql (clone) 0)
      (send-octets channel (frame :ready))
      (rest-in-sleep))
    (serve-lies +channel+ "lie")))

(defun announces-twice (number)
  (answer number "forged")
  (let ((channel (fork-channel)))
    (cond ((eql (clone) 0)
           (announce channel)
           (send-octets channel (frame :ready))
           (rest-in-sleep))
          (t (serve-lies +channel+ "lie")))))

(defun announces-in-its-place (number)
  "Forks, and announces the fork in its place."
  (answer number "forged")
  (let ((channel (fork-channel)))
    (when (eql (clone) 0) (rest-in-sleep))
    (send-octets channel (frame :ready))
    (serve-lies +channel+ "lie")))

(defun announces-without-forking (number)
  (answer number "forged")
  (send-octets (fork-channel) (frame :ready))
  (serve-lies +channel+ "lie"))

(defun forks-twice (number)
  "Tries a second clone; the answer to the next call is the result of both."
  (answer number "forged")
  (let* ((channel (fork-channel)) (first (clone)))
    (cond ((eql first 0)
           (announce channel)
           (serve-lies channel "lie of the checkpoint"))
          (t (let ((second (clone)))
               (when (eql second 0) (rest-in-sleep)) ; must not happen
               (serve-lies +channel+ (format nil "~a and ~d" (if (> first 1) "one" first) second)))))))

(defun speaks-for-its-origin (number)
  "The fork answers on the channel of its origin, before it announces itself."
  (answer number "forged")
  (fork-channel)
  (if (eql (clone) 0)
      (answer number "mine")
      (serve-lies +channel+ "lie"))
  (rest-in-sleep))

(defun both-go-on (number)
  "The same, after it has announced itself."
  (answer number "forged")
  (let ((channel (fork-channel)))
    (cond ((eql (clone) 0)
           (announce channel)
           (answer number "mine")
           (rest-in-sleep))
          (t (serve-lies +channel+ "lie")))))

(defun checkpoint-lies (number)
  "A lawful fork, but checkpoint and origin both answer calls by themselves."
  (answer number "forged")
  (let ((channel (fork-channel)))
    (if (eql (clone) 0)
        (progn (announce channel) (serve-lies channel "lie of the checkpoint"))
        (serve-lies +channel+ "lie"))))

(defun flood ()
  "Writes to standard output until it is killed."
  (let ((bytes (buffer 4096)))
    (loop (call :write 1 (address bytes) 4096))))

(defun both-flood (number)
  "A lawful fork, but checkpoint and origin write to standard output from then on."
  (answer number "forged")
  (let ((channel (fork-channel)))
    (when (eql (clone) 0) (announce channel))
    (flood)))

(defun copy-floods-its-origin (number)
  "Refuses a checkpoint, and makes a copy that keeps the origin's output and floods it in its call."
  (answer number "forged")
  (refuse-a-fork)
  (let ((channel (fork-channel)))
    (when (eql (clone) 0)
      (announce channel)
      (loop for type = (receive channel)
            until (eq type :evaluate)
            when (eq type :fork)
              do (send-octets channel (frame :failed :payload (octets "no"))))
      (flood)))
  (rest-in-sleep))

(defun steals-from-its-copy (number)
  "Refuses a checkpoint, makes a copy, and reads from the channel of the copy."
  (answer number "forged")
  (refuse-a-fork)
  (let ((channel (fork-channel)))
    (when (eql (clone) 0)
      (announce channel)
      (rest-in-sleep))
    (loop (unless (receive channel) (rest-in-sleep)))))

(defun answers-before-it-reads (number)
  "Refuses a checkpoint. Answers the next call without reading it: the channel stays full."
  (answer number "forged")
  (refuse-a-fork)
  (let ((waiting (buffer 128)))
    (put waiting 0 :unsigned-byte 8) ; the set with descriptor 3 alone
    (call :pselect6 4 (address waiting) 0 0 0 0))
  (answer (1+ number) "unread")
  (rest-in-sleep))

(defun closes-while-it-forks (number)
  "A lawful fork that does not hold its origin's channel open; the origin closes it."
  (answer number "forged")
  (let ((channel (fork-channel)))
    (cond ((eql (clone) 0)
           (call :dup3 channel +channel+ 0)
           (call :close channel)
           (announce +channel+)
           (serve-lies +channel+ "lie of the checkpoint"))
          (t (closes-its-channel)))
    (rest-in-sleep)))

(defun forbidden-while-it-forks (number)
  "A forbidden call after the clone and before the announcement."
  (answer number "forged")
  (let ((channel (fork-channel)))
    (cond ((eql (clone) 0)
           (sleep 0.1)
           (announce channel)
           (serve-lies channel "lie of the checkpoint"))
          (t (kills 1)))))
;;; When its writes are to be tracked: the second call of a session

(defun awaits-track (number)
  "Answers and forks as is asked, and waits for the request to make a userfaultfd."
  (answer number "forged")
  (let ((channel (fork-channel)))
    (when (eql (clone) 0)
      (announce channel)
      (serve-lies channel "lie of the checkpoint")))
  (unless (eq (receive) :track) (serve-lies +channel+ "untracked")))

(defun tracked (descriptor &key (start 0) (end 0))
  (frame :tracked :payload (append (little-endian descriptor 4) (little-endian 0 4)
                                   (little-endian start 8) (little-endian end 8))))

(defun make-userfaultfd (&optional (flags #x80801)) ; O_CLOEXEC, O_NONBLOCK, UFFD_USER_MODE_ONLY
  (call :userfaultfd flags))

(defun says-descriptor (number descriptor)
  (awaits-track number)
  (send-octets +channel+ (tracked descriptor))
  (serve-lies +channel+ "lie"))

(defun says-nothing (number)
  (awaits-track number)
  (serve-lies +channel+ "lie"))

(defun says-it-twice (number)
  (awaits-track number)
  (let ((descriptor (make-userfaultfd)))
    (send-octets +channel+ (append (tracked descriptor) (tracked descriptor))))
  (serve-lies +channel+ "lie"))

(defun says-it-again-later (number)
  "After each answer."
  (awaits-track number)
  (let ((descriptor (make-userfaultfd)))
    (send-octets +channel+ (tracked descriptor))
    (loop (multiple-value-bind (type call) (receive)
            (case type
              (:evaluate (answer call "lie") (send-octets +channel+ (tracked descriptor)))
              (:fork (send-octets +channel+ (frame :failed :payload (octets "no")))))))))

(defun says-it-at-length (number length)
  (awaits-track number)
  (send-octets +channel+ (frame :tracked :payload (loop repeat length collect 4)))
  (serve-lies +channel+ "lie"))

(defun says-half (number)
  (awaits-track number)
  (send-octets +channel+ (subseq (tracked (make-userfaultfd)) 0 20))
  (rest-in-sleep))

(defun makes-it-twice (number)
  (awaits-track number)
  (make-userfaultfd)
  (send-octets +channel+ (tracked (make-userfaultfd)))
  (serve-lies +channel+ "lie"))

(defun makes-another (number flags)
  (awaits-track number)
  (send-octets +channel+ (tracked (make-userfaultfd flags)))
  (serve-lies +channel+ "lie"))

(defun makes-it-late (number)
  "When it has said that there is none."
  (awaits-track number)
  (send-octets +channel+ (tracked #xffffffff))
  (make-userfaultfd)
  (serve-lies +channel+ "lie"))

(defun closes-it (number)
  (awaits-track number)
  (let ((descriptor (make-userfaultfd)))
    (send-octets +channel+ (tracked descriptor))
    (call :close descriptor))
  (serve-lies +channel+ "lie"))

(defun says-unused (number start end)
  "Keeps the userfaultfd, and reads from it."
  (awaits-track number)
  (let ((descriptor (make-userfaultfd)) (bytes (buffer 64)))
    (send-octets +channel+ (tracked descriptor :start start :end end))
    (call :read descriptor (address bytes) 64))
  (serve-lies +channel+ "lie"))

;;; Memory

(defun grow (bytes)
  "Memory that the kernel must provide, and that Lisp does not manage."
  (foreign "memset" :pointer-void '(:pointer-void :int :unsigned-long)
           (foreign "malloc" :pointer-void '(:unsigned-long) bytes) 1 bytes))

(defun map-in-pieces (count)
  "COUNT mappings, each of one page in memory; neighbours differ, so the kernel cannot join them."
  (dotimes (i count count)
    (let ((address (call :mmap 0 4096 (if (evenp i) 3 1) #x22 -1 0)))
      (when (eql address -1) (return i))
      (when (evenp i) (put (ffi:make-pointer address :unsigned-byte) 0 :unsigned-byte 1)))))

(defun grows-while-it-forks (number)
  "Origin and checkpoint both hold 300 MB after the call."
  (answer number "forged")
  (let ((channel (fork-channel)))
    (grow 300000000)
    (if (eql (clone) 0)
        (progn (announce channel) (rest-in-sleep))
        (serve-lies +channel+ "lie"))))

(defun checkpoint-grows (number)
  "Only the checkpoint holds 300 MB."
  (answer number "forged")
  (let ((channel (fork-channel)))
    (cond ((eql (clone) 0)
           (grow 300000000)
           (announce channel)
           (rest-in-sleep))
          (t (serve-lies +channel+ "lie")))))
