// Starts the server under test with the official SDK's client and stdio transport, and keeps every
// line, each of which must be one JSON-RPC message.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import { keepLines } from "./records.mjs";

export const eclave = process.env.ECLAVE;
assert.ok(eclave, "ECLAVE names the server's executable");

// The SDK passes few variables to servers; a sanitized server needs its options as well.
export const sanitizerOptions = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => /^(A|L|UB)SAN_OPTIONS$/.test(name)),
);

// The messages in TEXT, the standard output of a server.
export function parseOutput(text) {
  assert.ok(text === "" || text.endsWith("\n"), "the last line is complete");
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSONRPCMessageSchema.parse(JSON.parse(line)));
}

// The SDK's transport, which also keeps the server's output and how it ended.
class RecordingTransport extends StdioClientTransport {
  chunks = [];
  stderrText = "";
  sent = [];

  async start() {
    await super.start();
    const child = this._process;
    this.server = child.pid;
    child.stdout.on("data", (chunk) => this.chunks.push(chunk));
    child.stderr.setEncoding("utf8");
    child.stderr.on("data", (chunk) => (this.stderrText += chunk));
    this.ended = new Promise((resolve) =>
      child.once("close", (status, signal) => resolve({ status, signal })),
    );
  }

    get output() {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(this.chunks));
  }

  async send(message) {
    this.sent.push(message);
    return super.send(message);
  }

  setProtocolVersion(version) {
    this.protocolVersion = version;
  }
}

// One connection: the SDK's `client`, a `transport` as above, and the `errors` that the client reported
// outside calls.
export class Connection {
  errors = [];

  static async open(...options) {
    const connection = new Connection();
    connection.transport = new RecordingTransport({
      command: eclave,
      args: options,
      env: sanitizerOptions,
      stderr: "pipe",
    });
    connection.client = new Client({ name: "eclave-tests", version: "1.0.0" });
    connection.client.onerror = (error) => connection.errors.push(error);
    await connection.client.connect(connection.transport);
    return connection;
  }

  evaluate(code, more = {}, options = undefined) {
    return this.client.callTool(
      { name: "evaluate-lisp", arguments: { code, ...more } },
      undefined,
      options,
    );
  }

  // The text of an evaluation, which must return.
  async value(code, more = {}) {
    const result = await this.evaluate(code, more);
    assert.ok(!result.isError, textOf(result));
    return textOf(result);
  }

  // Closes the connection and checks that the server ended by itself.
  async close() {
    const end = await this.leave();
    assert.deepEqual(end, { status: 0, signal: null }, this.transport.stderrText);
  }

  // Closes the connection and checks that no process is left. Returns how the server ended, which a
  // host may have killed.
  async leave() {
    const family = descendants(this.transport.server);
    await this.client.close();
    const end = await this.transport.ended;
    // Orphans are reaped by the first process of the machine.
    const deadline = performance.now() + 30000;
    while (family.some(isAlive) && performance.now() < deadline) await setTimeout(10);
    assert.deepEqual(family.filter(isAlive), [], "no process outlives the server");
    const received = parseOutput(this.transport.output);
    const lines = (messages) => messages.map((message) => JSON.stringify(message));
    keepLines(lines(this.transport.sent), lines(received));
    return end;
  }
}

export function textOf(result) {
  assert.equal(result.content.length, 1);
  assert.equal(result.content[0].type, "text");
  return result.content[0].text;
}

// Every process, with its parent's pid and a unique key, "pid/start time".
function processes() {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const fields = statOf(pid);
      return fields ? [{ pid: Number(pid), parent: Number(fields[1]), key: `${pid}/${fields[19]}` }] : [];
    });
}

// The fields of /proc/PID/stat after the command's name; the first is the state.
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return null;
  }
}

// SERVER and its descendants.
function descendants(server) {
  const all = processes();
  const found = new Set([server]);
  for (let before = 0; before !== found.size; ) {
    before = found.size;
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid);
  }
  return all.filter(({ pid }) => found.has(pid)).map(({ key }) => key);
}

function isAlive(key) {
  const [pid, start] = key.split("/");
  const fields = statOf(pid);
  return fields !== null && fields[0] !== "Z" && fields[19] === start;
}
