// README.md, doc/batch.md and doc/project.md show commands and their output. These tests run them.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";

const { ECLAVE, ROOT } = process.env;
const directory = mkdtempSync(join(tmpdir(), "eclave-exercise-"));
cpSync(join(ROOT, "tests/exercise"), join(directory, "tests/exercise"), { recursive: true });
after(() => rmSync(directory, { recursive: true }));

// The block in LANGUAGE after the comment NAME in PAGE.
function block(page, name, language) {
  const text = readFileSync(join(ROOT, page), "utf8");
  return new RegExp(`<!-- ${name} -->\n\`\`\`${language}\n(.*?)\`\`\``, "s").exec(text)[1];
}

function shell(script) {
  const result = spawnSync("sh", ["-c", script], {
    cwd: directory,
    encoding: "utf8",
    env: { ...process.env, PATH: `${dirname(ECLAVE)}:${process.env.PATH}` },
  });
  return { output: result.stdout, error: result.stderr, status: result.status };
}

// The summary ends with the time that the run took.
function withoutTime(text) {
  return text.replace(/[0-9.]+ s$/m, "… s");
}

test("doc/batch.md shows the exercise sheet as it is graded", () => {
  const [first, ...shown] = block("doc/batch.md", "exercise", "console").split("\n");
  assert.match(first, /^\$ /);
  const { output } = shell(`{ ${first.slice(2)}; } 2>&1`);
  const summary = output.split("\n").filter((line) => line.startsWith("eclave: "));
  const lines = output.split("\n").filter((line) => !line.startsWith("eclave: "));
  const expected = shown.filter((line) => !line.startsWith("eclave: "));
  assert.equal(lines.join("\n"), expected.join("\n"));
  assert.deepEqual(summary.map(withoutTime), shown.filter((line) => line.startsWith("eclave: ")).map(withoutTime));
});

test("the step in the README fails a pipeline and leaves its results", () => {
  const { status, error } = shell(block("README.md", "step", "sh"));
  assert.equal(status, 1, error);
  const results = readFileSync(join(directory, "results.jsonl"), "utf8").trim().split("\n").map(JSON.parse);
  assert.equal(results.length, 18);
  assert.ok(results.every(({ pass }) => typeof pass === "boolean"));
  assert.match(readFileSync(join(directory, "report.xml"), "utf8"), /tests="18"/);
});

test("a submission that prints a verdict does not change its own", () => {
  shell(block("README.md", "step", "sh"));
  const results = readFileSync(join(directory, "results.jsonl"), "utf8").trim().split("\n").map(JSON.parse);
  const eve = results.filter(({ id }) => id.startsWith("eve"));
  assert.equal(eve.length, 3);
  assert.ok(eve.every(({ pass }) => pass === false));
  assert.deepEqual(eve.map(({ outcome }) => outcome), ["error", "value", "violation"]);
});

// The commands of a console block, each with its output.
function commands(text) {
  return text.split(/^\$ /m).slice(1).map((part) => {
    const [command, ...output] = part.split("\n");
    return { command, output: output.join("\n") };
  });
}

test("the tool in doc/project.md is scaffolded, tested and called as shown", () => {
  const page = "doc/project.md";
  const run = (name) => {
    for (const { command, output } of commands(block(page, name, "console")))
      assert.deepEqual(shell(command), { output, error: "", status: 0 });
  };
  run("tool-new");
  writeFileSync(join(directory, "words/tools/count-words.lisp"), block(page, "tool-source", "lisp"));
  writeFileSync(join(directory, "words/tools/count-words.test.jsonl"), block(page, "tool-tests", "json"));
  run("tool-check");
});
