;;;; Native code: ECL's own compiler, without files. It writes C source into strings and leaves the
;;;; constants in a vector; C has the source compiled and runs the unit. Loaded only with --native, after
;;;; ECL's compiler. Whatever fails leaves bytecode.

(in-package "ECLAVE")

(defvar *native-sources* (make-hash-table :test #'eq :weakness :key)
  "The lambda expressions of native functions, which have none themselves, and of redirected code.")

(defvar *lexical* (make-hash-table :test #'eq :weakness :key)
  "From the lambda list and body of a function, the same conses, to whether its environment says all of
what its names mean. Filled in by C. A function closed over nothing is here only if that is not so.")

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

(defun macro-record-p (record)
  (and (consp record) (member (car record) '(si::macro si::symbol-macro))))

(defun free-function-p (record)
  (and (functionp record) (null (nth-value 1 (function-lambda-expression record)))))

(defun shares-nothing-p (environment)
  "ECL's compiler copies the environment of a closure. Is a copy of ENVIRONMENT as good as the original?
Variables, blocks, tags and the functions that are closed over them would be others in a copy; where
macros and functions are, it is not known which are around which."
  (or (every #'macro-record-p environment)
      (every #'free-function-p environment)))

(defun definition-of-lambda (expression)
  "The lambda list and the body."
  (if (eq (first expression) 'lambda) (rest expression) (cddr expression)))

(defun native-source (function)
  "The lambda expression of FUNCTION; second value: is it native code, or redirected to some?"
  (gethash (or (code-of function) function) *native-sources*))

(defun native-p (function)
  (nth-value 1 (native-source function)))

(defun native-lambda-list (function)
  "The lambda list of a native function; NIL for another."
  (first (definition-of-lambda (native-source function))))

;;; Closures. One that shares variables or local functions with other code is compiled as a function of
;;; the interpreter's records of them: (NAME . VALUE) for a variable, the function for a function. Its
;;; code is then redirected (trampoline.h), and so all closures are that were made by the same form.
;;; Blocks and tags that the function does not use are left out; with one that it uses it does not compile.

(defstruct (capture (:copier nil))
  "What the environment of a closure has; the first record of a name is the one in force."
  (variables '()) ; (name parameter position)
  (functions '()) ; (name parameter position function)
  (macros '()))   ; records

(defun add-record (record position capture)
  "False if RECORD is of no known kind."
  (cond ((functionp record)
         (let ((name (ext:compiled-function-name record)))
           (unless (assoc name (capture-functions capture) :test #'equal)
             (push (list name (gensym) position record) (capture-functions capture)))
           name))
        ((macro-record-p record) (push record (capture-macros capture)))
        ((integerp (car record))) ; a block or a tag
        ((symbolp (car record))
         (unless (assoc (car record) (capture-variables capture))
           (push (list (car record) (gensym) position) (capture-variables capture)))
         (car record))))

(defun global-variable-p (name)
  (or (si:specialp name) (constantp name)))

(defun macro-names (capture kind)
  (loop for record in (capture-macros capture)
        when (eq (car record) kind)
          collect (cddr record)))

(defun clear-capture-p (capture)
  "Does each name mean one thing? The environment does not say whether a macro or what else has its name
is the inner one."
  (let ((variables (mapcar #'first (capture-variables capture)))
        (functions (mapcar #'first (capture-functions capture))))
    (and (notany #'global-variable-p variables)
         (null (intersection variables (macro-names capture 'si::symbol-macro)))
         (null (intersection functions (macro-names capture 'si::macro) :test #'equal)))))

(defun capture-of (environment)
  "NIL if ENVIRONMENT cannot be passed to a function."
  (let ((capture (make-capture)))
    (and (loop for record in environment
               for position from 0
               always (add-record record position capture))
         (clear-capture-p capture)
         capture)))

(defconstant +form-conses+ 20000 "Longer forms, and so circular ones, are not searched.")

(defun conses-of (form)
  "The conses of FORM; second value: are these all?"
  (let ((rest (list form))
        (conses '()))
    (loop repeat +form-conses+
          while rest
          do (let ((part (pop rest)))
               (when (consp part)
                 (push part conses)
                 (push (cdr part) rest)
                 (push (car part) rest))))
    (values conses (null rest))))

(defun ordinary-uses-p (capture expression)
  "Does EXPRESSION use what it captures by name only? Not if it declares a variable special, or asks for
a local function as an object, which would be another."
  (multiple-value-bind (conses all) (conses-of expression)
    (and all
         (loop for (operator . rest) in conses
               never (or (and (eq operator 'special)
                              (consp rest)
                              (some (lambda (row) (member (first row) (proper-part rest)))
                                    (capture-variables capture)))
                         (and (eq operator 'function)
                              (consp rest)
                              (assoc (car rest) (capture-functions capture) :test #'equal)))))))

(defun forwarding-function (row)
  "A definition in FLET of a local function that calls the one that was captured."
  (destructuring-bind (name parameter position function) row
    (declare (ignore position))
    (let* ((definition (definition-of-lambda (function-lambda-expression function)))
           (arguments (and (listp (first definition))
                           (notany (lambda (item) (member item lambda-list-keywords))
                                   (first definition))
                           (mapcar (lambda (item) (declare (ignore item)) (gensym))
                                   (first definition)))))
      (if (or arguments (null (first definition)))
          `(,name ,arguments (funcall ,parameter ,@arguments))
          (let ((list (gensym)))
            `(,name (&rest ,list) (apply ,parameter ,list)))))))

(defun with-captured (capture form bound)
  "FORM, in which the names that CAPTURE has mean what they mean there, but for the variables BOUND."
  `(symbol-macrolet ,(loop for (name parameter) in (capture-variables capture)
                           unless (member name bound)
                             collect `(,name (cdr ,parameter)))
     (flet ,(mapcar #'forwarding-function (capture-functions capture))
       (declare (ignorable ,@(loop for (name) in (capture-functions capture)
                                   collect `#',name)))
       ,form)))

(defun captured-parameters (capture)
  (mapcar #'second (append (capture-variables capture) (capture-functions capture))))

(defun captured-positions (capture)
  (mapcar #'third (append (capture-variables capture) (capture-functions capture))))

(defun with-captured-defaults (capture lambda-list)
  "LAMBDA-LIST with the default values within CAPTURE; second value: the variables that it binds."
  (let ((bound '()))
    (values (loop for item in lambda-list
                  collect (cond ((member item lambda-list-keywords) item)
                                ((atom item) (push item bound) item)
                                (t
                                 (destructuring-bind (variable &optional default (supplied nil flag))
                                     item
                                   (let ((form (with-captured capture default bound)))
                                     (push (if (consp variable) (second variable) variable) bound)
                                     (when flag
                                       (push supplied bound))
                                     `(,variable ,form ,@(and flag (list supplied))))))))
            bound)))

(defun split-body (body)
  "The declarations of a function's BODY, and its forms."
  (loop for rest on body
        for form = (first rest)
        while (or (and (stringp form) (rest rest))
                  (and (consp form) (eq (first form) 'declare)))
        when (consp form)
          collect form into declarations
        finally (return (values declarations rest))))

(defun declares-captured-p (capture declarations bound)
  (loop for (variable) in (capture-variables capture)
          thereis (and (not (member variable bound))
                       (find variable (conses-of declarations)
                             :key #'car))))

(defun capturing-expression (capture expression)
  "EXPRESSION as a lambda expression that has parameters for the records of CAPTURE, before its own; NIL
if that is not possible."
  (destructuring-bind (lambda-list &rest body) (definition-of-lambda expression)
    (multiple-value-bind (lambda-list bound) (with-captured-defaults capture lambda-list)
      (multiple-value-bind (declarations forms) (split-body body)
        (let ((parameters (captured-parameters capture)))
          (unless (declares-captured-p capture declarations bound)
            `(,@(ldiff expression (definition-of-lambda expression))
              (,@parameters ,@lambda-list)
              (declare (ignorable ,@parameters))
              ,@declarations
              ,(with-captured capture `(progn ,@forms) bound))))))))

;;; From a function to native code.

(defstruct (plan (:copier nil))
  function
  expression    ; its lambda expression
  form          ; what is compiled, a form
  (records '()) ; positions of the records that are passed
  environment)  ; with what is local to FORM

(defun plan-closure (function expression environment)
  (let ((capture (and (gethash (definition-of-lambda expression) *lexical*)
                      (capture-of environment))))
    (when (and capture (ordinary-uses-p capture expression))
      (let ((capturing (capturing-expression capture expression)))
        (and capturing
             (make-plan :function function :expression expression
                        :form `#',capturing
                        :records (captured-positions capture)
                        :environment (reverse (capture-macros capture))))))))

(defun plan-of (function)
  "How FUNCTION is compiled; NIL if it has no source, or shares what cannot be passed."
  (multiple-value-bind (expression environment) (function-lambda-expression function)
    (cond ((not (and (listp environment)
                     (lambda-expression-p expression)
                     (gethash (definition-of-lambda expression) *lexical* t)))
           nil)
          ((shares-nothing-p environment)
           (make-plan :function function :expression expression
                      :form `#',expression :environment environment))
          (t
           (plan-closure function expression environment)))))

(defun name-of-lambda (expression)
  (and (eq (first expression) 'ext:lambda-block) (second expression)))

(defun keep-source (function expression)
  (setf (gethash function *native-sources*) expression))

(defun redirect-function (plan native)
  "Has the function of PLAN, the object, call NATIVE. False if it has too many arguments."
  (let* ((code (code-of (plan-function plan)))
         (lambda-list (first (definition-of-lambda (plan-expression plan))))
         (required (or (position-if (lambda (item) (member item lambda-list-keywords)) lambda-list)
                       (length lambda-list)))
         (more (set-difference (intersection lambda-list lambda-list-keywords) '(&aux))))
    (when (redirect code native (plan-records plan) required (and more t))
      (keep-source code (plan-expression plan)))))

(defun carry-out (plan native)
  "The function of PLAN as native code: NATIVE, or itself if it is closed over variables; NIL if
that is not possible."
  (cond ((plan-records plan)
         (and (redirect-function plan native) (plan-function plan)))
        (t
         (redirect-function plan native) ; for those who have the object
         (keep-source native (plan-expression plan))
         (note-native native (name-of-lambda (plan-expression plan))))))

(defun native-version (function)
  "FUNCTION as native code, or NIL."
  (let ((plan (plan-of function))
        (*result* nil))
    (when (and plan (run-unit `(setq *result* ,(plan-form plan)) (plan-environment plan)))
      (carry-out plan *result*))))

(defun carry-out-together (plans)
  "A list with the function of each of PLANS, which have no environment, as native code in as few units as
possible, or NIL in its place."
  (let ((*result* nil))
    (cond ((run-unit `(setq *result* (list ,@(mapcar #'plan-form plans))) nil)
           (mapcar #'carry-out plans *result*))
          ((rest plans)
           (let ((half (floor (length plans) 2)))
             (append (carry-out-together (subseq plans 0 half))
                     (carry-out-together (subseq plans half)))))
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

(defun write-fixnum (value &optional object)
  "Writes VALUE into the C source, always with a sign: ECL writes numbers between 2^31 and 2^32 as unsigned
ones, which are greater than negative ones."
  (declare (ignore object))
  (if (and (integerp value) (not (typep value '(signed-byte 32))))
      (format c::*compiler-output1* "~dL" value)
      (c::wt value)))

;;; COMPILE and its relatives.

(defun replace-definition (name function native)
  "NAME, whose definition is FUNCTION, gets NATIVE. What the session noted of it remains."
  (unless (eq native function)
    (let ((record (function-record name)))
      (let ((si:*ignore-package-locks* t))
        (if (and (symbolp name) (macro-function name))
            (setf (macro-function name) native)
            (si:fset name native)))
      (when (and record (eq (record-function record) function))
        (setf (record-function record) native)))))

(defun definition-of (name)
  (or (and (symbolp name) (macro-function name))
      (fdefinition name)))

(defun compile-named (name)
  "True if the definition of NAME is native code now."
  (let ((function (definition-of name)))
    (cond ((native-p function) t)
          ((typep function 'generic-function) (compile-methods function))
          ((not (interpreted-p function)) t)
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
  (unless (eq native (method-body method))
    (setf (slot-value method 'clos::the-function)
          (if (gethash method *method-bodies*)
              (clos::wrapped-method-function (setf (gethash method *method-bodies*) native))
              native))
    (let ((generic (clos:method-generic-function method)))
      (when generic
        (si:clear-gfun-hash generic)
        (clos::set-generic-function-dispatch generic)))))

(defun compile-method (method)
  "True if the body of METHOD is native code now."
  (let ((function (method-body method)))
    (cond ((native-p function) t)
          ((not (interpreted-p function)) t)
          (t
           (let ((native (native-version function)))
             (when native
               (replace-method-body method native)
               t))))))

(defun replace-compiler ()
  (replace-functions
   (compile (name &rest definition)
     (let* ((function (cond ((functionp (first definition)) ; ECL would make another of its source
                             (first definition))
                            (definition ; ECL refuses what is no function
                             (apply #'original nil definition))))
            (native (cond (name
                           (when function
                             (replace-definition name nil function))
                           (compile-named name))
                          (t (native-version function)))))
       (values (or name native function) (not native) (not native))))
   (function-lambda-expression (function)
     (if (and (native-p function) (not (interpreted-p function)))
         (values (native-source function) nil (ext:compiled-function-name function))
         (original function)))
   (disassemble (thing)
     (let ((function (if (functionp thing) thing (ignore-errors (definition-of thing)))))
       (if (native-p function)
           (format t "~&~a is native code, made from~%~s~%" function
                   (native-source function))
           (original thing))))))

;;; What preloading and, with --native auto, calls define.

(defvar *automatic* nil "True with --native auto.")

(defun noting-p ()
  "Is what is defined now compiled without being asked for?"
  (or *automatic* (not *confined*)))

(defvar *noted* '() "Functions and methods that were defined and are not compiled yet, newest first.")

(defconstant +refine-ns+ 200000000 "What one frame FRAME_REFINE may take for them; later frames continue.")

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

(defvar *live* '() "Functions that are in use and are not compiled yet.")

(defconstant +batch+ 25 "Functions of one unit.")

(defun compile-live (until)
  "Compiles the functions of *LIVE*, which stay the objects that they are."
  (loop while (and *live* (< (clock-ns) until))
        do (let* ((functions (loop repeat +batch+ while *live* collect (pop *live*)))
                  (plans (remove nil (mapcar #'plan-of (remove-if #'native-p functions)))))
             (ignore-errors
              (mapc #'native-version
                    (mapcar #'plan-function (remove-if-not #'plan-environment plans))))
             (ignore-errors
              (let ((plans (remove-if #'plan-environment plans)))
                (when plans
                  (carry-out-together plans)))))))

(defun note-live ()
  "Called by C at the end of a call."
  (setf *live* (append *live* (live-functions))))

(defun call-without-streams (function)
  "Between calls there is nobody to read what macros print, and nothing for them to read."
  (let* ((*standard-output* (make-broadcast-stream))
         (*error-output* *standard-output*)
         (*trace-output* *standard-output*)
         (*standard-input* (make-concatenated-stream))
         (*terminal-io* (make-two-way-stream *standard-input* *standard-output*))
         (*query-io* *terminal-io*)
         (*debug-io* *terminal-io*))
    (funcall function)))

(defun compile-noted-until (until)
  "What macros define when they are expanded again is not compiled: that might never end."
  (let ((rest (reverse *noted*)))
    (unwind-protect
         (loop while (and rest (< (clock-ns) until))
               do (let* ((thing (pop rest))
                         (*package* (package-of thing)))
                    (ignore-errors (compile-thing thing))
                    (remhash thing *packages*)))
      (setf *noted* (reverse rest))))
  (compile-live until))

(defun compile-noted ()
  "Called by C between calls."
  (call-without-streams
   (lambda ()
     (compile-noted-until (+ (clock-ns) +refine-ns+)))))

(defconstant +preload-ns+ 8000000000 "What compiling all that was preloaded may take.")

(defun separate-plan (thing)
  "The plan of THING if it can be compiled together with others, or NIL."
  (let ((function (function-of thing)))
    (and function
         (not (typep function 'generic-function))
         (not (native-p function))
         (let ((plan (plan-of function)))
           (and plan (null (plan-environment plan)) plan)))))

(defun compile-batch (things)
  (let* ((plans (mapcar #'separate-plan things))
         (together (remove nil plans)))
    (loop for thing in things
          for plan in plans
          unless plan
            do (compile-thing thing)) ; with local macros or functions
    (when together
      (loop for thing in (remove nil (mapcar (lambda (thing plan) (and plan thing)) things plans))
            for plan in together
            for native in (carry-out-together together)
            when native
              do (if (typep thing 'method)
                     (replace-method-body thing native)
                     (replace-definition thing (plan-function plan) native))))))

(defun compile-preloaded ()
  "Called by C in the zygote. What is left over is compiled like what a call defines."
  (let ((until (+ (clock-ns) +preload-ns+))
        (rest (reverse (shiftf *noted* '()))))
    (loop while (and rest (< (clock-ns) until))
          do (let* ((*package* (package-of (first rest)))
                    (batch (loop repeat +batch+
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
  (setf (gethash 'c::fixnum-value c::*wt-loc-dispatch-table*) #'write-fixnum)
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
