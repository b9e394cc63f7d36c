;;; Functions for the attacks of lisp.def, in addition to tests/sessions/hostile.lisp. Evaluated in a
;;; session of the server under test, and by an unconfined ECL.

(in-package :hostile)

;;; System calls

(defun peek (address type)
  (ffi:deref-pointer (ffi:make-pointer address type) type))

(defun errno ()
  (peek (foreign "__errno_location" :unsigned-long '()) :int))

(defun text-in-memory (text)
  (let ((buffer (buffer (1+ (length text)))))
    (loop for octet in (octets text) for i from 0 do (put buffer i :unsigned-byte octet))
    buffer))

(defun as-number (argument)
  (etypecase argument
    (integer argument)
    (string (address (text-in-memory argument)))
    (si:foreign-data (address argument))))

(defun why-not ()
  "The name of the last failure, as :EPERM."
  (values (intern (foreign "strerrorname_np" :cstring '(:int) (errno)) :keyword)))

(defun tries (name &rest arguments)
  "A system call: T when it succeeds, else why not."
  (if (eql (apply #'call name (mapcar #'as-number arguments)) -1) (why-not) t))

(defun tries-number (number &rest arguments)
  "The same for a call without a name."
  (if (eql (apply #'foreign "syscall" :long (mapcar (constantly :long) (cons number arguments))
                  number arguments)
           -1)
      (why-not)
      t))

(defun tries-to-fork (name &rest arguments)
  "The same for a call that makes a process, which ends at once."
  (let ((pid (apply #'call name (mapcar #'as-number arguments))))
    (case pid
      (0 (call :exit_group 0))
      (-1 (why-not))
      (t t))))

(defun filled (size &rest fields)
  "A buffer; FIELDS are offsets, types and values."
  (let ((buffer (buffer size)))
    (loop for (offset type value) on fields by #'cdddr
          do (put buffer offset type (if (eq type :uint64-t) (as-number value) value)))
    buffer))

(defun processor-clock (pid)
  "The id of the clock that counts the processor time of a process."
  (logior (ash (lognot pid) 3) 2))

(defun vector-of (buffer length)
  "A struct iovec."
  (filled 16 0 :uint64-t buffer 8 :uint64-t length))

(defun map-memory (size protection flags)
  (call :mmap 0 size protection flags -1 0))

(defun tries-to-map (size protection flags)
  (if (eql (map-memory size protection flags) -1) (why-not) t))

(defconstant +page+ 4096)
(defconstant +read-write+ 3)
(defconstant +private-anonymous+ #x22)

(defun fills (address size)
  (foreign "memset" :unsigned-long '(:unsigned-long :int :unsigned-long) address 255 size))

;;; Reading its own memory

(defconstant +invalid-argument+ 22)
(defvar *gap-pages* 16384 "how far apart two mappings of one neighbourhood may be")

(defun readable-p (address)
  "The kernel copies the set before it finds that 99 is no way to change the mask."
  (and (eql (call :rt_sigprocmask 99 address 0 8) -1) (eql (errno) +invalid-argument+)))

(defun run-from (page step)
  "The readable pages from PAGE on, in direction STEP: where the first that is not readable lies."
  (loop while (readable-p page) do (incf page step))
  page)

(defun runs-around (address)
  "The readable runs near ADDRESS as conses of start and end."
  (let ((runs '()) (start (logandc2 address (1- +page+))))
    (dolist (step (list +page+ (- +page+)) runs)
      (let ((page start) (gap 0))
        (loop while (< 0 page (ash 1 47))
              until (> gap *gap-pages*)
              do (if (readable-p page)
                     (let ((end (run-from page step)))
                       (push (if (plusp step) (cons page end) (cons (+ end +page+) (+ page +page+)))
                             runs)
                       (setf page end gap 0))
                     (progn (incf page step) (incf gap))))))))

(defun symbol-address (name)
  (ffi:pointer-address (si:find-foreign-symbol name :default :pointer-void 0)))

(defun landmarks ()
  "An address in each neighbourhood: libraries, the C heap, the Lisp heap, the program, the stack."
  (list (symbol-address "malloc")
        (foreign "malloc" :unsigned-long '(:unsigned-long) 64)
        (foreign "malloc" :unsigned-long '(:unsigned-long) (ash 1 20))
        (si:pointer (list 1))
        (foreign "getauxval" :unsigned-long '(:unsigned-long) 3) ; AT_PHDR
        (peek (symbol-address "__libc_stack_end") :unsigned-long)
        (call :brk 0)))

(defun occurs-between (start end needle length)
  "Does what lies at NEEDLE lie anywhere else from START to END?"
  (loop for found = (foreign "memmem" :unsigned-long
                             '(:unsigned-long :unsigned-long :unsigned-long :unsigned-long)
                             start (- end start) needle length)
        until (zerop found)
        unless (= found needle) do (return t)
        do (setf start (1+ found))))

(defun needle (parts &optional (width 1))
  "The text of PARTS, which is nowhere in one piece but there; and its length in bytes. Lisp has
strings whose characters have 1 and 4 bytes."
  (let ((buffer (buffer 400)) (length 0))
    (dolist (part parts (values (address buffer) length))
      (loop for char across part
            do (put buffer length :unsigned-byte (char-code char))
               (incf length width)))))

(defun memory-holds-as (width parts)
  (multiple-value-bind (needle length) (needle parts width)
    (loop for landmark in (landmarks)
          thereis (loop for (start . end) in (runs-around landmark)
                        thereis (occurs-between start end needle length)))))

(defun memory-holds (&rest parts)
  (memory-holds-as 1 parts))

(defun memory-holds-in-lisp (&rest parts)
  "The same for a string of either kind."
  (or (memory-holds-as 1 parts) (memory-holds-as 4 parts)))

(defun text-at (address)
  (coerce (loop for octet = (peek address :unsigned-byte)
                until (zerop octet) collect (code-char octet) do (incf address))
          'base-string))

(defun environment-by-pointer ()
  "What lies behind the C library's environ."
  (loop for entry = (peek (symbol-address "environ") :unsigned-long) then (+ entry 8)
        for text = (peek entry :unsigned-long)
        until (zerop text) collect (text-at text)))

(defun any-holds (text texts)
  (and (find-if (lambda (other) (search text other)) texts) t))

(defun stack-top-holds (&rest parts)
  "The kernel put arguments, environment and the program's name above the stack."
  (multiple-value-bind (needle length) (needle parts)
    (let ((start (peek (symbol-address "__libc_stack_end") :unsigned-long)))
      (occurs-between start (run-from (logandc2 start (1- +page+)) +page+) needle length))))

;;; Calling addresses that are not functions

(defun jump (address)
  (si:call-cfun (ffi:make-pointer address :void) :long '() '()))

(defun interrupt-gadget ()
  "Two bytes of mapped code that are the call gate of another architecture, int 0x80."
  (let ((needle (address (filled 2 0 :unsigned-byte #xCD 1 :unsigned-byte #x80)))
        (start (logandc2 (symbol-address "malloc") (1- +page+))))
    (foreign "memmem" :unsigned-long
             '(:unsigned-long :unsigned-long :unsigned-long :unsigned-long)
             start (- (run-from start +page+) start) needle 2)))

;;; Without confinement

(defun unconfined (code)
  "Evaluates CODE as a session does, and prints what came of it."
  (format t "~&READY~%")
  (finish-output)
  (handler-case
      (with-input-from-string (stream code)
        (let ((value nil) (*package* (find-package :hostile)))
          (loop for form = (read stream nil stream)
                until (eq form stream) do (setf value (eval form)))
          (format t "~&=> ~s~%" value)))
    (serious-condition (condition) (format t "~&[ERROR] ~a~%" (type-of condition))))
  (finish-output)
  (call :exit_group 0))
