// The program of the installed package for this machine.
import { readdirSync } from "node:fs";
import { join } from "node:path";

const packages = "../node_modules/@anthropic-ai";
const platform = readdirSync(packages).find((name) => name.endsWith(`-${process.platform}-${process.arch}`));

export const claude = join(process.cwd(), packages, platform, "claude");
