;;; {"description": "Says that the tools have changed.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_trigger_tool_change" ()
  (mcp:publish-change :tools)
  "Said.")
