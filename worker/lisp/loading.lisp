;;;; What comes of a source that is loaded while nothing of it is called: `eclave check` asks for
;;;; that. Code that calls what is not there is no failure yet, but a warning: it may be defined
;;;; while the call runs.

(in-package "MCP")

;;; The compiler of bytecodes does not say what is undefined, so its code is read. Functions written
;;; inside others stand among the constants of the outermost.

(defun disassembly (function)
  (with-output-to-string (*standard-output*)
    (let ((*print-circle* t) (*print-length* 8) (*print-level* 4) (*print-pretty* nil))
      (si::bc-disassemble function))))

(defun called-text (line)
  "The name, as it is printed, behind CALLG or SYMFUNC in a line of a disassembly, or NIL."
  (let* ((call (search "CALLG	" line))
         (comma (and call (position #\, line :start call)))
         (reference (and (not call) (search "SYMFUNC	" line))))
    (cond (comma (subseq line (1+ comma)))
          (reference (subseq line (+ reference 8))))))

(defun function-names (text constants)
  "Those of CONSTANTS that are printed so: symbols of one name, or (SETF name)."
  (remove-if-not (lambda (constant)
                   (and (or (symbolp constant) (si::valid-function-name-p constant))
                        (string= (princ-to-string constant) text)))
                 constants))

(defun called-names (function constants)
  "A list for each call; it has more than one name when the packages of several are not told apart."
  (with-input-from-string (lines (disassembly function))
    (loop for line = (read-line lines nil)
          while line
          for text = (called-text line)
          for names = (and text (function-names text constants))
          when names collect (coerce names 'list))))

(defun warn-of-undefined (function &optional (seen (make-hash-table :test 'equal)))
  "Warns once of each function that FUNCTION, or what it calls, calls in vain."
  (multiple-value-bind (scope code constants name)
      (and (functionp function) (si::bc-split function))
    (declare (ignore scope))
    (when (and code (not (gethash function seen)))
      (setf (gethash function seen) t)
      (dolist (names (called-names function constants))
        (let ((defined (remove-if-not #'fboundp names)))
          (dolist (callee defined)
            (warn-of-undefined (fdefinition callee) seen))
          (unless (or defined (gethash (first names) seen))
            (setf (gethash (first names) seen) t)
            (warn "The function ~s is not defined~@[; ~a calls it~]." (first names) name))))
      (map nil (lambda (constant) (warn-of-undefined constant seen)) constants))))

(defun load-result (kind name)
  "Fails where nothing of that kind and name is defined."
  (warn-of-undefined (first (definition (kind-named kind) name)))
  (object))
