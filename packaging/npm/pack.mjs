// node pack.mjs TREE DESTINATION: packs the launcher, and TREE as the package of its platform, into
// two files for `npm publish`.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const [tree, destination] = process.argv.slice(2).map((path) => resolve(path));
const here = dirname(fileURLToPath(import.meta.url));
const about = JSON.parse(readFileSync(join(here, '..', 'about.json'), 'utf8'));
const platform = 'linux-x64';
const common = {
  version: about.version,
  description: about.description,
  license: about.license,
  author: about.author,
  ...(about.homepage && { homepage: about.homepage }),
};

function pack(manifest, fill) {
  const work = mkdtempSync(join(tmpdir(), 'eclave-npm-'));
  try {
    fill(work);
    writeFileSync(join(work, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    execFileSync('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', destination],
      { cwd: work, stdio: ['ignore', 'ignore', 'inherit'] });
  } finally {
    rmSync(work, { recursive: true });
  }
}

mkdirSync(destination, { recursive: true });
pack({
  name: 'eclave',
  ...common,
  ...(process.env.REGISTRY_NAME && { mcpName: process.env.REGISTRY_NAME }),
  keywords: ['mcp', 'mcp-server', 'common-lisp', 'sandbox'],
  bin: { eclave: 'eclave.js' },
  engines: { node: '>=18' },
  files: ['eclave.js', 'README.md', 'LICENSE'],
  optionalDependencies: { [`eclave-${platform}`]: about.version },
}, (work) => {
  for (const file of ['eclave.js', 'README.md']) cpSync(join(here, file), join(work, file));
  cpSync(join(here, '..', '..', 'LICENSE'), join(work, 'LICENSE'));
});
pack({
  name: `eclave-${platform}`,
  ...common,
  description: `${about.description} (the program, for ${platform})`,
  license: 'SEE LICENSE IN share/licenses/README',
  os: ['linux'],
  cpu: ['x64'],
  libc: ['glibc'],
  files: ['bin', 'lib', 'libexec', 'share'],
}, (work) => cpSync(tree, work, { recursive: true, verbatimSymlinks: true }));
