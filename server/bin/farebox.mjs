#!/usr/bin/env -S node --max-semi-space-size=16 --heap-growing-percent=100
// The operator's command. The service runs on Node 24; an older Node hands over to the packaged one.
// Under load most of a larger heap would be waste that waits for its collection: a third more memory,
// and hardly a call the quicker.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const wantedNode = 24;

if (Number(process.versions.node.split('.')[0]) >= wantedNode) {
  await import('../src/main.ts');
} else {
  const node = packagedNode();
  if (node) handOver(node);
  else {
    console.error(
      `Farebox needs Node ${wantedNode}; this is ${process.version}, and the packaged one is missing. ` +
        'Run "node bin/install.mjs" in the repository, or install a newer Node.',
    );
    process.exitCode = 1;
  }
}

function packagedNode() {
  try {
    const manifest = createRequire(import.meta.url).resolve('node/package.json');
    const node = path.join(path.dirname(manifest), 'bin', 'node');
    return fs.existsSync(node) ? node : undefined;
  } catch {
    return undefined;
  }
}

function handOver(node) {
  const child = spawn(node, [...process.execArgv, ...process.argv.slice(1)], { stdio: 'inherit' });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'];
  // A terminal sends its signals to the whole group. A second Ctrl-C would look like impatience.
  const fromTerminal = new Set(process.stdin.isTTY ? ['SIGINT', 'SIGHUP', 'SIGQUIT'] : []);
  for (const signal of signals) {
    process.on(signal, () => {
      if (!fromTerminal.has(signal)) child.kill(signal);
    });
  }
  child.on('error', (error) => {
    console.error(`${node} did not start: ${error.message}`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    // Ends the way the child did, so that a shell or supervisor sees the same.
    for (const name of signals) process.removeAllListeners(name);
    process.kill(process.pid, signal);
  });
}
