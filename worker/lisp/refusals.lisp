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
  (refuse "There are no threads here: code runs in one thread."))

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

;;; Programs and compiled code.

(defun refuse-program (&rest arguments)
  (declare (ignore arguments))
  (refuse "There are no other programs here."))

(defvar *confined* nil "T in a worker; set by C.")

(defun refuse-binary (file)
  (refuse "~a is native code, which cannot be loaded here. Load the source; or let the operator load it at the start, with --systems or --preload."
          (namestring file)))

(defun replace-programs ()
  (replace-functions
   (ext:run-program (&rest arguments) (apply #'refuse-program arguments))
   (ext:system (&rest arguments) (apply #'refuse-program arguments))
   (ed (&optional thing) (refuse-program thing))
   (si:load-binary (file &rest arguments)
     (if *confined*
         (refuse-binary file)
         (apply #'original file arguments)))))

;;; Modules.

(defparameter *modules-hint*
  "Libraries come from the operator: --systems and --preload load them at the start, and what code may read (--allow-read, --policy library) can be loaded from source.")

(defun provide-nothing (module)
  "The last provider of modules."
  (refuse "There is no module ~a here. ~a" module *modules-hint*))

;;; The debugger and its relatives.

(defmacro stepping (form)
  "STEP without commands: prints the form and its values."
  (let ((values (gensym)))
    `(let ((,values (multiple-value-list ,form)))
       (format *trace-output* "~&~s~{ => ~s~}~%" ',form ,values)
       (values-list ,values))))

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
