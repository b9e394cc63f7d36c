;;;; Random functions, as bytecode and as native code: both must return the same values, signal errors
;;;; of the same type and do the same things in the same order. A function that differs is reduced. Errors
;;;; are signalled explicitly: the compiler leaves out a division whose result nobody uses, with its error.
;;;; (RUN-TRIALS SEED COUNT) returns what differs, reduced, or NIL; (RUN-FAMILIES SEED COUNT) the same of
;;;; closures that share variables and are compiled one after another, between calls of all of them.

(defvar *state* 0)
(defvar *log* '())
(defvar *special-1* 10)
(defvar *special-2* 20)

(defun draw (limit)
  (setf *state* (logand (+ (* *state* 6364136223846793005) 1442695040888963407) (1- (ash 1 64))))
  (mod (ash *state* -33) limit))

(defmacro pick (&rest forms)
  `(ecase (draw ,(length forms))
     ,@(loop for form in forms for i from 0 collect `(,i ,form))))

(defun note (value)
  (when (< (length *log*) 50)
    (push value *log*))
  value)

(defun clip (number)
  "Keeps numbers in loops small."
  ;; In ECL the product of a bignum and -1 can be MOST-NEGATIVE-FIXNUM as a bignum, with which other
  ;; functions fault, also in bytecode. A sum is a fixnum.
  (let ((number (+ number 0)))
    (if (and (rationalp number) (< (+ (integer-length (numerator number))
                                      (integer-length (denominator number)))
                                   200))
        number
        (mod (floor (rational number)) 1000003))))

(defun read-special ()
  (+ *special-1* *special-2*))

;;; What is known at a place: variables, functions of one argument, blocks, catch tags.

(defstruct scope variables functions blocks tags)

(defvar *names* 0)

(defun fresh (prefix)
  (intern (format nil "~a~d" prefix (incf *names*)) "CL-USER"))

(defun with-variable (scope name)
  (let ((new (copy-scope scope)))
    (push name (scope-variables new))
    new))

(defun any (list)
  (nth (draw (length list)) list))

(defun literal ()
  (pick (- (draw 20) 10) (draw 1000) (- (ash 1 (draw 70)) (draw 3)) 0 1 -1
        (/ (- (draw 20) 10) (1+ (draw 5))) most-positive-fixnum))

(defun leaf (scope)
  (if (and (scope-variables scope) (plusp (draw 3)))
      (any (scope-variables scope))
      (literal)))

(defun test-form (depth scope)
  (pick `(,(any '(< > <= >= = /=)) ,(number-form (1- depth) scope) ,(number-form (1- depth) scope))
        `(evenp (floor ,(number-form (1- depth) scope)))
        `(not ,(test-form (1- depth) scope))
        `(and ,(test-form (1- depth) scope) ,(test-form (1- depth) scope))
        `(or ,(test-form (1- depth) scope) ,(test-form (1- depth) scope))
        `(eql ,(number-form (1- depth) scope) ,(leaf scope))
        `(integerp ,(number-form (1- depth) scope))))

(defun body-form (depth scope)
  (pick `(progn (note ,(number-form depth scope)) ,(number-form depth scope))
        (number-form depth scope)))

