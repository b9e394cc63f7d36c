;;; {"description": "Asks the user by a form that is filled in already.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_elicitation_sep1034_defaults" ()
  (let ((answer (mcp:ask :elicit "Please review and update the form fields with defaults"
                         '(:object
                           :type :object
                           :properties (:object
                                        :name (:object :type :string :default "John Doe")
                                        :age (:object :type :integer :default 30)
                                        :score (:object :type :number :default 95.5d0)
                                        :status (:object :type :string
                                                         :enum #("active" "inactive" "pending")
                                                         :default "active")
                                        :verified (:object :type :boolean :default t))
                           :required #()))))
    (format nil "Elicitation completed: action=~a, content=~a"
            (mcp:ref answer "action") (mcp:write-json (mcp:ref answer "content")))))
