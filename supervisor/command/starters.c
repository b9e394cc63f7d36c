/* Small and whole examples of each kind, which `eclave check` finds nothing wrong with. */
#include "supervisor/command/starters.h"

const struct starter starters[STARTER_KINDS] = {
    {"tool",
     FOLDER_TOOLS,
     {{".json", NULL},
      {".lisp",
       ";;; {\"description\": \"Greets somebody. Say here what the tool is good for, and when.\",\n"
       ";;;  \"inputSchema\": {\n"
       ";;;    \"type\": \"object\",\n"
       ";;;    \"properties\": {\n"
       ";;;      \"name\": {\"type\": \"string\", \"description\": \"Whom to greet\"},\n"
       ";;;      \"age\": {\"type\": \"integer\", \"minimum\": 0}\n"
       ";;;    },\n"
       ";;;    \"required\": [\"name\"],\n"
       ";;;    \"additionalProperties\": false}}\n"
       "\n"
       ";; The lines above are JSON: what clients are told, and more (doc/project.md has all).\n"
       ";; Arguments are checked with the schema before this file is evaluated, in a fresh\n"
       ";; confined world for each call. It reaches no file and no network. An argument belongs\n"
       ";; to the parameter of the same name.\n"
       "\n"
       "(mcp:deftool \"%%\" (name &key age)\n"
       "  (when (string= name \"\")\n"
       "    (mcp:fail \"Whom shall I greet?\"))\n"
       "  ;; A string is a text for people; (mcp:object \"key\" value) is a value for programs;\n"
       "  ;; doc/mcp-package.md has the other contents.\n"
       "  (format nil \"Hello, ~a!~@[ You are ~d.~]\" name age))\n"},
      {".test.jsonl",
       "{\"args\": {\"name\": \"Ada\"}, \"expect\": \"Hello, Ada!\"}\n"
       "{\"args\": {\"name\": \"Ada\", \"age\": 36}, \"expect\": \"Hello, Ada! You are 36.\"}\n"
       "{\"args\": {\"name\": \"\"}, \"expectError\": \"Whom shall I greet?\"}\n"
       "{\"args\": {\"age\": 36}, \"expectError\": \"Invalid arguments\"}\n"}}},
    {"resource",
     FOLDER_RESOURCES,
     {{"",
       "Clients read this file as it is, by the URI eclave:///%%.\n"
       "\n"
       "Put here what a model should know: a style guide, a price list, a table. %%.meta.json is\n"
       "what clients are told of it; with \"uri\" there it has another URI, and with \"mimeType\"\n"
       "another type than the one that its ending means. doc/project.md has the other members.\n"},
      {".meta.json", "{\n"
                     "  \"description\": \"Says what is in %%, and when to read it.\",\n"
                     "  \"annotations\": {\"audience\": [\"assistant\"], \"priority\": 0.5}\n"
                     "}\n"}}},
    {"template",
     FOLDER_RESOURCES,
     {{".lisp",
       ";; Makes the resources whose URIs have the form \"uriTemplate\" in %%.lisp.meta.json.\n"
       ";; What stands in the place of {number} belongs to the parameter of that name; one called\n"
       ";; uri gets the whole URI. doc/project.md has the other members of the metadata.\n"
       "\n"
       "(mcp:defresource \"eclave:///%%/{number}\" (number)\n"
       "  (let ((value (ignore-errors (parse-integer number))))\n"
       "    (unless value\n"
       "      (mcp:fail \"~a is no number.\" number))\n"
       "    ;; A string, octets, or (mcp:resource uri contents mime-type), or a list of them.\n"
       "    (format nil \"~d in words: ~r.\" value value)))\n"},
      {".lisp.meta.json",
       "{\n"
       "  \"uriTemplate\": \"eclave:///%%/{number}\",\n"
       "  \"name\": \"%%\",\n"
       "  \"description\": \"A number in words. Say here what the resources are good for.\",\n"
       "  \"mimeType\": \"text/plain\",\n"
       "  \"completions\": {\"number\": [\"1\", \"12\", \"123\"]}\n"
       "}\n"}}},
    {"prompt",
     FOLDER_PROMPTS,
     {{".json", NULL},
      {".txt", NULL},
      {".lisp",
       ";;; {\"description\": \"Asks for a review. Say here what the prompt is good for.\",\n"
       ";;;  \"arguments\": [\n"
       ";;;    {\"name\": \"code\", \"description\": \"What to review\", \"required\": true},\n"
       ";;;    {\"name\": \"language\", \"description\": \"The language it is written in\"}],\n"
       ";;;  \"completions\": {\"language\": [\"C\", \"Common Lisp\", \"Python\"]}}\n"
       "\n"
       ";; The lines above are JSON: what clients are told, and more (doc/project.md has all).\n"
       ";; In the place of a list of completions may stand the name of a file in completions. A\n"
       ";; prompt of text alone needs no Lisp: it is NAME.txt with {{code}} in the text, and\n"
       ";; this JSON in NAME.json. An argument belongs to the parameter of the same name.\n"
       "\n"
       "(mcp:defprompt \"%%\" (code &key language)\n"
       "  ;; A string is what the user says; a list holds several messages, each a string, a\n"
       "  ;; content or (mcp:message :assistant \"…\").\n"
       "  (format nil \"Please review this~@[ ~a~] code. Name the worst mistake first.\n"
       "\n"
       "~a\" language code))\n"}}},
    {"completion",
     FOLDER_COMPLETIONS,
     {{".json", NULL},
      {".lisp",
       ";;; {\"description\": \"Completes names of colours.\"}\n"
       "\n"
       ";; Clients do not see this file. It is asked for values of an argument by each prompt and\n"
       ";; template that has \"completions\": {\"ARGUMENT\": \"%%\"} in its metadata. It gets\n"
       ";; `value`, what is there already, `argument`, its name, and `context`, an object with\n"
       ";; the other arguments, of which (mcp:ref context \"NAME\") is one; it returns a list of\n"
       ";; strings.\n"
       "\n"
       "(defun begins-with-p (start text)\n"
       "  (let ((end (mismatch start text :test #'char-equal)))\n"
       "    (or (null end) (= end (length start)))))\n"
       "\n"
       "(mcp:defcompletion \"%%\" (value)\n"
       "  (remove-if-not (lambda (colour) (begins-with-p value colour))\n"
       "                 '(\"blue\" \"green\" \"grey\" \"red\")))\n"}}},
};
