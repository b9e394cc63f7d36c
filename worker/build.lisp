;;;; Compiles the runtime into a static library. Run by the build as
;;;;   ecl --norc --load build.lisp --eval '(build OUTPUT-DIRECTORY SOURCE...)'
;;;; native.lisp becomes a library of its own, because it is loaded only when ECL's compiler is. What is compiled does not depend on where that is.

(require :cmp)

;;; Else the names by which objects are initialized have the time and the path in them.
(setf (fdefinition 'c::compute-init-name)
      (lambda (file &key prefix &allow-other-keys)
        (format nil "~@[~a~]eclave_lisp_~a" prefix (substitute #\_ #\- (pathname-name file)))))

;;; Makes the objects with the tools of another architecture, whose names begin with PREFIX. The C that ECL writes is the same
;;; for all that have its word size and its version.
(defun cross (prefix sysroot)
  (setf c::*cc* (format nil "~agcc" prefix)
        c::*ar* (format nil "~aar" prefix)
        c::*ranlib* (format nil "~aranlib" prefix)
        c::*ecl-include-directory* (format nil "~a/usr/include/" sysroot)
        c::*cc-flags* (format nil "--sysroot=~a ~a" sysroot c::*cc-flags*)))

(defun object-name (source directory)
  (merge-pathnames (make-pathname :name (pathname-name source) :type "o") directory))

(defun compile-source (source directory)
  (multiple-value-bind (object warnings failed)
      (compile-file source :output-file (object-name source directory) :system-p t
                           :source-truename (pathname (file-namestring source)))
    (declare (ignore warnings))
    (when (or failed (null object))
      (format *error-output* "~a does not compile~%" source)
      (ext:quit 1))
    (load source) ; for its macros and package
    object))

(defun build (directory &rest sources)
  (setf c::*suppress-compiler-messages* 'c::compiler-note
        *compile-verbose* nil)
  (proclaim '(optimize (speed 1) (safety 1) (debug 0)))
  (let ((objects (loop for source in sources
                       collect (compile-source source directory))))
    (c:build-static-library (merge-pathnames "libeclave-lisp.a" directory)
                            :lisp-files (butlast objects)
                            :init-name "eclave_lisp_init")
    (c:build-static-library (merge-pathnames "libeclave-native.a" directory)
                            :lisp-files (last objects)
                            :init-name "eclave_native_init")
    (ext:quit 0)))
