// A model that follows a script, with the HTTP interface of Claude Code's model, which would need an
// account.
import { createServer } from "node:http";

function blocks(block) {
  if (block.type === "text") return [{ type: "text", text: "" }, { type: "text_delta", text: block.text }];
  return [
    { ...block, input: {} },
    { type: "input_json_delta", partial_json: JSON.stringify(block.input) },
  ];
}

function stream(response, model, block) {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: "msg_1", type: "message", role: "assistant", model, content: [], usage };
  const [content_block, delta] = blocks(block);
  const stop_reason = block.type === "text" ? "end_turn" : "tool_use";
  const send = (type, data) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  response.writeHead(200, { "content-type": "text/event-stream" });
  send("message_start", { message: { ...message, stop_reason: null, stop_sequence: null } });
  send("content_block_start", { index: 0, content_block });
  send("content_block_delta", { index: 0, delta });
  send("content_block_stop", { index: 0 });
  send("message_delta", { delta: { stop_reason, stop_sequence: null }, usage });
  send("message_stop", {});
  response.end();
}

// The text of the newest tool result among MESSAGES, or undefined.
function newestResult(messages) {
  const results = messages.flatMap(({ content }) =>
    Array.isArray(content) ? content.filter(({ type }) => type === "tool_result") : [],
  );
  const content = results.at(-1)?.content;
  return Array.isArray(content) ? content.map(({ text }) => text).join("\n") : content;
}

// SCRIPT is a generator: it yields calls [tool, input] and gets the text of each `result` and the names
// of the current `tools`, of which only those with PREFIX count. Resolves to { url, close, fault }.
export async function startModel(prefix, script) {
  const conversation = script();
  let calls = 0;
  const model = { fault: undefined };

  function next(request) {
    const tools = (request.tools ?? []).map(({ name }) => name).filter((name) => name.startsWith(prefix));
    if (tools.length === 0) return { type: "text", text: "Nothing to do." };
    const { value, done } = conversation.next({
      result: newestResult(request.messages),
      tools: tools.map((name) => name.slice(prefix.length)),
    });
    if (done) return { type: "text", text: "That was all." };
    const [name, input] = value;
    return { type: "tool_use", id: `toolu_${++calls}`, name: prefix + name, input };
  }

  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => (body += part));
    request.on("end", () => {
      try {
        const json = JSON.parse(body);
        stream(response, json.model, next(json));
      } catch (error) {
        model.fault ??= error;
        response.writeHead(400).end();
      }
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  model.url = `http://127.0.0.1:${server.address().port}`;
  model.close = () => server.close();
  return model;
}
