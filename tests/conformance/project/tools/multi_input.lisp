;;; {"description": "Asks two things, after a second.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "multi_input" ()
  (sleep 1)
  (let ((answers (mcp:ask-all
                  (loop for key in '("first" "second")
                        collect (mcp:question :elicit (format nil "The ~a name?" key)
                                              '(:object :type :object
                                                :properties (:object :name (:object :type :string))
                                                :required (:name))
                                              :key key)))))
    (format nil "~{~a~^ and ~}"
            (loop for answer in (coerce answers 'list) collect (mcp:ref answer "content" "name")))))
