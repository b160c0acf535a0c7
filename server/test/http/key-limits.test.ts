/** The bounds of a key's monthly limit: the same at every door where a key is made or changed. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as keys from '../../src/db/accounts/keys.ts';
import { placeFor } from '../commands/cli.ts';
import type { Service } from '../kit/service.ts';
import { operatorOf, person, startWebService, type Person } from '../kit/web.ts';
import { operatorKey } from './operator/world.ts';

let service: Service;
let operator: Person;
let operators: string;
before(async () => {
  service = await startWebService();
  operator = await operatorOf(service);
  operators = (await operatorKey(service)).key;
});
after(() => service.audit().finally(() => service.stop()));

/** An account with its owner and its key that manages keys. */
async function accountWithOwner() {
  const { account_id } = await service.account();
  const owner = (await person(service, { [account_id]: 'owner' })).of(account_id);
  const manager = (await owner.call('POST', '/keys', { name: 'platform', scope: 'keys' })).body.key;
  return { account_id, owner, manager };
}
type World = Awaited<ReturnType<typeof accountWithOwner>>;

let made = 0;
const named = (limit: unknown) => ({ name: `key ${++made}`, monthly_limit_usd_micro: limit });
const limited = (limit: unknown) => ({ monthly_limit_usd_micro: limit });

type Door = (
  world: World,
  limit: unknown,
  key_id: string,
) => Promise<{ status: number; body: any }>;
const doors: Record<string, Door> = {
  'making a key on the pages': ({ owner }, limit) => owner.call('POST', '/keys', named(limit)),
  'changing a key on the pages': ({ owner }, limit, id) =>
    owner.call('PATCH', `/keys/${id}`, limited(limit)),
  'making a key by a key': ({ manager: key }, limit) =>
    service.call('POST', '/v1/keys', { key, body: named(limit) }),
  'changing a key by a key': ({ manager: key }, limit, id) =>
    service.call('PATCH', `/v1/keys/${id}`, { key, body: limited(limit) }),
  "making a key by the operator's key": ({ account_id }, limit) => {
    const call = { key: operators, body: named(limit) };
    return service.call('POST', `/v1/operator/accounts/${account_id}/keys`, call);
  },
  "changing a key by the operator's key": (_, limit, id) =>
    service.call('PATCH', `/v1/operator/keys/${id}`, { key: operators, body: limited(limit) }),
  'changing a key in the console': (_, limit, id) =>
    operator.call('PATCH', `/api/operator/keys/${id}`, limited(limit)),
};
const most = String(2n ** 63n - 1n);
const taken = [null, '0', '1', most];
const refused = [String(2n ** 63n), '9'.repeat(20), '-1', '01', '1.5', '', 5, '٣'];

for (const [door, send] of Object.entries(doors))
  describe(door, () => {
    let world: World;
    let key_id: string;
    before(async () => {
      world = await accountWithOwner();
      key_id = (await world.owner.call('POST', '/keys', { name: 'first' })).body.key_id;
    });
    const limitOf = async () =>
      (await keys.findAny(service.db, key_id))!.monthly_limit_usd_micro?.toString() ?? null;

    test('takes each limit from 0 on, and none', async () => {
      for (const limit of taken) {
        const { status, body } = await send(world, limit, key_id);
        assert.ok(status === 200 || status === 201, JSON.stringify(body));
        assert.equal(body.monthly_limit_usd_micro, limit);
      }
    });

    for (const limit of refused)
      test(`refuses the limit ${JSON.stringify(limit)} by name`, async () => {
        const before = await limitOf();
        const { status, body } = await send(world, limit, key_id);
        const { error } = body;
        assert.deepEqual(
          [status, error?.code, error?.param],
          [400, 'bad_request', 'monthly_limit_usd_micro'],
        );
        assert.match(error.message, new RegExp(`at most "${most}"`));
        assert.equal(await limitOf(), before);
      });
  });

test('a key with the limit 0 makes no call, and one with the highest makes them', async () => {
  const { owner } = await accountWithOwner();
  const submit = async (limit: string) => {
    const { key } = (await owner.call('POST', '/keys', named(limit))).body;
    return service.call('POST', '/v1/queue/fake/image', { key, body: { prompt: 'a cat' } });
  };
  const none = await submit('0');
  assert.deepEqual([none.status, none.body.error.code], [402, 'key_limit_reached']);
  assert.equal((await submit(most)).status, 202);
});

test('the command line takes the limit 0', async (t) => {
  const place = placeFor(t, { DATABASE_URL: service.databaseUrl, FAREBOX_UNSAFE_DATABASE: 'on' });
  const { key_id } = await service.account();
  const { code, stderr } = await place.run(['key', 'limit', key_id, '--limit-usd', '0']);
  assert.equal(code, 0, stderr);
  assert.equal((await keys.findAny(service.db, key_id))!.monthly_limit_usd_micro, 0n);
});
