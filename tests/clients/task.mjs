// A task as a model does it, with every kind of trouble on the way.
import assert from "node:assert/strict";

// Options of a server for it: time-outs and floods as results, since several hosts show their model no
// message of an error.
export const serverOptions = ["--timeout-reply", "result", "--output-max-bytes", "200000"];

const crash = '(si:call-cfun (si:find-foreign-symbol "abort" :default :pointer-void 0) :void () ())';

// Yields calls [tool, arguments], or arrays of calls that run side by side, and gets the text of each.
// Twenty steps.
export function* task() {
  const evaluate = (code, more = {}) => ["evaluate-lisp", { code, session: "task", ...more }];
  const expect = (text, ...parts) => {
    for (const part of parts) assert.ok(text.includes(part), `${JSON.stringify(part)} is not in: ${text.slice(0, 2000)}`);
  };
  expect(yield evaluate("(defvar *orders* (list 3 5 8))"), "*ORDERS*", "session task"); // 1
  expect(yield evaluate("(defun total () (reduce #'+ *orders*))"), "TOTAL"); // 2
  expect(yield evaluate("(total)"), "=> 16"); // 3
  expect(yield evaluate("(total-of *orders*)"), "UNDEFINED-FUNCTION", "TOTAL-OF"); // 4
  expect(yield evaluate("(progn (setf *orders* nil) (loop))", { timeout: 0.5 }), "TIMEOUT"); // 5
  expect(yield evaluate("(total)"), "=> 16"); // 6
  expect(yield evaluate(`(progn (setf *orders* nil) ${crash})`), "WORKER-CRASH", "SIGABRT"); // 7
  expect(yield evaluate("*orders*"), "=> (3 5 8)"); // 8
  expect(yield ["open-session", { from: "task", name: "branch" }], "branch"); // 9
  expect(yield evaluate("(push 100 *orders*) (total)", { session: "branch" }), "=> 116"); // 10
  expect(yield evaluate("(total)"), "=> 16"); // 11
  const squares = yield Array.from({ length: 16 }, (_, i) => // 12
    evaluate(`(progn (sleep 0.1) (* ${i} ${i} (length *orders*)))`, { session: i % 2 ? "branch" : "task" }));
  squares.forEach((text, i) => expect(text, `=> ${i * i * (i % 2 ? 4 : 3)}`));
  expect(yield evaluate("(dotimes (i 20000) (print i)) :done"), "left out", "=> :DONE"); // 13
  expect(yield evaluate("(push 13 *orders*) (push 21 *orders*)"), "(21 13 3 5 8)"); // 14
  expect(yield ["rollback-session", { session: "task", steps: 1 }], "before its last 1 call"); // 15
  expect(yield evaluate("*orders*"), "=> (3 5 8)"); // 16
  expect(yield evaluate('(open "/etc/passwd")'), "FILE-ERROR"); // 17
  expect(yield ["list-sessions", {}], "task", "branch"); // 18
  expect(yield ["close-session", { session: "branch" }], "closed"); // 19
  expect(yield evaluate("(list (total) *orders*)"), "=> (16 (3 5 8))"); // 20
}
