/** The operator's calls through a session: what a refused one leaves, and the list of operator keys. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../../src/lib/sql/sql.ts';
import { createAccount } from '../../../src/operations/accounts/account.ts';
import { createOperatorKey } from '../../../src/operations/accounts/operator-key.ts';
import { commandLine } from '../../../src/operations/operator-action.ts';
import { logRows, operatorKey } from './world.ts';
import {
  before,
  operatorOf,
  password,
  stranger,
  withWebService,
  type Person,
} from '../../kit/web.ts';

let operator: Person;
const { service, account: customer } = withWebService({ account: { usd: 10 } });
before(async () => {
  operator = await operatorOf(service);
});

test('refused calls leave no row in the log', async () => {
  const before = (await logRows(service)).length;
  const own = `/accounts/${customer.account_id}`;
  const credit = { reference: 'r', source: 'paid' };
  const beyond = { amount_usd_micro: '-999000000', reference: 'too much', reason: 'x' };
  const tries: [method: string, path: string, body: object][] = [
    ['POST', `${own}/credits`, { ...credit, amount_usd_micro: '0' }],
    ['POST', `${own}/credits`, { ...credit, amount_usd_micro: '1.5' }],
    ['POST', `${own}/credits`, { amount_usd_micro: '5', source: 'paid' }],
    ['POST', `${own}/adjustments`, beyond],
    ['PUT', `${own}/price`, { price_ppm: 0.5 }],
    ['POST', '/accounts', { email: customer.email, invite: false }],
  ];
  for (const [method, path, body] of tries)
    assert.equal((await operator.call(method, `/api/operator${path}`, body)).status, 400, path);
  assert.equal((await logRows(service)).length, before);
  assert.equal((await service.balance(customer)).available, 10_000_000n);
});

test('operator keys are listed with whether their maker is still an operator', async () => {
  const leaver = await operatorOf(service);
  const body = { name: 'kept', scopes: ['read'] };
  assert.equal((await leaver.call('POST', '/api/operator/operator-keys', body)).status, 200);
  await createOperatorKey(service.db, commandLine, { name: 'typed', scopes: ['read'] });
  const left = async () => {
    const { data } = (await operator.call('GET', '/api/operator/operator-keys?limit=2')).body;
    return data.map((row: any) => [row.name, row.created_by, row.maker_left]);
  };
  const typed = ['typed', 'command line', false];
  assert.deepEqual(await left(), [typed, ['kept', leaver.email, false]]);
  await service.db.run(sql`update accounts set is_operator = false
       where id = (select account_id from members where person_id = ${leaver.id})`);
  assert.deepEqual(await left(), [typed, ['kept', leaver.email, true]]);
});

test('an invitation by a leaked key ends when its account becomes an operator’s', async () => {
  const { key } = await operatorKey(service);
  const { account_id } = await service.account();
  const at = `/operator/accounts/${account_id}`;
  const email = 'eve@example.com';
  const call = { key, body: { email, role: 'owner' } };
  const made = await service.call('POST', `/v1${at}/invitations`, call);
  assert.equal(made.status, 201, made.text);
  const token = made.body.link.split('token=')[1];
  const eve = stranger(service);
  assert.equal((await eve.call('POST', '/api/invitation', { token })).status, 200);
  const raised = await operator.call('PUT', `/api${at}/operator`, { is_operator: true });
  assert.equal(raised.status, 200, raised.text);
  assert.equal((await eve.call('POST', '/api/invitation', { token })).status, 404);
  const form = { name: 'Eve', email, password, token };
  const refused = await eve.call('POST', '/api/sign-up', form);
  assert.equal(refused.body.error.details.reason, 'invitation_gone', refused.text);
  const { people, invitations } = (await operator.call('GET', `/api${at}`)).body;
  assert.deepEqual([people, invitations], [[], []]);
  // Operators invite into their account as before, and saying again that it is theirs changes nothing.
  const own = await operator.call('POST', `/api${at}/invitations`, { email, role: 'owner' });
  assert.equal(own.status, 201, own.text);
  await operator.call('PUT', `/api${at}/operator`, { is_operator: true });
  assert.equal((await operator.call('GET', `/api${at}`)).body.invitations.length, 1);
});

test('a leaked key proves nobody’s address, so its invitation keeps no way in for its holder', async () => {
  const { key } = await operatorKey(service);
  const { account_id } = await service.account();
  const crew = await createAccount(service.db, { email: 'crew@example.com', is_operator: true });
  const doors: Record<string, (email: string) => [path: string, body: object]> = {
    'an invitation to sign up': (email) => ['/invitations', { email }],
    'a new account': (email) => ['/accounts', { email, invite: true }],
    'an invitation into an account': (email) => [
      `/accounts/${account_id}/invitations`,
      { email, role: 'owner' },
    ],
  };
  for (const [i, [door, asked]] of Object.entries(doors).entries()) {
    const email = `ann${i}@example.com`;
    const [path, body] = asked(email);
    const made = await service.call('POST', `/v1/operator${path}`, { key, body });
    assert.equal(made.status, 201, made.text);
    const tokenIn = (link: string) => link.split('token=')[1];
    const form = { name: 'Eve', email, password: 'the thief knows it' };
    const eve = stranger(service);
    const token = tokenIn(made.body.link ?? made.body.invitation_link);
    assert.equal((await eve.call('POST', '/api/sign-up', { ...form, token })).status, 200);
    const signIn = (as: string) =>
      stranger(service).call('POST', '/api/auth/sign-in/email', { email, password: as });
    assert.equal((await signIn(form.password)).status, 200);

    const into = `/api/operator/accounts/${crew.id}/invitations`;
    const raised = await operator.call('POST', into, { email, role: 'owner' });
    const own = { name: 'Ann', email, password, token: tokenIn(raised.body.link) };
    const joined = await stranger(service).call('POST', '/api/sign-up', own);
    assert.equal(joined.status, 200, joined.text);
    assert.deepEqual([(await signIn(form.password)).status, door], [401, door]);
    assert.equal((await signIn(password)).status, 200);
    const { people } = (await operator.call('GET', `/api/operator/accounts/${crew.id}`)).body;
    assert.equal(people.filter((each: { email: string }) => each.email === email).length, 1);
  }
});
