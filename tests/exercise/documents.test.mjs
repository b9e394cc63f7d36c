// The documents name files and link to each other. These tests find every name and every link.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";

const { ROOT } = process.env;

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
