(mcp:deftool "json_schema_2020_12_tool" (&rest all)
  (declare (ignore all))
  (mcp:write-json mcp:*arguments*))
