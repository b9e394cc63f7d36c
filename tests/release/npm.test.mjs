// `npx -y eclave` from the files in $PACKED, as a registry has them, in an empty HOME and with nothing but Node in PATH; and
// what the launcher says where there is no program for it.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';

const packed = process.env.PACKED;
const work = mkdtempSync(join(tmpdir(), 'eclave-npm-test-'));
after(() => rmSync(work, { recursive: true, force: true }));

const files = new Map(readdirSync(packed).filter((name) => name.endsWith('.tgz'))
  .map((name) => [name, readFileSync(join(packed, name))]));
const manifests = new Map([...files.keys()].map((name) => {
  const text = execFileSync('tar', ['-xOzf', join(packed, name), 'package/package.json'], { encoding: 'utf8' });
  return [name, JSON.parse(text)];
}));

// A registry with nothing but these files.
const registry = createServer((request, response) => {
  const wanted = decodeURIComponent(request.url.slice(1));
  if (files.has(wanted)) return response.end(files.get(wanted));
  const found = [...manifests].find(([, manifest]) => manifest.name === wanted);
  if (!found) {
    response.statusCode = 404;
    return response.end('{}');
  }
  const [name, manifest] = found;
  const dist = {
    tarball: `http://127.0.0.1:${registry.address().port}/${name}`,
    integrity: `sha512-${createHash('sha512').update(files.get(name)).digest('base64')}`,
  };
  return response.end(JSON.stringify({
    name: manifest.name,
    'dist-tags': { latest: manifest.version },
    versions: { [manifest.version]: { ...manifest, dist } },
  }));
});
registry.listen(0, '127.0.0.1');
await once(registry, 'listening');
registry.unref();

// Node, npm and a shell, which npx starts; no compiler, no eclave.
const path = join(work, 'bin');
mkdirSync(path);
const which = (name) => execFileSync('sh', ['-c', 'command -v "$1"', 'sh', name], { encoding: 'utf8' }).trim();
for (const name of ['node', 'npm', 'npx', 'sh']) symlinkSync(which(name), join(path, name));
const home = join(work, 'home');
mkdirSync(home);
const environment = {
  PATH: path,
  HOME: home,
  XDG_CACHE_HOME: join(home, '.cache'),
  npm_config_registry: `http://127.0.0.1:${registry.address().port}/`,
  npm_config_update_notifier: 'false',
};

test('no package runs anything when it is installed', () => {
  assert.equal(manifests.size, 2);
  for (const manifest of manifests.values()) assert.equal(manifest.scripts, undefined);
});

test('npx evaluates', async () => {
  const { stdout } = await promisify(execFile)(join(path, 'npx'),
    ['-y', 'eclave', 'eval', '-e', '(expt 2 100)'], { cwd: home, env: environment });
  assert.match(stdout, /=> 1267650600228229401496703205376/);
});

test('npx makes native code', async () => {
  const { stdout } = await promisify(execFile)(join(path, 'npx'), ['-y', 'eclave', 'eval', '--native', 'on', '-e',
    "(progn (defun square (x) (* x x)) (compile 'square) (list (square 12) (disassemble 'square)))"],
  { cwd: home, env: environment });
  assert.match(stdout, /is native code/);
  assert.match(stdout, /=> \(144 /);
});

test('npx is a server, and ends with its input', async () => {
  const child = spawn(join(path, 'npx'), ['-y', 'eclave'], { cwd: home, env: environment });
  let output = '';
  child.stdout.on('data', (data) => { output += data; });
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  child.stdin.end(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
  const [status] = await once(child, 'exit');
  assert.equal(status, 0);
  assert.equal(JSON.parse(output).result.serverInfo.name, 'eclave');
});

// The launcher alone, without the package of the platform.
const alone = join(work, 'alone');
mkdirSync(alone);
const [launcher] = [...manifests].find(([, manifest]) => manifest.name === 'eclave');
execFileSync('tar', ['-xzf', join(packed, launcher), '-C', alone]);

function launch(...options) {
  return promisify(execFile)(process.execPath, [...options, join(alone, 'package', 'eclave.js'), '--version'],
    { env: environment }).then(() => assert.fail('it started'), (error) => error);
}

test('a package that was left out is one sentence', async () => {
  const error = await launch();
  assert.equal(error.code, 1);
  assert.match(error.stderr, /^eclave: the package eclave-linux-x64 is not installed[^\n]*\n$/);
});

for (const [name, value] of [['platform', 'darwin'], ['arch', 'arm64']])
  test(`another ${name} is one sentence`, async () => {
    const other = join(work, `${name}.cjs`);
    writeFileSync(other, `Object.defineProperty(process, '${name}', { value: '${value}' });\n`);
    const error = await launch('--require', other);
    assert.equal(error.code, 1);
    assert.match(error.stderr, /^eclave: there is no package for [^\n]* docker run [^\n]*\n$/);
  });

// With a program of ours in place of eclave: what passes through the launcher.
const fake = join(alone, 'package', 'node_modules', 'eclave-linux-x64');
function become(script) {
  mkdirSync(join(fake, 'bin'), { recursive: true });
  writeFileSync(join(fake, 'package.json'), '{}');
  writeFileSync(join(fake, 'bin', 'eclave'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(fake, 'bin', 'eclave'), 0o755);
  return spawn(process.execPath, [join(alone, 'package', 'eclave.js'), 'a b', '*'], { env: { PATH: '/usr/bin:/bin' } });
}

test('arguments, status and a death pass through', async () => {
  let child = become('[ "$1" = "a b" ] && [ "$2" = "*" ] && exit 7');
  assert.deepEqual(await once(child, 'exit'), [7, null]);
  child = become('kill -SEGV $$');
  assert.deepEqual(await once(child, 'exit'), [null, 'SIGSEGV']);
});

test('a signal reaches the program', async () => {
  const child = become('trap "exit 9" TERM; echo up; while :; do sleep 0.1; done');
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [9, null]);
});
