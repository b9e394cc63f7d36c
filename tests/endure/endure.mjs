// scripts/endure runs this: one part, for a number of rounds. Prints one JSON line with what was done
// and found.
import { batchLines } from "./batch.mjs";
import { cycles } from "./cycles.mjs";
import { kills } from "./kills.mjs";
import { messages } from "./messages.mjs";
import { relatives } from "./server.mjs";

const parts = { messages, cycles, kills, batch: batchLines };
const [part, count, seedText] = process.argv.slice(2);
const seed = Number(seedText) || (Date.now() & 0x7fffffff);
const result = { part, seed, done: 0, lost: 0, wrong: 0, leaks: 0, faults: [] };
const began = Date.now();
console.error(`endure: ${part}, ${count} rounds, seed ${seed}`);
await parts[part](Number(count), seed, result);
await new Promise((resolve) => setTimeout(resolve, 1000));
const left = relatives();
if (left.length) {
  result.leaks += left.length;
  result.faults.push(`processes left: ${left.map(({ pid, name, state }) => `${pid} ${name} ${state}`).join(", ")}`);
}
result.seconds = Math.round((Date.now() - began) / 1000);
console.log(JSON.stringify(result));
process.exit(result.lost + result.wrong + result.leaks ? 1 : 0);
