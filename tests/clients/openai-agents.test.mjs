// OpenAI's Agents SDK: what its function tools hand to a model.
import { MCPServerStdio, RunContext, getAllMcpTools } from "@openai/agents";
import { checkHost } from "./hosts.mjs";

const open = async ({ command, args, env }) => {
  const server = new MCPServerStdio({ name: "lisp", command, args, env });
  await server.connect();
  const tools = await getAllMcpTools({ mcpServers: [server] });
  return {
    call: (name, input, { signal } = {}) =>
      tools
        .find((tool) => tool.name.replaceAll("_", "-") === name)
        .invoke(new RunContext({}), JSON.stringify(input), { signal }),
    close: () => server.close(),
  };
};

checkHost("OpenAI's Agents SDK", open, { shows: false });
