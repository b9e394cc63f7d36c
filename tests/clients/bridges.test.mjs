// Bridges from HTTP to a server on stdio, with the SDK's client in front of them.
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { checkHost } from "./hosts.mjs";

const packages = join(process.cwd(), "../node_modules");

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

const bridges = {
  supergateway: (port, command) => [
    join(packages, "supergateway/dist/index.js"),
    ...["--stdio", command, "--outputTransport", "streamableHttp", "--stateful", "--port", `${port}`, "--logLevel", "none"],
  ],
  "mcp-proxy": (port, command) => [
    join(packages, "mcp-proxy/dist/bin/mcp-proxy.mjs"),
    ...["--port", `${port}`, "--host", "127.0.0.1", "--server", "stream", "--shell", command],
  ],
};

async function connect(url) {
  for (;;) {
    const client = new Client({ name: "eclave-tests", version: "1.0.0" });
    try {
      await client.connect(new StreamableHTTPClientTransport(new URL(url)));
      return client;
    } catch {
      await setTimeout(100);
    }
  }
}

for (const [name, commandOf] of Object.entries(bridges))
  checkHost(name, async ({ command, args, env }) => {
    const port = await freePort();
    const bridge = spawn(process.execPath, commandOf(port, [command, ...args].join(" ")), {
      stdio: "ignore",
      env: { ...process.env, ...env },
    });
    const ended = new Promise((resolve) => bridge.once("close", resolve));
    const client = await connect(`http://127.0.0.1:${port}/mcp`);
    return {
      call: (name, input, { signal } = {}) =>
        client.callTool({ name, arguments: input }, undefined, { signal, timeout: 90000 }),
      async close() {
        await client.close();
        bridge.kill("SIGTERM");
        await ended;
      },
    };
  });
