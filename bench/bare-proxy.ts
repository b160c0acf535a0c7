import http from 'node:http';
import { batch } from '../server/src/lib/batch.ts';
import { rowsOf } from '../server/src/lib/sql/rows-of.ts';
import { openDatabase, rawSql, sql } from '../server/src/lib/sql/sql.ts';
import { fieldOf } from '../server/src/lib/unknown.ts';

interface Reservation {
  account_id: number;
  body: string;
}

/**
 * A proxy that does the least that a durable reservation costs: one look-up of the account, one
 * insert with its commit, one hop. It has no prices, limits, laws, or usage. Returns its port.
 */
export async function startBareProxy(connection: string, upstream: string): Promise<number> {
  const db = openDatabase({
    connection,
    max: 4,
    statementTimeoutMs: 10_000,
    applicationName: 'bare proxy',
  });
  await db.run(
    rawSql(`create table bare_accounts (id int primary key, held bigint not null);
      create table bare_requests (id bigserial primary key, account_id int, body text);
      insert into bare_accounts values (1, 0)`),
  );
  const lookUp = batch(
    async (ids: number[]) => {
      const found = await db.run<{ id: number }>(sql`
        select id from bare_accounts where id = any(${[...new Set(ids)]}::int[])`);
      return ids.map((id) => found.some((account) => account.id === id));
    },
    { max: 256 },
  );
  const reserve = batch(
    async (wanted: Reservation[]) => {
      await db.run(sql`
        with made as (
          insert into bare_requests (account_id, body)
          select account_id, body from ${rowsOf(wanted, { account_id: 'int', body: 'text' })} as w
          returning account_id
        )
        update bare_accounts a set held = held + m.count
        from (select account_id, count(*) as count from made group by 1) m
        where a.id = m.account_id`);
      return wanted.map(() => true);
    },
    { max: 128 },
  );
  const agent = new http.Agent({ keepAlive: true });
  const server = http.createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => void serve(Buffer.concat(chunks).toString(), res));
  });

  async function serve(body: string, res: http.ServerResponse): Promise<void> {
    await lookUp(1);
    await reserve({ account_id: 1, body });
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    };
    const options = { method: 'POST', agent, headers };
    const sent = http.request(`${upstream}/chat/completions`, options, (reply) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      reply.pipe(res);
    });
    sent.end(body);
  }

  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  process.once('SIGTERM', () => process.exit(0));
  return Number(fieldOf(server.address(), 'port'));
}
