;;; {"description": "Says that the prompts have changed.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_trigger_prompt_change" ()
  (mcp:publish-change :prompts)
  "Said.")
