;;; {"description": "Tells three times how far it is.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_tool_with_progress" ()
  (dolist (progress '(0 50 100) "The work is done.")
    (mcp:progress progress 100 (format nil "Completed step ~d of 100" progress))
    (sleep 1/20)))
