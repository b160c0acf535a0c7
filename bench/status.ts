import { rawSql } from '../server/src/lib/sql/sql.ts';
import { compare, headers, submitRequest } from './calls.ts';
import { httpRequest, load } from './load.ts';
import type { Question } from './run.ts';
import type { Bench } from './service.ts';
import { fieldOf } from '../server/src/lib/unknown.ts';

const question: Question = {
  asks: 'what does asking for a status cost, beside an empty GET route with the same reply?',
  async measure(bench, effort) {
    const key = await bench.key();
    const ids: string[] = [];
    const filler = await bench.start({ role: 'service', worker: true });
    const one = submitRequest(key, '/v1/queue/bench/instant');
    await load({
      port: filler.port,
      connections: 16,
      seconds: 2,
      warmupSeconds: 0,
      request: () => one,
      onBody: (body) => ids.push(String(fieldOf(JSON.parse(body), 'request_id'))),
    });
    while (await isAnyOpen(bench)) await new Promise((resolve) => setTimeout(resolve, 100));
    await filler.stop();
    await bench.db.run(rawSql('vacuum analyze requests'));
    const each = ids.map((id) => httpRequest('GET', `/v1/requests/${id}/status`, headers(key)));
    const toEmpty = httpRequest('GET', '/status/x', headers(key));
    return compare(
      bench,
      [
        {
          what: 'empty GET route (reference)',
          start: () => bench.start({ role: 'empty' }),
          request: () => toEmpty,
        },
        {
          what: `status, ${ids.length} requests in turn`,
          start: () => bench.start({ role: 'service' }),
          request: (n) => each[n % each.length]!,
        },
      ],
      effort,
    );
  },
};
export default question;

async function isAnyOpen({ db }: Bench): Promise<boolean> {
  const open = await db.run(rawSql('select 1 from requests where completed_at is null limit 1'));
  return open.length > 0;
}
