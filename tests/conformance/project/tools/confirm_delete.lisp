;;; {"description": "Asks, after a second, before it deletes nothing.",
;;;  "inputSchema": {"type": "object", "properties": {"filename": {"type": "string"}}, "required": ["filename"]}}

(mcp:deftool "confirm_delete" (filename)
  (sleep 1)
  (let ((answer (mcp:ask :elicit (format nil "Delete ~a?" filename)
                         '(:object :type :object
                           :properties (:object :confirm (:object :type :boolean))
                           :required (:confirm)))))
    (if (eq t (mcp:ref answer "content" "confirm"))
        (format nil "~a would be deleted." filename)
        "Nothing was deleted.")))
