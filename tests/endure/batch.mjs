// Lines of a batch, one in twenty hostile. Each must be answered once, in order, with its own answer.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Random, eclave } from "./server.mjs";

const AHEAD = 200;

const hostile = [
  ["(ext:quit 3)", "exit"],
  ["(progn (setf *print-base* 2) (loop (write-string (make-string 4000))))", "output"],
  ["(ash 1 999999999999)", "crash"],
  ['(si:call-cfun (si:find-foreign-symbol "kill" :default :pointer-void 0) :int (list :int :int) (list 1 9))', "violation"],
  ["(loop)", "timeout"],
];

export async function batchLines(count, seed, result) {
  const random = new Random(seed);
  const child = spawn(eclave, ["batch", "-j", "2", "--output-max-bytes", "20000", "-"], { stdio: ["pipe", "pipe", "ignore"] });
  child.stdin.on("error", () => {});
  const wanted = [];
  const fault = (kind, what) => {
    result[kind]++;
    if (result.faults.length < 20) result.faults.push(what);
  };
  let sent = 0;
  const send = () => {
    for (; sent < count && sent < result.done + AHEAD; sent++) {
      const line = { id: sent };
      if (random.below(20) === 0) {
        const [code, kind] = random.pick(hostile);
        wanted.push({ kind });
        line.code = code;
        if (kind === "timeout") line.timeout = 0.05;
      } else {
        const number = random.below(1000000);
        wanted.push({ value: String(number + 1) });
        line.code = `(progn (defvar *seen* ${number}) (1+ *seen*))`;
      }
      child.stdin.write(`${JSON.stringify(line)}\n`);
    }
    if (sent === count && !child.stdin.writableEnded) child.stdin.end();
  };
  send();
  for await (const line of createInterface({ input: child.stdout })) {
    const record = JSON.parse(line);
    const expected = wanted[result.done];
    if (record.id !== result.done) fault("wrong", `out of order: ${line.slice(0, 200)}`);
    else if (expected.value && record.values?.[0] !== expected.value) fault("wrong", `instead of ${expected.value}: ${line.slice(0, 300)}`);
    else if (!expected.value && record.outcome !== expected.kind) fault("wrong", `${expected.kind}: ${line.slice(0, 300)}`);
    result.done++;
    send();
  }
  result.lost += count - result.done;
}
