// Runs the named checks, or every check that needs no running service. A failure does not stop the
// others; each check prints its result when it ends.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const tools = path.join(root, 'node_modules', '.bin');
const env = {
  ...process.env,
  // The installed tools and the installed Node come first, however this script was started.
  PATH: `${tools}${path.delimiter}${process.env.PATH ?? ''}`,
  // Stops Redocly from reporting this run to its makers and from looking for updates.
  REDOCLY_TELEMETRY: 'off',
  REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
};

const quietTests = ['--test', '--test-reporter=dot'];

// Quick checks come first.
const checks = [
  ['format', 'oxfmt', ['--check']],
  ['lint', 'oxlint', ['--deny-warnings']],
  ['rows', 'node', [...quietTests, 'server/test/rows.test.ts']],
  [
    'generated',
    'node',
    [...quietTests, 'server/test/docs.test.ts', 'server/test/http/openapi.test.ts'],
  ],
  ['openapi', 'redocly', ['lint', 'openapi.json'], 'openapi.json'],
  ['unused', 'knip', ['--no-progress']],
  ['guards', 'node', ['bin/guards.mjs']],
  ['budget', 'node', ['tools/budget/main.ts', '--tight']],
  ['layout', 'node', [...quietTests, 'server/test/layout.test.ts']],
  ['types-client', 'tsc', ['-p', 'client']],
  ['types-web', 'tsc', ['-p', 'web']],
  ['types', 'tsc', ['-p', '.']],
];

const names = checks.map(([name]) => name);
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`There is no check ${unknown.join(', ')}. Checks are ${names.join(', ')}.`);
  process.exit(2);
}

const install = path.join(root, 'bin', 'install.mjs');
const installed = spawnSync(process.execPath, [install, '--tests'], { stdio: 'inherit' });
if (installed.status !== 0) process.exit(1);

for (const [name, command, args, needs] of checks) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  if (needs && !existsSync(path.join(root, needs))) {
    show(name, 'none', 0);
    continue;
  }
  const { code, output, seconds } = await run(command, args);
  show(name, code === 0 ? 'ok' : 'FAILED', seconds);
  if (code === 0) {
    // These checks never fail, so their output is shown when they pass.
    if (['guards', 'budget'].includes(name) && output !== '') console.log(output.trim());
    continue;
  }
  console.log(`\n── ${name}: ${command} ${args.join(' ')}\n\n${output.trim()}\n`);
  process.exitCode = 1;
}

function show(name, verdict, seconds) {
  console.log(`${name.padEnd(13)} ${verdict.padEnd(7)} ${seconds.toFixed(1).padStart(5)} s`);
}

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
