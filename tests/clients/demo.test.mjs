// The README shows a session; this is it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { demo } from "./demo.mjs";

test("the README shows what a client really gets", async () => {
  const readme = readFileSync(process.env.README, "utf8");
  const [, shown] = /<!-- demo -->\n```text\n(.*?)\n```/s.exec(readme);
  assert.equal(await demo(), shown);
});
