// Prints what became of each system in eclave, and in plain ECL where that differs.
//   node compare.mjs EXPECTED PLAIN.tsv ECLAVE.jsonl
// The status is 1 if a system differs in a way that no class of EXPECTED has.
import { readFileSync } from "node:fs";

const [expectedFile, plainFile, eclaveFile] = process.argv.slice(2);
const lines = (file) => readFileSync(file, "utf8").split("\n").filter(Boolean);

const classes = lines(expectedFile)
  .filter((line) => !line.startsWith("#"))
  .map((line) => /^(\S+)\s+(.*)$/.exec(line))
  .map(([, name, pattern]) => ({ name, pattern: new RegExp(pattern) }));

// Addresses, times and the numbers of generated names differ from run to run. ECL writes an instance as
// #<a FOO 0x7f…>, and eclave as #<FOO @1>.
const comparable = (text) =>
  text
    .replace(/\s+/g, " ")
    .replace(/#<an? /g, "#<")
    .replace(/0x[0-9a-f]+|@\d+|#:?\w+\d+/gi, "@")
    .replace(/\d+\.\d+ ?(s|sec|seconds)\b/g, "@ s");

const plain = new Map(lines(plainFile).map((line) => line.split("\t")));
const endless = "did not end";

function resultOf({ outcome, values, text }) {
  if (outcome === "value") return values[0].replace(/\s+/g, " ");
  return outcome === "timeout" ? endless : `${outcome}: ${text.split("\n").slice(0, 2).join(" ")}`;
}

const width = Math.max(...[...plain.keys()].map((name) => name.length));
const counts = new Map();
for (const line of lines(eclaveFile)) {
  const result = JSON.parse(line);
  const { id } = result;
  const own = resultOf(result);
  const wanted = plain.get(id) || endless;
  const found =
    comparable(own) === comparable(wanted)
      ? "as in plain ECL"
      : (classes.find(({ pattern }) => pattern.test(own))?.name ?? "unexpected");
  counts.set(found, (counts.get(found) ?? 0) + 1);
  const same = found === "as in plain ECL";
  console.log(`${same ? " " : "!"} ${id.padEnd(width)}  ${own.slice(0, 300)}`);
  if (!same) console.log(`  ${found.padEnd(width)}  in plain ECL: ${wanted.slice(0, 300)}`);
}
for (const [name, count] of [...counts].sort()) console.log(`${String(count).padStart(6)}  ${name}`);
process.exitCode = counts.has("unexpected") ? 1 : 0;
