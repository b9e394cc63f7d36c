// The plugin for Claude Code, and the marketplace in which the repository offers it, as Claude Code reads them.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { claude } from "./program.mjs";

const root = process.env.ROOT;
const work = mkdtempSync(join(tmpdir(), "eclave-plugin-"));
after(() => rmSync(work, { recursive: true }));

const validate = (path) =>
  spawnSync(claude, ["plugin", "validate", path], { encoding: "utf8", env: { PATH: process.env.PATH, HOME: work } });

test("the plugin is valid, and has the server and the skill", () => {
  const { status, stdout } = validate(join(root, "packaging/claude-code"));
  assert.equal(status, 0, stdout);
  assert.match(stdout, /mcpServers: eclave stdio npx/);
  assert.match(stdout, /skills: eclave:lisp/);
});

test("the marketplace is valid", () => {
  const copy = join(work, "repository");
  mkdirSync(join(copy, "packaging"), { recursive: true });
  cpSync(join(root, ".claude-plugin"), join(copy, ".claude-plugin"), { recursive: true });
  cpSync(join(root, "packaging/claude-code"), join(copy, "packaging/claude-code"), { recursive: true });
  const { status, stdout } = validate(copy);
  assert.equal(status, 0, stdout);
  rmSync(join(copy, "packaging"), { recursive: true });
  assert.notEqual(validate(copy).status, 0);
});

test("the skill is short", () => {
  assert.ok(readFileSync(join(root, "packaging/claude-code/skills/lisp/SKILL.md"), "utf8").split("\n").length < 150);
});
