// The official conformance suite: every set of requirements, and the scenario of JSON Schema, which
// is in no set. Faults that the bridge finds fail the run as well.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { startBridge } from "./bridge.mjs";

const eclave = process.env.ECLAVE;
assert.ok(eclave, "ECLAVE names the server's executable");

const suite = "../node_modules/@modelcontextprotocol/conformance/dist/index.js";

// The suite's client requests only the newest handshake; the bridge requests the older ones.
const sets = {
  "2026-07-28": { options: ["--requirements", "2026-07-28"] },
  "2025-11-25": { options: ["--requirements", "2025-11-25"] },
  "2025-06-18": { options: allOf("2025-06-18"), revision: "2025-06-18" },
  "2025-03-26": { options: allOf("2025-03-26"), revision: "2025-03-26" },
  "2026-07-28, json-schema-2020-12": { options: schemaOf("2026-07-28") },
  "2025-11-25, json-schema-2020-12": { options: schemaOf("2025-11-25") },
};

function schemaOf(revision) {
  return ["--scenario", "json-schema-2020-12", "--spec-version", revision];
}

function allOf(revision) {
  return ["--suite", "all", "--spec-version", revision];
}

// Runs the suite; resolves to its status and output.
function runSuite(...options) {
  return new Promise((resolve) => {
    const run = spawn(process.execPath, [suite, "server", ...options], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [run.stdout, run.stderr])
      stream.setEncoding("utf8").on("data", (part) => (output += part));
    run.on("close", (status) => resolve({ status, output }));
  });
}

// The scenarios of the extension of tasks run with the requirements and do not decide its status.
function assertTasks(output) {
  const ends = output.match(/^ *[✓✗] tasks-[a-z-]+ \(extension\)$/gm) ?? [];
  assert.ok(ends.length >= 10, output);
  assert.deepEqual(ends.filter((line) => line.includes("✗")), []);
}

for (const [name, { options, revision }] of Object.entries(sets))
  test(`requirements of ${name}`, async (context) => {
    const bridge = await startBridge(
      [eclave, "--task-after-ms", "500", "--project", join(process.env.ROOT, "tests/conformance/project")],
      revision,
    );
    const run = await runSuite("--url", bridge.url, ...options);
    const ends = await bridge.close();
    const summary = run.output.slice(run.output.search(/=== SUMMARY ===|Test Results:/));
    for (const line of summary.split("\n")) context.diagnostic(line);
    assert.equal(run.status, 0, run.output);
    if (name === "2026-07-28") assertTasks(run.output);
    assert.deepEqual(bridge.faults, []);
    assert.ok(ends.length > 0);
    for (const end of ends) assert.deepEqual(end, { status: 0, signal: null });
  });
