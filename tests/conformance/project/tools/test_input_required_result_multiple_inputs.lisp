;;; {"description": "Asks the user, the model and the client at once.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_input_required_result_multiple_inputs" ()
  (destructuring-bind (user greeting roots)
      (mcp:ask-all
       (list (mcp:question :elicit "What is your name?"
                           '(:object :type :object
                          :properties (:object :name (:object :type :string))
                          :required (:name))
                           :key "user_name")
             (mcp:question :sample "Generate a greeting" :key "greeting" :max-tokens 50)
             (mcp:question :roots :key "client_roots")))
    (format nil "~a, ~a: ~d roots" (mcp:ref greeting "content" "text")
            (mcp:ref user "content" "name") (length (mcp:ref roots "roots")))))
