// node transcribe.mjs DIRECTORY: has a short conversation with each installed client and writes the
// lines to DIRECTORY, one file for each, for transcripts/replay.test.mjs. ECLAVE names the server,
// CLAUDE optionally the program of Claude Code.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client as SecondClient } from "@modelcontextprotocol/client";
import { StdioClientTransport as SecondTransport } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { makeRecords } from "./records.mjs";

const [output] = process.argv.slice(2);
const { ECLAVE: eclave, CLAUDE: claude } = process.env;
const inspector = "../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";

// Keeps only the name and version of a client.
function trim(member, value) {
  const info = member.endsWith("clientInfo");
  return info ? { name: value.name, version: value.version } : value;
}

// Writes NAME.jsonl, and NAME-2.jsonl and so on when the client has started several servers.
function transcribe(name, directory) {
  const files = readdirSync(directory).sort((one, other) => Number(one) - Number(other));
  files.forEach((file, i) => {
    const lines = readFileSync(join(directory, file), "utf8").split("\n").slice(0, -1);
    const entries = lines.map((line) =>
      JSON.stringify(
        {
          from: line.startsWith(">") ? "client" : "server",
          message: JSON.parse(line.slice(2)),
        },
        trim,
      ),
    );
    writeFileSync(join(output, `${name}${i ? `-${i + 1}` : ""}.jsonl`), entries.join("\n") + "\n");
  });
  rmSync(directory, { recursive: true });
}

function serverAt(directory) {
  return { command: process.execPath, args: ["record.mjs", directory, eclave], stderr: "ignore" };
}

async function converse(client) {
  const call = (name, options) => client.callTool({ name, arguments: options });
  const { tools } = await client.listTools();
  const first = await call("evaluate-lisp", { code: "(defun square (x) (* x x)) (square 7)" });
  const { session } = first._meta;
  await call("evaluate-lisp", { code: '(format t "hello~%") (values (square 8) :two)', session });
  await call("evaluate-lisp", { code: "(car (square 3))", session });
  await call("evaluate-lisp", { code: "(square 3)" });
  await call("open-session", { from: session });
  await call("rollback-session", { session, steps: 1 });
  await call("evaluate-lisp", { code: "(loop)", session, timeout: 0.3 }).catch(() => {});
  await call("no-such-tool", {}).catch(() => {});
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 300);
  await client
    .callTool({ name: "evaluate-lisp", arguments: { code: "(loop)", session } }, undefined, {
      signal: stop.signal,
    })
    .catch(() => {});
  await call("evaluate-lisp", { code: `(length "${tools[0].name}")`, session });
}

async function firstClient() {
  const directory = makeRecords();
  const client = new Client({ name: "transcribe", version: "1.0.0" });
  client.onerror = () => {};
  await client.connect(new StdioClientTransport(serverAt(directory)));
  await converse(client);
  await client.close();
  transcribe("sdk-1", directory);
}

async function secondClient(name, mode) {
  const directory = makeRecords();
  const client = new SecondClient(
    { name: "transcribe", version: "1.0.0" },
    { versionNegotiation: { mode, probe: { timeoutMs: 20000 } } },
  );
  client.onerror = () => {};
  await client.connect(new SecondTransport(serverAt(directory)));
  await converse({
    listTools: () => client.listTools(),
    callTool: (params, schema, options) => client.callTool(params, options),
  });
  await client.close();
  transcribe(`sdk-2-${name}`, directory);
}

function run(command, options, environment) {
  spawnSync(command, options, { stdio: "ignore", env: { ...process.env, ...environment } });
}

function inspect(era, name, ...options) {
  const directory = makeRecords();
  const home = mkdtempSync(join(tmpdir(), "eclave-inspector-"));
  const { command, args } = serverAt(directory);
  const all = [inspector, "--cli", "--protocol-era", era, ...options, "--", command, ...args];
  run(process.execPath, all, { HOME: home });
  rmSync(home, { recursive: true });
  transcribe(`inspector-${era}-${name}`, directory);
}

function checkHealth(name, environment) {
  const directory = makeRecords();
  const home = mkdtempSync(join(tmpdir(), "eclave-claude-code-"));
  const all = { HOME: home, CLAUDE_CONFIG_DIR: join(home, ".claude"), ...environment };
  const { command, args } = serverAt(directory);
  const [script, ...rest] = args;
  run(claude, ["mcp", "add", "lisp", "--", command, join(process.cwd(), script), ...rest], all);
  run(claude, ["mcp", "get", "lisp"], all);
  rmSync(home, { recursive: true });
  transcribe(`claude-code-${name}`, directory);
}

await firstClient();
await secondClient("legacy", "legacy");
await secondClient("auto", "auto");
await secondClient("modern", { pin: "2026-07-28" });
for (const era of ["legacy", "modern"]) {
  const evaluate = ["--method", "tools/call", "--tool-name", "evaluate-lisp"];
  inspect(era, "list", "--method", "tools/list");
  inspect(era, "call", ...evaluate, "--tool-args-json", '{"code":"(+ 1 2)"}');
}
if (claude) {
  checkHealth("default", {});
  checkHealth("legacy", { MCP_PROTOCOL_NEGOTIATION: "legacy" });
}
