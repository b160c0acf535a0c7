import { compare, headers, submitRequest, type Contender } from './calls.ts';
import { localUpstream } from './chat.ts';
import { httpRequest, load } from './load.ts';
import type { Question, Row } from './run.ts';
import type { Bench, ProcessOptions } from './service.ts';
import { rawSql } from '../server/src/lib/sql/sql.ts';
import { fieldOf } from '../server/src/lib/unknown.ts';

/** A hot path: the process that serves it, and its calls, which are made once the process runs. */
interface HotPath {
  what: string;
  options?: Partial<ProcessOptions>;
  calls(bench: Bench): Promise<Buffer[]>;
}

const body = JSON.stringify({
  model: 'bench/chat',
  max_tokens: 200,
  messages: [{ role: 'user', content: 'What is a lighthouse for?' }],
});

const question: Question = {
  asks: 'do the hot paths cost more than those of another checkout (the reference), whose service and database run in turn with these?',
  async measure(bench, effort) {
    if (!effort.beside) throw new Error('name the folder of the other checkout: --beside FOLDER');
    const benches = { beside: effort.beside, 'this one': bench };
    const upstream = await localUpstream();
    const paths: HotPath[] = [
      { what: 'submit, 100 accounts', calls: (of) => submits(of, 100) },
      { what: 'submit, one hot account', calls: (of) => submits(of, 1) },
      { what: 'status', calls: statuses },
      { what: 'chat', options: { env: { BENCH_UPSTREAM: upstream.url } }, calls: chats },
    ];
    const rows: Row[] = [];
    try {
      for (const { what, options, calls } of paths) {
        const contenders: Contender[] = [];
        for (const [name, each] of Object.entries(benches)) {
          const requests = await calls(each);
          contenders.push({
            what: `${what}, ${name}`,
            start: () => each.start({ role: 'service', ...options }),
            request: (n) => requests[n % requests.length]!,
            databasePid: each.databasePid,
          });
        }
        // A reset would remove the requests whose status is asked for.
        const reset = what === 'status' ? undefined : () => resetAll(Object.values(benches));
        rows.push(...(await compare(bench, contenders, effort, reset)));
      }
      return rows;
    } finally {
      await upstream.close();
    }
  },
};
export default question;

async function submits(bench: Bench, accounts: number): Promise<Buffer[]> {
  return (await bench.keys(accounts)).map((key) => submitRequest(key));
}

async function chats(bench: Bench): Promise<Buffer[]> {
  const keys = await bench.keys(20);
  return keys.map((key) => httpRequest('POST', '/v1/chat/completions', headers(key), body));
}

/** Asks for the status of some thousand waiting requests in turn. */
async function statuses(bench: Bench): Promise<Buffer[]> {
  const [key] = await bench.keys(1);
  const ids: string[] = [];
  const one = submitRequest(key!);
  const filler = await bench.start({ role: 'service' });
  await load({
    port: filler.port,
    connections: 16,
    seconds: 1,
    warmupSeconds: 0,
    request: () => one,
    onBody: (text) => ids.push(String(fieldOf(JSON.parse(text), 'request_id'))),
  });
  await filler.stop();
  return ids.map((id) => httpRequest('GET', `/v1/requests/${id}/status`, headers(key!)));
}

async function resetAll(benches: Bench[]): Promise<void> {
  for (const each of benches) {
    await each.reset();
    // The other checkout's reset may have left statistics of empty tables.
    await each.db.run(rawSql('truncate requests, request_inputs, request_results'));
  }
}
