;;;; Runs the tests of suite.lisp in plain ECL, a fork for each. Each writes a line to a file: its
;;;; number, its name and what it printed.

(in-package "ANSI")

(defconstant +seconds+ 60)

(defmacro call-c (name result types &rest arguments)
  `(si:call-cfun (si:find-foreign-symbol ,name :default :pointer-void 0) ,result ',types
                 (list ,@arguments)))

(defun write-numbers (file step)
  (with-open-file (out file :direction :output)
    (loop for index below (length *entries*) by step
          do (format out "~d~%" index))))

(defun append-line (file index text)
  (with-open-file (out file :direction :output :if-exists :append :if-does-not-exist :create
                            :external-format :utf-8)
    (write-string (format nil "~d	~a	~a~%" index (entry-name index)
                          (substitute #\Return #\Newline text))
                  out)))

(defun run-in-fork (index file status)
  (let ((pid (call-c "fork" :int ())))
    (when (zerop pid)
      (call-c "alarm" :unsigned-int (:unsigned-int) +seconds+)
      (append-line file index (handler-case (run index)
                                (serious-condition (condition)
                                  (format nil "ended by ~a" (type-of condition)))))
      (call-c "_exit" :void (:int) 0))
    (call-c "waitpid" :int (:int :pointer-void :int) pid status 0)))

(defun run-all (step file)
  (let ((status (si:allocate-foreign-data :int 4)))
    (loop for index below (length *entries*) by step
          do (run-in-fork index file status))))
