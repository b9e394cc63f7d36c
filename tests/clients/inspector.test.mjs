// The MCP Inspector's command line with the server: its output and exit status. Each test starts a
// server of its own.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { makeRecords, takeRecords } from "./records.mjs";

const { ECLAVE: eclave } = process.env;
const inspector = "../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
const home = mkdtempSync(join(tmpdir(), "eclave-inspector-"));
after(() => rmSync(home, { recursive: true }));

const exitOk = 0;
const exitToolError = 5;

// Runs the Inspector on a new server; checks the exit status and every line of the server.
function inspect(era, expectedStatus, ...options) {
  const directory = makeRecords();
  const server = [process.execPath, "record.mjs", directory, eclave];
  const run = spawnSync(
    process.execPath,
    [inspector, "--cli", "--protocol-era", era, ...options, "--", ...server],
    { encoding: "utf8", timeout: 60000, env: { ...process.env, HOME: home } },
  );
  const output = `${run.stdout}\n${run.stderr}`;
  assert.equal(run.status, expectedStatus, output);
  const messages = takeRecords(directory).flatMap(({ received }) => received);
  assert.ok(messages.length > 0, output);
  for (const { result } of messages) assert.equal(result && "resultType" in result, result && era === "modern");
  return run;
}

for (const era of ["legacy", "modern"])
  describe(`the Inspector in the ${era} era`, () => {
    function json(expectedStatus, ...options) {
      return JSON.parse(inspect(era, expectedStatus, ...options, "--format", "json", "-q").stdout).result;
    }

    function call(expectedStatus, tool, toolArguments) {
      return json(
        expectedStatus,
        ...["--method", "tools/call", "--tool-name", tool],
        ...["--tool-args-json", JSON.stringify(toolArguments)],
      );
    }

    // The text of a result, without the line that names the session.
    function textOf({ content }) {
      assert.equal(content.length, 1);
      assert.equal(content[0].type, "text");
      const named = content[0].text.match(/^; session \S+$/m);
      assert.equal(named !== null, era === "modern", content[0].text);
      return content[0].text.replace(/\n; session \S+$/, "");
    }

    test("initialize", () => {
      const result = json(exitOk, "--method", "initialize");
      assert.equal(result.serverInfo.name, "eclave");
      assert.equal(result.protocolVersion, era === "modern" ? "2026-07-28" : "2025-11-25");
    });

    test("tools/list", () => {
      const { tools } = json(exitOk, "--method", "tools/list");
      assert.ok(tools.some(({ name }) => name === "evaluate-lisp"));
    });

    test("tools/list --strict accepts the schemas", () => {
      const run = inspect(era, exitOk, "--method", "tools/list", "--strict", "-q");
      assert.equal(run.stderr, "");
    });

    test("tools/call of a value", () => {
      assert.equal(textOf(call(exitOk, "evaluate-lisp", { code: "(+ 1 2)" })), "=> 3");
    });

    test("tools/call with an argument as a user types it", () => {
      const run = inspect(
        era,
        exitOk,
        ...["--method", "tools/call", "--tool-name", "evaluate-lisp"],
        ...["--tool-arg", 'code=(format nil "~r" 1999)'],
      );
      assert.match(run.stdout, /one thousand nine hundred ninety-nine/);
    });

    test("tools/call of a condition", () => {
      const result = call(exitToolError, "evaluate-lisp", { code: '(error "boom")' });
      assert.equal(result.isError, true);
      assert.match(textOf(result), /^\[ERROR\] SIMPLE-ERROR\nboom\n/);
    });

    test("tools/call of an unknown tool", () => {
      inspect(era, exitToolError, "--method", "tools/call", "--tool-name", "no-such-tool", "-q");
    });

    // More than run at a time. In the modern era each of these calls gets its own session.
    const atOnce = "40";
    test(`a load of 200 calls, ${atOnce} at a time, without an error`, () => {
      const run = inspect(
        era,
        exitOk,
        ...["--method", "tools/call", "--tool-name", "evaluate-lisp", "--tool-arg", "code=(+ 1 2)"],
        ...["--load", "--load-requests", "200", "--load-concurrency", atOnce, "-q"],
      );
      const { ok, toolErrors, errors } = JSON.parse(run.stdout);
      assert.deepEqual({ ok, toolErrors, errors }, { ok: 200, toolErrors: 0, errors: 0 });
    });
  });
