// A host whose server is killed starts it again, as the SDK's clients do after a lost connection. With
// --state and --default-session its model notices nothing: no call names a session, and all that was
// answered is there.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Connection, textOf } from "./server.mjs";

// Keeps one connection, and opens another when it is lost. A call that was not answered is repeated.
class Host {
  starts = 0;

  constructor(...options) {
    this.options = options;
  }

  async call(code) {
    for (;;) {
      try {
        if (!this.connection) {
          this.connection = await Connection.open(...this.options);
          this.starts++;
        }
        const result = await this.connection.evaluate(code);
        return { isError: result.isError, text: textOf(result) };
      } catch (error) {
        assert.match(String(error), /Connection closed/);
        const lost = this.connection;
        this.connection = null;
        await lost.client.close();
        assert.deepEqual(await lost.transport.ended, { status: null, signal: "SIGKILL" });
      }
    }
  }

  kill() {
    if (this.connection) this.connection.transport._process?.kill("SIGKILL");
  }
}

test("a host whose server is killed goes on with all that was answered", async () => {
  const parent = mkdtempSync(join(tmpdir(), "eclave-state-"));
  const host = new Host("--state", join(parent, "state"), "--default-session", "work");
  try {
    assert.equal((await host.call("(defvar *words* nil)")).text, "=> *WORDS*");
    for (let i = 0; i < 12; i++) {
      const { isError, text } = await host.call(`(progn (pushnew ${i} *words*) (length *words*))`);
      assert.equal(isError, false, text);
      assert.match(text, new RegExp(`=> ${i + 1}$`));
      if (i % 3 === 0) host.kill(); // between calls
      if (i % 3 === 1) setTimeout(() => host.kill(), i); // perhaps during one
    }
    assert.match((await host.call("*words*")).text, /=> \(11 10 9 8 7 6 5 4 3 2 1 0\)$/);
    assert.ok(host.starts > 4, `${host.starts} servers`);
    await host.connection.close();
  } finally {
    rmSync(parent, { recursive: true });
  }
});
