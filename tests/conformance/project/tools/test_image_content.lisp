;;; {"description": "Returns an image.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_image_content" ()
  (mcp:image "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
             "image/png"))
