// Claude Code at work: it evaluates, gets failures, continues in the same session, and calls a tool
// that was written while it ran. Its model follows a script (model.mjs).
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { claude } from "./program.mjs";
import { startModel } from "./model.mjs";
import { makeRecords, takeRecords } from "../clients/records.mjs";
import { serverOptions, task } from "../clients/task.mjs";

const { ECLAVE: eclave } = process.env;
assert.ok(eclave, "ECLAVE names the server's executable");

const prefix = "mcp__lisp__";

function runClaude(home, url, configuration, environment) {
  return new Promise((resolve) => {
    const options = ["-p", "go", "--mcp-config", configuration, "--strict-mcp-config"];
    const run = spawn(claude, [...options, "--allowedTools", "mcp__lisp", "--output-format", "json"], {
      cwd: home,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 120000,
      env: {
        PATH: process.env.PATH,
        HOME: home,
        CLAUDE_CONFIG_DIR: join(home, ".claude"),
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: "none",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_AUTOUPDATER: "1",
        DISABLE_TELEMETRY: "1",
        ENABLE_TOOL_SEARCH: "false", // otherwise the script would have to search for tools
        MCP_CONNECTION_NONBLOCKING: "false", // otherwise the first request may lack the tools
        ...environment,
      },
    });
    let output = "";
    for (const stream of [run.stdout, run.stderr])
      stream.setEncoding("utf8").on("data", (part) => (output += part));
    run.on("close", (status) => resolve({ status, output }));
  });
}

// In the modern era the first answer names the session; a legacy connection has its own.
function* conversation(project) {
  let seen = yield ["evaluate-lisp", { code: "(defvar *n* 40)" }];
  const session = /; session (\S+)/.exec(seen.result)?.[1];
  const inSession = (input) => ["evaluate-lisp", session ? { ...input, session } : input];
  seen = yield inSession({ code: "(incf *n* 2)" });
  assert.match(seen.result, /=> 42/);

  const harmful = {
    "(progn (setf *n* 0) (loop))": /-32004|timed out/,
    "(progn (setf *n* 0) (ext:quit 3))": /PROCESS-EXIT/,
    '(progn (setf *n* 0) (si:call-cfun (si:find-foreign-symbol "abort" :default :pointer-void 0) :void () ()))':
      /PROCESS-CRASH|SIGABRT/,
    '(si:call-cfun (si:find-foreign-symbol "kill" :default :pointer-void 0) :int \'(:int :int) \'(1 9))':
      /SANDBOX-VIOLATION/,
    "(/ *n* 0)": /DIVISION-BY-ZERO/,
  };
  for (const [code, expected] of Object.entries(harmful)) {
    seen = yield inSession({ code, timeout: 1 });
    assert.match(seen.result, expected, code);
    seen = yield inSession({ code: "*n*" });
    assert.match(seen.result, /=> 42/, `after ${code}`);
  }

  assert.ok(!seen.tools.includes("double"));
  writeFileSync(
    join(project, "tools/double.lisp"),
    ';;; {"inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}\n' +
      '(mcp:deftool "double" (&key n) (princ-to-string (* 2 n)))\n',
  );
  for (let i = 0; i < 20 && !seen.tools.includes("double"); i++)
    seen = yield inSession({ code: "(sleep 0.5)" });
  seen = yield ["double", { n: 21 }];
  assert.equal(seen.result, "42");
}

// The task of the client libraries, as a conversation.
function* twentySteps() {
  const script = task();
  let next = script.next();
  while (!next.done) {
    const seen = yield next.value;
    next = script.next(Array.isArray(next.value[0]) ? seen.results : seen.result);
  }
}

const conversations = {
  "works with the server": { script: conversation, options: [] },
  "does a task of twenty steps": { script: twentySteps, options: serverOptions },
};
const negotiations = { default: {}, legacy: { MCP_PROTOCOL_NEGOTIATION: "legacy" } };

for (const [name, environment] of Object.entries(negotiations))
  for (const [what, { script, options }] of Object.entries(conversations))
  test(`Claude Code ${what}, ${name} negotiation`, async (context) => {
    const directory = makeRecords();
    const home = mkdtempSync(join(tmpdir(), "eclave-claude-code-"));
    const project = join(home, "project");
    context.after(() => rmSync(home, { recursive: true }));
    mkdirSync(join(project, "tools"), { recursive: true });
    const model = await startModel(prefix, () => script(project));
    context.after(() => model.close());
    const configuration = join(home, "mcp.json");
    const args = [join(process.cwd(), "../clients/record.mjs"), directory, eclave, "--project", project, ...options];
    writeFileSync(
      configuration,
      JSON.stringify({ mcpServers: { lisp: { type: "stdio", command: process.execPath, args } } }),
    );

    const run = await runClaude(home, model.url, configuration, environment);
    if (model.fault) throw model.fault;
    assert.equal(run.status, 0, run.output);
    assert.match(run.output, /That was all\./);
    const [{ sent }] = takeRecords(directory);
    const methods = [...new Set(sent.map(({ method }) => method))];
    context.diagnostic(methods.join(", "));
    assert.ok(methods.includes(name === "legacy" ? "initialize" : "server/discover"));
  });
