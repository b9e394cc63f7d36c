;;;; Native code: ECL's own compiler, without files. It writes C source into strings and leaves the
;;;; constants in a vector; C has the source compiled and runs the unit. Loaded only with --native, after
;;;; ECL's compiler. Whatever fails leaves bytecode.

(in-package "ECLAVE")

(defvar *native-sources* (make-hash-table :test #'eq :weakness :key)
  "The lambda expressions of native functions, which have none themselves.")

(defvar *result* nil "What a unit returns.")

;;; From a form to a unit.

(defun c-source (form environment)
  "A list of the header, the code and the constants of a unit that evaluates FORM."
  (let* ((c::*suppress-compiler-messages* t)
         (c::*compiler-in-use* c::*compiler-in-use*)
         (c::*compiler-constants* t)
         (c::*load-time-values* 'values)
         (c::*permanent-data* t)
         (c::*cmp-env-root* c::*cmp-env-root*)
         (ext:*source-location* nil)
         (*compile-print* nil)
         (conditions nil)
         (source '()))
    (c::with-compiler-env (conditions)
      (c::compiler-pass1 (c::set-closure-env form environment c::*cmp-env-root*))
      (let ((c::*compiler-output1* (make-string-output-stream))
            (c::*compiler-output2* (make-string-output-stream)))
        (c::ctop-write "init_fas_CODE" "eclave.h" "eclave.data")
        (terpri c::*compiler-output1*)
        (terpri c::*compiler-output2*)
        (c::data-dump-array)
        (setf source (list (get-output-stream-string c::*compiler-output2*)
                           (get-output-stream-string c::*compiler-output1*)
                           si::*compiler-constants*))))
    source))

(defun make-source (form environment)
  "What C-SOURCE returns, or NIL. ECL's compiler prints numbers into its source, and faults on some code."
  (call-guarded
   (lambda ()
     (handler-case
         (handler-bind ((warning #'muffle-warning))
           (let ((package *package*)) ; in which macros may intern symbols
             (with-standard-io-syntax
               (let ((*package* package)
                     (*print-readably* nil)
                     (*gensym-counter* 0))
                 (c-source form environment)))))
       (error () nil)))))

(defparameter *foreign-words* '("long double" "long_float" "_Complex" "csfloat" "cdfloat" "clfloat")
  "What tcc computes wrongly, or does not know.")

(defun foreign-p (source)
  (some (lambda (word) (search word source)) *foreign-words*))

(defun run-unit (form environment)
  "Evaluates FORM as native code. False if that is not possible; then nothing was evaluated."
  (destructuring-bind (&optional header code constants) (make-source form environment)
    (and header
         (not (foreign-p code))
         (not (foreign-p header))
         (build-unit header code constants))))

(defun lambda-expression-p (expression)
  (and (consp expression) (member (first expression) '(lambda ext:lambda-block))))

(defun shares-nothing-p (environment)
  "ECL's compiler copies the environment of a closure. Is a copy of ENVIRONMENT as good as the original?
Variables, blocks, tags and the functions that are closed over them would be others in a copy."
  (every (lambda (record)
           (if (consp record)
               (member (first record) '(si::macro si::symbol-macro))
               (null (nth-value 1 (function-lambda-expression record)))))
         environment))

(defun source-of (function)
  "The lambda expression of FUNCTION and its environment; NIL if it has none, or shares variables with
other code."
  (multiple-value-bind (expression environment) (function-lambda-expression function)
    (if (and (listp environment)
             (lambda-expression-p expression)
             (shares-nothing-p environment))
        (values expression environment)
        nil)))

(defun native-p (function)
  (nth-value 1 (gethash function *native-sources*)))

(defun native-lambda-list (function)
  "The lambda list of a native function; NIL for another."
  (let ((source (gethash function *native-sources*)))
    (if (eq (first source) 'lambda)
        (second source)
        (third source))))

(defun keep-source (native expression)
  (setf (gethash native *native-sources*) expression)
  (note-native native (and (eq (first expression) 'ext:lambda-block) (second expression))))

(defun native-version (function)
  "FUNCTION as native code, or NIL."
  (multiple-value-bind (expression environment) (source-of function)
    (let ((*result* nil))
      (when (and expression (run-unit `(setq *result* #',expression) environment))
        (keep-source *result* expression)))))

(defun native-versions (functions)
  "A list with each of FUNCTIONS, which are closed over nothing, as native code in as few units as
possible, or NIL in its place."
  (let ((expressions (mapcar #'source-of functions))
        (*result* nil))
    (cond ((run-unit `(setq *result* (list ,@(mapcar (lambda (expression) `#',expression) expressions)))
                     nil)
           (mapcar #'keep-source *result* expressions))
          ((rest functions)
           (let ((half (floor (length functions) 2)))
             (append (native-versions (subseq functions 0 half))
                     (native-versions (subseq functions half)))))
          (t (list nil)))))

;;; Arithmetic of declared floats. At the default safety ECL's compiler calls the generic functions, since
;;; arguments might be of other types than declared; those that are unboxed floats already are not.

(defun float-argument-p (argument)
  (let ((location (c::inlined-arg-loc argument)))
    (or (not (eq (c::loc-representation-type location) :object))
        (and (c::vv-p location) (floatp (c::vv-value location))))))

(defun inline-floats (operator)
  (let ((original (gethash operator c::*cinline-dispatch-table*)))
    (setf (gethash operator c::*cinline-dispatch-table*)
          (lambda (type &rest arguments)
            (let ((c::*cmp-env*
                    (if (and (member type '(double-float single-float))
                             (every #'float-argument-p arguments))
                        (c::cmp-env-add-optimizations '((safety 0))
                                                      (c::cmp-env-copy c::*cmp-env*))
                        c::*cmp-env*)))
              (apply original type arguments))))))

;;; Calls of functions by their names, and of function objects (compiler/fast.h).

(defconstant +call-arguments+ 4 "The most that fast.h has a call for.")

(defun write-fast-call (function arguments name)
  (c::wt (if name "eclave_call_name_" "eclave_call_") (length arguments) "(cl_env_copy, " function)
  (dolist (argument arguments)
    (c::wt ", " argument))
  (c::wt ")"))

(defun make-calls-fast ()
  (let ((original (gethash 'c::call-indirect c::*wt-loc-dispatch-table*)))
    (setf (gethash 'c::call-indirect c::*wt-loc-dispatch-table*)
          (lambda (function arguments name &rest rest)
            (if (or (first rest) (> (length arguments) +call-arguments+))
                (apply original function arguments name rest)
                (write-fast-call function arguments name))))))

;;; COMPILE and its relatives.

(defun replace-definition (name function native)
  "NAME, whose definition is FUNCTION, gets NATIVE. What the session noted of it remains."
  (let ((record (function-record name)))
    (let ((si:*ignore-package-locks* t))
      (if (and (symbolp name) (macro-function name))
          (setf (macro-function name) native)
          (si:fset name native)))
    (when (and record (eq (record-function record) function))
      (setf (record-function record) native))))

(defun definition-of (name)
  (or (and (symbolp name) (macro-function name))
      (fdefinition name)))

(defun compile-named (name)
  "True if the definition of NAME is native code now."
  (let ((function (definition-of name)))
    (cond ((native-p function) t)
          ((typep function 'generic-function) (compile-methods function))
          ((not (source-of function)) (not (interpreted-p function)))
          (t
           (let ((native (native-version function)))
             (when native
               (replace-definition name function native)
               t))))))

(defun interpreted-p (function)
  (and (functionp function) (nth-value 1 (si:bc-split function)) t))

(defun compile-methods (function)
  (let ((good t))
    (dolist (method (clos:generic-function-methods function) good)
      (unless (compile-method method)
        (setf good nil)))))

(defvar *method-bodies* (make-hash-table :test #'eq :weakness :key)
  "The functions that DEFMETHOD made. That of the method is a closure of ECL that applies it.")

(defun method-body (method)
  (or (gethash method *method-bodies*) (clos:method-function method)))

(defun replace-method-body (method native)
  (setf (slot-value method 'clos::the-function)
        (if (gethash method *method-bodies*)
            (clos::wrapped-method-function (setf (gethash method *method-bodies*) native))
            native))
  (let ((generic (clos:method-generic-function method)))
    (when generic
      (si:clear-gfun-hash generic)
      (clos::set-generic-function-dispatch generic))))

(defun compile-method (method)
  "True if the body of METHOD is native code now."
  (let ((function (method-body method)))
    (cond ((native-p function) t)
          ((not (source-of function)) (not (interpreted-p function)))
          (t
           (let ((native (native-version function)))
             (when native
               (replace-method-body method native)
               t))))))

(defun replace-compiler ()
  (replace-functions
   (compile (name &rest definition)
     (let* ((function (and definition ; ECL refuses what is no function
                           (apply #'original nil definition)))
            (native (cond (name
                           (when function
                             (replace-definition name nil function))
                           (compile-named name))
                          (t (native-version function)))))
       (values (or name native function) (not native) (not native))))
   (function-lambda-expression (function)
     (if (native-p function)
         (values (gethash function *native-sources*) nil (ext:compiled-function-name function))
         (original function)))
   (disassemble (thing)
     (let ((function (if (functionp thing) thing (ignore-errors (definition-of thing)))))
       (if (native-p function)
           (format t "~&~a is native code, made from~%~s~%" function
                   (gethash function *native-sources*))
           (original thing))))))

;;; What preloading and, with --native auto, calls define.

(defvar *automatic* nil "True with --native auto.")

(defun noting-p ()
  "Is what is defined now compiled without being asked for?"
  (or *automatic* (not *confined*)))

(defvar *noted* '() "Functions and methods that were defined and are not compiled yet, newest first.")

(defconstant +settle-ns+ 200000000 "What the end of one call may take for them; later calls continue.")

(defvar *packages* (make-hash-table :test #'equal)
  "The packages in which those were defined. Compiling expands macros again, which may intern symbols.")

(defun note-thing (thing)
  (setf (gethash thing *packages*) *package*)
  (pushnew thing *noted* :test #'equal))

(defun package-of (thing)
  (gethash thing *packages* *package*))

(defun note-function (name definition environment)
  "Called when DEFUN is expanded."
  (declare (ignore definition environment))
  (when (noting-p)
    (note-thing name))
  nil)

(defun function-of (thing)
  "The function of THING, a method or a name; NIL if the name has none, or is that of a macro."
  (cond ((typep thing 'method) (method-body thing))
        ((and (fboundp thing) (not (and (symbolp thing) (macro-function thing))))
         (fdefinition thing))))

(defun compile-thing (thing)
  (cond ((typep thing 'method) (compile-method thing))
        ((function-of thing) (compile-named thing))))

(defun compile-noted ()
  "Called by C at the end of a call."
  (let ((until (+ (clock-ns) +settle-ns+)))
    (loop for rest on (reverse (shiftf *noted* '()))
          for thing = (first rest)
          while (< (clock-ns) until)
          do (let ((*package* (package-of thing)))
               (ignore-errors (compile-thing thing))
               (remhash thing *packages*))
          finally (setf *noted* (reverse rest)))))

(defconstant +preload-ns+ 8000000000 "What compiling all that was preloaded may take.")

(defconstant +preload-batch+ 25 "Functions of one unit.")

(defun noted-function (thing)
  "The function of THING that can be compiled together with others, or NIL."
  (let ((function (function-of thing)))
    (and function
         (not (typep function 'generic-function))
         (not (native-p function))
         (multiple-value-bind (expression environment) (source-of function)
           (and expression (null environment)))
         function)))

(defun compile-batch (things)
  (mapc #'compile-thing (remove-if #'noted-function things)) ; those with local macros or functions
  (let* ((things (remove-if-not #'noted-function things))
         (functions (mapcar #'noted-function things)))
    (when functions
      (loop for thing in things
            for function in functions
            for native in (native-versions functions)
            when native
              do (if (typep thing 'method)
                     (replace-method-body thing native)
                     (replace-definition thing function native))))))

(defun compile-preloaded ()
  "Called by C in the zygote. What is left over is compiled like what a call defines."
  (let ((until (+ (clock-ns) +preload-ns+))
        (rest (reverse (shiftf *noted* '()))))
    (loop while (and rest (< (clock-ns) until))
          do (let* ((*package* (package-of (first rest)))
                    (batch (loop repeat +preload-batch+
                                 while (and rest (eq (package-of (first rest)) *package*))
                                 collect (pop rest))))
               (ignore-errors (compile-batch batch))
               (dolist (thing batch)
                 (remhash thing *packages*))))
    (when *automatic*
      (setf *noted* (reverse rest)))))

(defun install-noting ()
  (setf si::*defun-inline-hook* #'note-function)
  (replace-functions
   (clos::install-method (name qualifiers specializers lambda-list function &rest options)
     (let ((method (apply #'original name qualifiers specializers lambda-list function options)))
       (setf (gethash method *method-bodies*) function)
       (when (noting-p)
         (note-thing method))
       method))))

(defun install-native (automatic)
  "Called by C once, in the zygote."
  (ext:install-bytecodes-compiler)
  (ext:package-lock "COMMON-LISP" nil)
  (replace-compiler)
  (setf *automatic* automatic)
  (install-noting)
  (ext:package-lock "COMMON-LISP" t)
  (setf *native-lambda-list* #'native-lambda-list)
  (mapc #'inline-floats '(+ - * /))
  (make-calls-fast)
  ;; Fills the dispatch caches that the compiler uses.
  (make-source '(setq *result* #'(lambda (x &optional (y 2) &key z)
                                   (list (block b
                                           (mapcar (lambda (i)
                                                     (if (eql i y) (return-from b i) (1+ i)))
                                                   x))
                                         z)))
               nil))
