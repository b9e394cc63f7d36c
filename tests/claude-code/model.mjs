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

function stream(response, model, content) {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: "msg_1", type: "message", role: "assistant", model, content: [], usage };
  const stop_reason = content[0].type === "text" ? "end_turn" : "tool_use";
  const send = (type, data) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  response.writeHead(200, { "content-type": "text/event-stream" });
  send("message_start", { message: { ...message, stop_reason: null, stop_sequence: null } });
  content.forEach((block, index) => {
    const [content_block, delta] = blocks(block);
    send("content_block_start", { index, content_block });
    send("content_block_delta", { index, delta });
    send("content_block_stop", { index });
  });
  send("message_delta", { delta: { stop_reason, stop_sequence: null }, usage });
  send("message_stop", {});
  response.end();
}

// The texts of all tool results among MESSAGES, by the id of their call.
function resultsById(messages) {
  const results = messages.flatMap(({ content }) =>
    Array.isArray(content) ? content.filter(({ type }) => type === "tool_result") : [],
  );
  const textOf = (content) => (Array.isArray(content) ? content.map(({ text }) => text).join("\n") : content);
  return new Map(results.map(({ tool_use_id, content }) => [tool_use_id, textOf(content)]));
}

// SCRIPT is a generator: it yields a call [tool, input] or an array of calls, and gets the text of the
// last `result`, the `results` of all calls, and the names of the current `tools`, of which only those
// with PREFIX count. Resolves to { url, close, fault }.
export async function startModel(prefix, script) {
  const conversation = script();
  let calls = 0;
  let asked = [];
  const model = { fault: undefined };

  function next(request) {
    const tools = (request.tools ?? []).map(({ name }) => name).filter((name) => name.startsWith(prefix));
    if (tools.length === 0) return [{ type: "text", text: "Nothing to do." }];
    const known = resultsById(request.messages);
    const results = asked.map((id) => known.get(id));
    const { value, done } = conversation.next({
      result: results.at(-1),
      results,
      tools: tools.map((name) => name.slice(prefix.length)),
    });
    if (done) return [{ type: "text", text: "That was all." }];
    const content = (Array.isArray(value[0]) ? value : [value]).map(([name, input]) => ({
      ...{ type: "tool_use", id: `toolu_${++calls}`, name: prefix + name, input },
    }));
    asked = content.map(({ id }) => id);
    return content;
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
