// Connects the official suite, which supports only Streamable HTTP, to servers on stdio. It passes
// every JSON-RPC message unchanged, except for ids and their copies, which it renumbers for each
// server. Itself it does only what HTTP requires: sessions, event streams, status codes and header
// checks. It never answers a request that the server could answer.
//
// In the legacy era each session has a server. In the modern era all requests share one, so that
// changes reach open subscriptions.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const modernRevision = "2026-07-28";
const keyVersion = "io.modelcontextprotocol/protocolVersion";
const keyCapabilities = "io.modelcontextprotocol/clientCapabilities";
const keySubscription = "io.modelcontextprotocol/subscriptionId";
const headerMismatch = -32020;

function errorResponse(id, code, message) {
  return { jsonrpc: "2.0", id, error: { code, message } };
}

// One HTTP response: plain JSON, or an event stream as soon as something precedes the result.
class Reply {
  constructor(response, modern, headers = {}) {
    this.response = response;
    this.modern = modern;
    this.headers = headers;
  }

  openStream() {
    if (this.response.headersSent) return;
    const headers = { "content-type": "text/event-stream", "cache-control": "no-cache" };
    this.response.writeHead(200, { ...this.headers, ...headers });
    this.response.flushHeaders();
  }

  event(message) {
    this.openStream();
    this.response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }

  finish(message, request) {
    this.finished = true;
    if (this.response.headersSent) {
      this.event(message);
      this.response.end();
      return;
    }
    const status = this.modern ? statusOf(message, request) : 200;
    this.response.writeHead(status, { ...this.headers, "content-type": "application/json" });
    this.response.end(JSON.stringify(message));
  }

  fail() {
    this.finished = true;
    if (!this.response.headersSent) this.response.writeHead(502);
    this.response.end();
  }
}

// The HTTP status of an error in the modern era.
function statusOf(message, request) {
  const code = message.error?.code;
  const meta = request.params?._meta;
  const hasEnvelope = meta && keyVersion in meta && keyCapabilities in meta;
  if (code === -32601) return 404;
  if (code === -32602) return hasEnvelope ? 200 : 400;
  return [-32700, -32600, -32021, -32022].includes(code) ? 400 : 200;
}

// A server and its requests in flight.
class Server {
  nextId = 1;
  inFlight = new Map();
  tokens = new Map();
  backlog = []; // messages without a request, until a stream is open
  stream = null;

  constructor([command, ...options], faults) {
    this.faults = faults;
    this.process = spawn(command, options, { stdio: ["pipe", "pipe", "inherit"] });
    this.process.stdin.on("error", () => {});
    this.end = new Promise((resolve) =>
      this.process.on("exit", (status, signal) => {
        this.ended = true;
        for (const { reply } of this.inFlight.values()) reply.fail();
        resolve({ status, signal });
      }),
    );
    createInterface({ input: this.process.stdout }).on("line", (line) => this.receive(line));
  }

  send(message) {
    this.process.stdin.write(JSON.stringify(message) + "\n");
  }

  receive(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      this.faults.push(`not JSON: ${line}`);
      return;
    }
    if (message.method === undefined) this.receiveResponse(message);
    else this.receiveNotification(message);
  }

  receiveResponse(message) {
    const flight = this.inFlight.get(message.id);
    if (!flight) {
      this.faults.push(`an unexpected answer: ${JSON.stringify(message)}`);
      return;
    }
    this.inFlight.delete(message.id);
    message.id = flight.request.id;
    const meta = message.result?._meta;
    if (meta && keySubscription in meta) meta[keySubscription] = message.id;
    flight.reply.finish(message, flight.request);
  }

  receiveNotification(message) {
    const subscription = message.params?._meta?.[keySubscription];
    let flight;
    if (subscription !== undefined) {
      flight = this.inFlight.get(subscription);
      if (flight) message.params._meta[keySubscription] = flight.request.id;
    } else if (message.method === "notifications/progress") {
      const id = message.params.progressToken;
      flight = this.inFlight.get(id);
      if (flight) message.params.progressToken = this.tokens.get(id);
    } else {
      const calls = [...this.inFlight.values()];
      flight = calls.findLast(({ request }) => request.method !== "subscriptions/listen");
    }
    if (flight) flight.reply.event(message);
    else if (this.stream) this.stream.event(message);
    else this.backlog.push(message);
  }

  // Sends a request; returns a function that cancels it.
  request(request, reply) {
    const id = this.nextId++;
    const sent = structuredClone({ ...request, id });
    const meta = sent.params?._meta;
    if (meta?.progressToken !== undefined) {
      this.tokens.set(id, meta.progressToken);
      meta.progressToken = id;
    }
    this.inFlight.set(id, { request, reply });
    this.send(sent);
    return () => {
      if (this.inFlight.delete(id))
        this.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
    };
  }

  openStream(reply) {
    this.stream = reply;
    reply.openStream();
    for (const message of this.backlog.splice(0)) reply.event(message);
    reply.response.on("close", () => (this.stream = null));
  }

  close() {
    this.process.stdin.end();
  }
}

