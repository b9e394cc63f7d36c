#!/usr/bin/env node
// Becomes, as far as Node can, the eclave of this platform's package.
'use strict';
const { spawn } = require('node:child_process');
const { constants } = require('node:os');
const { dirname, join } = require('node:path');

const STATUS_FAILED = 1;
const container = 'docker run -i --rm eclave';
const platform = `${process.platform}-${process.arch}`;

function fail(text) {
  process.stderr.write(`eclave: ${text}\n`);
  process.exit(STATUS_FAILED);
}

function find() {
  if (process.report) process.report.excludeNetwork = true; // which would ask for names
  const libc = process.report?.getReport().header.glibcVersionRuntime;
  const served = Object.keys(require('./package.json').optionalDependencies);
  if (!served.includes(`eclave-${platform}`))
    fail(`there is no package for ${platform}; the container runs there: ${container}`);
  if (!libc)
    fail(`this Linux has another C library than glibc; the container has its own: ${container}`);
  try {
    return join(dirname(require.resolve(`eclave-${platform}/package.json`)), 'bin', 'eclave');
  } catch {
    return fail(`the package eclave-${platform} is not installed: were optional dependencies left out?`);
  }
}

// Before there is a child, so that no signal ends this process alone.
const passed = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'];
let child;
for (const signal of passed)
  process.on(signal, () => {
    // The terminal has sent it to both.
    if (!(process.stdin.isTTY && (signal === 'SIGINT' || signal === 'SIGQUIT')))
      child.kill(signal);
  });
child = spawn(find(), process.argv.slice(2), { stdio: 'inherit' });
child.on('error', (error) => fail(`cannot be started: ${error.message}`));
child.on('exit', (status, signal) => {
  for (const name of passed) process.removeAllListeners(name);
  if (signal) {
    process.kill(process.pid, signal);
    process.exitCode = 128 + constants.signals[signal];
  } else {
    process.exitCode = status;
  }
});
