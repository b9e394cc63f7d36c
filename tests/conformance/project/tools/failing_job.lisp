;;; {"description": "Works for a second, as a task, and fails.",
;;;  "requires": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "failing_job" ()
  (sleep 1)
  (mcp:fail "The job failed."))
