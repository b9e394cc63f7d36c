// The bundle for desktop programs, made and read by the official packer, and server.json for the registry of servers.
import assert from "node:assert/strict";
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";

const root = process.env.ROOT;
const dist = join(dirname(process.env.ECLAVE), "dist");
const about = JSON.parse(readFileSync(join(root, "packaging/about.json"), "utf8"));
const archive = readdirSync(dist).find((name) => name.endsWith(".tar.zst"));
const mcpb = join(dirname(createRequire(import.meta.url).resolve("@anthropic-ai/mcpb")), "cli/cli.js");
const work = mkdtempSync(join(tmpdir(), "eclave-bundle-"));
after(() => rmSync(work, { recursive: true }));

const tree = join(work, "tree");
const bundle = join(work, "eclave.mcpb");
mkdirSync(tree);
execFileSync("tar", ["-C", tree, "--strip-components=1", "-xf", join(dist, archive)]);
execFileSync(process.execPath, [join(root, "packaging/mcpb/pack.mjs"), tree, bundle, mcpb]);
const unpacked = join(work, "unpacked");
execFileSync(process.execPath, [mcpb, "unpack", bundle, unpacked], { stdio: "ignore" });
const manifest = JSON.parse(readFileSync(join(unpacked, "manifest.json"), "utf8"));

const filesOf = (directory) =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .sort();

test("the packer accepts the manifest, and refuses it without a name", () => {
  const validate = (value) => {
    const file = join(work, "manifest.json");
    writeFileSync(file, JSON.stringify(value));
    return spawnSync(process.execPath, [mcpb, "validate", file]).status;
  };
  assert.equal(validate(manifest), 0);
  assert.notEqual(validate({ ...manifest, name: undefined }), 0);
  assert.equal(manifest.version, about.version);
});

test("nothing of the tree is left out, and programs can be started", () => {
  assert.deepEqual(filesOf(unpacked).filter((name) => name !== "manifest.json"), filesOf(tree));
  for (const name of ["bin/eclave", "libexec/eclave/eclave-worker"])
    assert.equal(statSync(join(unpacked, name)).mode & 0o111, 0o111, name);
});

test("the command of the manifest is a server with the tools of the manifest", async () => {
  const [command, ...rest] = [manifest.server.mcp_config.command, ...manifest.server.mcp_config.args].map(
    (word) => word.replaceAll("${__dirname}", unpacked),
  );
  const lines = [
    { id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } } },
    { method: "notifications/initialized" },
    { id: 2, method: "tools/list", params: {} },
    { id: 3, method: "tools/call", params: { name: "evaluate-lisp", arguments: { code: "(expt 2 100)" } } },
  ];
  const running = promisify(execFile)(command, [...rest, "--shutdown-grace-s", "60"], { env: { HOME: work, XDG_CACHE_HOME: join(work, "cache") } });
  running.child.stdin.end(lines.map((line) => `${JSON.stringify({ jsonrpc: "2.0", ...line })}\n`).join(""));
  const answers = (await running).stdout.trim().split("\n").map((line) => JSON.parse(line));
  const answer = (id) => answers.find((line) => line.id === id).result;
  assert.deepEqual(answer(2).tools.map((tool) => tool.name), manifest.tools.map((tool) => tool.name));
  assert.match(answer(3).content[0].text, /1267650600228229401496703205376/);
});

// The schema of the registry is not in any package: SERVER_SCHEMA is its path. Without it, what it asks for here is
// checked by hand.
test("server.json is what the registry takes", async () => {
  const text = execFileSync(
    process.execPath,
    [join(root, "packaging/server.mjs"), "io.github.example/eclave", bundle, "https://example.org/eclave.mcpb"],
    { encoding: "utf8" },
  );
  const server = JSON.parse(text);
  assert.match(server.name, /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/);
  assert.match(server.version, /^\d+\.\d+\.\d+$/);
  assert.equal(server.version, about.version);
  for (const [field, longest] of [["description", 100], ["title", 100], ["version", 255], ["name", 200]])
    assert.ok(server[field].length > 0 && server[field].length <= longest, field);
  const [npm, mcpbPackage] = server.packages;
  assert.deepEqual(npm, { registryType: "npm", identifier: "eclave", version: about.version, transport: { type: "stdio" } });
  assert.equal(mcpbPackage.fileSha256, createHash("sha256").update(readFileSync(bundle)).digest("hex"));
  assert.deepEqual(mcpbPackage.transport, { type: "stdio" });
  if (!process.env.SERVER_SCHEMA) return;
  const { default: Ajv } = await import("ajv");
  const { default: addFormats } = await import("ajv-formats");
  const ajv = new Ajv({ strict: false });
  addFormats(ajv);
  const schema = JSON.parse(readFileSync(process.env.SERVER_SCHEMA, "utf8"));
  assert.equal(server.$schema, schema.$id);
  assert.ok(ajv.validate(schema, server), JSON.stringify(ajv.errors));
  assert.ok(!ajv.validate(schema, { ...server, description: "x".repeat(101) }));
});

test("the links of README.md for editors start the package of npm", () => {
  const text = readFileSync(join(root, "README.md"), "utf8");
  const given = (start) => new URL(text.match(new RegExp(`\\((${start}[^)]*)\\)`))[1]).searchParams;
  const started = { command: "npx", args: ["-y", "eclave"] };
  const code = given("https://insiders.vscode.dev/redirect/mcp/install");
  assert.equal(code.get("name"), "eclave");
  assert.deepEqual(JSON.parse(code.get("config")), started);
  const cursor = given("https://cursor.com/en/install-mcp");
  assert.equal(cursor.get("name"), "eclave");
  assert.deepEqual(JSON.parse(atob(cursor.get("config"))), started);
});
