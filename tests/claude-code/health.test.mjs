// Claude Code adds the server and checks its health, with both kinds of negotiation. These commands
// connect to nothing but the server and need no account.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { claude } from "./program.mjs";
import { makeRecords, takeRecords } from "../clients/records.mjs";

const { ECLAVE: eclave, ROOT: root } = process.env;
assert.ok(eclave, "ECLAVE names the server's executable");
const project = join(root, "tests/conformance/project");

const legacy = { MCP_PROTOCOL_NEGOTIATION: "legacy" };
const modernFirst = { first: ["server/discover"], never: "initialize" };
const legacyFirst = {
  first: ["initialize", "notifications/initialized"],
  never: "server/discover",
};

const ways = {
  "the default negotiation": { environment: {}, ...modernFirst, options: [] },
  "the legacy negotiation": { environment: legacy, ...legacyFirst, options: [] },
  "a project": { environment: {}, ...modernFirst, options: ["--project", project] },
  "a project, the legacy negotiation": {
    environment: legacy,
    ...legacyFirst,
    options: ["--project", project],
  },
};

for (const [name, { environment, first, never, options: serverOptions }] of Object.entries(ways))
  describe(`Claude Code with ${name}`, () => {
    const directory = makeRecords();
    const home = mkdtempSync(join(tmpdir(), "eclave-claude-code-"));

    function run(...options) {
      const result = spawnSync(claude, ["mcp", ...options], {
        cwd: home,
        encoding: "utf8",
        timeout: 60000,
        env: {
          PATH: process.env.PATH,
          HOME: home,
          CLAUDE_CONFIG_DIR: join(home, ".claude"),
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
          DISABLE_AUTOUPDATER: "1",
          DISABLE_TELEMETRY: "1",
          ...environment,
        },
      });
      assert.equal(result.status, 0, result.stdout + result.stderr);
      return result.stdout;
    }

    const recorded = [process.execPath, join(process.cwd(), "../clients/record.mjs"), directory, eclave];
    before(() => run("add", "lisp", "--", ...recorded, ...serverOptions));
    after(() => rmSync(home, { recursive: true }));

    test("mcp get shows it connected", (context) => {
      const output = run("get", "lisp");
      for (const line of output.split("\n")) context.diagnostic(line);
      assert.match(output, /✔ Connected/);
      const [{ sent, received }] = takeRecords(directory);
      const methods = sent.map(({ method }) => method);
      context.diagnostic(methods.join(", "));
      assert.deepEqual(methods.slice(0, first.length), first);
      assert.ok(!methods.includes(never));
      assert.ok(received.every(({ error }) => !error));
    });

    test("mcp list shows it connected", () => {
      assert.match(run("list"), /lisp: .*✔ Connected/);
      takeRecords(directory);
    });
  });
