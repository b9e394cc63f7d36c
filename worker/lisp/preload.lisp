;;;; Loads the files of --preload. ECL records in each function the file that it was loaded from, which
;;;; is a path of the host; functions of these files and of the files that they load have none.

(in-package "ECLAVE")

(defun load-unrecorded (source &optional verbose print (format :default))
  "Loads one file of source, as SI:LOAD-SOURCE does for LOAD."
  (declare (ignore verbose print))
  (with-open-file (stream source :external-format format)
    (let ((ext:*source-location* (list nil)))
      (loop for form = (read stream nil stream)
            until (eq form stream)
            do (eval form)))))

(defun loading-unrecorded (function)
  (let ((ext:*load-hooks*
          (loop for (type . hook) in ext:*load-hooks*
                collect (cons type (if (eq hook 'si:load-source) 'load-unrecorded hook))))
        (*load-verbose* nil))
    (funcall function)
    (values)))

(defun preload (path)
  (loading-unrecorded (lambda () (load path))))
