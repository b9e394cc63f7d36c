;;; {"description": "An image, and a text."}

(mcp:defprompt "test_prompt_with_image" ()
  (list (mcp:message :user
                     (mcp:image "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
                                "image/png"))
        (mcp:message :user "Please analyze the image above.")))
