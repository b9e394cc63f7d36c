;;; {"description": "Asks the model of the client.",
;;;  "inputSchema": {"type": "object", "properties": {"prompt": {"type": "string", "description": "What the model is asked"}}, "required": ["prompt"]}}

(mcp:deftool "test_sampling" (prompt)
  (let ((answer (mcp:ask :sample prompt :max-tokens 100)))
    (format nil "LLM response: ~a" (mcp:ref answer "content" "text"))))
