// Replays recorded conversations of real clients. The server must answer as it did then: the same ids,
// shapes and texts, except for times, versions and the names of sessions. Its description of itself
// and its tools may have grown. Needs no package.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const { ECLAVE: eclave, TEST_RECORD: record } = process.env;
assert.ok(eclave, "ECLAVE names the server's executable");

const here = fileURLToPath(new URL(".", import.meta.url));
const sessionName = /\bs-[a-hjkmnp-z2-9]{6}\b/g;

// Answers that describe the server: every recorded member must still exist.
const descriptions = ["initialize", "server/discover", "tools/list"];
// Members whose text may change.
const prose = ["description", "instructions", "title", "version"];

// A server and its messages. `until(count)` waits for so many, without progress, which depends on
// time, and without messages about layers that this machine lacks.
class Server {
  received = [];
  lines = [];
  wake = () => {};

  constructor() {
    this.process = spawn(eclave, [], { stdio: ["pipe", "pipe", "ignore"] });
    this.end = new Promise((resolve) => this.process.on("close", (status) => resolve(status)));
    let rest = "";
    this.process.stdout.setEncoding("utf8").on("data", (part) => {
      const lines = (rest + part).split("\n");
      rest = lines.pop();
      this.lines.push(...lines);
      this.received.push(...lines.map((line) => JSON.parse(line)).filter(counts));
      this.wake();
    });
    this.process.on("close", () => this.wake());
  }

  send(message) {
    this.process.stdin.write(JSON.stringify(message) + "\n");
  }

  async until(count) {
    while (this.received.length < count && this.process.exitCode === null)
      await new Promise((resolve) => (this.wake = resolve));
  }
}

function counts({ method, params }) {
  return method !== "notifications/progress" && !["layer-missing", "image"].includes(params?.data?.event);
}

// The names of sessions then and now, from answers.
class Names {
  now = new Map();

  learn(then, now) {
    const [thens, nows] = [then, now].map((message) => JSON.stringify(message).match(sessionName));
    thens?.forEach((name, i) => this.now.set(name, nows?.[i]));
  }

  translate(message) {
    const text = JSON.stringify(message);
    return JSON.parse(text.replace(sessionName, (name) => this.now.get(name) ?? name));
  }
}

// MESSAGE without parts that depend on time: durations, and whether a cancelled call had begun.
function withoutTimes(message) {
  const begun = " The session is as it was before the call.";
  return JSON.parse(JSON.stringify(message), (name, value) => {
    if (name === "elapsedMs") return 0;
    if (name === "error" && value.code === -32001)
      return { ...value, message: value.message.replace(begun, "") };
    return value;
  });
}

// Everything in THEN must also be in NOW.
function assertKept(then, now, path) {
  if (Array.isArray(then)) {
    for (const element of then) {
      const name = element?.name;
      const same = now.find((other) => (name ? other.name === name : other === element));
      assert.ok(same, `${path} has lost ${JSON.stringify(element)}`);
      assertKept(element, same, `${path}[]`);
    }
  } else if (typeof then === "object" && then !== null) {
    for (const [name, value] of Object.entries(then)) {
      assert.ok(name in now, `${path} has lost ${name}`);
      if (prose.includes(name) && typeof value === "string")
        assert.equal(typeof now[name], "string", `${path}.${name}`);
      else assertKept(value, now[name], `${path}.${name}`);
    }
  } else {
    assert.deepEqual(now, then, path);
  }
}

function assertSame(then, now, method) {
  if (descriptions.includes(method)) {
    assertKept(then, now, method);
    return;
  }
  const [expected, actual] = [then, now].map((message) => {
    const info = message.result?._meta?.["io.modelcontextprotocol/serverInfo"];
    return withoutTimes(info ? dropServerInfo(message) : message);
  });
  assert.deepEqual(actual, expected);
}

function dropServerInfo(message) {
  const { "io.modelcontextprotocol/serverInfo": info, ...meta } = message.result._meta;
  assert.equal(info.name, "eclave");
  return { ...message, result: { ...message.result, _meta: meta } };
}

for (const file of readdirSync(here).filter((name) => name.endsWith(".jsonl")))
  test(file, { timeout: 60000 }, async (context) => {
    const entries = readFileSync(join(here, file), "utf8")
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line))
      .filter(({ message }) => counts(message));
    const server = new Server();
    context.after(() => server.process.kill());
    const names = new Names();
    const methods = new Map();
    const sent = [];
    const expected = [];
    let compared = 0;

    // Compares the message then with the one now, by id, or in order when it has none.
    function compare(then) {
      const now = server.received.find(
        (message) => message.id === then.id && message.method === then.method,
      );
      assert.ok(now, `no answer like ${JSON.stringify(then)}`);
      server.received.splice(server.received.indexOf(now), 1, {});
      names.learn(then, now);
      assertSame(names.translate(then), now, methods.get(then.id));
    }

    for (const { from, message } of entries) {
      if (from === "server") {
        expected.push(message);
        continue;
      }
      await server.until(expected.length);
      while (compared < expected.length) compare(expected[compared++]);
      if (message.id !== undefined) methods.set(message.id, message.method);
      const translated = names.translate(message);
      sent.push(translated);
      server.send(translated);
    }
    server.process.stdin.end();
    assert.equal(await server.end, 0);
    assert.equal(server.received.length, expected.length, "as many messages as then");
    while (compared < expected.length) compare(expected[compared++]);
    if (record) {
      const lines = [
        ...sent.map((message) => `> ${JSON.stringify(message)}`),
        ...server.lines.map((line) => `< ${line}`),
      ];
      writeFileSync(join(record, `transcript-${file}`), lines.join("\n") + "\n");
    }
  });
