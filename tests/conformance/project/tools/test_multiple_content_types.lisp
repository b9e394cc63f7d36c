;;; {"description": "Returns a text, an image and a resource.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_multiple_content_types" ()
  (list "Multiple content types test:"
        (mcp:image "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
                   "image/png")
        (mcp:resource "test://mixed-content-resource"
                      (mcp:write-json '(:object :test "data" :value 123))
                      "application/json")))
