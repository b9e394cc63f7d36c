// The documents name files, link to each other and show output. These tests check all three.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";

const { ECLAVE, ROOT } = process.env;

function find(...options) {
  const found = execFileSync("find", [".", ...options], { cwd: ROOT, encoding: "utf8" });
  return found.trimEnd().split("\n").map(normalize);
}

const files = find("(", "-name", ".git", "-o", "-name", "build", ")", "-prune", "-o", "-type", "f", "-print");
const documents = files.filter((file) => file.endsWith(".md"));
const texts = new Map(documents.map((file) => [file, readFileSync(join(ROOT, file), "utf8")]));

// GitHub's anchor of each heading in TEXT.
function anchors(text) {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    title.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-"),
  );
}

test("every link leads to a file and a heading", () => {
  for (const [document, text] of texts)
    for (const [, path, anchor] of text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)) {
      const target = path ? normalize(join(dirname(document), path)) : document;
      assert.ok(existsSync(join(ROOT, target)), `${document}: ${path}`);
      if (anchor) assert.ok(anchors(texts.get(target)).includes(anchor), `${document}: ${path}#${anchor}`);
    }
});

// Is there a file or folder NAME in the tree, or in the folder of DOCUMENT? A * in NAME stands for
// any part of a file's name.
function isKnown(name, document) {
  const path = name.replace(/\/$/, "");
  const pattern = new RegExp(`(^|/)${path.replaceAll(".", "\\.").replaceAll("*", "[^/]*")}($|/)`);
  return existsSync(join(ROOT, dirname(document), path)) || files.some((file) => pattern.test(file));
}

test("the documents for contributors name files that exist", () => {
  const names = /`((?:[\w.*-]+\/)*(?:[\w*-]+\.(?:c|h|def|mjs|lisp|list|md|json|in)|[\w-]+\/))`/g;
  const unknown = [];
  for (const document of ["HACKING.md", "SECURITY.md", "tests/README.md", "doc/contract.md", "doc/design.md"])
    for (const [, name] of texts.get(document).replace(/```.*?```/gs, "").matchAll(names))
      if (!isKnown(name, document)) unknown.push(`${document}: ${name}`);
  assert.deepEqual(unknown, []);
});

// The text block after the comment NAME in doc/confinement.md, as lines.
function shownLines(name) {
  const block = new RegExp(`<!-- ${name} -->\n\`\`\`text\n(.*?)\n\`\`\``, "s");
  return block.exec(texts.get("doc/confinement.md"))[1].split("\n");
}

function outputLines(...command) {
  return spawnSync(ECLAVE, command, { encoding: "utf8" }).stdout.split("\n");
}

test("doc/confinement.md shows lines of eclave policy", () => {
  const lines = outputLines("policy");
  assert.deepEqual(shownLines("policy").filter((line) => !lines.includes(line)), []);
});

// What the attacks come to depends on the machine; their names and the words for the layers do not.
// Attacks that need root are tried as root only.
const ofRoot = [
  "use a capability of root",
  "become root again",
  "become another user",
  "make a file system to mount",
  "read the password hashes of the host",
];

test("doc/confinement.md shows the layers and attacks of eclave doctor", () => {
  const names = (lines) => lines.map((line) => line.split(/ {2,}/)[0]);
  const shown = shownLines("doctor");
  const tried = names(shown)
    .slice(0, -1)
    .filter((name) => process.getuid() === 0 || !ofRoot.includes(name));
  assert.deepEqual(names(outputLines("doctor")).slice(0, tried.length), tried);
  const policy = outputLines("policy").join("\n");
  for (const line of shown.slice(1, shown.indexOf("")))
    assert.ok(policy.includes(`  ${line.split(/ {2,}/).at(-1)}\n`), line);
});

test("doc/confinement.md shows the attacks of eclave doctor --native on", () => {
  const names = (lines) => lines.map((line) => line.split(/ {2,}/)[0]);
  const printed = names(outputLines("doctor", "--native", "on"));
  const start = printed.indexOf("ATTACK BY NATIVE CODE");
  const shown = names(shownLines("doctor native"));
  assert.ok(shown.length > 10);
  assert.deepEqual(printed.slice(start, start + shown.length), shown);
  assert.equal(printed[start + shown.length], "");
});
