// The parts of scripts/endure at a small scale, and with a server that loses an answer, changes one, or
// leaves something behind: the trials must notice.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const trial = `
  const { batchLines } = await import("./batch.mjs");
  const { cycles } = await import("./cycles.mjs");
  const { messages } = await import("./messages.mjs");
  const result = { done: 0, lost: 0, wrong: 0, leaks: 0, faults: [] };
  await { messages, cycles, batch: batchLines }[process.argv[1]](Number(process.argv[2]), 1, result);
  console.log(JSON.stringify(result));
  process.exit();`;

function run(part, count, eclave = process.env.ECLAVE) {
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", trial, part, String(count)], {
    cwd: import.meta.dirname ?? ".",
    env: { ...process.env, ECLAVE: eclave, ENDURE_SILENCE_MS: eclave === process.env.ECLAVE ? "" : "3000" },
    encoding: "utf8",
  });
  assert.ok(stdout, stderr);
  return JSON.parse(stdout);
}

function expectGood(result, count) {
  assert.deepEqual([result.lost, result.wrong, result.leaks], [0, 0, 0], result.faults.join("\n"));
  assert.equal(result.done, count);
}

test("messages", () => expectGood(run("messages", 1500), 1500));
test("cycles", () => expectGood(run("cycles", 100), 100));
test("batch lines", () => expectGood(run("batch", 300), 300));

// A server whose output passes through FILTER.
function filtered(filter, use) {
  const directory = mkdtempSync(join(tmpdir(), "endure-"));
  const program = join(directory, "filtered");
  writeFileSync(program, `#!/bin/sh\n"${process.env.ECLAVE}" "$@" | ${filter}\n`);
  chmodSync(program, 0o755);
  try {
    return use(program);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test("a lost answer is noticed", () => {
  assert.ok(filtered("sed -u 40d", (program) => run("messages", 100, program)).lost > 0);
  assert.ok(filtered("sed -u 40d", (program) => run("batch", 100, program)).wrong > 0);
});

test("a wrong state is noticed", () => {
  assert.ok(filtered("sed -u 's/=> 7/=> 8/'", (program) => run("cycles", 20, program)).wrong > 0);
});
