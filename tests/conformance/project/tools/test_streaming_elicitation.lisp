;;; {"description": "Asks the user something.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_streaming_elicitation" ()
  (mcp:ask :elicit "Go on?" '(:object :type :object
                              :properties (:object :ok (:object :type :boolean))))
  "It went on.")
