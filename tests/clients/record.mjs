// node record.mjs DIRECTORY COMMAND [ARGUMENT...]: runs the server COMMAND and records its lines in a
// new file in DIRECTORY: "> " before each line to the server, "< " before each line from it.
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { join } from "node:path";

const [directory, command, ...options] = process.argv.slice(2);
const file = join(directory, `${process.pid}`);
const server = spawn(command, options, { stdio: ["pipe", "pipe", "inherit"] });

// Copies FROM to TO and records its lines with MARK. Calls ENDED when FROM has ended.
function pass(from, to, mark, ended) {
  let rest = "";
  from.setEncoding("utf8").on("data", (chunk) => {
    to.write(chunk);
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) appendFileSync(file, `${mark} ${line}\n`);
  });
  from.on("end", () => {
    if (rest) appendFileSync(file, `${mark} ${rest}\n`);
    ended();
  });
}

server.stdin.on("error", () => {});
pass(process.stdin, server.stdin, ">", () => server.stdin.end());
pass(server.stdout, process.stdout, "<", () => {});
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => server.kill(signal));
server.on("close", (status) => process.exit(status ?? 1));
