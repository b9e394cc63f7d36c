// node record.mjs DIRECTORY COMMAND [ARGUMENT...]: becomes the server as far as a client can see, and
// keeps what passes in a file of its own in DIRECTORY: "> " before each line for the server, "< "
// before each line of it. Changes nothing on the way.
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { join } from "node:path";

const [directory, command, ...options] = process.argv.slice(2);
const file = join(directory, `${process.pid}`);
const server = spawn(command, options, { stdio: ["pipe", "pipe", "inherit"] });

// Passes FROM on to TO and keeps its lines behind MARK. Calls ENDED when FROM has ended.
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
