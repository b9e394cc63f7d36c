// node pack.mjs TREE FILE MCPB: packs TREE as the bundle FILE with the program MCPB, the official packer
// (of @anthropic-ai/mcpb). The tools are those that the server of TREE lists.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const [tree, file, mcpb] = process.argv.slice(2).map((path) => resolve(path));
const here = dirname(fileURLToPath(import.meta.url));
const about = JSON.parse(readFileSync(join(here, '..', 'about.json'), 'utf8'));

const request = (id, method, params) => `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
const answers = execFileSync(join(tree, 'bin', 'eclave'), ['--shutdown-grace-s', '60'], {
  encoding: 'utf8',
  stdio: ['pipe', 'pipe', 'ignore'],
  input: request(1, 'initialize', {
    protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'pack', version: '1' },
  }) + request(2, 'tools/list', {}),
}).split('\n').filter(Boolean).map((line) => JSON.parse(line));
const { tools } = answers.find((answer) => answer.id === 2).result;

const manifest = {
  manifest_version: '0.3',
  name: about.name,
  display_name: about.title,
  version: about.version,
  description: about.description,
  author: { name: about.author },
  ...(about.homepage && { homepage: about.homepage }),
  license: `${about.license} AND LGPL-2.1-or-later`,
  keywords: ['common-lisp', 'sandbox'],
  server: {
    type: 'binary',
    entry_point: 'bin/eclave',
    mcp_config: { command: '${__dirname}/bin/eclave', args: [], env: {} },
  },
  tools: tools.map(({ name, title, description }) => ({ name, description: title ?? description })),
  compatibility: { platforms: ['linux'] },
};

const work = mkdtempSync(join(tmpdir(), 'eclave-mcpb-'));
try {
  cpSync(tree, work, { recursive: true, verbatimSymlinks: true });
  writeFileSync(join(work, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  // What the packer leaves out by itself matters to no program.
  execFileSync(process.execPath, [mcpb, 'pack', work, file], { stdio: ['ignore', 'ignore', 'inherit'] });
} finally {
  rmSync(work, { recursive: true });
}
