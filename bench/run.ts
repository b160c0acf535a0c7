import { execFileSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openBench, type Bench } from './service.ts';

/**
 * `npm run bench [-- NAME… --seconds N --rounds N]`. Each file answers one question. Every number
 * is printed beside a reference measured in the same run on the same machine; only the ratio
 * between the two is valid elsewhere.
 */
export interface Question {
  asks: string;
  measure(bench: Bench, effort: Effort): Promise<Row[]>;
}

export interface Effort {
  /** Duration of each measurement, without its warm-up. */
  seconds: number;
  /** How often each contender is measured, if several are compared. */
  rounds: number;
}

export type Row = Record<string, string | number>;

const names = [
  'submit',
  'status',
  'flow',
  'chat',
  'dialects',
  'polls',
  'streams',
  'shares',
  'pages',
  'first-look',
  'start',
  'deposits',
];
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '5' },
    help: { type: 'boolean', default: false },
  },
});
const wanted = positionals.length > 0 ? positionals : names;
const unknown = wanted.filter((name) => !names.includes(name));
if (values.help || unknown.length > 0) {
  if (unknown.length > 0) console.error(`There is no bench called ${unknown.join(', ')}.`);
  console.log(`npm run bench -- [${names.join('|')}]… [--seconds N] [--rounds N]`);
  process.exitCode = unknown.length > 0 ? 1 : 0;
} else {
  const effort = { seconds: Number(values.seconds), rounds: Number(values.rounds) };
  for (const name of wanted) await ask(name, effort);
}

async function ask(name: string, effort: Effort): Promise<void> {
  const { asks, measure } = ((await import(`./${name}.ts`)) as { default: Question }).default;
  console.log(`\n${name}: ${asks}\n`);
  const bench = await openBench();
  try {
    const rows = await measure(bench, effort);
    console.table(rows);
    const line = {
      at: new Date().toISOString(),
      commit: commit(),
      machine: machine(),
      name,
      ...effort,
      rows,
    };
    appendFileSync(join(import.meta.dirname, 'results.ndjson'), `${JSON.stringify(line)}\n`);
  } finally {
    await bench.stop();
  }
}

function commit(): string {
  return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
}

function machine(): string {
  const [first] = cpus();
  return `${cpus().length} × ${first?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
}
