// Sums what scripts/endure and scripts/fuzz have run: table.mjs LEDGER FUZZ-SECONDS prints
// doc/endurance.md.
import { existsSync, readFileSync } from "node:fs";

const [ledger, fuzz] = process.argv.slice(2);
const goals = [
  ["messages", 1000000, "client messages over five revisions, a quarter of them hostile"],
  ["cycles", 10000, "crashes, time-outs, exits, floods and violations, each followed by a check of the state"],
  ["kills", 10000, "starts of the server that end with SIGKILL at a random moment"],
  ["batch", 100000, "lines of a batch, one in twenty hostile"],
];
const lines = (file) => (existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : []);
const runs = lines(ledger).map((line) => JSON.parse(line));
const number = (value) => value.toLocaleString("en-US");
const duration = (seconds) => (seconds < 120 ? `${seconds} s` : seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`);

console.log(`<!-- Written by scripts/endure; edit nothing here. -->
# Endurance

The sums of all runs of \`scripts/endure\` in this checkout, and what is still to be run. A lost answer is one
that did not come within a minute. A wrong one has another value, outcome or state than it must have. A leak
is a descriptor, process, mount, control group, file or memory (more than 4 MiB) that is there afterwards and
was not before.

| trial | run | of | in | lost answers | wrong answers or states | leaks |
|---|---|---|---|---|---|---|`);
for (const [part, goal, what] of goals) {
  const own = runs.filter((run) => run.part === part);
  const sum = (member) => own.reduce((total, run) => total + run[member], 0);
  console.log(`| ${what} | ${number(sum("done"))} | ${number(goal)} | ${duration(sum("seconds"))} | ${sum("lost")} | ${sum("wrong")} | ${sum("leaks")} |`);
}

const targets = new Map();
for (const line of lines(fuzz)) {
  const [target, seconds, executions] = line.split(" ");
  const before = targets.get(target) ?? [0, 0];
  targets.set(target, [before[0] + Number(seconds), before[1] + Number(executions)]);
}
if (targets.size) {
  console.log(`
Fuzzing by \`scripts/fuzz\`, with the address and undefined behaviour sanitizers. The goal is 24 hours for each
target.

| target | time | executions |
|---|---|---|`);
  for (const [target, [seconds, executions]] of [...targets].sort())
    console.log(`| ${target} | ${duration(seconds)} | ${number(executions)} |`);
}
console.log(`
The rest is run by \`scripts/endure\` and \`scripts/fuzz --hours 24\`.`);
