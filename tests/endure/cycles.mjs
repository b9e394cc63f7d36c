// Crashes, time-outs, exits and violations, each followed by a check of the session's state.
import { Random, Server } from "./server.mjs";

const failures = [
  { code: "(progn (setf *n* -1) (ext:quit 1))", outcome: "exit" },
  { code: "(progn (setf *n* -1) (loop))", timeout: 0.01, outcome: "timeout" },
  { code: "(progn (setf *n* -1) (ash 1 999999999999))", outcome: "crash" },
  { code: '(progn (setf *n* -1) (si:call-cfun (si:find-foreign-symbol "fork" :default :pointer-void 0) :int nil nil) (si:call-cfun (si:find-foreign-symbol "kill" :default :pointer-void 0) :int (list :int :int) (list 1 9)))', outcome: "violation" },
  { code: "(progn (setf *n* -1) (loop (write-string (make-string 4000))))", outcome: "flood" },
];

export async function cycles(count, seed, result) {
  const random = new Random(seed);
  const server = new Server(["--output-max-bytes", "20000", "--session-history", "2"]);
  const waiting = new Map();
  let id = 0;
  server.onLine = (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  };
  server.ended.then(() => waiting.forEach((resolve) => resolve(null)));
  const send = (method, params) =>
    new Promise((resolve) => {
      const timer = setTimeout(() => resolve(null), 60000);
      waiting.set(++id, (message) => {
        clearTimeout(timer);
        resolve(message);
      });
      server.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
  const evaluate = (args) => send("tools/call", { name: "evaluate-lisp", arguments: args });
  const fault = (kind, what) => {
    result[kind]++;
    if (result.faults.length < 20) result.faults.push(what);
  };
  await send("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "endure", version: "1" } });
  await evaluate({ code: "(defvar *n* 0)" });
  let n = 0;
  let before;
  for (; result.done < count; result.done++) {
    if (result.done === Math.min(200, count >> 1)) {
      await new Promise((resolve) => setTimeout(resolve, 300));
      before = [server.descriptors(), server.children(), server.residentKb()];
    }
    const failure = random.pick(failures);
    const failed = await evaluate({ code: failure.code, ...(failure.timeout && { timeout: failure.timeout }) });
    if (!failed) fault("lost", `no answer to a ${failure.outcome}`);
    else if (!failed.error && !failed.result.isError) fault("wrong", `${failure.outcome}: ${JSON.stringify(failed).slice(0, 200)}`);
    const checked = await evaluate({ code: "(incf *n*)" });
    n++;
    if (!checked) fault("lost", "no answer to a check");
    else if (checked.result?.content[0].text !== `=> ${n}`) fault("wrong", `state after a ${failure.outcome}: ${JSON.stringify(checked).slice(0, 300)}`);
    if (!failed || !checked) break;
  }
  await new Promise((resolve) => setTimeout(resolve, 300));
  const after = [server.descriptors(), server.children(), server.residentKb()];
  ["descriptors", "children", "resident"].forEach((name, i) => {
    if (after[i] > before[i] + [0, 0, 4096][i]) fault("leaks", `${name}: ${before[i]} became ${after[i]}`);
  });
  const { status } = await server.end();
  if (status !== 0) fault("wrong", `exit status ${status}`);
}
