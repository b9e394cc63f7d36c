// The second version of the official SDK's client, which supports both eras: in each mode, and with
// negotiation, for which it starts a second server.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { makeRecords, takeRecords } from "./records.mjs";
import { eclave, sanitizerOptions } from "./server.mjs";

const modern = "2026-07-28";

const modes = {
  legacy: { mode: "legacy", era: "legacy", servers: 1 },
  auto: { mode: "auto", era: "modern", servers: 2 },
  modern: { mode: { pin: modern }, era: "modern", servers: 2 },
};

// A client in MODE, and its transport to a server that is recorded in DIRECTORY.
function clientFor(mode, directory) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ["record.mjs", directory, eclave],
    env: sanitizerOptions,
    stderr: "pipe",
  });
  const client = new Client(
    { name: "eclave-tests", version: "1.0.0" },
    { versionNegotiation: { mode, probe: { timeoutMs: 20000 } } },
  );
  return { client, transport };
}

for (const [name, { mode, era, servers }] of Object.entries(modes))
  describe(`the SDK's second client in mode ${name}`, () => {
    const directory = makeRecords();
    const complaints = [];
    let client;
    let end;

    before(async () => {
      let transport;
      ({ client, transport } = clientFor(mode, directory));
      client.onerror = (error) => complaints.push(error.message);
      await client.connect(transport);
      end = new Promise((resolve) =>
        transport._process.once("close", (status, signal) => resolve({ status, signal })),
      );
    });

    after(async () => {
      await client.close();
      assert.deepEqual(await end, { status: 0, signal: null });
      const records = takeRecords(directory);
      assert.equal(records.length, servers);
      for (const { sent, received } of records) {
        const asked = sent.filter(({ id }) => id !== undefined).map(({ id }) => id);
        const answered = received.filter(({ method }) => !method).map(({ id }) => id);
        assert.equal(new Set(answered).size, answered.length, "no request is answered twice");
        for (const id of answered) assert.ok(asked.includes(id));
      }
    });

    const call = (tool, options, more) => client.callTool({ name: tool, arguments: options }, more);

    // The text of an evaluation and its session.
    async function evaluate(code, options = {}) {
      const result = await call("evaluate-lisp", { code, ...options });
      assert.equal(result.content.length, 1);
      return { text: result.content[0].text, isError: result.isError, session: result._meta.session };
    }

    test("connects in its era", () => {
      assert.equal(client.getProtocolEra(), era);
      assert.equal(client.getServerVersion().name, "eclave");
      const extensions = era === "modern" ? ["extensions"] : [];
      const offered = ["completions", ...extensions, "logging", "prompts", "resources", "tools"];
      assert.deepEqual(Object.keys(client.getServerCapabilities()).sort(), offered);
      assert.ok(client.getInstructions().length <= 2048);
    });

    test("lists the tools", async () => {
      const { tools } = await client.listTools();
      const names = tools.map((tool) => tool.name);
      assert.equal(names[0], "evaluate-lisp");
      assert.equal(names.at(-1), "close-session");
      for (const tool of tools) {
        assert.ok(tool.title && tool.description);
        assert.equal(typeof tool.annotations.readOnlyHint, "boolean");
      }
    });

    test("reads the guide and a transcript, and gets the prompt", async () => {
      const { resources } = await client.listResources();
      assert.deepEqual(
        resources.map(({ uri }) => uri),
        ["eclave:///guide", "eclave:///policy"],
      );
      const guide = await client.readResource({ uri: "eclave:///guide" });
      assert.match(guide.contents[0].text, /^# Common Lisp/);
      const { session } = await evaluate("(list 1 2)");
      const uri = `eclave:///sessions/${session}/transcript`;
      assert.match((await client.readResource({ uri })).contents[0].text, /\(list 1 2\)\n; => \(1 2\)\n/);
      const { completion } = await client.complete({
        ref: { type: "ref/resource", uri: "eclave:///sessions/{name}/transcript" },
        argument: { name: "name", value: session.slice(0, 3) },
      });
      assert.ok(completion.values.includes(session));
      const task = { name: "lisp-session", arguments: { task: "count to three" } };
      assert.match((await client.getPrompt(task)).messages[0].content.text, /count to three/);
    });

    test("evaluates, and continues in the same session", async () => {
      const first = await evaluate("(defvar *x* 20)");
      assert.match(first.text, era === "modern" ? /^=> \*X\*\n; session s-\w+$/ : /^=> \*X\*$/);
      const next = await evaluate("(+ *x* 22)", { session: first.session });
      assert.equal(next.text, "=> 42");
      const other = await evaluate("(boundp '*x*)");
      assert.match(other.text, era === "modern" ? /^=> NIL\n/ : /^=> T$/);
    });

    test("sees a condition as a tool error", async () => {
      const { text, isError } = await evaluate('(error "boom")');
      assert.equal(isError, true);
      assert.match(text, /^\[ERROR\] SIMPLE-ERROR\nboom\n/);
    });

    test("gets progress", async () => {
      const beats = [];
      await call("evaluate-lisp", { code: "(sleep 2.5)" }, { onprogress: (beat) => beats.push(beat) });
      assert.ok(beats.length >= 1);
      for (const { total, message } of beats) {
        assert.equal(total, 30);
        assert.match(message, /^\d+ s of 30 s, 0 bytes printed$/);
      }
      const values = beats.map(({ progress }) => progress);
      assert.deepEqual(values, [...new Set(values)].sort((one, other) => one - other));
    });

    test("gets errors for wrong requests", async () => {
      await assert.rejects(call("no-such-tool", {}), { code: -32602 });
      await assert.rejects(call("evaluate-lisp", { code: "(loop)", timeout: 0.3 }), {
        code: -32004,
      });
    });

    test("cancels and continues", async () => {
      complaints.length = 0;
      const controller = new AbortController();
      const running = call("evaluate-lisp", { code: "(loop)" }, { signal: controller.signal });
      setTimeout(200).then(() => controller.abort("changed my mind"));
      await assert.rejects(running, /changed my mind/);
      assert.match((await evaluate("(* 6 7)")).text, /^=> 42/);
      // Only the legacy era answers a cancelled call, which the client has forgotten by then.
      assert.equal(complaints.length, era === "modern" ? 0 : 1, complaints.join("\n"));
    });

    test("gets answers while an evaluation runs", async () => {
      const slow = evaluate("(sleep 1) :slow");
      const calls = Array.from({ length: 10 }, (_, i) => evaluate(`(* ${i} ${i})`));
      await client.listTools();
      assert.match((await slow).text, /^=> :SLOW/);
      const texts = (await Promise.all(calls)).map(({ text }) => text.split("\n")[0]);
      assert.deepEqual(texts, calls.map((_, i) => `=> ${i * i}`));
    });

    if (era === "modern")
      test("opens and closes a subscription", async () => {
        const subscription = await client.listen({ toolsListChanged: true });
        assert.deepEqual(subscription.honoredFilter, {});
        await subscription.close();
        assert.equal(await subscription.closed, "local");
      });
  });

test("the end of the server closes a subscription gracefully", async () => {
  const directory = makeRecords();
  const { client, transport } = clientFor({ pin: modern }, directory);
  await client.connect(transport);
  const subscription = await client.listen({ toolsListChanged: true });
  process.kill(transport.pid, "SIGTERM");
  assert.equal(await subscription.closed, "graceful");
  await client.close();
  takeRecords(directory);
});
