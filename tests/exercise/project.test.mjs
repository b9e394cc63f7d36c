// doc/project.md shows whole projects. These tests write, check and call them.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";

const { ECLAVE, ROOT } = process.env;
const page = readFileSync(join(ROOT, "doc/project.md"), "utf8");
const directory = mkdtempSync(join(tmpdir(), "eclave-project-page-"));
after(() => rmSync(directory, { recursive: true }));

// The blocks after comments of this KIND, each with the rest of its comment.
function blocks(kind) {
  const pattern = new RegExp(`<!-- ${kind}(?: ([^\\n]+))? -->\n\`\`\`[a-z]+\n(.*?)\`\`\``, "gs");
  return [...page.matchAll(pattern)].map(([, about, text]) => ({ about, text }));
}

for (const { about, text } of blocks("file")) {
  mkdirSync(dirname(join(directory, about)), { recursive: true });
  writeFileSync(join(directory, about), text);
}

function run(command, input) {
  const { status, stdout, stderr } = spawnSync("sh", ["-c", command], {
    cwd: directory,
    encoding: "utf8",
    input,
    env: { ...process.env, PATH: `${dirname(ECLAVE)}:${process.env.PATH}` },
  });
  return { status, output: stdout, error: stderr };
}

// What a client of 2025-11-25 receives for each {method, params}.
function ask(project, requests) {
  const initialize = {
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "page", version: "1" } },
  };
  const lines = [initialize, ...requests].map((request, id) => ({ jsonrpc: "2.0", id, ...request }));
  lines.splice(1, 0, { jsonrpc: "2.0", method: "notifications/initialized" });
  const input = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const { output, error } = run(`eclave --project ${project}`, input);
  const answers = output.trim().split("\n").map((line) => JSON.parse(line));
  return requests.map((_, i) => {
    const answer = answers.find(({ id }) => id === i + 1);
    assert.ok(answer?.result, `${JSON.stringify(answer)} ${error}`);
    return answer.result;
  });
}

// method {params}
// => {result}
function exchanges(text) {
  return text.split(/\n(?=[a-z]+\/)/).map((part) => {
    const [, method, params, result] = /^(\S+) (.*?)\n=> (.*)$/s.exec(part);
    return { request: { method, params: JSON.parse(params) }, result: JSON.parse(result) };
  });
}

test("the commands of the page print the output shown", () => {
  run("eclave eval -", "1"); // the first start writes an image, and says so
  const shown = blocks("run");
  assert.equal(shown.length, 2);
  for (const { text } of shown)
    for (const part of text.split(/^\$ /m).slice(1)) {
      const [command, ...output] = part.split("\n");
      assert.deepEqual(run(command), { status: 0, output: output.join("\n"), error: "" });
    }
});

test("a client receives the answers of the page", () => {
  const shown = blocks("ask").map(({ about, text }) => ({ project: about, parts: exchanges(text) }));
  assert.ok(shown.length >= 5);
  for (const { project, parts } of shown)
    assert.deepEqual(ask(project, parts.map(({ request }) => request)), parts.map(({ result }) => result));
});

// The tables of the page have every member that metadata.c knows, and no other.
test("the page names every member of metadata", () => {
  const source = readFileSync(join(ROOT, "supervisor/registry/metadata.c"), "utf8");
  const table = /members\[\] = \{\n(.*?)\n\};/s.exec(source)[1];
  const known = new Set([...table.matchAll(/\{"(\w+)",/g)].map(([, name]) => name));
  const [metadata] = page.split("\n## register.json");
  const documented = new Set([...metadata.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name));
  assert.deepEqual([...documented].sort(), [...known].sort());
});
