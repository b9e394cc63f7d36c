// The sources of published libraries, sent file by file and then used. Every answer must be that of
// plain `ecl` after loading the same files.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { expressions, libraries, ppcreSelfTest } from "./libraries.mjs";
import { Connection, textOf } from "./server.mjs";

const selfTest = `
  (let ((forms '(${readFileSync(ppcreSelfTest, "latin1")})))
    (list (length forms) (remove-if #'eval forms)))`;
const questions = [
  ...expressions.map((code) => ({ name: code, code, package: "COMMON-LISP-USER" })),
  { name: "cl-ppcre's own tests", code: selfTest, package: "CL-PPCRE" },
];

function lispString(text) {
  return `"${text.replace(/[\\"]/g, "\\$&")}"`;
}

// The answers of plain ecl, in the form of the server's answers without output: a line for each value,
// or the type of the condition.
function answersOfPlainEcl() {
  const script = `
    (dolist (file '(${Object.values(libraries).flat().map(lispString).join(" ")}))
      (handler-bind ((warning #'muffle-warning)) (load file :verbose nil)))
    (defun answer (text package)
      (let ((*package* (find-package package)))
        (handler-case
            (let (values)
              (with-input-from-string (in text)
                (let ((*standard-output* (make-broadcast-stream)))
                  (loop for form = (read in nil in) until (eq form in)
                        do (setf values (multiple-value-list (eval form))))))
              (let ((*print-length* 100) (*print-level* 10) (*print-circle* t) (*print-pretty* t)
                    (*package* (find-package :cl-user)))
                (format t "~{=> ~A~^~%~}" (mapcar #'prin1-to-string values))))
          (error (condition)
            (let ((*package* (find-package :cl-user)))
              (format t "[ERROR] ~S" (type-of condition))))))
      (write-char (code-char 30)))
    ${questions.map((q) => `(answer ${lispString(q.code)} ${lispString(q.package)})`).join("\n")}
    (ext:quit 0)`;
  const scratch = mkdtempSync(join(tmpdir(), "eclave-libraries-"));
  try {
    const file = join(scratch, "reference.lisp");
    writeFileSync(file, script);
    const run = spawnSync("ecl", ["--norc", "--shell", file], {
      encoding: "utf8",
      env: { ...process.env, LC_ALL: "C.UTF-8" },
      timeout: 60000,
    });
    assert.equal(run.status, 0, run.stdout + run.stderr);
    const answers = run.stdout.split("\u001e").slice(0, -1);
    assert.equal(answers.length, questions.length);
    return answers;
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

// The server's answer in the same form, without output sections and details of a condition.
function essence(result) {
  const text = textOf(result);
  if (result.isError) return text.split("\n", 1)[0];
  return text.slice(Math.max(0, text.search(/^=> /m)));
}

describe("published libraries", () => {
  let server;
  let expected;

  before(async () => {
    expected = answersOfPlainEcl();
    server = await Connection.open();
  });
  after(() => server.close());

  for (const [name, files] of Object.entries(libraries))
    test(`${name} loads from its source`, async () => {
      for (const file of files) {
        const code = readFileSync(file, "utf8");
        const result = await server.evaluate(code, { package: "COMMON-LISP-USER" });
        assert.ok(!result.isError, `${file}: ${textOf(result)}`);
      }
    });

  questions.forEach((question, i) =>
    test(question.name, async () => {
      const result = await server.evaluate(question.code, { package: question.package });
      assert.equal(essence(result), expected[i]);
    }),
  );
});
