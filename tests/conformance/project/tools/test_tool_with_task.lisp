;;; {"description": "Asks for a name, and works as a task.",
;;;  "requires": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_tool_with_task" ()
  (let ((answer (mcp:ask :elicit "What is your name?"
                         '(:object :type :object
                           :properties (:object :name (:object :type :string))
                           :required (:name))
                         :key "user_name")))
    (sleep 1)
    (format nil "Hello, ~a!" (mcp:ref answer "content" "name"))))
