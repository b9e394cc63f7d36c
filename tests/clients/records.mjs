// Directories for record.mjs and their contents. Everything recorded is also kept for the check of
// every line against the official schemas.
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const kept = process.env.TEST_RECORD;
let count = 0;

function nameToKeep() {
  return join(kept, `client-${process.pid}-${count++}`);
}

export function makeRecords() {
  return mkdtempSync(join(tmpdir(), "eclave-records-"));
}

// Keeps the lines of one conversation for that check.
export function keepLines(sent, received) {
  if (!kept) return;
  const lines = [...sent.map((line) => `> ${line}`), ...received.map((line) => `< ${line}`)];
  writeFileSync(nameToKeep(), lines.join("\n") + "\n");
}

// The messages to and from each server in DIRECTORY, in the order in which they started. Empties the
// directory.
export function takeRecords(directory) {
  const files = readdirSync(directory).sort((one, other) => Number(one) - Number(other));
  return files.map((name) => {
    const file = join(directory, name);
    const text = readFileSync(file, "utf8");
    if (kept) copyFileSync(file, nameToKeep());
    rmSync(file);
    assert.ok(text.endsWith("\n"), "the last line is complete");
    const lines = text.split("\n").slice(0, -1);
    const having = (mark) =>
      lines.filter((line) => line.startsWith(mark)).map((line) => JSON.parse(line.slice(2)));
    return { sent: having("> "), received: having("< ") };
  });
}
