;;; {"description": "Asks once; nobody may alter where it goes on.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_input_required_result_tampered_state" ()
  (mcp:ask :elicit "Please confirm"
           '(:object :type :object
                          :properties (:object :ok (:object :type :boolean))
                          :required (:ok))
           :key "confirm")
  "Confirmed.")
