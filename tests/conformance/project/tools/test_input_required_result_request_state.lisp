;;; {"description": "Asks once and goes on where it was.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_input_required_result_request_state" ()
  (mcp:ask :elicit "Please confirm"
           '(:object :type :object
                          :properties (:object :ok (:object :type :boolean))
                          :required (:ok))
           :key "confirm")
  "state-ok")
