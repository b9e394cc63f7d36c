// Mixed client messages over all revisions, a quarter of them hostile. Each has a known number of
// answers, and each session has a counter that every lawful call increments.
import { Random, Server } from "./server.mjs";

const IN_FLIGHT = 48;
const SESSIONS = 3;
const MESSAGES_OF_A_SERVER = 20000;
const WARM_UP = 2000;
const SILENCE_MS = Number(process.env.ENDURE_SILENCE_MS) || 60000;
const REQUEST_MAX_BYTES = 65536;
const legacy = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const MODERN = "2026-07-28";

const meta = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientCapabilities": {},
};

class Conversation {
  constructor(random, revision, result) {
    Object.assign(this, { random, revision, result });
    this.modern = revision === MODERN;
    this.server = new Server([
      "--request-max-bytes", String(REQUEST_MAX_BYTES),
      "--session-history", "2",
      "--session-record", "off", // each state is a process, so that what is left can be counted
      "--output-max-bytes", "20000",
    ]);
    this.server.onLine = (line) => this.#answer(line);
    this.server.ended.then((how) => {
      if (!this.over) this.#fault("lost", `the server ended: ${JSON.stringify(how)}`);
      this.wake?.();
    });
    this.lastId = 0;
    this.waiting = new Map(); // by id: a check of the answer
    this.nameless = 0; // answers with id null to come
    this.counters = [];
  }

