import { execFileSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { openBench, type Bench } from './service.ts';

/**
 * `npm run bench [-- NAME… --seconds N --rounds N --requests N --beside FOLDER]`. Each file answers one question.
 * Every number is printed beside a reference measured in the same run on the same machine; only the
 * ratio between the two is valid elsewhere.
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
  /** Requests of the filled history. */
  requests: number;
  /** The bench of another checkout, of an earlier commit for instance. */
  beside?: Bench;
  /** The folder of that checkout. */
  besideFolder?: string;
}

export type Row = Record<string, string | number>;

const names = [
  'submit',
  'status',
  'flow',
  'chat',
  'apis',
  'first-token',
  'polls',
  'streams',
  'traces',
  'held',
  'shares',
  'pages',
  'first-look',
  'start',
  'deposits',
  'history',
  'growth',
  'retention',
  'beside',
];
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '5' },
    requests: { type: 'string', default: '1000000' },
    beside: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const usual = names.filter((name) =>
  name === 'history' || name === 'growth' || name === 'retention'
    ? false
    : name !== 'beside' || values.beside !== undefined,
);
const wanted = positionals.length > 0 ? positionals : usual;
const unknown = wanted.filter((name) => !names.includes(name));
if (values.help || unknown.length > 0) {
  if (unknown.length > 0) console.error(`There is no bench called ${unknown.join(', ')}.`);
  console.log(
    `npm run bench -- [${names.join('|')}]… [--seconds N] [--rounds N] [--requests N] [--beside FOLDER]`,
  );
  process.exitCode = unknown.length > 0 ? 1 : 0;
} else {
  const effort = {
    seconds: Number(values.seconds),
    rounds: Number(values.rounds),
    requests: Number(values.requests),
  };
  for (const name of wanted) await ask(name, effort);
}

async function ask(name: string, effort: Effort): Promise<void> {
  const { asks, measure } = ((await import(`./${name}.ts`)) as { default: Question }).default;
  console.log(`\n${name}: ${asks}\n`);
  const bench = await openBench();
  const beside = values.beside === undefined ? undefined : await openBeside(values.beside);
  try {
    const rows = await measure(bench, {
      ...effort,
      ...(beside && { beside, besideFolder: values.beside! }),
    });
    console.table(rows);
    const line = {
      at: new Date().toISOString(),
      commit: commit(),
      machine: machine(),
      name,
      ...effort,
      ...(values.beside !== undefined && { beside: commit(values.beside) }),
      rows,
    };
    appendFileSync(join(import.meta.dirname, 'results.ndjson'), `${JSON.stringify(line)}\n`);
  } finally {
    await beside?.stop();
    await bench.stop();
  }
}

/** A bench of any commit: only the parts that every commit has. */
async function openBeside(folder: string): Promise<Bench> {
  const other = (await import(
    resolve(folder, 'bench/service.ts')
  )) as typeof import('./service.ts');
  return other.openBench();
}

function commit(folder = import.meta.dirname): string {
  const args = ['-C', folder, 'rev-parse', '--short', 'HEAD'];
  return execFileSync('git', args, { encoding: 'utf8' }).trim();
}

function machine(): string {
  const [first] = cpus();
  return `${cpus().length} × ${first?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
}
