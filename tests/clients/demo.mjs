// The sessions that README.md and doc/tools.md show, run by the official SDK's client.
// `node demo.mjs [short|long]` prints one; demo.test.mjs keeps the pages in sync with it.
import { pathToFileURL } from "node:url";
import { Connection, textOf } from "./server.mjs";

// A line of Lisp is a call of evaluate-lisp, a line that begins with the name of a tool a call of that
// tool. NAME = before a line keeps the session that it opens.
const kill =
  "(si:call-cfun (si:find-foreign-symbol \"kill\" :default :pointer-void 0) :int '(:int :int) '(1 9))";
const inspect = (operation, more = {}) => ["inspect-lisp", { operation, ...more }];
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
  inspect: [
    ["(defvar *seen* nil)"],
    ["(defun square (x)\n  \"X times X.\"\n  (push x *seen*) ; for later\n  (* x x))"],
    ["(defclass circle () ((radius :initarg :radius :reader radius)))"],
    ["(defmethod area ((shape circle)) (* 355/113 (square (radius shape))))"],
    ["(area (make-instance 'circle :radius \"2\"))"],
    inspect("last-error"),
    inspect("describe", { name: "square" }),
    inspect("source", { name: "square" }),
    inspect("callers", { name: "square" }),
    inspect("callees", { name: "square" }),
    inspect("class", { name: "circle" }),
    inspect("generic-function", { name: "area" }),
    inspect("apropos", { name: "-value", package: "cl", limit: 2 }),
    inspect("object", { form: "(make-instance 'circle :radius '(1 2))", path: "radius" }),
    inspect("macroexpand-all", { form: "(when (area c) (unless d (push 1 *seen*)))" }),
    inspect("time", { form: "(length (loop repeat 10 collect (square 3)))" }),
    inspect("profile", { form: "(dotimes (i 50) (square i))" }),
    inspect("definitions"),
    ["(setf *seen* '(7)) (defun square (x) (expt x 2)) (fmakunbound 'radius)"],
    inspect("changes", { state: 5 }),
    inspect("object", { form: "*seen*", state: 5 }),
  ],
};

// Durations, shares and amounts of memory.
const unit = /\b\d+(?:\.\d+)?( ms|%| bytes)/g;
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
    const isTool = /^[a-z]+-(session|lisp)/.test(line);
    const { text, session } = isTool
      ? await call(server.client, line, sent)
      : await call(server.client, "evaluate-lisp", { code: line, ...sent });
    if (keep) named[keep] = session;
    lines.push(`> ${shown}${shownArguments(more)}`, text.replace(handle, "s-…").replace(unit, "…$1").trimEnd(), "");
  }
  await server.close();
  return lines.join("\n").trimEnd();
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) console.log(await demo(process.argv[2] ?? "long"));
