// The pages show two sessions and the settings. Each test runs one and compares.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { demo } from "./demo.mjs";

const root = process.env.ROOT;

// The text block after the comment NAME in PAGE.
function block(page, name) {
  const text = readFileSync(join(root, page), "utf8");
  return new RegExp(`<!-- ${name} -->\n\`\`\`text\n(.*?)\n\`\`\``, "s").exec(text)[1];
}

test("the README shows what a client receives", async () => {
  assert.equal(block("README.md", "demo"), await demo("short"));
});

test("doc/tools.md shows what a client receives", async () => {
  assert.equal(block("doc/tools.md", "demo"), await demo("long"));
});

test("doc/inspect.md shows what a client receives", async () => {
  assert.equal(block("doc/inspect.md", "demo"), await demo("inspect"));
});

test("doc/limits.md lists the settings of --help", () => {
  const help = execFileSync(process.env.ECLAVE, ["--help"], { encoding: "utf8" });
  const settings = help.split("\n").filter((line) => line.startsWith("  --"));
  assert.equal(block("doc/limits.md", "settings"), settings.join("\n"));
});
