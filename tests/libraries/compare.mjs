// Prints what became of each system in eclave, and in plain ECL where that differs.
//   node compare.mjs PLAIN.tsv ECLAVE.jsonl
// The status is 1 if a system differs.
import { readFileSync } from "node:fs";

const [plainFile, eclaveFile] = process.argv.slice(2);
const lines = (file) => readFileSync(file, "utf8").split("\n").filter(Boolean);

// Addresses, times and the numbers of generated names differ from run to run.
const comparable = (text) =>
  text
    .replace(/\s+/g, " ")
    .replace(/0x[0-9a-f]+|@\d+|#:?\w+\d+/gi, "@")
    .replace(/\d+\.\d+ ?(s|sec|seconds)\b/g, "@ s");

const plain = new Map(lines(plainFile).map((line) => line.split("\t")));
const endless = "did not end";

function resultOf({ outcome, values, text }) {
  if (outcome === "value") return values[0].replace(/\s+/g, " ");
  return outcome === "timeout" ? endless : `${outcome}: ${text.split("\n").slice(0, 2).join(" ")}`;
}

const width = Math.max(...[...plain.keys()].map((name) => name.length));
const counts = { same: 0, different: 0 };
for (const line of lines(eclaveFile)) {
  const result = JSON.parse(line);
  const { id } = result;
  const own = resultOf(result);
  const wanted = plain.get(id) || endless;
  const same = comparable(own) === comparable(wanted);
  counts[same ? "same" : "different"]++;
  console.log(`${same ? " " : "!"} ${id.padEnd(width)}  ${own.slice(0, 300)}`);
  if (!same) console.log(`  ${"plain ECL".padStart(width)}  ${wanted.slice(0, 300)}`);
}
console.log(`${counts.same} as in plain ECL, ${counts.different} different`);
process.exitCode = counts.different ? 1 : 0;