  #fault(kind, what) {
    this.result[kind]++;
    if (this.result.faults.length < 20) this.result.faults.push(`${this.revision}: ${what}`);
  }

  #answer(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      this.#fault("wrong", `not JSON: ${line.slice(0, 200)}`);
      return;
    }
    for (const one of Array.isArray(message) ? message : [message]) this.#answerOne(one, line);
    this.wake?.();
  }

  #answerOne(message, line) {
    if (message.method !== undefined) return; // a notification
    if (message.id === null) {
      this.nameless--;
      if (this.nameless < 0) this.#fault("wrong", `nobody asked: ${line.slice(0, 200)}`);
      return;
    }
    const check = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    const problem = check ? check(message) : "nobody asked";
    if (problem) this.#fault("wrong", `${problem}: ${line.slice(0, 300)}`);
  }

  inFlight() {
    return this.waiting.size + this.nameless;
  }

  // Waits until fewer than LIMIT messages are unanswered; silence for SILENCE_MS is a loss.
  async below(limit) {
    while (this.inFlight() >= limit) {
      const moved = await new Promise((resolve) => {
        const timer = setTimeout(() => resolve(false), SILENCE_MS);
        this.wake = () => {
          clearTimeout(timer);
          resolve(true);
        };
      });
      if (moved && this.server.child.exitCode === null) continue;
      if (this.inFlight() < limit) return;
      this.#fault("lost", `${this.inFlight()} answers never came`);
      this.result.lost += this.inFlight() - 1;
      this.waiting.clear();
      this.nameless = 0;
    }
  }

  // The text of a request; CHECK of its answer returns a problem or nothing.
  request(method, params, check) {
    const id = this.random.below(4) ? ++this.lastId : `s${++this.lastId}`;
    this.waiting.set(id, check ?? (() => undefined));
    const body = this.modern ? { ...params, _meta: meta } : params;
    return JSON.stringify({ jsonrpc: "2.0", id, method, params: body });
  }

  call(name, args, check) {
    return this.request("tools/call", { name, arguments: args }, check);
  }

  async begin() {
    if (!this.modern) {
      this.write(
        this.request("initialize", {
          protocolVersion: this.revision,
          capabilities: {},
          clientInfo: { name: "endure", version: "1" },
        }),
      );
      await this.below(1);
      this.write('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    }
    for (let i = 0; i < SESSIONS; i++) {
      let name;
      this.write(this.call("open-session", {}, (m) => void (name = m.result._meta.session)));
      await this.below(1);
      this.counters.push({ name, value: 0 });
      this.write(this.call("evaluate-lisp", { session: name, code: "(defvar *n* 0)" }));
      await this.below(1);
    }
  }

  write(line) {
    this.server.write(`${line}\n`);
  }

  // --- lawful messages ---

  #increment() {
    const counter = this.random.pick(this.counters);
    const wanted = `=> ${++counter.value}`;
    return this.call("evaluate-lisp", { session: counter.name, code: "(incf *n*)" }, (m) =>
      m.result?.content[0].text === wanted ? undefined : `instead of ${wanted}`,
    );
  }

  // A call that must leave its session as it was.
  #fail() {
    const counter = this.random.pick(this.counters);
    const [code, extra] = this.random.pick([
      ["(error \"x\")", {}],
      ["(progn (setf *n* -1) (ext:quit 3))", {}],
      ["(progn (setf *n* -1) (loop))", { timeout: 0.01 }],
      ["(progn (setf *n* -1) (loop (write-string (make-string 4000))))", {}],
      ["(((", {}],
    ]);
    return this.call("evaluate-lisp", { session: counter.name, code, ...extra }, (m) =>
      m.error || m.result.isError ? undefined : "a failure that succeeded",
    );
  }

  lawful() {
    const kind = this.random.below(100);
    if (kind < 10) return this.#increment();
    if (kind < 13) return this.#fail();
    if (kind < 16) return this.call("list-sessions", {});
    if (kind < 30) return this.request("tools/list", {});
    if (kind < 34 && !this.modern)
      return '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":-5}}';
    if (kind < 40 && this.revision === "2025-03-26") {
      const parts = [this.request("ping", {}), this.request("tools/list", {})];
      return `[${parts.join(",")}]`;
    }
    return this.modern ? this.request("server/discover", {}) : this.request("ping", {});
  }

  // --- hostile messages ---

  #nameless(text) {
    this.nameless++;
    return text;
  }

  hostile() {
    const { random } = this;
    const junk = () => String.fromCharCode(...Array.from({ length: 1 + random.below(40) }, () => 33 + random.below(90)));
    return random.pick([
      () => this.#nameless(`{${junk()}`),
      () => this.#nameless(`${"[".repeat(200 + random.below(2000))}`),
      () => this.#nameless("42"),
      () => this.#nameless("\"text\""),
      () => this.#nameless("null"),
      () => this.#nameless("{}"),
      () => this.#nameless('{"jsonrpc":"2.0","id":null,"method":"ping"}'),
      () => {
        const id = ++this.lastId + 0.5;
        this.waiting.set(id, (m) => (m.error ? undefined : "accepted"));
        return `{"jsonrpc":"2.0","id":${id},"method":"ping"}`;
      },
      () => this.#nameless(`{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}`),
      () => this.#nameless(`{"x":"${"y".repeat(REQUEST_MAX_BYTES + random.below(20000))}"}`),
      () => this.#nameless(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])),
      () => this.#nameless(`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"`),
      () => '{"jsonrpc":"2.0","id":99999999,"result":{}}',
      () => '{"jsonrpc":"2.0","id":"never","error":{"code":1,"message":"x"}}',
      () => `{"jsonrpc":"2.0","method":"notifications/${"z".repeat(random.below(200))}"}`,
      () => '{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}',
      () => '{"jsonrpc":"2.0","method":"exit/x","params":{"a":[[[[[]]]]]}}',
      () => this.request(`no/${random.below(1000)}`, {}, (m) => (m.error ? undefined : "accepted")),
      () => this.request("tools/call", { name: 5 }, (m) => (m.error ? undefined : "accepted")),
      () => this.request("tools/call", { name: "evaluate-lisp" }, (m) => (m.error || m.result.isError ? undefined : "accepted")),
      () => this.call("evaluate-lisp", { code: 5, session: [] }, (m) => (m.error || m.result.isError ? undefined : "accepted")),
      () => this.call("evaluate-lisp", { code: "1", session: "s none" }, (m) => (m.error || m.result.isError ? undefined : "accepted")),
      () => this.call("rollback-session", { steps: 1e9, session: this.counters[0].name }, (m) => (m.error || m.result.isError ? undefined : "accepted")),
      () => this.call("no-such-tool", {}, (m) => (m.error || m.result.isError ? undefined : "accepted")),
    ])();
  }

  figures() {
    return { descriptors: this.server.descriptors(), resident: this.server.residentKb(), children: this.server.children() };
  }

  // Rolls each session's processes to rest, so that figures can be compared.
  async settle() {
    await this.below(1);
    for (const counter of this.counters) {
      for (let i = 0; i < 4; i++) {
        counter.value++;
        this.write(this.call("evaluate-lisp", { session: counter.name, code: "(incf *n*)" }));
      }
    }
    this.write(this.call("list-sessions", {}));
    await this.below(1);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }

  async run(count) {
    await this.begin();
    let before;
    for (let i = 0; i < count; i++) {
      if (i === Math.min(WARM_UP, count >> 1)) {
        await this.settle();
        before = this.figures();
      }
      const hostile = this.random.below(4) === 0;
      this.result.hostile += hostile ? 1 : 0;
      const message = hostile ? this.hostile() : this.lawful();
      if (Buffer.isBuffer(message)) this.server.write(Buffer.concat([message, Buffer.from("\n")]));
      else this.write(message);
      await this.below(IN_FLIGHT);
      this.result.done++;
      if (this.server.child.exitCode !== null) break;
    }
    await this.settle();
    for (const counter of this.counters) {
      const wanted = `=> ${counter.value}`;
      this.write(
        this.call("evaluate-lisp", { session: counter.name, code: "*n*" }, (m) =>
          m.result?.content[0].text === wanted ? undefined : `state: instead of ${wanted}`,
        ),
      );
    }
    await this.settle();
    const after = this.figures();
    for (const [name, slack] of [["descriptors", 0], ["children", 0], ["resident", 4096]])
      if (after[name] > before[name] + slack) this.#fault("leaks", `${name}: ${before[name]} became ${after[name]}`);
    this.over = true;
    const { status } = await this.server.end();
    if (status !== 0) this.#fault("wrong", `exit status ${status}`);
  }
}

export async function messages(count, seed, result) {
  const random = new Random(seed);
  result.hostile = 0;
  for (let turn = 0; result.done < count; turn++) {
    const revision = [...legacy, MODERN][turn % (legacy.length + 1)];
    const conversation = new Conversation(random, revision, result);
    await conversation.run(Math.min(MESSAGES_OF_A_SERVER, count - result.done));
  }
}
