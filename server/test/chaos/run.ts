/**
 * Plays faults by name and prints a table of what was measured. Exits 1 if a promise was broken.
 *
 *   npm run chaos -- [NAME …] [--long] [--seed N] [--quiet]
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, chmodSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { startEmbedded } from '../../src/db/embedded.ts';
import { faultRows, type FaultRow } from './faults.ts';
import { root } from './sabotage.ts';
import { urlOf } from './servers.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    long: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    quiet: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
const help = `npm run chaos -- [NAME …] [--long] [--seed N] [--quiet]
    Plays the faults of these names, or all, by their scene and their tests, and prints what was measured.
    --long takes up to an hour for one fault, else it is at most two minutes. --quiet prints the table only.
${Object.entries(faultRows)
  .map(
    ([name, { fault, scene }]) =>
      `      ${name.padEnd(9)} ${fault}${scene?.short === null ? ' (scene: --long only)' : ''}`,
  )
  .join('\n')}`;
const log = (line: string) => {
  if (!values.quiet) console.log(line);
};

type Verdict = 'green' | 'RED' | `not run: ${string}`;

async function main(): Promise<void> {
  if (values.help) return console.log(help);
  const names = positionals.length > 0 ? positionals : Object.keys(faultRows);
  const unknown = names.filter((name) => !Object.hasOwn(faultRows, name));
  if (unknown.length > 0) throw new Error(`no fault is named ${unknown.join(', ')}\n${help}`);
  const lines: string[] = [];
  await withPostgres(async (database) => {
    for (const name of names) {
      const row = faultRows[name]!;
      const begun = performance.now();
      const { figure, verdict } = await play(name, row, database);
      const took = `${Math.round((performance.now() - begun) / 1000)} s`;
      const cells = [name, row.fault, row.promise, figure, row.guards.join(', '), took, verdict];
      lines.push(`| ${cells.join(' | ')} |`);
      log(lines.at(-1)!);
      if (verdict === 'RED') process.exitCode = 1;
    }
  });
  const form = values.long ? 'long' : 'short';
  console.log(`\nThe ${form} form, seed ${seed}:\n`);
  console.log('| name | fault | promise | measured | guards | time | verdict |');
  console.log('|---|---|---|---|---|---|---|');
  console.log(lines.join('\n'));
}

async function play(
  name: string,
  { scene, tests, long }: FaultRow,
  database: string,
): Promise<{ figure: string; verdict: Verdict }> {
  const figures: string[] = [];
  let verdict: Verdict = 'green';
  const run = scene && (values.long ? scene.long : scene.short);
  if (scene && !run) figures.push('its scene is played by `--long` only');
  // A scene that cannot go on is a broken promise of its own fault, and the others are still played.
  const played = await run?.({ seed, log: (line) => log(`${name}: ${line}`) }).catch(
    (error: Error) => ({ figure: 'stopped', violations: [error.message], missing: undefined }),
  );
  if (played?.missing !== undefined) verdict = `not run: ${played.missing}`;
  else if (played) figures.push(played.figure);
  const tested = await playTests(tests, database, values.long ? long : {});
  if (tested) figures.push(tested.figure);
  for (const missing of tested?.missing ?? []) figures.push(missing);
  const violations = [...violationsOf(played), ...violationsOf(tested)];
  for (const violation of violations) console.log(`${name}: ${violation}`);
  if (violations.length > 0) verdict = 'RED';
  return { figure: figures.join('. '), verdict };
}

const violationsOf = (played: { violations: string[] } | null | undefined) =>
  played?.violations ?? [];

/** Runs the test files; null if there are none. */
async function playTests(tests: string[], database: string, more: NodeJS.ProcessEnv = {}) {
  if (tests.length === 0) return null;
  const files = tests.map((file) => path.join('server', file));
  const child = spawn(process.execPath, ['server/test/run.ts', '--full', ...files], {
    cwd: root,
    env: { ...process.env, ...more, FAREBOX_TEST_DATABASE: database },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (output += part));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  const count = (what: string) => Number(new RegExp(`^ℹ ${what} (\\d+)$`, 'm').exec(output)?.[1]);
  const figures = [...output.matchAll(/^\s*ℹ figure: (.+)$/gm)].map(([, figure]) => figure!);
  const skipped = count('skipped');
  const counted = `${count('pass')} tests passed${skipped ? `, ${skipped} skipped` : ''}`;
  return {
    figure: [...figures, counted].join('; '),
    missing: [...output.matchAll(/^ℹ (not run: .+)$/gm)].map(([, missing]) => missing!),
    violations: code === 0 ? [] : [output.slice(-10_000)],
  };
}

/** One PostgreSQL for all tests. */
async function withPostgres(work: (url: string) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(path.join(tmpdir(), 'farebox-chaos-'));
  chmodSync(dir, 0o755);
  const postgres = await startEmbedded({
    dataDir: path.join(dir, 'data'),
    settings: { max_connections: '200' },
  });
  try {
    await work(urlOf(postgres));
  } finally {
    await postgres.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

await main();
