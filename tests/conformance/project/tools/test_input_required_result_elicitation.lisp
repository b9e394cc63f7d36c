;;; {"description": "Asks the user for a name.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_input_required_result_elicitation" ()
  (let ((answer (mcp:ask :elicit "What is your name?"
                         '(:object :type :object
                          :properties (:object :name (:object :type :string))
                          :required (:name))
                         :key "user_name")))
    (format nil "Hello, ~a!" (mcp:ref answer "content" "name"))))
