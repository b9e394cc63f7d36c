;;;; What needs a thread, another program or a person at a debugger cannot be had in a worker. These
;;;; functions replace those of ECL, which would be killed for a system call, end the process at the
;;;; end of standard input, or fail without a reason.

(in-package "ECLAVE")

(define-condition unavailable (simple-error) ())

(defun refuse (control &rest arguments)
  (error 'unavailable :format-control control :format-arguments arguments))

(defmacro replace-functions (&rest rows)
  "Each row: (name lambda-list . body). ORIGINAL, within BODY, calls the replaced function."
  `(progn
     ,@(loop for (name lambda-list . body) in rows
             collect `(when (fboundp ',name)
                        (let ((original (fdefinition ',name)))
                          (flet ((original (&rest arguments) (apply original arguments)))
                            (declare (ignorable #'original))
                            (si:fset ',name (lambda ,lambda-list ,@body))))))))

;;; Threads. A lock or a semaphore that is free works; one that is not would wait for ever.

(defun refuse-thread ()
  (refuse "There are no threads here: code runs in one thread. Sessions of the server run side by side."))

(defun refuse-wait ()
  (refuse "This would wait for ever: there are no other threads here."))

(defun replace-threads ()
  (replace-functions
   (mp:process-run-function (name function &rest arguments)
     (declare (ignore name function arguments))
     (refuse-thread))
   (mp:process-enable (process)
     (declare (ignore process))
     (refuse-thread))
   (mp:wait-on-semaphore (semaphore &rest arguments)
     (if (plusp (mp:semaphore-count semaphore))
         (apply #'original semaphore arguments)
         (refuse-wait)))
   (mp:condition-variable-wait (&rest arguments)
     (declare (ignore arguments))
     (refuse-wait))
   (mp:barrier-wait (barrier &rest arguments)
     (if (= (1+ (mp:barrier-arrivers-count barrier)) (mp:barrier-count barrier))
         (apply #'original barrier arguments)
         (refuse-wait)))
   (mp:mailbox-read (mailbox &rest arguments)
     (if (mp:mailbox-empty-p mailbox)
         (refuse-wait)
         (apply #'original mailbox arguments)))
   (mp:interrupt-process (process function)
     (if (eq process mp:*current-process*)
         (funcall function)
         (refuse-thread)))))

;;; Programs, sockets and compiled code.

(defun refuse-program (&rest arguments)
  (declare (ignore arguments))
  (refuse "There are no other programs here, and no setting permits them: do it in Lisp."))

(defun refuse-network (&rest arguments)
  (declare (ignore arguments))
  (refuse "~a" (network-hint)))

(defvar *confined* nil "T in a worker; set by C.")

(defun refuse-binary (file)
  (refuse "~a is native code, which cannot be loaded here. Load the source; or let the operator load it at the start, with --systems or --preload."
          (namestring file)))

(defun replace-programs ()
  (replace-functions
   (ext:run-program (&rest arguments) (apply #'refuse-program arguments))
   (ext:system (&rest arguments) (apply #'refuse-program arguments))
   (ed (&optional thing) (refuse-program thing))
   (si::open-client-stream (&rest arguments) (apply #'refuse-network arguments))
   (si::open-server-stream (&rest arguments) (apply #'refuse-network arguments))
   (si::open-unix-socket-stream (&rest arguments) (apply #'refuse-network arguments))
   (si::lookup-host-entry (&rest arguments) (apply #'refuse-network arguments))
   (si:load-binary (file &rest arguments)
     (if *confined*
         (refuse-binary file)
         (apply #'original file arguments)))))

;;; Hints: what can be had instead, under the settings in force.

(defvar *readable* '() "The directories that code may read; set by C.")
(defvar *scratch* nil "T if there is a scratch directory; set by C.")
(defvar *systems* '() "The names of the systems that the operator has loaded, newest first.")
(defvar *asdf* nil "True if ASDF is mapped.")

(defun files-hint ()
  (if (or *readable* *scratch*)
      (format nil "It does not exist, or is outside the directories that code may use: ~{~a~^, ~}."
              (append *readable* (when *scratch* '("/scratch/ (to write too)"))))
      "No files exist in this sandbox: pass data in the code, or let the operator grant a directory with --allow-read, or one to write with --scratch."))

(defun modules-hint ()
  (format nil "Libraries come from the operator: --systems and --preload load them at the start, ~:[and --allow-read lets code load their sources~;and code may load sources from ~{~a~^, ~}~].~@[ Loaded: ~{~a~^, ~}.~]"
          *readable* *readable* (reverse *systems*)))

(defun asdf-hint ()
  (if *asdf*
      "(require :asdf) loads it."
      (modules-hint)))

(defun quicklisp-hint ()
  (concatenate 'string "Quicklisp downloads, and there is no network here. " (modules-hint)))

(defun network-hint ()
  "There is no network here, and no setting permits it: pass data in the code.")

(defun threads-hint ()
  "There are no threads here. Sessions of the server run side by side.")

(defun implementation-hint ()
  "This Lisp is ECL. Its extensions are in the package EXT.")

(defparameter *absent-packages*
  '((asdf-hint "ASDF" "UIOP")
    (quicklisp-hint "QL" "QUICKLISP" "QL-DIST")
    (network-hint "SB-BSD-SOCKETS" "USOCKET" "DRAKMA" "DEXADOR")
    (threads-hint "BT" "BT2" "BORDEAUX-THREADS" "LPARALLEL" "SB-THREAD")
    (implementation-hint "SB-EXT" "SB-INT" "SB-IMPL" "SB-KERNEL" "SB-SYS" "SB-POSIX" "SB-MOP"
     "CCL" "EXCL" "CLISP" "LISPWORKS"))
  "Packages that code often expects, with the hint for each.")

(defun package-hint (name)
  "A sentence about a package that is missing, or NIL."
  (loop for (hint . names) in *absent-packages*
        when (member name names :test #'equalp)
          return (funcall hint)))

;;; Modules.

(defun provide-nothing (module)
  "The last provider of modules."
  (refuse "There is no module ~a here. ~a" module
          (cond ((member module '("sockets" "sb-bsd-sockets") :test #'string-equal) (network-hint))
                ((string-equal module "quicklisp") (quicklisp-hint))
                (t (modules-hint)))))

;;; The debugger and its relatives.

(defun self-evaluating-p (form)
  (or (atom form) (member (first form) '(quote function))))

(defun step-part (form)
  (cond ((self-evaluating-p form) form)
        ((eq (first form) 'progn) (cons 'progn (mapcar #'step-part (rest form))))
        (t `(stepping ,form))))

(defun step-parts (form environment)
  "FORM with its parts made to print themselves, if it is of a kind whose parts are known."
  (let ((operator (first form)))
    (cond ((member operator '(progn if))
           (cons operator (mapcar #'step-part (rest form))))
          ((not (symbolp operator))
           (cons operator (mapcar #'step-part (rest form))))
          ((macro-function operator environment)
           (multiple-value-bind (expansion expanded) (macroexpand-1 form environment)
             (if (and expanded (consp expansion) (member (first expansion) '(progn if)))
                 (step-parts expansion environment)
                 form)))
          ((special-operator-p operator) form)
          (t (cons operator (mapcar #'step-part (rest form)))))))

(defun note-step (form function)
  (let ((values (multiple-value-list (funcall function))))
    (fresh-line *trace-output*)
    (write-brief form *trace-output*)
    (dolist (value values)
      (write-string " => " *trace-output*)
      (write-brief value *trace-output*))
    (terpri *trace-output*)
    (values-list values)))

(defmacro stepping (form &environment environment)
  "STEP without commands: prints the form and the calls in it, the inner ones first, with their
values."
  (if (self-evaluating-p form)
      `(note-step ',form (lambda () ,form))
      `(note-step ',form (lambda () ,(step-parts form environment)))))

(defun refuse-person (name)
  (refuse "~a needs a person who types commands, and nobody does here." name))

(defun assertion-failure (test &optional places values &rest arguments)
  "Called by ASSERT. ECL signals a TYPE-ERROR."
  (declare (ignore places))
  (restart-case
      (if arguments
          (apply #'error arguments)
          (error "The assertion ~s failed." test))
    (continue () :report "Retry the assertion." (values-list values))))

(defun replace-debugger ()
  (replace-functions
   (inspect (object)
     (declare (ignore object))
     (refuse-person "INSPECT"))
   (break (&optional (control "Break") &rest arguments)
     (refuse "BREAK: ~?~%Nobody can continue it here." control arguments))
   (si::assert-failure (&rest arguments) (apply #'assertion-failure arguments)))
  (setf (macro-function 'step)
        (lambda (form environment)
          (declare (ignore environment))
          `(stepping ,(second form)))))

(defun install-refusals ()
  "Called once, in the zygote."
  (ext:package-lock "COMMON-LISP" nil)
  (replace-threads)
  (replace-programs)
  (replace-debugger)
  (ext:package-lock "COMMON-LISP" t))
