// Sends every kind of request in every revision and checks each line against the schema of that
// revision. Also tests the check itself.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { describe, test } from "node:test";
import { modernRevision, schemas } from "./schemas.mjs";
import { faultsIn } from "./traffic.mjs";

const eclave = process.env.ECLAVE;
assert.ok(eclave, "ECLAVE names the server's executable");

const envelope = {
  "io.modelcontextprotocol/protocolVersion": modernRevision,
  "io.modelcontextprotocol/clientCapabilities": {},
};

const evaluations = [
  { code: "(+ 1 2)" },
  { code: '(format t "out") (format *error-output* "err") (warn "w") (values 1 2)' },
  { code: "(values)" },
  { code: "(car 5)" },
  { code: "(no-such-function)" },
  { code: "(ext:quit 3)" },
  { code: "(loop)", timeout: 0.2 },
  { code: "(princ (code-char 0))" },
  { code: "1", package: "NO-SUCH-PACKAGE" },
  { code: "1", session: "no-such-session" },
  { code: "1", timeout: 0 },
  { code: "1", extra: 1 },
  { code: 7 },
  {},
];

const requests = [
  { method: "tools/list" },
  { method: "tools/list", params: { cursor: "bogus" } },
  { method: "tools/list", params: [1] },
  { method: "server/discover" },
  { method: "subscriptions/listen", params: {} },
  { method: "logging/setLevel", params: { level: "debug" } },
  { method: "logging/setLevel", params: { level: "verbose" } },
  { method: "ping" },
  { method: "initialize", params: {} },
  { method: "no/such" },
  { method: "prompts/list" },
  { method: "prompts/get", params: { name: "x" } },
  { method: "resources/list" },
  { method: "resources/templates/list" },
  { method: "resources/read", params: { uri: "lisp://nope" } },
  { method: "resources/subscribe", params: { uri: "lisp://nope" } },
  { method: "completion/complete", params: {} },
  { method: "tools/call", params: {} },
  { method: "tools/call", params: { name: "nope" } },
  { method: "tools/call", params: { name: "list-sessions" } },
  { method: "tools/call", params: { name: "read-output" } },
  { method: "tools/call", params: { name: "open-session", arguments: { from: "main" } } },
  { method: "tools/call", params: { name: "open-session" } },
  { method: "tools/call", params: { name: "rollback-session", arguments: { steps: 1 } } },
  { method: "tools/call", params: { name: "rollback-session", arguments: { steps: 0 } } },
  ...evaluations.map((code) => ({
    method: "tools/call",
    params: { name: "evaluate-lisp", arguments: code },
  })),
  {
    method: "tools/call",
    params: {
      name: "evaluate-lisp",
      arguments: { code: "(sleep 2.2)" },
      _meta: { progressToken: "t" },
    },
  },
  { method: "tools/call", params: { name: "reset-session", arguments: {} } },
  { method: "tools/call", params: { name: "list-sessions", arguments: {} } },
  { method: "tools/call", params: { name: "close-session", arguments: {} } },
];

const malformed = ["{", "[]", "5", '{"jsonrpc":"2.0","id":null,"method":"ping"}', '{"id":1.5}'];

function line(message) {
  return JSON.stringify({ jsonrpc: "2.0", ...message });
}

function modern({ method, params }) {
  const meta = { ...params?._meta, ...envelope, "io.modelcontextprotocol/logLevel": "debug" };
  return { method, params: { ...params, _meta: meta } };
}

// The lines of a client of REVISION.
function script(revision) {
  const asked = revision === modernRevision ? requests.map(modern) : requests;
  const numbered = asked.map((request, id) => line({ id, ...request }));
  if (revision === modernRevision)
    return [
      ...malformed,
      ...numbered,
      line({ id: "l", ...modern({ method: "subscriptions/listen", params: { notifications: {} } }) }),
      line({
        id: "v",
        method: "tools/list",
        params: {
          _meta: { ...envelope, "io.modelcontextprotocol/protocolVersion": "2027-01-01" },
        },
      }),
    ];
  const handshake = {
    protocolVersion: revision,
    capabilities: {},
    clientInfo: { name: "t", version: "1" },
  };
  const batch = `[${line({ id: "b1", method: "ping" })},${line({ id: "b2", method: "tools/list" })},1]`;
  return [
    line({ id: "early", method: "tools/list" }),
    line({ id: "bad", method: "initialize", params: { protocolVersion: "1.0.0" } }),
    line({ id: "hello", method: "initialize", params: handshake }),
    line({ method: "notifications/initialized" }),
    ...malformed,
    ...numbered,
    batch,
    line({ id: "m", ...modern({ method: "tools/list" }) }),
  ];
}

