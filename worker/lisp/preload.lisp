;;;; Loads the files of --preload. ECL records in each function the file that it was loaded from, which
;;;; is a path of the host; functions of these files and of the files that they load have none.

(in-package "ECLAVE")

(defun skip-to-form (stream)
  "Skips blanks and comments of lines, so that a form is reported with its line."
  (loop while (eql (peek-char t stream nil) #\;)
        do (read-line stream nil)))

(defun load-unrecorded (source &optional verbose print (format :default))
  "Loads one file of source, as SI:LOAD-SOURCE does for LOAD."
  (declare (ignore verbose print))
  (with-open-file (stream source :external-format format)
    (let ((ext:*source-location* (list nil)))
      (loop
        (skip-to-form stream)
        (note-place (namestring source) (file-position stream))
        (let ((form (read stream nil stream)))
          (when (eq form stream)
            (return))
          (eval form))
        ;; A file that the form has loaded has noted its own places.
        (note-place (namestring source) (file-position stream))))))

(defun loading-unrecorded (function)
  (let ((ext:*load-hooks*
          (loop for (type . hook) in ext:*load-hooks*
                collect (cons type (if (eq hook 'si:load-source) 'load-unrecorded hook))))
        (*load-verbose* nil))
    (funcall function)))

(defun preload (path)
  (loading-unrecorded (lambda () (load path))))
