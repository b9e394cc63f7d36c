// Checks the lines of a server against the schema of the revision that each belongs to. The order of
// lines and the number of answers are not checked here. A line that belongs to no request is a fault.
import { modernRevision, newestHandshake, schemas } from "./schemas.mjs";

const keyVersion = "io.modelcontextprotocol/protocolVersion";

// The results of MCP's methods; other methods return `{}`.
const results = {
  initialize: "InitializeResult",
  "server/discover": "DiscoverResult",
  "subscriptions/listen": "SubscriptionsListenResult",
  "tools/list": "ListToolsResult",
  "tools/call": "CallToolResult",
  "prompts/list": "ListPromptsResult",
  "prompts/get": "GetPromptResult",
  "resources/list": "ListResourcesResult",
  "resources/templates/list": "ListResourceTemplatesResult",
  "resources/read": "ReadResourceResult",
  "completion/complete": "CompleteResult",
};

// Requests of a server to a client.
const questions = {
  "elicitation/create": "ElicitRequest",
  "sampling/createMessage": "CreateMessageRequest",
  "roots/list": "ListRootsRequest",
};

// Errors that schemas describe by their code.
const errors = {
  [-32022]: "UnsupportedProtocolVersionError",
  [-32021]: "MissingRequiredClientCapabilityError",
};

function parse(line) {
  try {
    return JSON.parse(line.replace(/^\uFEFF/, ""));
  } catch {
    return undefined;
  }
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function messagesOf(line) {
  const value = parse(line);
  return (Array.isArray(value) ? value : [value]).filter(isObject);
}

// The requests in SENT: a map from ids to arrays of distinct { method, modern }.
function requestsIn(sent) {
  const requests = new Map();
  for (const message of sent.flatMap(messagesOf)) {
    if (!("id" in message) || typeof message.method !== "string") continue;
    const id = JSON.stringify(message.id);
    const meta = message.params?._meta;
    const modern = isObject(meta) && keyVersion in meta;
    const { method } = message;
    const known = requests.get(id) ?? [];
    if (!known.some((other) => other.method === method && other.modern === modern))
      requests.set(id, [...known, { method, modern }]);
  }
  return requests;
}

// The revision that `initialize` negotiated.
function handshakeIn(messages) {
  const answer = messages.find(
    ({ result }) => isObject(result) && "protocolVersion" in result && "serverInfo" in result,
  );
  return answer?.result.protocolVersion;
}

function firstFault(schema, ...checks) {
  for (const [name, value] of checks) {
    const fault = schema.fault(name, value);
    if (fault) return fault;
  }
  return null;
}

// The extension of tasks has no schema of its own.
function taskFault(method, result) {
  const expected = {
    taskId: /^[0-9a-f]{32}$/,
    status: method === "tools/call" ? /^working$/ : /^(working|input_required|completed|failed|cancelled)$/,
    createdAt: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
    lastUpdatedAt: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
    ttlMs: /^\d+$/,
    pollIntervalMs: /^\d+$/,
  };
  const bad = Object.keys(expected).find((name) => !expected[name].test(String(result[name])));
  const ends = { completed: "result", failed: "error", input_required: "inputRequests" };
  const due = ends[result.status];
  const wrong = Object.values(ends).find((name) => (name in result) !== (name === due));
  return bad ?? wrong ? `${bad ?? wrong} of a task: ${JSON.stringify(result).slice(0, 200)}` : null;
}

function resultFault(revision, method, message) {
  const schema = schemas[revision];
  if (message.result.resultType === "task" || (method === "tasks/get" && message.result.taskId))
    return firstFault(schema, ["JSONRPCResultResponse", message]) ?? taskFault(method, message.result);
  const asks = message.result.resultType === "input_required";
  const name = asks ? "InputRequiredResult" : (results[method] ?? "EmptyResult");
  if (!schema.has(name)) return `${method} has no result in ${revision}`;
  const envelope = schema.has("JSONRPCResultResponse") ? "JSONRPCResultResponse" : "JSONRPCResponse";
  const fault = firstFault(schema, [envelope, message], [name, message.result]);
  const surplus = schema.surplus(name, message.result);
  return fault ?? (surplus && `${surplus} is unknown in ${revision}`);
}

// A request without a usable id is answered with null, as JSON-RPC requires, or with the number as
// written; MCP's schemas allow neither.
function errorFault(revision, message) {
  const schema = schemas[revision];
  const known = typeof message.id === "string" || Number.isInteger(message.id);
  const envelope = schema.has("JSONRPCErrorResponse") ? "JSONRPCErrorResponse" : "JSONRPCError";
  const checked = known ? message : { ...message, id: "none" };
  const byCode = errors[message.error.code];
  const fault = firstFault(schema, [envelope, checked]);
  return fault ?? (schema.has(byCode) ? schema.fault(byCode, checked) : null);
}

function questionFault(revision, message) {
  const schema = schemas[revision];
  const name = questions[message.method];
  if (revision === modernRevision || !name || !schema.has(name))
    return `${message.method} is not a request of ${revision}`;
  return schema.fault(name, message);
}

function notificationFault(revision, message) {
  const schema = schemas[revision];
  const name = schema.notification(message.method);
  if (!name) return `${message.method} is unknown in ${revision}`;
  const surplus = schema.surplus(name, withoutEnvelope(message));
  return schema.fault(name, message) ?? (surplus && `${surplus} is unknown in ${revision}`);
}

// Some schemas describe a notification with its envelope, some without.
function withoutEnvelope({ method, params }) {
  return { method, params };
}

// Null when one of CANDIDATES has no fault; else the first fault.
function anyFault(candidates, check) {
  let first = null;
  for (const candidate of candidates) {
    const fault = check(candidate);
    if (!fault) return null;
    first ??= fault;
  }
  return first ?? "it belongs to no request";
}

// The faults of RECEIVED, the answers to the lines of SENT: an array of strings.
export function faultsIn(sent, received) {
  const requests = requestsIn(sent);
  const messages = received.flatMap(messagesOf);
  const handshake = handshakeIn(messages);
  const modern = [...requests.values()].flat().some((request) => request.modern);
  const spoken = [handshake, modern ? modernRevision : undefined].filter(Boolean);

  function revisionOf(request) {
    return request.modern ? modernRevision : (handshake ?? newestHandshake);
  }

  function faultOf(message) {
    const asked = requests.get(JSON.stringify(message.id)) ?? [];
    if (typeof message.method === "string" && "id" in message)
      return anyFault(spoken, (revision) => questionFault(revision, message));
    if (typeof message.method === "string")
      return anyFault(spoken, (revision) => notificationFault(revision, message));
    if (isObject(message.error))
      return anyFault(asked.length ? asked : [{ modern: false }], (request) =>
        errorFault(revisionOf(request), message),
      );
    return anyFault(asked, (request) => resultFault(revisionOf(request), request.method, message));
  }

  const faults = [];
  for (const line of received) {
    const value = parse(line);
    if (!isObject(value) && !Array.isArray(value)) faults.push(`not a message: ${line}`);
  }
  for (const message of messages) {
    const fault = faultOf(message);
    if (fault) faults.push(`${fault}: ${JSON.stringify(message).slice(0, 400)}`);
  }
  return faults;
}

// The contents of a record, with "> " before lines sent and "< " before lines received.
export function readTraffic(text) {
  const lines = text.split("\n");
  const having = (mark) =>
    lines.filter((line) => line.startsWith(mark)).map((line) => line.slice(mark.length));
  return { sent: having("> "), received: having("< ") };
}