const ending = [
  line({ id: "s", method: "shutdown" }),
  line({ id: "late", method: "tools/list" }),
  line({ id: "e", method: "exit" }),
];

// The lines with which the server answers SENT.
function converse(sent, ...options) {
  return new Promise((resolve) => {
    const server = spawn(eclave, options, { stdio: ["pipe", "pipe", "ignore"] });
    let output = "";
    server.stdout.setEncoding("utf8").on("data", (part) => (output += part));
    server.on("close", () => resolve(output.split("\n").slice(0, -1)));
    server.stdin.end(sent.join("\n") + "\n");
  });
}

describe("every line of a broad run", { concurrency: 2 }, () => {
  for (const options of [[], ["--minimal"], ["--list-page-size", "2"]])
    for (const revision of Object.keys(schemas))
      test(`${revision} ${options.join(" ")}`, async () => {
        const sent = script(revision);
        const received = await converse(sent, ...options);
        assert.ok(received.length >= requests.length, received.join("\n"));
        assert.deepEqual(faultsIn(sent, received), []);
      });

  test("calls in flight at exit", async () => {
    const sent = [...script("2025-11-25"), ...ending];
    assert.deepEqual(faultsIn(sent, await converse(sent)), []);
  });
});

describe("the check finds", () => {
  const list = line({ id: 1, method: "tools/list" });
  const modernList = line({ id: 1, ...modern({ method: "tools/list" }) });
  const handshake = (protocolVersion) =>
    line({
      id: 0,
      result: { protocolVersion, capabilities: {}, serverInfo: { name: "x", version: "1" } },
    });
  const hello = line({ id: 0, method: "initialize" });
  const tool = { name: "t", inputSchema: { type: "object" } };
  const wrong = {
    "an answer without a request": [[list], line({ id: 2, result: { tools: [] } })],
    "a result of another method": [[list], line({ id: 1, result: {} })],
    "a result without a member": [[list], line({ id: 1, result: { tools: [{ name: "t" }] } })],
    "an error without a message": [[list], line({ id: 1, error: { code: 1 } })],
    "a modern result in a legacy session": [
      [list],
      line({ id: 1, result: { tools: [], resultType: "complete" } }),
    ],
    "a legacy result for a modern request": [[modernList], line({ id: 1, result: { tools: [] } })],
    "an unsupported version without the supported ones": [
      [modernList],
      line({ id: 1, error: { code: -32022, message: "x", data: { requested: "y" } } }),
    ],
    "a notification that no revision has": [
      [hello],
      handshake("2025-11-25"),
      line({ method: "notifications/x", params: {} }),
    ],
    "progress without a token": [
      [hello],
      handshake("2025-11-25"),
      line({ method: "notifications/progress", params: { progress: 1 } }),
    ],
    "annotations in 2024-11-05": [
      [hello, list],
      handshake("2024-11-05"),
      line({ id: 1, result: { tools: [{ ...tool, annotations: {} }] } }),
    ],
    "a title in 2025-03-26": [
      [hello, list],
      handshake("2025-03-26"),
      line({ id: 1, result: { tools: [{ ...tool, title: "T" }] } }),
    ],
    "a progress message in 2024-11-05": [
      [hello],
      handshake("2024-11-05"),
      line({
        method: "notifications/progress",
        params: { progressToken: 1, progress: 1, message: "m" },
      }),
    ],
    "text outside of any message": [[list], "hello"],
  };
  for (const [name, [sent, ...received]] of Object.entries(wrong))
    test(name, () => assert.equal(faultsIn(sent, received).length, 1));
});
