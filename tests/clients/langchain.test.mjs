// LangChain's MCP adapters. A tool error is thrown, and its message is what a model gets.
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { checkHost } from "./hosts.mjs";

checkHost("LangChain", async ({ command, args, env }) => {
  const client = new MultiServerMCPClient({ mcpServers: { lisp: { transport: "stdio", command, args, env } } });
  const tools = await client.getTools();
  return {
    call: (name, input, { signal } = {}) =>
      tools.find((tool) => tool.name === name).invoke(input, { signal }).catch((error) => error.message),
    close: () => client.close(),
  };
});
