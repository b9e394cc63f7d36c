;;; {"description": "Asks the user before there is a prompt."}

(mcp:defprompt "test_input_required_result_prompt" ()
  (let ((answer (mcp:ask :elicit "What context should the prompt use?"
                         '(:object :type :object
                           :properties (:object :context (:object :type :string))
                           :required (:context))
                         :key "user_context")))
    (format nil "In this context: ~a" (mcp:ref answer "content" "context"))))
