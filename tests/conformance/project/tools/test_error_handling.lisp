;;; {"description": "Always fails.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_error_handling" ()
  (mcp:fail "This tool intentionally returns an error for testing"))
