// node record.mjs FILE COMMAND [ARGUMENT...]: becomes the server as far as a client can see, and
// writes a copy of all that COMMAND says on stdout to FILE. Changes nothing on the way.
import { spawn } from "node:child_process";
import { appendFileSync, writeFileSync } from "node:fs";

const [file, command, ...options] = process.argv.slice(2);
writeFileSync(file, "");
const server = spawn(command, options, { stdio: ["inherit", "pipe", "inherit"] });
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => server.kill(signal));
server.stdout.on("data", (chunk) => {
  appendFileSync(file, chunk);
  process.stdout.write(chunk);
});
server.on("close", (status) => process.exit(status ?? 1));
