;;; {"description": "Writes three lines of the log while it works.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_tool_with_logging" ()
  (dolist (line '("Tool execution started" "Tool processing data" "Tool execution completed")
                "Tool with logging executed successfully")
    (mcp:log :info line)
    (sleep 1/20)))
