/** The calls that only the console has: who may make them, and the log's row of each action. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { consoleCalls } from '../../../src/http/operator/routes.ts';
import { newId } from '../../../src/lib/id.ts';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { createAccount } from '../../../src/operations/accounts/account.ts';
import { createOperatorKey } from '../../../src/operations/accounts/operator-key.ts';
import { commandLine } from '../../../src/operations/operator-action.ts';
import { secretsIn } from './world.ts';
import type { Service, TestAccount } from '../../kit/service.ts';
import { operatorOf, person, startWebService, stranger, type Person } from '../../kit/web.ts';

let service: Service;
let operator: Person;
let customer: TestAccount;
let owner: Person;
before(async () => {
  service = await startWebService();
  operator = await operatorOf(service);
  customer = await service.account({ usd: 10 });
  owner = await person(service, { [customer.account_id]: 'owner' });
});
after(() => service.stop());

const logRows = async () => {
  const rows = await service.db.run<{ action: string; text: string }>(
    rawSql('select action, l::text as text from operator_log l order by id'),
  );
  return rows;
};

let references = 0;
const email = () => `new${++references}@example.com`;

/** A successful call of each action, by the action's name in the log. */
const calls: Record<string, () => Promise<[Record<string, string>, object]>> = {
  'books.prove': async () => [{}, {}],
  'account.operator': async () => [{}, { is_operator: false }],
  'account.invite': async () => [{}, { email: email(), role: 'billing' }],
  'person.reset': async () => [{ person_id: owner.id }, {}],
  'person.email': async () => [
    { person_id: (await person(service, { [customer.account_id]: 'billing' })).id },
    { email: email() },
  ],
  'operator_key.create': async () => [{}, { name: 'billing', scopes: ['money', 'read'] }],
  'operator_key.revoke': async () => {
    const wanted = { name: 'old', scopes: ['read'] } as const;
    const { answer } = await createOperatorKey(service.db, wanted, commandLine);
    return [{ operator_key_id: answer.operator_key_id }, {}];
  },
  'model.stop': async () => [{}, { id: 'fake/image', reason: 'it costs too much' }],
  'model.resume': async () => [{}, { id: 'fake/image' }],
  'chain.resume': async () => {
    await service.db.run(
      rawSql(`insert into chains (name, chain_id, start_height, scanned_height, rescanned_height,
        stopped_why) values ('play', 7, 1, 9, 0, 'replaced')`),
    );
    return [{ chain: 'play' }, {}];
  },
  'chain.rescan': async () => [{ chain: 'play' }, { from_height: 5 }],
  'deposit.credit': async () => [{ deposit_id: await held() }, { reason: 'looked at it' }],
  'deposit.ignore': async () => [{ deposit_id: await held() }, { reason: 'not a payment' }],
  'upstream.wake': async () => [{ upstream: 'fake' }, {}],
  'upstream.test': async () => [{ upstream: 'fake' }, {}],
  'request.cancel': async () => [{ request_id: await submitted() }, {}],
  'request.resolve': async () => [
    { request_id: await lost() },
    { outcome: 'ran', cost_usd_micro: '7' },
  ],
  'request.resolve_many': async () => {
    await lost();
    const since = new Date(Date.now() - 3_600_000).toISOString();
    return [{}, { upstream: 'fake', since, outcome: 'did_not_run' }];
  },
};

/** A held deposit from the chain that the case `chain.resume` has added. */
const held = async () => {
  const id = newId();
  const hash = `0x${id.replaceAll('-', '').padStart(64, '0')}`;
  const address = `0x${'a1'.repeat(20)}`;
  const { account_id } = await service.account({ usd: 0 });
  await service.db.run(
    rawSql(
      `insert into chain_deposits (id, chain, tx_hash, log_position, block_height, block_hash,
        block_at, token, from_address, to_address, amount_units, amount_usd_micro, account_id,
        state, why)
      values ($1, 'play', $2, 0, 9, $2, now(), $3, $3, $3, 5000000, 5000000, $4, 'held', 'review')`,
      [id, hash, address, account_id],
    ),
  );
  return id;
};
const submitted = async () => {
  const { account_id } = customer;
  await service.db.run(
    rawSql('update keys set rpm = null, rpm_ceiling = null where account_id = $1', [account_id]),
  );
  const body = { prompt: 'a cat' };
  const reply = await service.call('POST', '/v1/queue/fake/image', { key: customer.key, body });
  assert.equal(reply.status, 202, reply.text);
  return reply.body.request_id as string;
};
/** A failed request with an unknown outcome. */
const lost = async () => {
  const id = await submitted();
  service.fake.behave = { start: () => ({ outcome: 'rejected', message: 'no' }) };
  await service.work();
  await service.db.run(
    rawSql(`update requests set error_code = 'outcome_unknown' where id = $1`, [id]),
  );
  return id;
};

