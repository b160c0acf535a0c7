import assert from 'node:assert/strict';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import type { App } from '../../src/app.ts';
import type { Service, TestAccount } from '../kit/service.ts';

/**
 * Common steps of the worker's tests: submit over HTTP, read the row, change when it is due.
 */

export interface Row {
  status: string;
  attempt: number;
  slot: boolean;
  upstream: string;
  charged: bigint | null;
  error_code: string | null;
  wakes_in: number | null;
}

export async function submitted(
  account: TestAccount,
  body: object = { prompt: 'a cat' },
  model = 'fake/image',
): Promise<string> {
  const reply = await account.post(`/v1/queue/${model}`, body);
  assert.equal(reply.status, 202, reply.text);
  return reply.body.request_id;
}

export async function card(account: TestAccount, id: string): Promise<any> {
  const reply = await account.get(`/v1/requests/${id}`);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
}

export async function rowOf({ db }: Service, id: string): Promise<Row> {
  const [row] = await db.run<Row>(sql`
    select status, attempt, slot, upstream, charged_usd_micro as charged, error_code,
       extract(epoch from wake_at - now())::float8 as wakes_in from requests where id = ${id}`);
  return row!;
}

/** Makes this request due: ends its lease or pause. */
export async function wake({ db }: Service, id: string): Promise<void> {
  await db.run(rawSql(`update requests set wake_at = now() - interval '1 s' where id = $1`, [id]));
}

/** Makes its starts a minute old: only then an upstream that does not know the job has lost it. */
export async function age({ db }: Service, id: string): Promise<void> {
  await db.run(sql`update attempts set created_at = created_at - interval '1 minute',
        answered_at = answered_at - interval '1 minute'
      where request_id = ${id}`);
}

/** Ends the time that the model allows for this request. */
export async function passDeadline({ db }: Service, id: string): Promise<void> {
  await db.run(sql`
    update requests set deadline_at = now() - interval '1 s', wake_at = now() - interval '1 s'
      where id = ${id}`);
}

/** Makes every request due and runs the worker, `count` times. */
export async function rounds(service: Service, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    await service.wakeAll();
    await service.work();
  }
}

/** Counts of dropped writes of overtaken claims, by kind. */
export async function fenced({ metrics }: App): Promise<Record<string, number>> {
  const { values } = await metrics.fencedWrites.get();
  return Object.fromEntries(values.map(({ labels, value }) => [labels.to, value]));
}

/** All transfers of the request, such as `reserve 10000, charge 10000`. */
export async function moneyOf({ db }: Service, id: string): Promise<string> {
  const rows = await db.run<{ kind: string; amount: bigint }>(
    rawSql(
      'select kind, amount_usd_micro as amount from transfers where id = $1 or pending_id = $1 order by seq',
      [id],
    ),
  );
  return rows.map(({ kind, amount }) => `${kind} ${amount}`).join(', ');
}

export interface Gate {
  /** Resolves once a caller waits at the gate. */
  reached: Promise<void>;
  pass(): Promise<void>;
  open(): void;
}

/** Holds every caller until the test opens the gate. */
export function gate(): Gate {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    pass() {
      reached.resolve();
      return opened.promise;
    },
    open: () => opened.resolve(),
  };
}
