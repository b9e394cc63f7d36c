// The plugin for Claude Code, and the marketplace in which the repository offers it, as Claude Code reads them.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { claude } from "./program.mjs";

const root = process.env.ROOT;
const work = mkdtempSync(join(tmpdir(), "eclave-plugin-"));
after(() => rmSync(work, { recursive: true }));

const validate = (path, ...options) =>
  spawnSync(claude, ["plugin", "validate", ...options, path], { encoding: "utf8", env: { PATH: process.env.PATH, HOME: work } });

/** A copy of DIRECTORY in which CHANGE has been made to the members of FILE. */
function changed(directory, file, change) {
  const copy = mkdtempSync(join(work, "changed-"));
  cpSync(join(root, directory), join(copy, directory), { recursive: true });
  const value = JSON.parse(readFileSync(join(copy, directory, file), "utf8"));
  writeFileSync(join(copy, directory, file), JSON.stringify({ ...value, ...change }));
  return copy;
}

test("the plugin is valid, fit for the directory of plugins, and has the server and the skill", () => {
  const { status, stdout } = validate(join(root, "packaging/claude-code"), "--profile", "directory");
  assert.equal(status, 0, stdout);
  assert.match(stdout, /mcpServers: eclave stdio npx/);
  assert.match(stdout, /skills: eclave:lisp/);
  const nameless = changed("packaging/claude-code", ".claude-plugin/plugin.json", { name: undefined });
  assert.notEqual(validate(join(nameless, "packaging/claude-code")).status, 0);
});

test("the marketplace is valid, and its plugin is there", () => {
  const copy = changed(".claude-plugin", "marketplace.json", {});
  const { status, stdout } = validate(copy);
  assert.equal(status, 0, stdout);
  assert.notEqual(validate(changed(".claude-plugin", "marketplace.json", { owner: undefined })).status, 0);
  const { plugins } = JSON.parse(readFileSync(join(root, ".claude-plugin/marketplace.json"), "utf8"));
  for (const { source } of plugins) assert.ok(existsSync(join(root, source, ".claude-plugin/plugin.json")), source);
});

test("the skill is short", () => {
  assert.ok(readFileSync(join(root, "packaging/claude-code/skills/lisp/SKILL.md"), "utf8").split("\n").length < 150);
});