const pathWith = (path: string, ids: Record<string, string>) =>
  `/api/operator${path.replace(/:(\w+)/g, (_, name: string) => ids[name] ?? customer.account_id)}`;

describe('the operator’s calls', () => {
  const changing = consoleCalls.filter(({ method }) => method !== 'GET');

  test('that change something all have a case', () => {
    assert.equal(changing.length, Object.keys(calls).length);
  });

  for (const { method, path } of consoleCalls) {
    test(`${method} ${path} does not exist for others, and changes nothing`, async () => {
      const before = (await logRows()).length;
      const at = pathWith(path, { key_id: customer.key_id, person_id: owner.id });
      const others = [owner, await suspendedOperator(), await developerOfOperators()];
      for (const other of others) {
        const reply = await other.call(method, at, method === 'GET' ? undefined : {});
        assert.equal(reply.status, 404, reply.text);
        assert.equal(reply.body.error.code, 'not_found');
      }
      assert.equal((await stranger(service).call(method, at)).status, 401);
      assert.equal((await logRows()).length, before);
    });
  }

  for (const [action, make] of Object.entries(calls)) {
    test(`${action} leaves one row in the log, by whom, and no secret in it`, async () => {
      const [ids, body] = await make();
      const before = (await logRows()).length;
      const { method, path } = changing[actions().indexOf(action)]!;
      const reply = await operator.call(method, pathWith(path, ids), body);
      assert.equal(reply.status, 200, reply.text);
      const rows = (await logRows()).slice(before);
      assert.deepEqual(
        rows.map((row) => row.action),
        [action],
      );
      const { text } = rows[0]!;
      assert.ok(text.includes(operator.email) && text.includes(operator.id), text);
      for (const secret of secretsIn(reply.body)) assert.ok(!text.includes(secret), text);
    });
  }

  test('leave no row if they are refused', async () => {
    const before = (await logRows()).length;
    const at = (path: string) => `/api/operator/accounts/${customer.account_id}${path}`;
    const tries = [
      await operator.call('POST', at('/credits'), {
        amount_usd_micro: '0',
        reference: 'r',
        source: 'paid',
      }),
      await operator.call('POST', at('/credits'), {
        amount_usd_micro: '1.5',
        reference: 'r',
        source: 'paid',
      }),
      await operator.call('POST', at('/credits'), { amount_usd_micro: '5', source: 'paid' }),
      await operator.call('POST', at('/adjustments'), {
        amount_usd_micro: '-999000000',
        reference: 'too much',
        reason: 'x',
      }),
      await operator.call('PUT', at('/price'), { price_ppm: 0.5 }),
      await operator.call('POST', '/api/operator/accounts', {
        email: customer.email,
        invite: false,
      }),
    ];
    assert.deepEqual(
      tries.map(({ status }) => status),
      tries.map(() => 400),
    );
    assert.equal((await logRows()).length, before);
    assert.equal((await service.balance(customer)).available, 10_000_000n);
  });
});

test('operator keys are listed with whether their maker is still an operator', async () => {
  const leaver = await operatorOf(service);
  const body = { name: 'kept', scopes: ['read'] };
  assert.equal((await leaver.call('POST', '/api/operator/operator-keys', body)).status, 200);
  await createOperatorKey(service.db, { name: 'typed', scopes: ['read'] }, commandLine);
  const left = async () => {
    const { data } = (await operator.call('GET', '/api/operator/operator-keys?limit=2')).body;
    return data.map((row: any) => [row.name, row.created_by, row.maker_left]);
  };
  const typed = ['typed', 'command line', false];
  assert.deepEqual(await left(), [typed, ['kept', leaver.email, false]]);
  await service.db.run(
    rawSql(
      `update accounts set is_operator = false
       where id = (select account_id from members where person_id = $1)`,
      [leaver.id],
    ),
  );
  assert.deepEqual(await left(), [typed, ['kept', leaver.email, true]]);
});

/** Names of the actions, in the order of the table above. */
function actions(): string[] {
  return Object.keys(calls);
}

let suspended: Person | undefined;
async function suspendedOperator(): Promise<Person> {
  if (suspended) return suspended;
  suspended = await operatorOf(service);
  await service.db.run(
    rawSql(
      `update accounts set status = 'suspended' where id in
        (select account_id from members where person_id = $1)`,
      [suspended.id],
    ),
  );
  return suspended;
}

let developer: Person | undefined;
/** A developer, not an owner, of an operator's account. */
async function developerOfOperators(): Promise<Person> {
  if (developer) return developer;
  const { id } = await createAccount(service.db, { email: 'crew@example.com', is_operator: true });
  developer = await person(service, { [id]: 'developer' });
  return developer;
}
