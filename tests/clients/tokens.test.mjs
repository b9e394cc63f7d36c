// The size of tools/list for a model: every host sends it with each request.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { eclave, sanitizerOptions } from "./server.mjs";

const TOKENS_MAX = 2500;

const options = {
  "default options": [],
  "options that add text": [
    ...["--default-session", "work", "--allow-read", "/usr", "--timeout-reply", "result"],
  ],
};

for (const mode of ["legacy", { pin: "2026-07-28" }])
  for (const [name, args] of Object.entries(options))
    test(`tools/list has at most ${TOKENS_MAX} tokens, ${mode.pin ?? mode}, ${name}`, async (context) => {
      const transport = new StdioClientTransport({ command: eclave, args, env: sanitizerOptions, stderr: "pipe" });
      const client = new Client({ name: "eclave-tests", version: "1.0.0" }, { versionNegotiation: { mode } });
      await client.connect(transport);
      const { tools } = await client.listTools();
      await client.close();
      for (const tool of tools) {
        const count = encode(JSON.stringify(tool)).length;
        context.diagnostic(`${tool.name}: ${count}`);
      }
      const count = encode(JSON.stringify(tools)).length;
      context.diagnostic(`${count} tokens`);
      assert.ok(count <= TOKENS_MAX, `${count} tokens`);
    });
