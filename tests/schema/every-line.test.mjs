// Checks every line of the server in this test run, which the clients of the tests recorded in the
// directory TEST_RECORD, against the official schemas. Runs after the other tests.
import assert from "node:assert/strict";
import { readFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { faultsIn, readTraffic } from "./traffic.mjs";

const directory = process.env.TEST_RECORD;
assert.ok(directory, "TEST_RECORD names the directory of the records");

test("every line is valid in its revision", (context) => {
  const faults = [];
  let lines = 0;
  const files = readdirSync(directory);
  for (const file of files) {
    const { sent, received } = readTraffic(readFileSync(join(directory, file), "utf8"));
    lines += received.length;
    for (const fault of faultsIn(sent, received)) faults.push(`${file}: ${fault}`);
  }
  context.diagnostic(`${lines} lines of ${files.length} servers`);
  assert.deepEqual(faults.slice(0, 20), []);
  rmSync(directory, { recursive: true });
});
