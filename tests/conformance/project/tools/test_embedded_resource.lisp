;;; {"description": "Returns a resource with its content.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_embedded_resource" ()
  (mcp:resource "test://embedded-resource" "This is an embedded resource content." "text/plain"))
