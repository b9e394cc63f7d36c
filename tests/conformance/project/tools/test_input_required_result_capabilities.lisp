;;; {"description": "Asks what the client can be asked.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_input_required_result_capabilities" ()
  (mcp:ask-all
   (list (mcp:question :elicit "What is your name?"
                       '(:object :type :object
                          :properties (:object :name (:object :type :string))
                          :required (:name))
                       :key "user_name")
         (mcp:question :sample "Generate a greeting" :key "greeting")))
  "Asked.")
