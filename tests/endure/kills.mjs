// Starts the server and kills it with SIGKILL at a random moment. Nothing of it may be left: no
// process, mount, control group or file.
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { Random, Server, relatives } from "./server.mjs";

const AT_A_TIME = 4;
const BETWEEN_CHECKS = 100;

// The control groups named after eclave below the group of this process, in every hierarchy.
function groups() {
  const found = [];
  const walk = (directory, depth) => {
    for (const name of existsSync(directory) ? readdirSync(directory) : []) {
      const path = join(directory, name);
      if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) continue;
      if (name.includes("eclave")) found.push(path);
      if (depth > 0) walk(path, depth - 1);
    }
  };
  for (const line of readFileSync("/proc/self/cgroup", "latin1").trim().split("\n")) {
    const [, hierarchy, controllers, group] = line.match(/^(\d+):([^:]*):(.*)$/);
    const mount = hierarchy === "0" && existsSync("/sys/fs/cgroup/unified") ? "unified" : controllers;
    walk(join("/sys/fs/cgroup", mount, group), 2);
  }
  return found;
}

const mounts = () => readFileSync("/proc/self/mountinfo", "latin1").split("\n").length;
const files = () => [tmpdir(), "/dev/shm"].flatMap((d) => (existsSync(d) ? readdirSync(d) : [])).filter((n) => n.includes("eclave")).length;

async function nothingLeft() {
  for (let i = 0; i < 100 && relatives().length; i++) await sleep(50);
  return relatives();
}

export async function kills(count, seed, result) {
  const random = new Random(seed);
  const before = { groups: groups().length, mounts: mounts(), files: files() };
  const one = async () => {
    const server = new Server(["--session-history", "1"]);
    const request = (id, method, params) => server.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    request(1, "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "endure", version: "1" } });
    for (let i = 0; i < 3; i++)
      request(2 + i, "tools/call", { name: "evaluate-lisp", arguments: { code: random.pick(["(incf (get 'a 'b 0))", "(loop)", "(ext:quit 1)"]), timeout: 0.05 } });
    await sleep(random.below(160));
    process.kill(server.pid, "SIGKILL");
    await server.ended;
  };
  while (result.done < count) {
    const round = Math.min(BETWEEN_CHECKS, count - result.done);
    for (let at = 0; at < round; at += AT_A_TIME)
      await Promise.all(Array.from({ length: Math.min(AT_A_TIME, round - at) }, one));
    result.done += round;
    const left = await nothingLeft();
    await sleep(100);
    const after = { groups: groups().length, mounts: mounts(), files: files() };
    const problems = Object.keys(before).filter((name) => after[name] > before[name]).map((name) => `${name}: ${before[name]} became ${after[name]}`);
    if (left.length) problems.push(`processes: ${left.map(({ pid, name, state }) => `${pid} ${name} ${state}`).join(", ")}`);
    result.leaks += problems.length;
    result.faults.push(...problems.slice(0, Math.max(0, 20 - result.faults.length)));
    if (problems.length) break;
  }
}
