import { rawSql } from '../server/src/lib/sql.ts';
import { compare, headers, measure, submitRequest } from './calls.ts';
import { httpRequest, load } from './load.ts';
import type { Question } from './run.ts';

const question: Question = {
  asks: 'what does asking for a status cost, beside an empty GET route with the same reply?',
  async measure(bench, { seconds, rounds }) {
    const [key] = (await bench.keys(1)) as [string];
    const ids: string[] = [];
    const filler = await bench.start({ role: 'service' });
    const one = submitRequest(key);
    await load({
      port: filler.port,
      connections: 16,
      seconds: 2,
      warmupSeconds: 0,
      request: () => one,
      onBody: (body) => ids.push((JSON.parse(body) as { request_id: string }).request_id),
    });
    await filler.stop();
    await bench.db.run(
      rawSql(`update requests set status = 'COMPLETED', slot = false, wake_at = null,
      charged_usd_micro = quoted_usd_micro, started_at = now(), deadline_at = now(), completed_at = now()`),
    );
    await bench.db.run(rawSql('vacuum analyze requests'));
    const each = ids.map((id) => httpRequest('GET', `/v1/requests/${id}/status`, headers(key)));
    const toEmpty = httpRequest('GET', '/status/x', headers(key));
    const request = (n: number) => each[n % each.length]!;
    return compare(
      [
        {
          what: 'empty GET route (reference)',
          run: () => measure(bench, { role: 'empty' }, seconds, () => toEmpty),
        },
        {
          what: `status, ${ids.length} requests in turn`,
          run: () => measure(bench, { role: 'service' }, seconds, request),
        },
      ],
      rounds,
    );
  },
};
export default question;
