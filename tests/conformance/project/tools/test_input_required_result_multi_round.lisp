;;; {"description": "Asks twice, one after the other.",
;;;  "inputSchema": {"type": "object", "additionalProperties": false}}

(mcp:deftool "test_input_required_result_multi_round" ()
  (let* ((name (mcp:ask :elicit "Step 1: What is your name?"
                        '(:object :type :object
                          :properties (:object :name (:object :type :string))
                          :required (:name))
                        :key "step1"))
         (color (mcp:ask :elicit "Step 2: What is your favorite color?"
                         '(:object :type :object
                          :properties (:object :color (:object :type :string))
                          :required (:color))
                         :key "step2")))
    (format nil "~a likes ~a." (mcp:ref name "content" "name") (mcp:ref color "content" "color"))))
