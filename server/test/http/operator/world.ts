import assert from 'node:assert/strict';
import { scopes, type Scope } from '../../../src/core/account/scope.ts';
import { newId } from '../../../src/lib/id.ts';
import { sql } from '../../../src/lib/sql/sql.ts';
import { createOperatorKey } from '../../../src/operations/accounts/operator-key.ts';
import { commandLine } from '../../../src/operations/operator-action.ts';
import type { Reply, Service, TestAccount } from '../../kit/service.ts';

/** Operator keys of a service, and the rows that their calls write into the operator's log. */

export interface MadeKey {
  key: string;
  operator_key_id: string;
  name: string;
}

export async function operatorKey(
  service: Service,
  name = 'all',
  wanted: readonly Scope[] = scopes,
): Promise<MadeKey> {
  const { answer } = await createOperatorKey(service.db, commandLine, { name, scopes: wanted });
  return answer;
}

export interface LoggedAction {
  action: string;
  by_email: string;
  operator_key_id: string | null;
  person_id: string | null;
  account_id: string | null;
  target: string | null;
  details: Record<string, unknown> | null;
  text: string;
}

export function logRows(service: Service): Promise<LoggedAction[]> {
  return service.db.run<LoggedAction>(sql`
    select l.*, l::text as text from operator_log l order by seq`);
}

/** Makes a call and returns its reply with the rows that it left in the log. */
export async function withRows<Answer>(
  service: Service,
  call: () => Promise<Answer>,
): Promise<{ reply: Answer; rows: LoggedAction[] }> {
  const before = (await logRows(service)).length;
  const reply = await call();
  return { reply, rows: (await logRows(service)).slice(before) };
}

export function ok(reply: Reply, status = 200): any {
  assert.equal(reply.status, status, reply.text);
  return reply.body;
}

/** A request that has ended and was charged. */
export async function chargedRequest(service: Service, account: TestAccount): Promise<string> {
  const submit = { key: account.key, body: { prompt: 'a cat' } };
  const { request_id } = ok(await service.call('POST', '/v1/queue/fake/image', submit), 202);
  await service.work();
  await service.wakeAll();
  await service.work();
  const { body } = await account.get(`/v1/requests/${request_id}`);
  assert.equal(body.status, 'COMPLETED');
  return request_id;
}

/** A request that waits. */
export async function submitted(service: Service, account: TestAccount): Promise<string> {
  const { account_id, key } = account;
  await service.db.run(sql`
    update keys set rpm = null, rpm_ceiling = null where account_id = ${account_id}`);
  const reply = await service.call('POST', '/v1/queue/fake/image', {
    key,
    body: { prompt: 'a cat' },
  });
  return ok(reply, 202).request_id;
}

/** A failed request with an unknown outcome. */
export async function lost(service: Service, account: TestAccount): Promise<string> {
  const id = await submitted(service, account);
  service.fake.behave = { start: () => ({ outcome: 'rejected', message: 'no' }) };
  await service.work();
  service.fake.behave = {};
  await service.db.run(sql`update requests set error_code = 'outcome_unknown' where id = ${id}`);
  return id;
}

/** A deposit that is held for review, from a chain that was read once. */
export async function heldDeposit(service: Service): Promise<{ deposit_id: string }> {
  const deposit_id = newId();
  const hash = `0x${deposit_id.replaceAll('-', '').padStart(64, '0')}`;
  const address = `0x${'a1'.repeat(20)}`;
  const { account_id } = await service.account({ usd: 0 });
  await service.db.run(sql`
    insert into chain_deposits (id, chain, tx_hash, log_position, block_height, block_hash,
        block_at, token, from_address, to_address, amount_units, amount_usd_micro, account_id,
        state, why)
      values (${deposit_id}, 'play', ${hash}, 0, 9, ${hash}, now(), ${address}, ${address},
        ${address}, 5000000, 5000000, ${account_id}, 'held', 'review')`);
  return { deposit_id };
}

/** Links, codes and keys in a reply. */
export function secretsIn(answer: unknown): string[] {
  const text = JSON.stringify(answer);
  const tokens = [...text.matchAll(/token=([\w-]+)/g)].map((match) => match[1]!);
  const codes = [...text.matchAll(/"code":"([^"]+)"/g)].map((match) => match[1]!);
  const keys = [...text.matchAll(/fb[xo]_\w{38}/g)].map(([key]) => key);
  return [...tokens, ...codes, ...keys];
}
