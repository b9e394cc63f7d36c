// The action for GitHub and the job for GitLab: against the schemas of their hosts, and their steps, run by a shell.
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { parse } from "yaml";

const root = process.env.ROOT;
const dist = join(dirname(process.env.ECLAVE), "dist");
const require = createRequire(import.meta.url);
const work = mkdtempSync(join(tmpdir(), "eclave-ci-"));
after(() => rmSync(work, { recursive: true }));

const submissions = join(work, "submissions");
mkdirSync(submissions);
writeFileSync(join(submissions, "ada.lisp"), "(defun twice (x) (* 2 x))");
writeFileSync(join(submissions, "ben.lisp"), "(defun twice (x) (loop))");
const tests = join(work, "tests.jsonl");
writeFileSync(tests, '{"name":"two","code":"(twice 2)","expect":"4","timeout":1}\n');

// --- GitHub ---

const text = readFileSync(join(root, "action.yml"), "utf8");
const action = parse(text);

test("GitHub accepts the action, and not one with a mistake", () => {
  const validator = join(dirname(require.resolve("@action-validator/core/package.json")), "../cli/cli.mjs");
  const validate = (content) => {
    const directory = mkdtempSync(join(work, "action-"));
    writeFileSync(join(directory, "action.yml"), content);
    return spawnSync(process.execPath, [validator, join(directory, "action.yml")]).status;
  };
  assert.equal(validate(text), 0);
  assert.notEqual(validate(text.replace("using: composite", "usng: composite")), 0);
  assert.notEqual(validate(text.replace("shell: bash", "shel: bash")), 0);
});

/** Runs the steps as GitHub does, until one fails; its status, and the outputs. */
function run(inputs) {
  const temporary = mkdtempSync(join(work, "runner-"));
  const outputs = {};
  const given = Object.fromEntries(Object.entries(action.inputs).map(([name, input]) => [name, inputs[name] ?? input.default ?? ""]));
  const fill = (value) =>
    String(value).replace(/\$\{\{ *(.*?) *\}\}/g, (_, expression) => {
      const [, context, name] = expression.match(/^(inputs|runner|github)\.(\w+)/) ?? [];
      if (context === "inputs") return given[name];
      if (context === "runner") return temporary;
      if (context === "github") return root;
      const [, step, output] = expression.match(/^steps\.(\w+)\.outputs\.(\w+)$/);
      return outputs[`${step}.${output}`];
    });
  for (const step of action.runs.steps) {
    const file = join(temporary, "output");
    writeFileSync(file, "");
    const environment = Object.fromEntries(Object.entries(step.env).map(([name, value]) => [name, fill(value)]));
    const { status, stderr } = spawnSync("bash", ["--noprofile", "--norc", "-eo", "pipefail", "-c", step.run], {
      cwd: temporary,
      encoding: "utf8",
      env: { PATH: "/usr/bin:/bin", HOME: temporary, XDG_CACHE_HOME: join(work, "cache"), GITHUB_OUTPUT: file, ...environment },
    });
    for (const line of readFileSync(file, "utf8").split("\n").filter(Boolean)) {
      const [name, ...value] = line.split("=");
      outputs[`${step.id}.${name}`] = value.join("=");
    }
    if (status) return { status, stderr, outputs, temporary };
  }
  return { status: 0, outputs, temporary };
}

test("the steps install the release and grade", () => {
  const right = run({ source: dist, tests, submissions: `${submissions}/ada*` });
  assert.equal(right.status, 0, right.stderr);
  const both = run({ source: dist, tests, submissions: `${submissions}/*` });
  assert.notEqual(both.status, 0);
  const records = readFileSync(both.outputs["grade.results"], "utf8").trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(records.map((record) => record.points), [1, 0]);
  assert.match(readFileSync(join(both.temporary, "eclave.xml"), "utf8"), /<testsuite /);
});

test("a release that is missing or has been changed is a sentence", () => {
  const missing = run({ source: join(work, "nowhere"), tests, submissions });
  assert.notEqual(missing.status, 0);
  assert.match(missing.stderr, /^cp: .*\neclave: .*nowhere has no SHA256SUMS\n$/);
  const changed = join(work, "changed");
  cpSync(dist, changed, { recursive: true });
  const archive = readdirSync(changed).find((name) => name.endsWith(".tar.zst"));
  writeFileSync(join(changed, archive), "not the archive");
  const result = run({ source: changed, tests, submissions });
  assert.notEqual(result.status, 0);
  assert.match(result.stderr, /^eclave: eclave-.*\.tar\.zst is not the file of SHA256SUMS\n$/);
});

// --- GitLab ---

test("GitLab accepts the job, and its steps grade", async () => {
  const gitlab = join(dirname(require.resolve("gitlab-ci-local/package.json")), "dist/index.js");
  const directory = mkdtempSync(join(work, "gitlab-"));
  const content = readFileSync(join(root, "packaging/ci/gitlab.yml"), "utf8");
  writeFileSync(join(directory, ".gitlab-ci.yml"), content);
  await promisify(execFile)("git", ["init", "--quiet", directory]);
  const { stdout } = await promisify(execFile)(process.execPath, [gitlab, "--list-json"], {
    cwd: directory,
    env: { PATH: process.env.PATH, HOME: directory },
  });
  const [job] = JSON.parse(stdout);
  assert.equal(job.name, "eclave-grade");

  const { before_script: before, script } = parse(content)["eclave-grade"];
  const grade = (patterns) =>
    spawnSync("sh", ["-e", "-c", [...before, ...script].join("\n")], {
      cwd: directory,
      encoding: "utf8",
      env: { PATH: "/usr/bin:/bin", HOME: directory, XDG_CACHE_HOME: join(work, "cache"), RELEASE: dist, TESTS: tests, SUBMISSIONS: patterns },
    });
  const right = grade(`${submissions}/ada.lisp`);
  assert.equal(right.status, 0, right.stderr);
  assert.notEqual(grade(`${submissions}/*`).status, 0);
  assert.match(readFileSync(join(directory, "report.xml"), "utf8"), /<testsuite /);
});
