// The README shows a session and the settings; these are they.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { demo } from "./demo.mjs";

const readme = readFileSync(join(process.env.ROOT, "README.md"), "utf8");

// The block of text behind the comment NAME.
function block(name) {
  return new RegExp(`<!-- ${name} -->\n\`\`\`text\n(.*?)\n\`\`\``, "s").exec(readme)[1];
}

test("the README shows what a client really gets", async () => {
  assert.equal(block("demo"), await demo());
});

test("the README lists the settings of --help", () => {
  const help = execFileSync(process.env.ECLAVE, ["--help"], { encoding: "utf8" });
  assert.equal(block("settings"), help.split("\n").filter((line) => line.startsWith("  --")).join("\n"));
});
