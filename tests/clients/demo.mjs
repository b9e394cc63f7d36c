// The sessions that README.md and doc/tools.md show, run by the official SDK's client.
// `node demo.mjs [short|long]` prints one; demo.test.mjs keeps the pages in sync with it.
import { pathToFileURL } from "node:url";
import { Connection, textOf } from "./server.mjs";

// A line of Lisp is a call of evaluate-lisp, a line that begins with the name of a tool a call of that
// tool. NAME = before a line keeps the session that it opens.
const kill =
  "(si:call-cfun (si:find-foreign-symbol \"kill\" :default :pointer-void 0) :int '(:int :int) '(1 9))";
const sessions = {
  short: [
    ["(defvar *stock* (list :apples 3 :pears 5))"],
    ["(progn (princ \"selling\") (decf (getf *stock* :pears)) *stock*)"],
    ["(progn (setf *stock* nil) (loop))", { timeout: 1 }],
    [kill],
    ["*stock*"],
    ["rollback-session", { steps: 2 }],
    ["*stock*"],
  ],
  long: [
    ["(defvar *stock* (list :apples 3 :pears 5))"],
    ["(defun total () (loop for (nil n) on *stock* by #'cddr sum n))"],
    ["(total)"],
    ["(progn (princ \"selling\") (decf (getf *stock* :pears)) (total))"],
    ["(getf *stock* (first :plums))"],
    ["(progn (setf *stock* nil) (loop))", { timeout: 1 }],
    ["(progn (setf *stock* nil) (ext:quit 3))"],
    ["(open \"/etc/passwd\")"],
    [kill],
    ["*stock*"],
    ["branch = open-session", { from: "main" }],
    ["(setf (getf *stock* :plums) 100)", { session: "branch" }],
    ["(total)", { session: "branch" }],
    ["(total)"],
    ["rollback-session", { steps: 5 }],
    ["(total)"],
  ],
};

const handle = /\bs-[a-hjkmnp-z2-9]{6}\b/g;

function shownArguments(more) {
  const parts = Object.entries(more).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return parts.length ? `   { ${parts.join(", ")} }` : "";
}

async function call(client, name, more) {
  try {
    const result = await client.callTool({ name, arguments: more });
    return { text: textOf(result), session: result._meta?.session };
  } catch (error) {
    return { text: error.message.replace(/^MCP error (-\d+): /, "error $1: ") };
  }
}

export async function demo(name) {
  const server = await Connection.open("--log-level", "emergency");
  const named = {};
  const lines = [];
  for (const [shown, more = {}] of sessions[name]) {
    const [, keep, line] = /^(?:(\w+) = )?(.*)$/s.exec(shown);
    const sent = { ...more };
    if (named[sent.session]) sent.session = named[sent.session];
    const isTool = /^[a-z]+-session/.test(line);
    const { text, session } = isTool
      ? await call(server.client, line, sent)
      : await call(server.client, "evaluate-lisp", { code: line, ...sent });
    if (keep) named[keep] = session;
    lines.push(`> ${shown}${shownArguments(more)}`, text.replace(handle, "s-…").trimEnd(), "");
  }
  await server.close();
  return lines.join("\n").trimEnd();
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) console.log(await demo(process.argv[2] ?? "long"));