// The fault of the headers of a modern request, or undefined.
function headerProblem(headers, request) {
  const named = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
  };
  const version = request.params?._meta?.[keyVersion];
  const name = request.params?.[named[request.method]];
  if (headers["mcp-protocol-version"] === undefined) return "MCP-Protocol-Version is missing";
  if (version !== undefined && version !== headers["mcp-protocol-version"])
    return "MCP-Protocol-Version does not match _meta";
  if (headers["mcp-method"] !== request.method) return "Mcp-Method does not match the method";
  if (name !== undefined && decodeHeader(headers["mcp-name"]) !== name)
    return "Mcp-Name does not match params";
  return undefined;
}

function decodeHeader(value) {
  const encoded = /^=\?base64\?(.*)\?=$/i.exec(value ?? "");
  return encoded ? Buffer.from(encoded[1], "base64").toString() : value;
}

function isLocal(name) {
  return /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(name ?? "");
}

function readBody(request) {
  return new Promise((resolve) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (part) => (body += part));
    request.on("end", () => resolve(body));
  });
}

// Serves COMMAND, an array, on a free port. REVISION, if given, replaces that of every handshake.
// Returns `url`, `faults` of the servers, and `close`, which resolves to how each server ended.
export async function startBridge(command, revision = undefined) {
  const faults = [];
  const servers = [];
  const sessions = new Map();
  let shared;

  function startServer() {
    const server = new Server(command, faults);
    servers.push(server);
    return server;
  }

  function modernServer() {
    if (!shared || shared.ended) shared = startServer();
    return shared;
  }

  function send(response, status, body = undefined) {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(body && JSON.stringify(body));
  }

  function serveModern(message, headers, response) {
    if (message.id === undefined) {
      modernServer().send(message);
      send(response, 202);
      return;
    }
    const problem = headerProblem(headers, message);
    if (problem) {
      send(response, 400, errorResponse(message.id, headerMismatch, problem));
      return;
    }
    const reply = new Reply(response, true);
    const cancel = modernServer().request(message, reply);
    response.on("close", () => reply.finished || cancel());
  }

  function serveLegacy(message, session, response) {
    let server = sessions.get(session);
    let headers = {};
    if (message.method === "initialize" && !session) {
      const id = randomUUID();
      server = startServer();
      sessions.set(id, server);
      headers = { "mcp-session-id": id };
      if (revision) message.params.protocolVersion = revision;
    }
    if (!server) {
      send(response, session ? 404 : 400, errorResponse(message.id, -32600, "No such session"));
    } else if (message.id === undefined || message.method === undefined) {
      server.send(message);
      send(response, 202);
    } else {
      const reply = new Reply(response, false, headers);
      server.request(message, reply);
      if (message.method !== "initialize") reply.openStream();
    }
  }

  async function post(request, response) {
    let message;
    try {
      message = JSON.parse(await readBody(request));
    } catch {
      send(response, 400, errorResponse(null, -32700, "Parse error"));
      return;
    }
    const { headers } = request;
    const claimed = message.params?._meta?.[keyVersion] !== undefined;
    if (claimed || headers["mcp-protocol-version"] === modernRevision)
      serveModern(message, headers, response);
    else serveLegacy(message, headers["mcp-session-id"], response);
  }

  function serve(request, response) {
    const { host, origin, "mcp-session-id": session } = request.headers;
    if (!isLocal(host) || (origin && !isLocal(origin.replace(/^https?:\/\//, "")))) {
      send(response, 403, errorResponse(null, -32600, "Forbidden host or origin"));
    } else if (request.method === "POST") {
      post(request, response);
    } else if (!["GET", "DELETE"].includes(request.method)) {
      send(response, 405);
    } else if (!sessions.has(session)) {
      send(response, session ? 404 : 400);
    } else if (request.method === "GET") {
      sessions.get(session).openStream(new Reply(response, false));
    } else {
      sessions.get(session).close();
      sessions.delete(session);
      send(response, 200);
    }
  }

  const http = createServer(serve);
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${http.address().port}/mcp`,
    faults,
    close() {
      for (const server of servers) server.close();
      http.closeAllConnections();
      http.close();
      return Promise.all(servers.map(({ end }) => end));
    },
  };
}
