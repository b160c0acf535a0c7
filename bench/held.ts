import { createServer } from 'node:http';
import { Worker } from 'node:worker_threads';
import { createAccount } from '../server/src/operations/accounts/account.ts';
import { deposit } from '../server/src/operations/accounts/book-by-hand.ts';
import { createKey } from '../server/src/operations/accounts/key.ts';
import { commandLine } from '../server/src/operations/operator-action.ts';
import { headers, input, submitRequest } from './calls.ts';
import { httpRequest, load, within, type LoadResult } from './load.ts';
import type { Question, Row } from './run.ts';
import type { Bench } from './service.ts';
import type { Attack, HeldLoad } from './held-attack.ts';
import { fieldOf } from '../server/src/lib/unknown.ts';
import { fromJson } from '../server/src/lib/json.ts';

const keyCount = 1_000;
/** How many calls the attacker tries to keep open. Refused and ended calls are repeated. */
const wanted = { bodies: 2_000, streams: 2_000, chats: 500 };
/** Within this time every call is tried at least once, and most calls twice. */
const settleSeconds = 25;
/** Calls per second of the other account. */
const perSecond = 100;

const question: Question = {
  asks: `one account holds ${keyCount} keys, ${wanted.bodies} slow bodies, ${wanted.streams} streams and ${wanted.chats} hanging chats: what does another account notice?`,
  async measure(bench, { seconds }) {
    const hanging = await neverAnswers();
    const service = await bench.start({
      role: 'service',
      env: { BENCH_UPSTREAM: hanging.url, FAREBOX_LOG_LEVEL: 'error' },
    });
    const key = await bench.key();
    const request = ordinary(key);
    const measure = () =>
      load({ port: service.port, connections: 8, seconds, perSecond, request, warmupSeconds: 3 });
    try {
      await measure();
      const alone = await measure();
      const keys = await attackerKeys(bench);
      const attack: Attack = { port: service.port, keys, wanted };
      const worker = new Worker(new URL('./held-attack.ts', import.meta.url), {
        workerData: attack,
      });
      let held: HeldLoad = { bodies: 0, streams: 0, chats: 0 };
      worker.on('message', (now: HeldLoad) => (held = now));
      await new Promise((resolve) => setTimeout(resolve, settleSeconds * 1000));
      const beside = await measure();
      const during = held;
      await worker.terminate();
      return [
        rowOf('alone (reference)', alone, alone, { bodies: 0, streams: 0, chats: 0 }),
        rowOf('beside the attacker', beside, alone, during),
      ];
    } finally {
      await service.stop();
      hanging.close();
    }
  },
};
export default question;

function rowOf(what: string, result: LoadResult, reference: LoadResult, held: HeldLoad): Row {
  const { latencies, statuses, errors, rate } = result;
  const p99 = within(latencies, 0.99);
  const others = Object.entries(statuses).filter(([status]) => !/^(200|202|503)$/.test(status));
  return {
    what,
    'per second': Math.round(rate),
    'p50 ms': round(within(latencies, 0.5)),
    'p99 ms': round(p99),
    'p99 of reference': `${round(p99 / within(reference.latencies, 0.99))} ×`,
    '503': statuses['503'] ?? 0,
    'other refusals': others.reduce((sum, [, count]) => sum + count, 0),
    errors,
    'bodies held': held.bodies,
    'streams held': held.streams,
    'chats held': held.chats,
  };
}

const round = (ms: number) => Math.round(ms * 10) / 10;

/** Ordinary calls in rotation: the balance, an estimate, a submit and the list of requests. */
function ordinary(key: string): (n: number) => Buffer {
  const estimate = JSON.stringify({
    model_id: 'bench/flux/dev/text-to-image',
    input: fromJson<object>(input),
  });
  const calls = [
    httpRequest('GET', '/v1/balance', headers(key)),
    httpRequest('POST', '/v1/estimate', headers(key), estimate),
    submitRequest(key),
    httpRequest('GET', '/v1/requests?limit=20', headers(key)),
  ];
  return (n) => calls[n % calls.length]!;
}

/** Keys with the service's usual limits, as an account's people create them. */
async function attackerKeys({ db }: Bench): Promise<string[]> {
  const { id: account_id } = await createAccount(db, {
    email: 'attacker@example.com',
    is_operator: false,
  });
  await deposit(db, commandLine, { account_id, amount: 1_000_000_000n, reference: 'attacker' });
  const by = { who: 'operator' } as const;
  const limits = { monthly_limit_usd_micro: null, rpm: null, open_jobs: null };
  const keys: string[] = [];
  while (keys.length < keyCount)
    keys.push((await createKey(db, by, { account_id, name: 'one of many', ...limits })).answer.key);
  return keys;
}

/** A model that accepts every call and never answers. */
async function neverAnswers(): Promise<{ url: string; close(): void }> {
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const port = Number(fieldOf(server.address(), 'port'));
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
