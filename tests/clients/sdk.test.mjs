// A session with the official TypeScript SDK's client: handshake, lists, evaluations with common
// outcomes, cancellation, and the end.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { EmptyResultSchema, LATEST_PROTOCOL_VERSION, McpError } from "@modelcontextprotocol/sdk/types.js";
import { Connection, eclave, parseOutput, textOf } from "./server.mjs";

describe("the SDK's client", () => {
  let server;
  let client;

  before(async () => {
    server = await Connection.open();
    client = server.client;
  });
  after(() => server.close());

  // The error of a call, which must fail.
  async function refusal(promise) {
    const error = await promise.then(
      (result) => assert.fail(`answered ${JSON.stringify(result)}`),
      (reason) => reason,
    );
    assert.ok(error instanceof McpError, String(error));
    return error;
  }

  test("learns the name and version of the server", () => {
    const { name, version } = client.getServerVersion();
    assert.equal(name, "eclave");
    assert.match(execFileSync(eclave, ["--version"], { encoding: "utf8" }), new RegExp(`\\b${version}\\b`));
    assert.equal(server.transport.protocolVersion, LATEST_PROTOCOL_VERSION);
    assert.ok(client.getServerCapabilities().tools);
    const instructions = client.getInstructions();
    assert.ok(instructions.length > 0 && instructions.length <= 2048, instructions);
  });

  test("pings", async () => {
    assert.deepEqual(await client.ping(), {});
  });

  test("lists the tools page by page", async () => {
    const tools = [];
    let cursor;
    do {
      const page = await client.listTools({ cursor });
      tools.push(...page.tools);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    const names = tools.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
    const evaluate = tools.find(({ name }) => name === "evaluate-lisp");
    assert.deepEqual(evaluate.inputSchema.required, ["code"]);
    for (const tool of tools) {
      assert.match(tool.name, /^[A-Za-z0-9_.-]{1,64}$/);
      assert.ok(tool.description, tool.name);
      assert.equal(tool.inputSchema.type, "object");
    }
  });

  test("gets an error for an invented cursor", async () => {
    assert.equal((await refusal(client.listTools({ cursor: "no such page" }))).code, -32602);
  });

  describe("evaluates", () => {
    for (const [code, text] of [
      ["(+ 1 2)", "=> 3"],
      ["(values 1 :two \"three\")", "=> 1\n=> :TWO\n=> \"three\""],
      ["1 2 3", "=> 3"],
      ["(string (code-char 955))", "=> \"λ\""],
      ["(length \"λ→😀\")", "=> 3"],
      ["(expt 2 100)", "=> 1267650600228229401496703205376"],
      ["(in-package :cl-user) (list 'a :b \"c\" #\\d 1/2)", "=> (A :B \"c\" #\\d 1/2)"],
      ["(read-line *standard-input* nil :end-of-file)", "=> :END-OF-FILE\n=> T"],
    ])
      test(code, async () => assert.equal(await server.value(code), text));

    test("output, error output and a warning with the value", async () => {
      const result = await server.evaluate(
        '(format t "to out") (format *error-output* "to err") (warn "careful") 42',
      );
      assert.ok(!result.isError);
      assert.match(
        textOf(result),
        /^\[stdout\]\nto out\n+\[stderr\]\nto err\n+\[warnings\]\nWARNING: careful\n+=> 42$/,
      );
      assert.equal(result._meta.exitCode, 0);
      assert.equal(result._meta.stderr, "to err");
    });

    test("a large output, cut visibly", async () => {
      const text = await server.value("(dotimes (i 200000) (write-char #\\x)) :done");
      assert.match(text, /=> :DONE$/);
      assert.ok(text.length < 110000, `${text.length} characters`);
    });
  });

  describe("sees a condition as a tool error:", () => {
    for (const [code, type, message] of [
      ['(error "boom ~a" 7)', "SIMPLE-ERROR", /^boom 7$/m],
      ["(car 5)", "TYPE-ERROR", /^The value 5 is not of type LIST\.$/m],
      ["(/ 1 0)", "DIVISION-BY-ZERO", /./],
      ["(no-such-function 1)", "UNDEFINED-FUNCTION", /NO-SUCH-FUNCTION/],
      ["no-such-variable", "UNBOUND-VARIABLE", /NO-SUCH-VARIABLE/],
      ["(+ 1", "END-OF-FILE", /./],
      ["(no-such-package:thing)", "PACKAGE-ERROR", /./],
      ["(labels ((deep (n) (+ 1 (deep n)))) (deep 1))", "STORAGE-CONDITION", /./],
    ])
      test(`${type} of ${code}`, async () => {
        const result = await server.evaluate(code);
        assert.equal(result.isError, true);
        const [first, ...rest] = textOf(result).split("\n");
        if (type === "STORAGE-CONDITION") assert.match(first, /^\[ERROR\] \S+$/);
        else assert.equal(first, `[ERROR] ${type}`);
        assert.match(rest.join("\n"), message);
        assert.match(textOf(result), /\n\[Backtrace\]\n/);
        assert.equal(result._meta.exitCode, 1);
      });
  });

  test("keeps state between calls", async () => {
    await server.value("(defvar *counter* 10) (defun next () (incf *counter*))");
    await server.value("(defmacro twice (form) `(progn ,form ,form))");
    assert.equal(await server.value("(twice (next))"), "=> 12");
    await server.evaluate('(next) (error "after the change")');
    assert.equal(await server.value("*counter*"), "=> 13");
  });

  test("stays in the package of in-package", async () => {
    await server.value("(defpackage :elsewhere (:use :cl)) (in-package :elsewhere)");
    assert.equal(await server.value("(package-name *package*)"), '=> "ELSEWHERE"');
    assert.equal(
      await server.value("(package-name *package*)", { package: "CL-USER" }),
      '=> "COMMON-LISP-USER"',
    );
    assert.equal(await server.value("(package-name *package*)"), '=> "ELSEWHERE"');
    await server.value("(in-package :cl-user)");
    const unknown = await server.evaluate("1", { package: "NO-SUCH-PACKAGE" });
    assert.equal(unknown.isError, true);
    assert.match(textOf(unknown), /PACKAGE/);
  });

  test("gets an error for a time-out and continues", async () => {
    const error = await refusal(server.evaluate("(loop)", { timeout: 0.5 }));
    assert.equal(error.code, -32004);
    assert.equal(error.data.timeoutSecs, 0.5);
    assert.ok(error.data.elapsedMs >= 500, String(error.data.elapsedMs));
    assert.equal(await server.value("(+ 20 22)"), "=> 42");
  });

  test("cancels and continues", async () => {
    const controller = new AbortController();
    const call = server.evaluate("(loop)", {}, { signal: controller.signal });
    setTimeout(200).then(() => controller.abort("changed my mind"));
    await assert.rejects(call, /changed my mind/);
    assert.equal(await server.value("(* 6 7)"), "=> 42");

    const { params } = server.transport.sent.findLast(
      ({ method }) => method === "notifications/cancelled",
    );
    const answers = parseOutput(server.transport.output).filter(({ id }) => id === params.requestId);
    assert.deepEqual(answers.map(({ error }) => error?.code), [-32001]);
    // The SDK has forgotten the call by then and reports the answer; it reports nothing else.
    assert.equal(server.errors.length, 1);
    assert.match(server.errors[0].message, /unknown message ID/);
  });

  test("keeps its session when the code ends the process", async () => {
    const result = await server.evaluate("(ext:quit 3)");
    assert.equal(result.isError, true);
    assert.match(textOf(result), /^\[ERROR\] PROCESS-EXIT\n/);
    assert.equal(result._meta.exitCode, 3);
    assert.equal(await server.value("(+ 1 1)"), "=> 2");
  });

  test("gets errors for wrong requests", async () => {
    const unknown = await refusal(client.callTool({ name: "no-such-tool", arguments: {} }));
    assert.equal(unknown.code, -32602);
    assert.match(JSON.stringify(unknown.data), /no-such-tool/);
    const missing = await refusal(client.callTool({ name: "evaluate-lisp", arguments: {} }));
    assert.equal(missing.code, -32602);
    const method = await refusal(
      client.request({ method: "no/such/method" }, EmptyResultSchema),
    );
    assert.equal(method.code, -32601);
  });

  test("gets answers while an evaluation runs, one for each call", async () => {
    const controller = new AbortController();
    const endless = server.evaluate("(loop)", {}, { signal: controller.signal });
    await client.ping(); // and does not wait for the evaluation
    controller.abort("the ping was answered");
    await assert.rejects(endless, /the ping was answered/);
    const slow = server.evaluate("(sleep 1) :slow");
    const calls = Array.from({ length: 30 }, (_, i) => server.value(`(* ${i} ${i})`));
    assert.equal(textOf(await slow), "=> :SLOW");
    assert.deepEqual(await Promise.all(calls), calls.map((_, i) => `=> ${i * i}`));
  });
});

test("a server that is closed at once leaves nothing behind", async () => {
  await (await Connection.open()).close();
});

test("a server that is closed in the middle of a call leaves nothing behind", async () => {
  const server = await Connection.open();
  const call = assert.rejects(server.evaluate("(loop)"));
  await server.client.ping();
  await setTimeout(300);
  await server.leave();
  await call;
});
