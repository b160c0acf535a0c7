import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { setTimeout as pause } from 'node:timers/promises';
import { headers, submitRequest } from './calls.ts';
import { cpuSeconds, machineSeconds } from './cpu.ts';
import { httpRequest, load, within, type LoadResult } from './load.ts';
import type { Question, Row } from './run.ts';
import type { Bench, Process } from './service.ts';
import { fillHistory } from './shares-history.ts';
import { serve } from './shares-serve.ts';
import type { WorkerReport, Work } from './shares-work.ts';
import { rawSql } from '../server/src/lib/sql/sql.ts';
import { commandLine } from '../server/src/operations/operator-action.ts';
import { fieldOf } from '../server/src/lib/unknown.ts';

const history = 500_000;
/** Keys with the usual limits of the noisy account. */
const keyCount = 5;
/** Calls per second of the quiet account. */
const quietRate = { submit: 20, status: 40 };

const question: Question = {
  asks: `one account with ${history} requests searches, adds up, sends large bodies and pictures, and leaves: what does another account notice?`,
  async measure(bench, { seconds, beside, besideFolder }) {
    const here = resolve(import.meta.dirname, '..');
    const rows: Row[] = [];
    if (beside && besideFolder)
      rows.push(...(await measureOne('before', beside, resolve(besideFolder), seconds)));
    rows.push(...(await measureOne(beside ? 'now' : '', bench, here, seconds)));
    return rows;
  },
};
export default question;

async function measureOne(
  name: string,
  bench: Bench,
  folder: string,
  seconds: number,
): Promise<Row[]> {
  const quiet = await bench.key();
  const harmless = await bench.key();
  const noisy = await noisyAccount(bench, folder);
  await fillHistory(bench.db, noisy, history);
  const work: Work = { keys: noisy.keys };
  const worker = new Worker(new URL('./shares-work.ts', import.meta.url), { workerData: work });
  let statuses: Record<string, number> = {};
  const upstream = await new Promise<string>((tell) =>
    worker.on('message', (told: WorkerReport) => {
      if (told.upstream) tell(told.upstream);
      if (told.statuses) statuses = told.statuses;
    }),
  );
  const service = await serve(folder, bench, upstream);
  try {
    const measure = (what: string, beside?: () => Promise<LoadResult>) =>
      phase({ what: `${name} ${what}`.trim(), bench, service, quiet, seconds }, beside);
    const alone = await measure('quiet');
    const ready = new Promise<void>((tell) => worker.once('message', () => tell()));
    worker.postMessage({ port: service.port });
    await ready;
    worker.postMessage({ working: true });
    await pause(3_000);
    const busy = await measure('beside the noisy account');
    const noise = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`);
    worker.postMessage({ working: false });
    await pause(12_000);
    const rate = await rateFor(busy.cpu - alone.cpu, { bench, service, key: harmless });
    const loaded = await measure(`beside ${rate} statuses and lists a second`, () =>
      harmlessLoad(service, harmless, rate, seconds + 4),
    );
    return [
      alone.row,
      loaded.row,
      {
        ...busy.row,
        'CPU of harmless': `${round((busy.cpu - alone.cpu) / (loaded.cpu - alone.cpu))} ×`,
        'submit of harmless': `${round(busy.submit / loaded.submit)} ×`,
        'status of harmless': `${round(busy.status / loaded.status)} ×`,
        noise: noise.join(', '),
      },
    ];
  } finally {
    await worker.terminate();
    await service.stop();
  }
}

interface Setting {
  what: string;
  bench: Bench;
  service: Process;
  quiet: string;
  seconds: number;
}

/** Measures the calls of the quiet account, alone or beside another load. */
async function phase(
  { what, bench, service, quiet, seconds }: Setting,
  beside: () => Promise<unknown> = async () => {},
) {
  const status = await statusOf(service, quiet);
  const submit = submitRequest(quiet);
  const options = { port: service.port, connections: 4, seconds, warmupSeconds: 3 };
  let rss = 0;
  const sampling = setInterval(() => (rss = Math.max(rss, service.rssMb())), 100);
  const spent = cpuOf(bench, service);
  const machine = perSecond(machineSeconds);
  const own = perSecond(ownSeconds);
  const [submits, polls] = await Promise.all([
    load({ ...options, perSecond: quietRate.submit, request: () => submit }),
    load({ ...options, perSecond: quietRate.status, request: () => status }),
    beside(),
  ]);
  clearInterval(sampling);
  const cpu = spent();
  const counted = (is: RegExp) =>
    [submits, polls].reduce(
      (sum, { statuses }) =>
        sum + Object.entries(statuses).reduce((all, [each, n]) => all + (is.test(each) ? n : 0), 0),
      0,
    );
  const row: Row = {
    what,
    'submit p50': round(within(submits.latencies, 0.5)),
    'submit p99': round(within(submits.latencies, 0.99)),
    'status p50': round(within(polls.latencies, 0.5)),
    'status p99': round(within(polls.latencies, 0.99)),
    answered: submits.requests + polls.requests,
    '5xx': counted(/^5/) + submits.errors + polls.errors,
    '429': counted(/^429$/),
    'CPU s/s': round(cpu),
    'CPU of others': round(machine() - cpu - own()),
    'RSS max MB': rss,
  };
  const p99 = (result: LoadResult) => within(result.latencies, 0.99);
  return { row, cpu, submit: p99(submits), status: p99(polls) };
}

const round = (value: number) => Math.round(value * 10) / 10;

async function statusOf({ port }: Process, key: string): Promise<Buffer> {
  const reply = await fetch(`http://127.0.0.1:${port}/v1/queue/bench/flux/dev/text-to-image`, {
    method: 'POST',
    headers: headers(key),
    body: '{"prompt":"x"}',
  });
  const id = String(fieldOf(await reply.json(), 'request_id'));
  return httpRequest('GET', `/v1/requests/${id}/status`, headers(key));
}

