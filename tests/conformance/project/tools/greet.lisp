;;; {"description": "Greets at once.",
;;;  "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}

(mcp:deftool "greet" (name)
  (format nil "Hello, ~a!" name))
