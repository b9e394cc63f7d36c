;;; {"description": "Asks the model of the client.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_input_required_result_sampling" ()
  (let ((answer (mcp:ask :sample "What is the capital of France?"
                         :key "capital_question" :max-tokens 100)))
    (format nil "~a" (mcp:ref answer "content" "text"))))