interface BusyService {
  bench: Bench;
  service: Process;
  key: string;
}

/**
 * Harmless calls a second that take as much CPU time, or as many as the service can answer. If that
 * is less, the row of the noisy account says so.
 */
async function rateFor(wanted: number, { bench, service, key }: BusyService): Promise<number> {
  const seconds = 3;
  for (let rate = 1_000; ;) {
    const spent = cpuOf(bench, service);
    const answered = await harmlessLoad(service, key, rate, seconds);
    const share = spent() / wanted;
    if (share > 0.95 || answered.rate < rate * 0.9) return rate;
    rate = Math.round(rate * Math.min(2, Math.max(1.1, 1 / share)));
  }
}

/** CPU seconds a second of the service and its database since this call. */
function cpuOf(bench: Bench, service: Process): () => number {
  const spent = () => cpuSeconds(service.pid) + cpuSeconds(bench.databasePid);
  return perSecond(spent);
}

function ownSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function perSecond(spent: () => number): () => number {
  const [before, began] = [spent(), performance.now()];
  return () => ((spent() - before) / (performance.now() - began)) * 1000;
}

/**
 * Statuses alone keep only the main thread busy; every fourth call is a list, which keeps the
 * database busy as well.
 */
async function harmlessLoad(
  service: Process,
  key: string,
  perSecond: number,
  seconds: number,
): Promise<LoadResult> {
  const status = await statusOf(service, key);
  const list = httpRequest('GET', '/v1/requests?limit=100', headers(key));
  const { port } = service;
  const request = (n: number) => (n % 4 === 0 ? list : status);
  return load({ port, connections: 128, seconds, warmupSeconds: 0, perSecond, request });
}

/** Uses the checkout's own code, because its database has the checkout's schema. */
async function noisyAccount({ db }: Bench, folder: string) {
  const at = (file: string) => import(resolve(folder, 'server/src/operations/accounts', file));
  const { createAccount } = (await at(
    'account.ts',
  )) as typeof import('../server/src/operations/accounts/account.ts');
  const { deposit } = (await at(
    'book-by-hand.ts',
  )) as typeof import('../server/src/operations/accounts/book-by-hand.ts');
  const { createKey } = (await at(
    'key.ts',
  )) as typeof import('../server/src/operations/accounts/key.ts');
  const { id: account_id } = await createAccount(db, {
    email: 'noisy@example.com',
    is_operator: false,
  });
  await deposit(db, commandLine, { account_id, amount: 1_000_000_000_000n, reference: 'noisy' });
  const made = [];
  const wanted = { account_id, name: 'noisy' };
  while (made.length < keyCount)
    made.push((await createKey(db, { who: 'operator' }, wanted)).answer);
  const [row] = await db.run<{ id: string }>(
    rawSql('select id from keys where account_id = $1 order by id limit 1', [account_id]),
  );
  return { account_id, key_id: row!.id, keys: made.map(({ key }) => key) };
}
