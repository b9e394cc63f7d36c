;;; {"description": "Returns one text.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_simple_text" ()
  "This is a simple text response for testing.")
