// The AI SDK: what its `toModelOutput` hands to a model.
import { experimental_createMCPClient as createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as Transport } from "@ai-sdk/mcp/mcp-stdio";
import { checkHost } from "./hosts.mjs";

let count = 0;

const open = async ({ command, args, env }) => {
  const client = await createMCPClient({ transport: new Transport({ command, args, env }) });
  const tools = await client.tools();
  return {
    async call(name, input, { signal } = {}) {
      const options = { toolCallId: `call-${++count}`, messages: [], abortSignal: signal };
      const output = await tools[name].execute(input, options);
      return (await tools[name].toModelOutput?.({ ...options, input, output })) ?? output;
    },
    close: () => client.close(),
  };
};

checkHost("the AI SDK", open, { cancels: false });
