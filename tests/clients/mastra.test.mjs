// Mastra's MCP client. A tool error is thrown, and its message is what a model gets.
import { MCPClient } from "@mastra/mcp";
import { checkHost } from "./hosts.mjs";

let count = 0;

checkHost("Mastra", async ({ command, args, env }) => {
  const client = new MCPClient({ id: `client-${++count}`, servers: { lisp: { command, args, env } }, timeout: 90000 });
  const tools = await client.listTools();
  return {
    call: (name, input, { signal } = {}) =>
      tools[`lisp_${name}`].execute(input, { abortSignal: signal }).catch((error) => error.message),
    close: () => client.disconnect(),
  };
});
