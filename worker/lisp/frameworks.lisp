;;;; Tests of the frameworks that people use, for eclave grade --framework NAME. The system NAME is loaded in
;;;; the zygote. LIST-TESTS is called once, after a file of tests without a submission; each test that it
;;;; lists then calls RUN-TEST after a submission and the file. What runs beside a submission is its to
;;;; change: doc/grade.md says so.

(in-package "ECLAVE")

(defstruct (verdict (:copier nil))
  "What a test came to. It prints as its text, as the supervisor compares it."
  text)

(defmethod print-object ((verdict verdict) stream)
  (write-string (verdict-text verdict) stream)
  verdict)

(defun verdict-on (failures)
  "FAILURES: a text for each check that was not met."
  (make-verdict :text (if failures
                          (format nil "~{~a~^~%~}" failures)
                          "PASSED")))

(defun call-framework (package name &rest arguments)
  (apply (find-symbol name package) arguments))

(defmacro with-framework-variables ((package &rest names-and-values) &body body)
  "Binds variables of a framework, whose package does not exist when this file is compiled."
  `(progv (list ,@(loop for (name) on names-and-values by #'cddr
                        collect `(find-symbol ,name ,package)))
       (list ,@(loop for (nil value) on names-and-values by #'cddr
                     collect value))
     ,@body))

;;; FiveAM. An error goes on to eclave, which has a better backtrace, and the lines of the submission.

(defun fiveam-case-p (name)
  "A suite has a name too."
  (typep (call-framework "FIVEAM" "GET-TEST" name) (find-symbol "TEST-CASE" "FIVEAM")))

(defun fiveam-tests ()
  "By name, since not every version keeps the order of the file."
  (sort (remove-duplicates (remove-if-not #'fiveam-case-p (call-framework "FIVEAM" "TEST-NAMES")))
        #'string< :key #'prin1-to-string))

(defun one-line (text)
  "FiveAM has each part of a reason in a paragraph of its own."
  (format nil "~{~a~^ ~}"
          (loop with end = 0
                for start = (position-if-not #'blank-p text :start end)
                while start
                do (setf end (or (position-if #'blank-p text :start start) (length text)))
                collect (subseq text start end))))

(defun fiveam-failure (result)
  "A text unless RESULT is that of a check that was met."
  (unless (call-framework "FIVEAM" "TEST-PASSED-P" result)
    (format nil "~:[~;skipped: ~]~a" (call-framework "FIVEAM" "TEST-SKIPPED-P" result)
            (one-line (princ-to-string (call-framework "FIVEAM" "REASON" result))))))

(defun run-fiveam (name)
  "FiveAM runs nothing if there is no such test any more."
  (with-framework-variables ("FIVEAM" "*ON-ERROR*" :debug "*ON-FAILURE*" nil
                                      "*TEST-DRIBBLE*" (make-broadcast-stream))
    (let ((results (call-framework "FIVEAM" "RUN" name)))
      (if results
          (remove nil (mapcar #'fiveam-failure (reverse results)))
          (list "no check was made")))))

;;; RT, whose tests have one form each. It describes a failure on a stream.

(defun rt-tests ()
  (mapcar (lambda (entry) (call-framework "RT" "NAME" entry))
          (rest (symbol-value (find-symbol "*ENTRIES*" "RT")))))

(defun run-rt (name)
  (let* ((entry (call-framework "RT" "GET-ENTRY" name))
         (text (with-output-to-string (out)
                 (with-framework-variables ("RT" "*CATCH-ERRORS*" nil)
                   (call-framework "RT" "DO-ENTRY" entry out)))))
    (when (call-framework "RT" "PEND" entry)
      (list (string-trim '(#\Space #\Newline) text)))))

;;; supervisor/batch/frameworks.def lists the frameworks.

(defun call-for (framework control &rest arguments)
  "Calls the function of this file whose name is that of the FRAMEWORK in CONTROL."
  (apply (intern (format nil control (string-upcase framework)) "ECLAVE") arguments))

(defun run-test (framework name)
  (verdict-on (call-for framework "RUN-~a" name)))

(defun standard-text (object)
  "OBJECT as it is read in any package."
  (with-standard-io-syntax
    (let ((*package* (find-package "KEYWORD"))
          (*print-readably* nil))
      (prin1-to-string object))))

(defun test-line (framework name)
  "A line of a file of tests, for eclave grade."
  (mcp:write-json
   (mcp:object "name" (string-downcase (if (symbolp name) (symbol-name name) (standard-text name)))
               "code" (standard-text `(run-test ,framework ',name))
               "expect" "PASSED")))

(defun list-tests (framework)
  "A line for each test that is defined."
  (make-verdict :text (format nil "~{~a~%~}"
                              (mapcar (lambda (name) (test-line framework name))
                                      (call-for framework "~a-TESTS")))))
