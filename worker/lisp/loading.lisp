;;;; Checks a source without calling its definition, for `eclave check`. A call of an undefined
;;;; function is a warning only: the function may be defined during the call.

(in-package "MCP")

;;; The bytecode compiler does not report undefined functions, so its code is disassembled. Inner
;;; functions are among the constants of the outermost one.

(defun disassembly (function)
  (with-output-to-string (*standard-output*)
    (let ((*print-circle* t) (*print-length* 8) (*print-level* 4) (*print-pretty* nil))
      (si::bc-disassemble function))))

(defun called-name (line)
  "The printed name after CALLG or SYMFUNC in a line of a disassembly, or NIL."
  (let* ((call (search "CALLG	" line))
         (comma (and call (position #\, line :start call)))
         (reference (and (not call) (search "SYMFUNC	" line))))
    (cond (comma (subseq line (1+ comma)))
          (reference (subseq line (+ reference 8))))))

(defun function-names (name constants)
  "The CONSTANTS that print as NAME: symbols, or (SETF symbol)."
  (remove-if-not (lambda (constant)
                   (and (or (symbolp constant) (si::valid-function-name-p constant))
                        (string= (princ-to-string constant) name)))
                 constants))

(defun called-names (function constants)
  "A list of names for each call; more than one if several constants print as the called name."
  (with-input-from-string (lines (disassembly function))
    (loop for line = (read-line lines nil)
          while line
          for name = (called-name line)
          for names = (and name (function-names name constants))
          when names collect (coerce names 'list))))

(defun warn-of-undefined (function &optional (seen (make-hash-table :test 'equal)))
  "Warns once of each undefined function that FUNCTION calls, directly or not."
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
  "Signals an error if there is no definition of that kind and name."
  (warn-of-undefined (first (definition (kind-named kind) name)))
  (object))
