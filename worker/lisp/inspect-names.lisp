;;;; Operations of inspect-lisp on names: symbols, functions, classes and packages.

(in-package "ECLAVE")

(defvar *image-packages* '() "The packages that no session has made; set in the zygote.")

(defun note-image ()
  "Called by C in the zygote, once everything is loaded."
  (setf *image-packages* (remove (user-package) (list-all-packages))))

(defun session-packages ()
  (remove-if (lambda (package) (member package *image-packages*)) (list-all-packages)))

;;; What a symbol is.

(defun symbol-macro-p (symbol)
  (safely nil
    (and (not (boundp symbol))
         (not (eq (macroexpand-1 symbol) symbol)))))

(defun type-name-p (symbol)
  (safely nil (si::get-sysprop symbol 'si::deftype-definition)))

(defun class-named (symbol)
  (safely nil (find-class symbol nil)))

(defparameter *special-operators*
  '(block catch eval-when flet function go if labels let let* load-time-value locally macrolet
    multiple-value-call multiple-value-prog1 progn progv quote return-from setq symbol-macrolet
    tagbody the throw unwind-protect)
  "Those of the standard. ECL has more, which are macros in the standard.")

(defun function-kind (name)
  "What the function name NAME is as an operator, in words; or NIL."
  (safely nil
    (cond ((and (symbolp name) (member name *special-operators*)) "special operator")
          ((and (symbolp name) (or (macro-function name) (special-operator-p name))) "macro")
          ((not (fboundp name)) nil)
          ((typep (fdefinition name) 'generic-function) "generic function")
          (t "function"))))

(defun variable-kind (symbol)
  (safely nil
    (cond ((constantp symbol) (if (keywordp symbol) "keyword" "constant"))
          ((or (si:specialp symbol) (boundp symbol)) "variable")
          ((symbol-macro-p symbol) "symbol macro"))))

(defun class-kind (symbol)
  (let ((class (class-named symbol)))
    (cond ((null class) (when (type-name-p symbol) "type"))
          ((safely nil (subtypep class 'condition)) "condition")
          ((typep class 'structure-class) "structure")
          (t "class"))))

(defun kinds (symbol)
  (remove nil (list (function-kind symbol)
                    (and (fboundp (list 'setf symbol)) "setf function")
                    (variable-kind symbol)
                    (class-kind symbol))))

(defun kinds-text (symbol)
  (format nil "~:[not defined~;~:*~{~a~^, ~}~]"
          (append (kinds symbol) (and (find-package (symbol-name symbol)) '("package")))))

(defun symbol-title (symbol)
  (brief-text symbol))

(defun kind-filter ()
  "A predicate for symbols, from the argument `kind`."
  (let ((kind (given-string "kind")))
    (cond ((null kind) #'kinds)
          ((member kind '("function" "macro" "generic function" "variable" "constant" "class"
                          "condition" "structure" "type")
                   :test #'string=)
           (lambda (symbol) (member kind (kinds symbol) :test #'string=)))
          (t (refuse-argument "The argument kind must be one of function, macro, generic function, variable, constant, class, condition, structure and type.")))))

;;; Functions.

(defun lambda-list-text (name)
  "The lambda list of the function or macro NAME, or NIL if it is unknown."
  (safely nil
    (multiple-value-bind (lambda-list known) (lambda-list-of name)
      (when known
        (let ((*package* (if (member (name-package name) *image-packages*)
                             (find-package "SI") ; has the parameters of ECL's functions
                             *package*)))
          (cut (with-brief-printing
                 (let ((*print-length* 50) (*print-gensym* nil))
                   (format nil "~:s" lambda-list)))
               +line-chars+))))))

(defun name-package (name)
  (symbol-package (if (symbolp name) name (second name))))

(defun lambda-list-of (name)
  "The lambda list of the function or macro NAME; second value: is it known?"
  (let ((function (function-of name)))
    (multiple-value-bind (recorded found) (recorded-lambda-list name)
      (cond (found (values recorded t))
            ((typep function 'generic-function)
             (values (clos:generic-function-lambda-list function) t))
            (t
             (multiple-value-bind (lambda-list known) (ext:function-lambda-list
                                                       (if (symbolp name) name function))
               (values lambda-list
                       (or known lambda-list
                           (and (functionp function)
                                (function-lambda-expression function) t)))))))))

(defun documentation-sections (symbol)
  "A list of sections, one for each kind of documentation that SYMBOL has."
  (let ((seen '()))
    (loop for kind in '(function variable type structure setf compiler-macro method-combination)
          for text = (safely nil (documentation symbol kind))
          when (and (stringp text) (not (member text seen :test #'equal)))
            collect (section (format nil "documentation of the ~(~a~)" kind)
                             (cut text +text-chars+))
            and do (push text seen))))

(define-operation "arguments" ("name")
  (let* ((name (named-function-name (name-argument)))
         (kind (function-kind name)))
    (unless kind
      (refuse-name "~a names no function or macro." (brief-text name)))
    (answer (format nil "~a: ~a" (brief-text name) kind)
            (section "arguments" (or (lambda-list-text name) "(unknown)")))))

(define-operation "documentation" ("name")
  (let* ((symbol (named-symbol (name-argument)))
         (sections (documentation-sections symbol)))
    (apply #'answer (format nil "~a: ~a" (symbol-title symbol) (kinds-text symbol))
           (or sections (list (section "documentation" "(none)"))))))

(defun value-line (symbol)
  (if (boundp symbol)
      (brief-text (symbol-value symbol))
      "(unbound)"))

(defun home-text (symbol)
  (let ((package (symbol-package symbol)))
    (if (null package)
        "(none)"
        (format nil "~a, ~(~a~)" (or (package-name package) "(a deleted package)")
                (safely "internal"
                  (nth-value 1 (find-symbol (symbol-name symbol) package)))))))

(define-operation "describe" ("name")
  (let* ((symbol (named-symbol (name-argument)))
         (class (class-named symbol)))
    (apply #'answer
           (format nil "~a: ~a" (symbol-title symbol) (kinds-text symbol))
           (section "package" (home-text symbol))
           (when (function-kind symbol)
             (section "arguments" (or (lambda-list-text symbol) "(unknown)")))
           (when (variable-kind symbol)
             (section "value" (if (symbol-macro-p symbol)
                                  (pretty-text (macroexpand-1 symbol))
                                  (value-line symbol))))
           (when class
             (section "superclasses" (joined (class-titles (class-supers class)))))
           (when (and class (slots-of class))
             (section "slots" (mapcar #'slot-line (slots-of class))))
           (when (symbol-plist symbol)
             (section "properties" (property-lines symbol)))
           (documentation-sections symbol))))

(defun property-lines (symbol)
  (loop for (key value) on (proper-part (symbol-plist symbol)) by #'cddr
        collect (format nil "~a: ~a" (brief-text key) (brief-text value))))

;;; Symbols and packages.

(defun line-of-symbol (symbol)
  (format nil "~a: ~a" (symbol-title symbol) (kinds-text symbol)))

(defun sorted-symbols (symbols)
  (sort (remove-duplicates symbols)
        (lambda (a b)
          (or (string< (symbol-name a) (symbol-name b))
              (and (string= (symbol-name a) (symbol-name b))
                   (string< (home-name a) (home-name b)))))))

(defun home-name (symbol)
  (let ((package (symbol-package symbol)))
    (or (and package (package-name package)) "")))

(defun searched-symbols (test)
  "The symbols to search that pass TEST: of the package that was given, or else all of the session's
packages and the external ones of the image's."
  (let ((found '()))
    (flet ((try (symbol) (when (funcall test symbol) (push symbol found))))
      (cond ((given-string "package") (do-symbols (symbol *package*) (try symbol)))
            (t (dolist (package (list-all-packages))
                 (if (member package *image-packages*)
                     (unless (string= (package-name package) "ECLAVE")
                       (do-external-symbols (symbol package) (try symbol)))
                     (do-symbols (symbol package) (try symbol)))))))
    found))

(define-operation "apropos" ("name")
  (let* ((pattern (name-argument))
         (filter (kind-filter))
         (found (sorted-symbols
                 (searched-symbols (lambda (symbol)
                                     (and (search pattern (symbol-name symbol) :test #'char-equal)
                                          (funcall filter symbol)))))))
    (answer (format nil "~d symbol~:p ~:*~[match~;matches~:;match~] ~s" (length found)
                    (cut pattern 100))
            (section "symbols" (mapcar #'line-of-symbol found)))))

(defun named-package (text)
  (or (find-package text) (find-package (string-upcase text))
      (error 'unknown-package :package text)))

(defun package-counts (package)
  (let ((internal 0) (external 0))
    (do-symbols (symbol package)
      (multiple-value-bind (same status) (find-symbol (symbol-name symbol) package)
        (declare (ignore same))
        (case status
          (:internal (incf internal))
          (:external (incf external)))))
    (values internal external)))

(defun package-names (packages)
  (format nil "~:[(none)~;~:*~{~a~^ ~}~]" (mapcar #'package-name packages)))

(defun exported-names (package)
  (sort (let ((names '()))
          (do-external-symbols (symbol package names)
            (push (symbol-name symbol) names)))
        #'string<))

(define-operation "package" ()
  (let ((package (if (name-argument) (named-package (name-argument)) *package*)))
    (multiple-value-bind (internal external) (package-counts package)
      (answer (format nil "~a: package" (package-name package))
              (when (package-nicknames package)
                (section "nicknames" (format nil "~{~a~^ ~}" (package-nicknames package))))
              (section "uses" (package-names (package-use-list package)))
              (section "used by" (package-names (package-used-by-list package)))
              (when (package-shadowing-symbols package)
                (section "shadows" (joined (package-shadowing-symbols package))))
              (section "symbols" (format nil "~d external, ~d internal" external internal))
              (section "exports" (exported-names package))
              (let ((text (safely nil (documentation package t))))
                (when text (section "documentation" (cut text +text-chars+))))))))

(define-operation "symbols" ()
  (let* ((package (if (name-argument) (named-package (name-argument)) *package*))
         (filter (kind-filter))
         (found '()))
    (do-symbols (symbol package)
      (when (and (eq (symbol-package symbol) package) (funcall filter symbol))
        (push symbol found)))
    (flet ((of-status (status)
             (mapcar #'line-of-symbol
                     (sorted-symbols
                      (remove-if-not (lambda (symbol)
                                       (eq (nth-value 1 (find-symbol (symbol-name symbol) package))
                                           status))
                                     found)))))
      (answer (format nil "~a: ~d symbol~:p with a definition" (package-name package)
                      (length found))
              (section "external" (of-status :external))
              (section "internal" (of-status :internal))))))

;;; Classes.

(defun class-title (class)
  (safely "(unknown)" (or (class-name class) "(anonymous class)")))

(defun class-titles (classes)
  (mapcar #'class-title classes))

(defun class-supers (class)
  (safely '() (clos:class-direct-superclasses class)))

(defun finalized (class)
  "CLASS, finalized if that is possible; else NIL."
  (safely nil
    (unless (clos:class-finalized-p class)
      (clos:finalize-inheritance class))
    class))

(defun slots-of (class)
  (safely '() (if (finalized class)
                  (clos:class-slots class)
                  (clos:class-direct-slots class))))

(defun slot-line (slot)
  (safely "(a slot that cannot be described)"
    (with-output-to-string (out)
      (write-string (brief-text (clos:slot-definition-name slot)) out)
      (unless (eq (clos:slot-definition-type slot) t)
        (format out " :type ~a" (brief-text (clos:slot-definition-type slot))))
      (unless (eq (clos:slot-definition-allocation slot) :instance)
        (format out " :allocation ~a" (brief-text (clos:slot-definition-allocation slot))))
      (dolist (key (clos:slot-definition-initargs slot))
        (format out " :initarg ~a" (brief-text key)))
      (when (clos:slot-definition-initfunction slot)
        (format out " :initform ~a" (brief-text (clos:slot-definition-initform slot))))
      (dolist (reader (direct-slot-part slot #'clos:slot-definition-readers))
        (format out " :reader ~a" (brief-text reader)))
      (dolist (writer (direct-slot-part slot #'clos:slot-definition-writers))
        (format out " :writer ~a" (brief-text writer))))))

(defun direct-slot-part (slot part)
  (safely '() (and (typep slot 'clos:direct-slot-definition) (funcall part slot))))

(defun specializer-title (specializer)
  (if (typep specializer 'class)
      (brief-text (class-title specializer))
      (format nil "(EQL ~a)" (safely "..." (brief-text (clos:eql-specializer-object
                                                         specializer))))))

(defun method-line (method)
  (safely "(a method that cannot be described)"
    (format nil "~a~{ ~a~} (~{~a~^ ~})"
            (brief-text (clos:generic-function-name (clos:method-generic-function method)))
            (mapcar #'brief-text (method-qualifiers method))
            (mapcar #'specializer-title (clos:method-specializers method)))))

(defun own-methods (class)
  "The methods on CLASS, without those that ECL itself defines on T and the like."
  (sort (mapcar #'method-line
                (remove-if-not #'clos:method-generic-function
                               (safely '() (copy-list (clos:specializer-direct-methods class)))))
        #'string<))

(define-operation "class" ("name")
  (let* ((symbol (named-symbol (name-argument)))
         (class (class-named symbol)))
    (unless class
      (refuse-name "~a is not the name of a class; it is: ~a." (symbol-title symbol)
                   (kinds-text symbol)))
    (let ((finalized (finalized class)))
      (answer (format nil "~a: ~a" (symbol-title symbol)
                      (string-downcase (brief-text (class-title (class-of class)))))
              (section "superclasses" (joined (class-titles (class-supers class))))
              (section "subclasses"
                       (joined (class-titles (safely '() (clos:class-direct-subclasses class)))))
              (section "precedence"
                       (if finalized
                           (joined (class-titles (clos:class-precedence-list class)))
                           "(not finalized: a superclass is not defined)"))
              (section "slots" (mapcar #'slot-line (safely '() (clos:class-direct-slots class))))
              (section "inherited slots" (mapcar #'slot-line (inherited-slots class)))
              (section "default initargs" (initarg-lines class))
              (section "methods" (own-methods class))
              (let ((text (safely nil (documentation symbol 'type))))
                (when text (section "documentation" (cut text +text-chars+))))))))

(defun inherited-slots (class)
  (let ((direct (mapcar #'clos:slot-definition-name
                        (safely '() (clos:class-direct-slots class)))))
    (remove-if (lambda (slot) (member (clos:slot-definition-name slot) direct))
               (slots-of class))))

(defun initarg-lines (class)
  (safely '()
    (loop for (key form) in (clos:class-direct-default-initargs class)
          collect (format nil "~a ~a" (brief-text key) (brief-text form)))))

(define-operation "generic-function" ("name")
  (let* ((name (named-function-name (name-argument)))
         (function (safely nil (and (fboundp name) (fdefinition name)))))
    (unless (typep function 'generic-function)
      (refuse-name "~a is not the name of a generic function; it is: ~:[not defined~;~:*~a~]."
                   (brief-text name) (function-kind name)))
    (answer (format nil "~a: generic function" (brief-text name))
            (section "arguments" (or (lambda-list-text name) "(unknown)"))
            (section "methods" (sort (mapcar #'method-line
                                             (safely '() (clos:generic-function-methods function)))
                                     #'string<))
            (let ((text (safely nil (documentation function t))))
              (when text (section "documentation" (cut text +text-chars+)))))))
