(mcp:defresource "test://template/{id}/data" (id)
  (mcp:write-json (mcp:object "id" id
                              "templateTest" t
                              "data" (format nil "Data for ID: ~a" id))))
