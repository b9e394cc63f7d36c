;;;; ASDF and the systems of --systems. ASDF is ECL's own, which is native code: the zygote maps it, and a
;;;; process that asks for it initializes it, which takes a quarter of a second. Systems are loaded from
;;;; source, so that nothing is written and no program runs.

(in-package "ECLAVE")

(defun asdf-file ()
  (concatenate 'base-string (namestring (si:get-library-pathname)) "asdf.fas"))

(defun prepare-systems (readable)
  "Called by C once, in the zygote, with the directories that code may read."
  (setf *readable* readable)
  (when readable
    (find-asdf)))

(defun find-asdf ()
  (setf *asdf* (or *asdf* (map-asdf (asdf-file)))))

(defun asdf-symbol (name)
  (find-symbol name "ASDF"))

(defun call-asdf (name &rest arguments)
  (apply (asdf-symbol name) arguments))

(defun start-asdf ()
  "Loads ASDF unless it is loaded. False if there is none."
  (or (find-package "ASDF")
      (let ((*package* *package*)
            (*readtable* *readtable*))
        (unless *confined*
          (find-asdf))
        (when (initialize-asdf)
          (configure-asdf (unless *confined*
                            (symbol-value (asdf-symbol "*DEFAULT-SOURCE-REGISTRIES*"))))
          (mapc #'provide '("ASDF" "asdf" "UIOP" "uiop"))
          t))))

;;; Configuration. Each setting is a variable that ASDF itself has: nothing of ASDF is replaced.

(defun readable-registry ()
  "Called by ASDF."
  `(:source-registry ,@(loop for directory in *readable* collect `(:tree ,directory))
                     ,@(if *confined* '(:ignore-inherited-configuration) '(:inherit-configuration))))

(defun named-slot (name object)
  (find name (mapcar #'clos:slot-definition-name (clos:class-slots (class-of object)))
        :test #'string=))

(defun configure-asdf (registries)
  "REGISTRIES: where systems are searched besides *READABLE*."
  (setf (symbol-value (asdf-symbol "*LOAD-SYSTEM-OPERATION*")) (asdf-symbol "LOAD-SOURCE-OP")
        (symbol-value (asdf-symbol "*DEFAULT-SOURCE-REGISTRIES*")) (cons 'readable-registry registries))
  ;; Tests are loaded from source too; the slot belongs to the class.
  (let ((operation (call-asdf "MAKE-OPERATION" (asdf-symbol "TEST-OP"))))
    (setf (slot-value operation (named-slot "SELFWARD-OPERATION" operation))
          (asdf-symbol "LOAD-SOURCE-OP")))
  (call-asdf "INITIALIZE-OUTPUT-TRANSLATIONS"
             '(:output-translations :disable-cache :ignore-inherited-configuration))
  ;; A newer ASDF among the sources would be loaded first, for 25 seconds.
  (call-asdf "REGISTER-IMMUTABLE-SYSTEM" "asdf")
  (call-asdf "REGISTER-IMMUTABLE-SYSTEM" "uiop"))

;;; Modules.

(defun provide-asdf (module)
  "The first provider of modules."
  (when (member module '("asdf" "uiop") :test #'string-equal)
    (or (start-asdf) (provide-nothing module))))

(defun provide-by-asdf (module)
  "A provider for the time before ASDF is loaded; from then on it has its own."
  (when (and (not (find-package "ASDF")) (start-asdf))
    (call-asdf "MODULE-PROVIDE-ASDF" module)))

(defun install-systems ()
  "Called once, in the zygote."
  (setf ext:*module-provider-functions*
        (append (list #'provide-asdf) ext:*module-provider-functions*
                (list #'provide-by-asdf #'provide-nothing))))

;;; Errors of --systems.

(defun listed (words)
  (format nil "~{~#[~;~a~;~a or ~a~:;~@{~a~#[~;, or ~:;, ~]~}~]~}" words))

(defun searched-places ()
  "The directories that exist; all of them if none does."
  (let ((all (loop for (directory) in (call-asdf "FLATTEN-SOURCE-REGISTRY")
                   for name = (namestring directory)
                   unless (search "SYS:" name) collect name)))
    (listed (or (remove-if-not #'probe-file all) all))))

(defun condition-slot (name condition)
  (slot-value condition (named-slot name condition)))

(defun typed-p (condition name)
  (typep condition (asdf-symbol name)))

(defun needed-by (condition)
  "Words for the system that needs a missing one, if that is known."
  (let ((by (and (typed-p condition "MISSING-DEPENDENCY")
                 (condition-slot "REQUIRED-BY" condition))))
    (if by
        (format nil ", which ~a needs,"
                (call-asdf "COERCE-NAME" (call-asdf "COMPONENT-SYSTEM" by)))
        "")))

(defun failure-text (condition file)
  "Why a system cannot be loaded. FILE was being loaded, or is NIL."
  (cond ((typed-p condition "MISSING-COMPONENT-OF-VERSION")
         (format nil "the system ~a~a is older than version ~a" (condition-slot "REQUIRES" condition)
                 (needed-by condition) (condition-slot "VERSION" condition)))
        ((typed-p condition "MISSING-COMPONENT")
         (format nil "the system ~a~a is not in ~a. CL_SOURCE_REGISTRY and --allow-read add directories"
                 (condition-slot "REQUIRES" condition) (needed-by condition) (searched-places)))
        ((typed-p condition "LOAD-SYSTEM-DEFINITION-ERROR")
         (failure-text (condition-slot "CONDITION" condition) (condition-slot "PATHNAME" condition)))
        ((typep condition 'file-error)
         (format nil "the file ~a is missing or cannot be read"
                 (namestring (file-error-pathname condition))))
        (t (format nil "~@[in ~a: ~]~a" (and file (namestring file))
                   (string-right-trim "." (princ-to-string condition))))))

(defun load-system (name)
  (let ((file nil))
    (handler-case
        (handler-bind ((error (lambda (condition)
                                (declare (ignore condition))
                                (setf file *load-truename*))))
          (call-asdf "OPERATE" (asdf-symbol "LOAD-SOURCE-OP") name :verbose nil))
      (error (condition)
        (refuse "~a" (failure-text condition file))))))

(defun add-system (name)
  "Called by C, in the zygote, for each system of --systems."
  (unless (start-asdf)
    (refuse "ECL's ASDF is missing: ~a" (asdf-file)))
  (loading-unrecorded (lambda () (load-system name)))
  (push name *systems*)
  t)

;;; The image that workers are forked from.

(defun loaded-p (system)
  (loop for operation in '("LOAD-SOURCE-OP" "LOAD-OP")
          thereis (call-asdf "COMPONENT-OPERATION-TIME"
                             (call-asdf "MAKE-OPERATION" (asdf-symbol operation)) system)))

(defun readable-p (file)
  (and file
       (let ((name (namestring file)))
         (loop for directory in *readable*
                 thereis (starts-with-p directory name)))))

(defun forget-path (name)
  "A system outside of the directories that code may read remains as a name, which counts as loaded."
  (let* ((system (call-asdf "FIND-SYSTEM" name))
         (version (call-asdf "COMPONENT-VERSION" system))
         (loaded (loaded-p system)))
    (unless (readable-p (call-asdf "SYSTEM-SOURCE-FILE" system))
      (call-asdf "CLEAR-SYSTEM" name)
      (when loaded
        (call-asdf "REGISTER-IMMUTABLE-SYSTEM" name :version version)))))

(defun settle-systems ()
  "Called by C when the operator's files are loaded: from then on only what code may read is searched."
  (when (find-package "ASDF")
    (mapc #'forget-path (set-difference (call-asdf "REGISTERED-SYSTEMS") '("asdf" "uiop")
                                        :test #'string=))
    (call-asdf "CLEAR-CONFIGURATION")
    (setf (symbol-value (asdf-symbol "*USER-CACHE*")) (pathname "/")) ; no longer the operator's
    (configure-asdf '())))
