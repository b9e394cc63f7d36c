;;; {"description": "Runs out of time, which is an error of the protocol.",
;;;  "timeout": 1,
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "protocol_error_job" ()
  (loop))
