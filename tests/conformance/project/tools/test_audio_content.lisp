;;; {"description": "Returns a sound.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_audio_content" ()
  (mcp:audio "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA=="
             "audio/wav"))
