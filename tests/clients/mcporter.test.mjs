// mcporter's runtime, which other programs embed.
import { createCallResult, createRuntime } from "mcporter";
import { checkHost } from "./hosts.mjs";

checkHost("mcporter", async ({ command, args, env }) => {
  const definition = { name: "lisp", command: { kind: "stdio", command, args, cwd: process.cwd() }, env };
  const runtime = await createRuntime({ servers: [definition] });
  return {
    call: async (name, input) => createCallResult(await runtime.callTool("lisp", name, { args: input })).text(),
    close: () => runtime.close(),
  };
}, { cancels: false });
