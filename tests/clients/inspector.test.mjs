// The MCP Inspector's command line against the server: the output a user sees and the exit status a
// script sees. One process each, so this is also many whole lives of the server.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { eclave, parseOutput } from "./server.mjs";

const inspector = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
const scratch = mkdtempSync(join(tmpdir(), "eclave-inspector-"));
after(() => rmSync(scratch, { recursive: true }));

const exitOk = 0;
const exitToolError = 5;

// One run of the Inspector on a fresh server. Checks the exit status and the server's every line.
function inspect(expectedStatus, ...options) {
  const record = join(scratch, "output");
  const run = spawnSync(
    process.execPath,
    [inspector, "--cli", ...options, "--", process.execPath, "record.mjs", record, eclave],
    { encoding: "utf8", timeout: 60000, env: { ...process.env, HOME: scratch } },
  );
  const told = `${run.stdout}\n${run.stderr}`;
  assert.equal(run.status, expectedStatus, told);
  assert.ok(parseOutput(readFileSync(record, "utf8")).length > 0, told);
  return run;
}

function json(expectedStatus, ...options) {
  return JSON.parse(inspect(expectedStatus, ...options, "--format", "json", "-q").stdout).result;
}

function call(expectedStatus, tool, toolArguments) {
  return json(
    expectedStatus,
    ...["--method", "tools/call", "--tool-name", tool],
    ...["--tool-args-json", JSON.stringify(toolArguments)],
  );
}

test("tools/list", () => {
  const { tools } = json(exitOk, "--method", "tools/list");
  assert.ok(tools.some(({ name }) => name === "evaluate-lisp"));
});

test("tools/list --strict finds nothing unportable in the schemas", () => {
  const run = inspect(exitOk, "--method", "tools/list", "--strict", "-q");
  assert.equal(run.stderr, "");
});

test("tools/call of a value", () => {
  const result = call(exitOk, "evaluate-lisp", { code: "(+ 1 2)" });
  assert.deepEqual(result.content, [{ type: "text", text: "=> 3" }]);
});

test("tools/call with an argument as a user types it", () => {
  const run = inspect(
    exitOk,
    ...["--method", "tools/call", "--tool-name", "evaluate-lisp"],
    ...["--tool-arg", 'code=(format nil "~r" 1999)'],
  );
  assert.match(run.stdout, /one thousand nine hundred ninety-nine/);
});

test("tools/call of a condition", () => {
  const result = call(exitToolError, "evaluate-lisp", { code: '(error "boom")' });
  assert.equal(result.isError, true);
  assert.match(result.content[0].text, /^\[ERROR\] SIMPLE-ERROR\nboom\n/);
});

test("tools/call of an unknown tool", () => {
  inspect(exitToolError, "--method", "tools/call", "--tool-name", "no-such-tool", "-q");
});

test("a load of 200 calls, 20 at a time, without an error", () => {
  const run = inspect(
    exitOk,
    ...["--method", "tools/call", "--tool-name", "evaluate-lisp", "--tool-arg", "code=(+ 1 2)"],
    ...["--load", "--load-requests", "200", "--load-concurrency", "20", "-q"],
  );
  const { ok, toolErrors, errors } = JSON.parse(run.stdout);
  assert.deepEqual({ ok, toolErrors, errors }, { ok: 200, toolErrors: 0, errors: 0 });
});
