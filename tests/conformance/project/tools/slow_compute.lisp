;;; {"description": "Takes its time.",
;;;  "timeout": 100,
;;;  "inputSchema": {"type": "object", "properties": {"seconds": {"type": "number"}, "label": {"type": "string"}}, "required": ["seconds"]}}

(mcp:deftool "slow_compute" (seconds &key (label "no label"))
  (sleep seconds)
  (format nil "~a: computed for ~a s." label seconds))
