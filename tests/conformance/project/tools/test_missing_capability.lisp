;;; {"description": "Needs a client with a model.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false},
;;;  "requires": {"sampling": {}}}

(mcp:deftool "test_missing_capability" ()
  "The client has a model.")
