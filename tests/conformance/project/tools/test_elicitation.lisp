;;; {"description": "Asks the user for a name and an address.",
;;;  "inputSchema": {"type": "object", "properties": {"message": {"type": "string", "description": "What the user is shown"}}, "required": ["message"]}}

(mcp:deftool "test_elicitation" (message)
  (let ((answer (mcp:ask :elicit message
                         '(:object
                           :type :object
                           :properties (:object
                                        :username (:object :type :string
                                                           :description "User's response")
                                        :email (:object :type :string
                                                        :description "User's email address"))
                           :required (:username :email)))))
    (format nil "User response: action=~a, content=~a"
            (mcp:ref answer "action") (mcp:write-json (mcp:ref answer "content")))))