(defun binding-form (depth scope)
  (let* ((name (fresh "V"))
         (inner (with-variable scope name)))
    (pick `(let ((,name ,(number-form depth scope))) ,(body-form depth inner))
          `(let* ((,name ,(number-form depth scope)) (other (1+ ,name)))
             (declare (ignorable other))
             ,(body-form depth (with-variable inner 'other)))
          `(let ((,name (logand ,(number-form depth scope) 255)))
             (declare (fixnum ,name))
             (note ,(body-form depth scope))
             (+ ,name ,(number-form depth scope)))
          `(multiple-value-bind (,name other) (truncate (floor ,(number-form depth scope)) 7)
             (declare (ignorable other))
             ,(body-form depth (with-variable inner 'other)))
          `(let ((,name (mod (floor ,(number-form depth scope)) 1000)))
             (declare (type (integer 0 999) ,name))
             (* ,name (- ,name 5)))
          `(destructuring-bind (,name &optional (other 3)) (list ,(number-form depth scope))
             (declare (ignorable other))
             ,(body-form depth inner)))))

(defun function-form (depth scope)
  (let* ((name (fresh "F"))
         (parameter (fresh "P"))
         (inner (with-variable scope parameter))
         (after (copy-scope scope)))
    (push name (scope-functions after))
    (pick `(flet ((,name (,parameter) ,(body-form depth inner))) ,(body-form depth after))
          `(labels ((,name (,parameter)
                      (if (and (realp ,parameter) (< 0 ,parameter 5))
                          (+ 1 (,name (- ,parameter 1)))
                          ,(body-form depth inner))))
             ,(body-form depth after))
          `(funcall (lambda (,parameter &optional (second 2) &key (third 3))
                      (declare (ignorable second third))
                      ,(body-form depth (with-variable inner 'second)))
                    ,(number-form depth scope)
                    ,@(pick '() (list (number-form depth scope))
                            (list (literal) :third (number-form depth scope))))
          `(let ((,name (lambda (,parameter) (setq ,parameter (+ ,parameter 1))
                          ,(body-form depth inner))))
             (+ (funcall ,name ,(number-form depth scope)) (funcall ,name ,(leaf scope))))
          `(apply #'+ (mapcar (lambda (,parameter) ,(body-form depth inner))
                              (list ,(leaf scope) ,(number-form depth scope))))
          `(let ((count ,(leaf scope)))
             (flet ((,name (,parameter) (incf count ,parameter)))
               (mapc #',name (list 1 ,(number-form depth scope)))
               count)))))

(defun exit-form (depth scope)
  (let* ((name (fresh "B"))
         (in-block (copy-scope scope))
         (in-catch (copy-scope scope)))
    (push name (scope-blocks in-block))
    (push name (scope-tags in-catch))
    (pick `(block ,name ,(body-form depth in-block) ,(number-form depth in-block))
          `(catch ',name ,(body-form depth in-catch) ,(number-form depth in-catch))
          `(block ,name
             (mapc (lambda (each) (when (> each ,(leaf scope)) (return-from ,name each)))
                   (list 1 ,(number-form depth in-block) 3))
             ,(leaf scope))
          `(unwind-protect ,(number-form depth scope) (note ,(number-form depth scope)))
          `(let ((i 0))
             (tagbody
                again
                (incf i)
                (note ,(number-form depth (with-variable scope 'i)))
                (when (< i 3) (go again)))
             i)
          `(handler-case ,(number-form depth scope)
             (division-by-zero () ,(leaf scope))
             (program-error () ,(leaf scope)))
          `(if ,(test-form depth scope)
               (error ',(any '(division-by-zero program-error simple-error)))
               ,(number-form depth scope))
          `(let ((sum 0))
             (dotimes (i 4 sum)
               (setq sum (+ sum ,(number-form depth (with-variable (with-variable scope 'i) 'sum))))))
          `(loop for i from 0 below 3 sum ,(number-form depth (with-variable scope 'i))))))

(defun number-form (depth scope)
  (if (<= depth 0)
      (leaf scope)
      (let ((depth (1- depth)))
        (ecase (draw 22)
          (0 `(,(any '(+ -)) ,(number-form depth scope) ,(number-form depth scope)))
          (1 `(clip (* ,(number-form depth scope) ,(number-form depth scope))))
          (2 `(+ ,(number-form depth scope) ,(number-form depth scope) ,(leaf scope)))
          ((3 4) `(if ,(test-form depth scope) ,(number-form depth scope) ,(number-form depth scope)))
          ((5 6) (binding-form depth scope))
          ((7 8) (function-form depth scope))
          ((9 10) (exit-form depth scope))
          (11 `(note ,(number-form depth scope)))
          (12 `(let ((*special-1* ,(number-form depth scope))) (+ (read-special) *special-1*)))
          (13 (let ((settable (set-difference (scope-variables scope) '(i sum unset))))
                (if settable
                    `(setq ,(any settable) ,(number-form depth scope))
                    (leaf scope))))
          (14 (if (scope-functions scope)
                  `(,(any (scope-functions scope)) ,(number-form depth scope))
                  (leaf scope)))
          (15 (if (scope-blocks scope)
                  `(return-from ,(any (scope-blocks scope)) ,(number-form depth scope))
                  (leaf scope)))
          (16 (if (scope-tags scope)
                  `(throw ',(any (scope-tags scope)) ,(number-form depth scope))
                  (leaf scope)))
          (17 `(let ((divisor ,(number-form depth scope)))
                 (if (= divisor 0)
                     (note ,(leaf scope))
                     (clip (,(any '(floor truncate mod rem /)) ,(number-form depth scope) divisor)))))
          (18 `(case (mod (floor ,(number-form depth scope)) 3)
                 (0 ,(number-form depth scope)) (1 ,(leaf scope)) (t ,(number-form depth scope))))
          (19 `(logxor (floor ,(number-form depth scope)) (logand 1023 (floor ,(leaf scope)))))
          (20 `(nth-value ,(draw 2) (floor ,(number-form depth scope) 3)))
          (21 `(let ((x (float (mod (floor ,(number-form depth scope)) 100) 1d0)))
                 (declare (double-float x))
                 (+ (* x 1.5d0) ,(number-form depth scope))))))))

(defun random-function ()
  (setf *names* 0)
  (let ((optimize (any '(() ((declare (optimize (speed 3)))) ((declare (optimize (safety 3))))
                         ((declare (optimize (debug 3))))))))
    `(lambda (a b)
       (declare (ignorable a b))
       ,@optimize
       ,(body-form (+ 2 (draw 4)) (make-scope :variables '(a b))))))

;;; Running.

(defun outcome (function arguments)
  (let ((*log* '()) (*special-1* 10) (*special-2* 20))
    (let ((values (handler-case (multiple-value-list (apply function arguments))
                    (error (condition) (list :error (type-of condition))))))
      (list values *log*))))

(defparameter *arguments* '((0 0) (3 7) (-5 2) (100000000000000000000 1/3)))

(defun outcomes (function)
  (mapcar (lambda (arguments) (outcome function arguments)) *arguments*))

(defvar *compiled* 0)

(defun differs-p (form)
  (handler-bind ((warning #'muffle-warning))
    (let ((bytecode (ignore-errors (coerce form 'function))))
      (when bytecode
        (multiple-value-bind (native warnings failure) (compile nil form)
          (declare (ignore warnings))
          (unless failure
            (incf *compiled*)
            (not (equal (outcomes bytecode) (outcomes native)))))))))

;;; Reducing: each part is replaced by one of its parts or by a number, as long as it still differs.

(defun replacements (form)
  "Smaller forms in place of FORM, and FORM with one part replaced."
  (when (consp form)
    (append (remove-if-not (lambda (part) (or (consp part) (numberp part)))
                           (and (listp (cdr form)) (ignore-errors (copy-list (rest form)))))
            (unless (equal form 0) (list 0))
            (loop for tail on form
                  for i from 0
                  while (consp tail)
                  append (loop for smaller in (replacements (car tail))
                               collect (append (subseq form 0 i) (list smaller) (cdr tail)))))))

(defun size (form)
  (if (consp form) (+ 1 (size (car form)) (size (cdr form))) 1))

(defun reduce-form (form differs-p)
  (loop with tries = 0
        for smaller = (loop for body in (remove-duplicates (replacements (car (last form)))
                                                           :test #'equal)
                            for candidate = (append (butlast form) (list body))
                            when (and (< (size candidate) (size form))
                                      (< (incf tries) 600)
                                      (ignore-errors (funcall differs-p candidate)))
                              return candidate)
        while smaller
        do (setf form smaller)
        finally (return form)))

(defun run-trials (seed count)
  (let ((*state* seed))
    (loop repeat count
          for form = (random-function)
          when (differs-p form)
            return (reduce-form form 'differs-p))))

;;; Families of closures.

(defun member-function (depth scope)
  (let* ((inner (with-variable (with-variable scope 'a) 'b))
         (body (body-form depth inner)))
    (pick `(lambda (a b) ,body)
          `(lambda (a b) (declare (optimize (safety ,(draw 4)))) ,body)
          `(lambda (a &optional (b ,(number-form 1 (with-variable scope 'a)) given))
             (note (if given 1 0))
             ,body)
          `(lambda (a &rest rest &aux (b (if rest (first rest) ,(leaf scope))))
             ,body)
          `(lambda (a b &key (c ,(leaf inner)) &allow-other-keys) (note c) ,body))))

(defun family-form (nesting scope)
  "A form whose value is a list of functions of two arguments."
  (if (zerop nesting)
      `(list ,@(loop repeat (+ 2 (draw 2)) collect (member-function (+ 2 (draw 3)) scope)))
      (let* ((name (fresh "V"))
             (function (fresh "F"))
             (parameter (fresh "P"))
             (known (any (scope-variables scope)))
             (body (body-form 2 (with-variable scope parameter)))
             (with-function (copy-scope scope))
             (in-block (copy-scope scope)))
        (push function (scope-functions with-function))
        (push function (scope-blocks in-block))
        (flet ((inner (scope) (family-form (1- nesting) scope)))
          (pick (inner scope)
                `(let ((,name ,(leaf scope))) ,(inner (with-variable scope name)))
                `(let ((outer ,(member-function 2 scope)) (,known ,(leaf scope))) ; a name at two levels
                   (cons outer ,(inner scope)))
                `(flet ((,function (,parameter) ,body)) ,(inner with-function))
                `(labels ((,function (,parameter)
                            (if (and (realp ,parameter) (< 0 ,parameter 5))
                                (+ 1 (,function (- ,parameter 1)))
                                ,body)))
                   (cons (lambda (a b) (+ a (,function b))) ,(inner with-function)))
                `(macrolet ((,function (form) (list '+ form ',known))) ,(inner with-function))
                `(let ((box (list ,(leaf scope))))
                   (symbol-macrolet ((,name (car box))) ,(inner (with-variable scope name))))
                `(let ((,name ,(leaf scope)))
                   (symbol-macrolet ((,known ,name)) ,(inner scope)))
                `(let ((all '())) ; some closures of one code
                   (dotimes (index 2 all)
                     (let ((,name index))
                       (setq all (append ,(inner (with-variable scope name)) all)))))
                `(block ,function ,(inner in-block))
                `(let ((unset ,(leaf scope)))
                   (locally (declare (special unset)) ,(inner (with-variable scope 'unset)))))))))

(defun random-family ()
  (setf *names* 0)
  (let ((one (fresh "V"))
        (other (fresh "V")))
    `(let ((,one ,(literal)) (,other ,(literal)))
       ,(family-form (draw 4) (make-scope :variables (list one other))))))

(defun make-family (form)
  "A list of functions, or NIL."
  (handler-bind ((warning #'muffle-warning))
    (let ((family (ignore-errors (eval form))))
      (and (listp family) (every #'functionp family) family))))

(defun family-calls (family from to)
  "The outcomes of calls number FROM to TO of functions of FAMILY."
  (when family
    (loop for i from from below to
          collect (outcome (nth (mod (* i 7) (length family)) family)
                           (nth (mod i (length *arguments*)) *arguments*)))))

(defun compile-member (function)
  (handler-bind ((warning #'muffle-warning))
    (unless (nth-value 2 (compile nil function))
      (incf *compiled*))))

(defun family-differs-p (form)
  (let ((bytecode (make-family form))
        (native (make-family form)))
    (when (and bytecode native)
      (loop for i from 0 below (* 4 (length native))
            when (and (oddp i) (< (floor i 2) (length native)))
              do (compile-member (nth (floor i 2) native))
            thereis (not (equal (family-calls bytecode i (1+ i)) (family-calls native i (1+ i))))))))

(defun run-families (seed count)
  (let ((*state* seed))
    (loop repeat count
          for form = (random-family)
          when (family-differs-p form)
            return (reduce-form form 'family-differs-p))))

(defvar *family* '())

(defun native-count (family)
  (count-if (lambda (function)
              (search "is native code" (with-output-to-string (*standard-output*)
                                         (disassemble function))))
            family))
