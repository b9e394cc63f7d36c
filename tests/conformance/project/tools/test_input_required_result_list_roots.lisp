;;; {"description": "Asks for the directories that the client works in.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_input_required_result_list_roots" ()
  (let ((roots (mcp:ref (mcp:ask :roots :key "client_roots") "roots")))
    (format nil "Roots:~{ ~a~}" (map 'list (lambda (root) (mcp:ref root "uri")) roots))))
