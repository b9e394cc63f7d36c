;;; {"description": "Writes a line of the log.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_logging_tool" ()
  (mcp:log :info "logged")
  "A line was logged, for those who asked for it.")
