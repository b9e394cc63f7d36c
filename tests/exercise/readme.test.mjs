// The README shows the exercise sheet, graded; this is it, and so is what goes into a pipeline.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";

const { ECLAVE, ROOT } = process.env;
const readme = readFileSync(join(ROOT, "README.md"), "utf8");
const directory = mkdtempSync(join(tmpdir(), "eclave-exercise-"));
cpSync(join(ROOT, "tests/exercise"), join(directory, "tests/exercise"), { recursive: true });
after(() => rmSync(directory, { recursive: true }));

// The block of that language behind the comment NAME.
function block(name, language) {
  return new RegExp(`<!-- ${name} -->\n\`\`\`${language}\n(.*?)\`\`\``, "s").exec(readme)[1];
}

function shell(script) {
  const result = spawnSync("sh", ["-c", script], {
    cwd: directory,
    encoding: "utf8",
    env: { ...process.env, PATH: `${dirname(ECLAVE)}:${process.env.PATH}` },
  });
  return { output: result.stdout, error: result.stderr, status: result.status };
}

// The time at the end of the summary is not the same twice.
function withoutTime(text) {
  return text.replace(/[0-9.]+ s$/m, "… s");
}

test("the README shows the exercise sheet as it is graded", () => {
  const [first, ...shown] = block("exercise", "console").split("\n");
  assert.match(first, /^\$ /);
  const { output } = shell(`{ ${first.slice(2)}; } 2>&1`);
  const summary = output.split("\n").filter((line) => line.startsWith("eclave: "));
  const lines = output.split("\n").filter((line) => !line.startsWith("eclave: "));
  const expected = shown.filter((line) => !line.startsWith("eclave: "));
  assert.equal(lines.join("\n"), expected.join("\n"));
  assert.deepEqual(summary.map(withoutTime), shown.filter((line) => line.startsWith("eclave: ")).map(withoutTime));
});

test("the step of the README fails a pipeline and leaves its results behind", () => {
  const { status, error } = shell(block("step", "sh"));
  assert.equal(status, 1, error);
  const results = readFileSync(join(directory, "results.jsonl"), "utf8").trim().split("\n").map(JSON.parse);
  assert.equal(results.length, 18);
  assert.ok(results.every(({ pass }) => typeof pass === "boolean"));
  assert.match(readFileSync(join(directory, "report.xml"), "utf8"), /tests="18"/);
});

test("a submission that prints a verdict is not believed", () => {
  shell(block("step", "sh"));
  const results = readFileSync(join(directory, "results.jsonl"), "utf8").trim().split("\n").map(JSON.parse);
  const eve = results.filter(({ id }) => id.startsWith("eve"));
  assert.equal(eve.length, 3);
  assert.ok(eve.every(({ pass }) => pass === false));
  assert.deepEqual(eve.map(({ outcome }) => outcome), ["error", "value", "violation"]);
});
