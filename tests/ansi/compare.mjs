// Compares the results of plain ECL with those of eclave by the classes of `expected`; or those of two
// runs of eclave.
//   node compare.mjs EXPECTED ECLAVE.jsonl PLAIN.tsv|OTHER.jsonl…
// Prints a table. The status is 1 if a test differs in a way that no class expects, or did not run.
import { readFileSync } from "node:fs";

const [expectedFile, eclaveFile, ...plainFiles] = process.argv.slice(2);
const lines = (file) => readFileSync(file, "utf8").split("\n").filter(Boolean);

const classes = lines(expectedFile)
  .filter((line) => !line.startsWith("#"))
  .map((line) => /^(\S+)\s+(.*)$/.exec(line))
  .map(([, name, pattern]) => ({ name, pattern: new RegExp(pattern) }));

// Addresses differ in each process.
const comparable = (text) => text.replace(/#<an? /g, "#<").replace(/0x[0-9a-f]+|@\d+/g, "@").replace(/\r/g, "\n");

function textOf({ outcome, values, text }) {
  if (outcome !== "value") return `${outcome}: ${text}`;
  return comparable(values[0].slice(1, -1).replace(/\\(["\\])/g, "$1"));
}

const plain = new Map();
for (const file of plainFiles)
  for (const line of lines(file))
    if (file.endsWith(".jsonl")) {
      const result = JSON.parse(line);
      const text = textOf(result);
      const name = /^Test (\S+) failed/m.exec(text)?.[1] ?? `test number ${result.id}`;
      plain.set(result.id, { name, text });
    } else {
      const [id, name, text = ""] = line.split("\t");
      plain.set(Number(id), { name, text: comparable(text) });
    }

const counts = new Map();
const unexpected = [];
let ran = 0;
for (const line of lines(eclaveFile)) {
  const result = JSON.parse(line);
  const { name, text } = plain.get(result.id) ?? { name: `number ${result.id}`, text: "did not end" };
  const own = textOf(result);
  ran++;
  const found =
    own === text
      ? "identical"
      : (classes.find(({ pattern }) => pattern.test(name) || pattern.test(own))?.name ?? "unexpected");
  counts.set(found, (counts.get(found) ?? 0) + 1);
  if (found === "unexpected") unexpected.push({ name, text, own });
}

for (const { name, text, own } of unexpected) {
  console.log(`== ${name}\n-- expected\n${text.trim() || "passes"}\n-- eclave\n${own.trim() || "passes"}`);
}
for (const [name, count] of [...counts].sort()) console.log(`${String(count).padStart(6)}  ${name}`);
console.log(`${String(ran).padStart(6)}  in all`);
process.exitCode = ran > 0 && unexpected.length === 0 ? 0 : 1;
