// A server under test, started as a client starts it, with the figures of its process.
import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";

export const eclave = process.env.ECLAVE;

// The name and the parent of each process that this one can see.
export function processes() {
  const found = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      const end = stat.lastIndexOf(")");
      const fields = stat.slice(end + 2).split(" ");
      found.push({
        pid: Number(name),
        name: stat.slice(stat.indexOf("(") + 1, end),
        state: fields[0],
        parent: Number(fields[1]),
      });
    } catch {
      // it has ended
    }
  }
  return found;
}

// Processes of eclave, of this test alone since it has a pid namespace of its own.
export function relatives() {
  return processes().filter(({ name }) => name.startsWith("eclave"));
}

export class Server {
  constructor(args = []) {
    this.child = spawn(eclave, args, { stdio: ["pipe", "pipe", "ignore"] });
    this.pid = this.child.pid;
    this.rest = "";
    this.onLine = () => {};
    this.child.stdout.setEncoding("utf8");
    this.child.stdout.on("data", (text) => this.#take(text));
    this.child.stdin.on("error", () => {});
    this.ended = new Promise((resolve) =>
      this.child.once("close", (status, signal) => resolve({ status, signal })),
    );
  }

  #take(text) {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop();
    for (const line of lines) this.onLine(line);
  }

  write(bytes) {
    this.child.stdin.write(bytes);
  }

  // 0 where this user may not look into the server, which is not dumpable.
  descriptors() {
    try {
      return readdirSync(`/proc/${this.pid}/fd`).length;
    } catch {
      return 0;
    }
  }

  residentKb() {
    const status = readFileSync(`/proc/${this.pid}/status`, "latin1");
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)[1]);
  }

  children() {
    const all = processes();
    return all.filter(({ parent }) => parent === this.pid).length;
  }

  async end() {
    this.child.stdin.end();
    return this.ended;
  }
}

// A generator of numbers that a seed determines (mulberry32).
export class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }

  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }

  below(limit) {
    return this.next() % limit;
  }

  pick(list) {
    return list[this.below(list.length)];
  }
}
