// What a model sees of the server through a client library. A driver opens a connection with one
// library and has
//   call(tool, options, { signal }): what the library hands to a model as the result, as a string;
//   close(): ends the connection, even while a call runs.
// Every driver goes through the same cases, and through one task of twenty steps.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { serverOptions, task } from "./task.mjs";

export const eclave = process.env.ECLAVE;
assert.ok(eclave, "ECLAVE names the server's executable");

// The variables that a sanitized server needs.
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => /^(A|L|UB)SAN_OPTIONS$|^PATH$/.test(name)),
);

// A command that runs the server and leaves its pid in a file.
function serverIn(directory) {
  const script = join(directory, "server");
  const pid = join(directory, "pid");
  writeFileSync(script, `#!/bin/sh\n[ $# = 0 ] || echo $$ >${pid}\nexec ${eclave} "$@" 2>${join(directory, "log")}\n`, { mode: 0o755 });
  return { command: script, args: serverOptions, env: environment, pid };
}

async function waitForEnd(pidFile) {
  const pid = readFileSync(pidFile, "utf8").trim();
  while (existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(statusOf(pid))) await setTimeout(20);
}

function statusOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/status`, "utf8");
  } catch {
    return "State: Z";
  }
}

// What must be in the text that the model gets. `code` is evaluated in the session `cases`.
const cases = [
  { name: "a value", code: '(princ "hello") (values (+ 1 2) :two)', seen: ["hello", "=> 3\n=> :TWO"] },
  { name: "no values", code: "(values)", seen: ["; no values"] },
  { name: "an error", code: '(error "boom ~a" 7)', seen: ["[ERROR] SIMPLE-ERROR\nboom 7", "[Backtrace]"] },
  { name: "an error of the reader", code: "(list 1", seen: ["[ERROR] END-OF-FILE"] },
  {
    name: "a time-out",
    code: '(progn (princ "so far") (finish-output) (loop))',
    timeout: 0.5,
    seen: ["[ERROR] TIMEOUT", "0.5 s", "so far", "as it was before the call"],
  },
  {
    name: "a flood",
    code: '(loop (princ "all work and no play "))',
    seen: ["[ERROR] OUTPUT-LIMIT", "200000", "as it was before the call"],
  },
  { name: "a process that exits", code: "(ext:quit 3)", seen: ["[ERROR] PROCESS-EXIT", "status 3"] },
  {
    name: "a long answer",
    code: "(dotimes (i 10000) (format t \"line ~d~%\" i)) :end",
    seen: ["line 0\n", "line 9999\n", "left out", "=> :END"],
    most: 41000,
  },
];

// TEXT as the model reads it: some libraries hand on JSON with the text in it.
export function textIn(value) {
  if (typeof value === "string") {
    try {
      return textIn(JSON.parse(value));
    } catch {
      return value;
    }
  }
  if (Array.isArray(value)) return value.map(textIn).join("\n");
  if (value && typeof value === "object") {
    if ("content" in value) return textIn(value.content);
    if ("text" in value) return String(value.text);
    if ("value" in value) return textIn(value.value);
  }
  return JSON.stringify(value);
}

// Runs the script. Returns the number of steps.
async function follow(host, script) {
  let steps = 0;
  let next = script.next();
  for (; !next.done; steps++) {
    const calls = next.value;
    const seen = Array.isArray(calls[0])
      ? await Promise.all(calls.map(([tool, options]) => host.call(tool, options).then(textIn)))
      : textIn(await host.call(...calls));
    next = script.next(seen);
  }
  return steps;
}

// OPEN connects the library to { command, args, env }. `cancels`: it tells the server that a call was
// aborted. `shows`: it hands on the message of an error.
export function checkHost(name, open, { cancels = true, shows = true } = {}) {
  describe(name, () => {
    const directory = mkdtempSync(join(tmpdir(), "eclave-host-"));
    let host;
    let server;

    before(async () => {
      server = serverIn(directory);
      host = await open(server);
    });
    after(async () => {
      await host.close();
      await waitForEnd(server.pid);
      rmSync(directory, { recursive: true });
    });

    const evaluate = (code, more = {}, options = {}) =>
      host.call("evaluate-lisp", { code, session: "cases", ...more }, options).then(textIn);

    for (const { name, code, timeout, seen, most } of cases)
      test(`the model sees ${name}`, async () => {
        const text = await evaluate(code, timeout ? { timeout } : {});
        for (const part of seen) assert.ok(text.includes(part), `${JSON.stringify(part)} is not in: ${text.slice(0, 2000)}`);
        if (most) assert.ok(text.length <= most, `${text.length} characters`);
      });

    test("the model sees sixteen parallel calls", async () => {
      const calls = Array.from({ length: 16 }, (_, i) =>
        evaluate(`(progn (sleep 0.2) (list ${i} :of-sixteen))`, { session: `p${i}` }));
      const texts = await Promise.all(calls);
      texts.forEach((text, i) => assert.ok(text.includes(`=> (${i} :OF-SIXTEEN)`), text));
    });

    if (!cancels)
      test("a call that the library abandons holds up no other session", async () => {
        const stop = new AbortController();
        const running = evaluate("(loop)", { timeout: 2, session: "abandoned" }, { signal: stop.signal });
        running.catch(() => {});
        await setTimeout(300);
        stop.abort(new Error("changed my mind"));
        assert.ok((await evaluate("(list :other)")).includes("=> (:OTHER)"));
        await running.catch(() => {});
      });
    else
      test("a cancelled call ends, and the next one works", async () => {
        const stop = new AbortController();
        await evaluate("(defvar *kept* 1)");
        const running = evaluate("(progn (setf *kept* 2) (loop))", { timeout: 60 }, { signal: stop.signal });
        running.catch(() => {});
        await setTimeout(300);
        stop.abort(new Error("changed my mind"));
        await running.catch(() => {});
        assert.ok((await evaluate("(list *kept* :kept)")).includes("=> (1 :KEPT)"));
      });

    test("a task of twenty steps ends with the right state", async () => {
      assert.equal(await follow(host, task()), 20);
    });

    test(`the model ${shows ? "sees" : "does not see"} the error for a time-out`, async () => {
      const other = await open({ ...server, args: [] });
      const options = { code: '(progn (princ "so far") (finish-output) (loop))', timeout: 0.5, session: "other" };
      const text = await other.call("evaluate-lisp", options).then(textIn, ({ message }) => message);
      for (const part of ["Tool timed out.", "0.5 s", "as it was before the call", "so far"])
        assert.equal(text.includes(part), shows, text);
      await other.close();
    });

    test("closing while a call runs ends the server", async () => {
      const running = evaluate("(loop)", { timeout: 60 });
      running.catch(() => {});
      await setTimeout(300);
      await host.close();
      await waitForEnd(server.pid);
      host = await open(server);
    });
  });
}
