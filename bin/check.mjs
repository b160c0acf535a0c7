// Runs every check that needs no running service, all of them even after a failure, and prints one
// table at the end.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const tools = path.join(root, 'node_modules', '.bin');
const env = {
  ...process.env,
  // The packaged tools and the packaged Node come first, however this was started.
  PATH: `${tools}${path.delimiter}${process.env.PATH ?? ''}`,
  // Redocly would otherwise report this run to its makers and look for updates.
  REDOCLY_TELEMETRY: 'off',
  REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
};

const checks = [
  ['types', 'tsc', ['-p', '.']],
  ['types of web', 'tsc', ['-p', 'web']],
  ['types of client', 'tsc', ['-p', 'client']],
  ['lint, floors', 'oxlint', ['--deny-warnings']],
  ['format', 'oxfmt', ['--check']],
  ['unused code', 'knip', ['--no-progress']],
  ['layout', 'node', ['--test', '--test-reporter=dot', 'server/test/layout.test.ts']],
  ['rows of queries', 'node', ['--test', '--test-reporter=dot', 'server/test/rows.test.ts']],
  ['openapi.json', 'redocly', ['lint', 'openapi.json'], 'openapi.json'],
];

const install = path.join(root, 'bin', 'install.mjs');
const installed = spawnSync(process.execPath, [install], { stdio: 'inherit' });
if (installed.status !== 0) process.exit(1);

const rows = [];
for (const [name, command, args, needs] of checks) {
  if (needs && !existsSync(path.join(root, needs))) {
    rows.push([name, 'none', 0]);
    continue;
  }
  const { code, output, seconds } = await run(command, args);
  if (code !== 0) console.log(`\n── ${name}: ${command} ${args.join(' ')}\n\n${output.trim()}`);
  rows.push([name, code === 0 ? 'ok' : 'FAILED', seconds]);
}

console.log('');
for (const [name, verdict, seconds] of rows) {
  console.log(`${name.padEnd(15)} ${verdict.padEnd(7)} ${seconds.toFixed(1).padStart(5)} s`);
}
if (rows.some(([, verdict]) => verdict === 'FAILED')) process.exitCode = 1;

/** Runs a program to its end and returns its output, which is shown only if it fails. */
function run(command, args) {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    const end = (code) =>
      resolve({ code, output, seconds: (performance.now() - startedAt) / 1000 });
    child.on('error', (error) => {
      output += error.message;
      end(1);
    });
    child.on('close', end);
  });
}
