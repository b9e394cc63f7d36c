;;; {"description": "Asks the user to choose, in each way that there is.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_elicitation_sep1330_enums" ()
  (let ((answer
          (mcp:ask :elicit "Please select options from the enum fields"
                   '(:object
                     :type :object
                     :properties
                     (:object
                      :untitled-single
                      (:object :type :string :enum #("option1" "option2" "option3"))
                      :titled-single
                      (:object :type :string
                               :one-of #((:object :const "value1" :title "First Option")
                                         (:object :const "value2" :title "Second Option")
                                         (:object :const "value3" :title "Third Option")))
                      :legacy-enum
                      (:object :type :string :enum #("opt1" "opt2" "opt3")
                               :enum-names #("Option One" "Option Two" "Option Three"))
                      :untitled-multi
                      (:object :type :array
                               :items (:object :type :string
                                               :enum #("option1" "option2" "option3")))
                      :titled-multi
                      (:object :type :array
                               :items (:object
                                       :any-of #((:object :const "value1" :title "First Choice")
                                                 (:object :const "value2" :title "Second Choice")
                                                 (:object :const "value3"
                                                          :title "Third Choice")))))))))
    (format nil "Elicitation completed: action=~a, content=~a"
            (mcp:ref answer "action") (mcp:write-json (mcp:ref answer "content")))))
