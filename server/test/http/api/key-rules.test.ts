/** The rules of a key's settings: the same at every door where a key is made or changed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as keys from '../../../src/db/accounts/keys.ts';
import { placeFor } from '../../commands/cli.ts';
import { limitKey } from '../../kit/keys.ts';
import { before, operatorOf, person, withWebService, type Person } from '../../kit/web.ts';
import { logRows, operatorKey } from '../operator/world.ts';

let operator: Person;
let operators: string;
const { service } = withWebService({ env: { FAREBOX_RPM: '600' } });
before(async () => {
  operator = await operatorOf(service);
  operators = (await operatorKey(service)).key;
});

/** An account with its owner, a key, and its key that manages keys. */
async function openWorld() {
  const { account_id, key_id } = await service.account();
  const owner = (await person(service, { [account_id]: 'owner' })).of(account_id);
  const made = (await owner.call('POST', '/keys', { name: 'platform', scope: 'keys' })).body;
  return { account_id, key_id, owner, manager: made.key, manager_id: made.key_id };
}
type World = Awaited<ReturnType<typeof openWorld>>;
type Form = Record<string, unknown>;
type Send = (world: World, form: Form) => Promise<{ status: number; body: any }>;

let made = 0;
const named = (form: Form) => ({ name: `key ${++made}`, ...form });

/** Doors of an account's people and keys: the service and the operator bound what they give. */
const ofAccount: Record<string, Send> = {
  'making a key on the pages': ({ owner }, form) => owner.call('POST', '/keys', named(form)),
  'changing a key on the pages': ({ owner, key_id }, form) =>
    owner.call('PATCH', `/keys/${key_id}`, form),
  'making a key by a key': ({ manager: key }, form) =>
    service.call('POST', '/v1/keys', { key, body: named(form) }),
  'changing a key by a key': ({ manager: key, key_id }, body) =>
    service.call('PATCH', `/v1/keys/${key_id}`, { key, body }),
};
const ofOperators: Record<string, Send> = {
  "making a key by the operator's key": ({ account_id }, form) => {
    const call = { key: operators, body: named(form) };
    return service.call('POST', `/v1/operator/accounts/${account_id}/keys`, call);
  },
  "changing a key by the operator's key": ({ key_id }, body) =>
    service.call('PATCH', `/v1/operator/keys/${key_id}`, { key: operators, body }),
  'making a key in the console': ({ account_id }, form) =>
    operator.call('POST', `/api/operator/accounts/${account_id}/keys`, named(form)),
  'changing a key in the console': ({ key_id }, form) =>
    operator.call('PATCH', `/api/operator/keys/${key_id}`, form),
};

const most = String(2n ** 63n - 1n);
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

const taken: Form[] = [
  ...[null, '0', '1', most].map((limit) => ({ monthly_limit_usd_micro: limit })),
  { rpm: 1, open_jobs: 1 },
  { rpm: 600, open_jobs: 50 },
  { expires_at: inDays(30), models: ['fake/image', 'fake/chat'] },
  { rpm: null, open_jobs: null, expires_at: null, models: null },
];

type Rule = [form: Form, param: string, words: RegExp];
const rules: Rule[] = [
  ...[String(2n ** 63n), '9'.repeat(20), '-1', '01', '1.5', '', 5, '٣'].map((limit): Rule => {
    const words = new RegExp(`at most "${most}"`);
    return [{ monthly_limit_usd_micro: limit }, 'monthly_limit_usd_micro', words];
  }),
  [{ expires_at: inDays(-1) }, 'expires_at', /future/],
  [{ expires_at: '2020-01-01T00:00:00.000Z' }, 'expires_at', /future/],
  [{ expires_at: 'tomorrow' }, 'expires_at', /a time with Z or an offset/],
  [{ rpm: 0 }, 'rpm', /from 1/],
  [{ open_jobs: 0 }, 'open_jobs', /from 1/],
  [{ open_jobs: 1.5 }, 'open_jobs', /an integer/],
  [{ models: [] }, 'models', /1 to 200 entries, or null/],
  [{ models: 'fake/image' }, 'models', /list/],
  [{ models: ['fake/image', 'fake/x'] }, 'models[1]', /GET \/v1\/models/],
  [{ limit: '1' }, 'limit', /Allowed: /],
  [{ is_studio: true }, 'is_studio', /Allowed: /],
];
const rulesOfNames: Rule[] = [
  [{ name: '' }, 'name', /1 to 100 characters/],
  [{ name: '   ' }, 'name', /1 to 100 characters/],
  [{ name: 'a\nb' }, 'name', /one line/],
  [{ name: 'a\u202Eb' }, 'name', /invisible/],
  [{ name: 'a\u200Bb' }, 'name', /invisible/],
  [{ name: 'x'.repeat(101) }, 'name', /100/],
];
const rulesOfMaking: Rule[] = [[{ name: undefined }, 'name', /1 to 100 characters/]];
/** Only people make keys that manage keys. */
const ruleOfScopes: Rule = [{ scope: 'keys' }, 'scope', /Allowed: /];
const bounds: Rule[] = [
  [{ rpm: 601 }, 'rpm', /at most 600/],
  [{ open_jobs: 51 }, 'open_jobs', /at most 50/],
];

for (const [door, send] of Object.entries({ ...ofAccount, ...ofOperators }))
  describe(door, () => {
    const makes = door.startsWith('making');
    const isBounded = door in ofAccount;
    let world: World;
    before(async () => void (world = await openWorld()));
    const left = async () => {
      const rows = await keys.list(service.db, { account_id: world.account_id, limit: 100 });
      const unused = rows.map((row) => ({ ...row, last_used_at: null }));
      return { keys: unused, logged: (await logRows(service)).length };
    };

    async function assertRefused([form, param, words]: Rule, to = world) {
      const earlier = await left();
      const { status, body } = await send(to, form);
      const { code, message, param: said } = body.error ?? {};
      assert.deepEqual([status, code, said], [400, 'bad_request', param]);
      assert.match(message, words);
      assert.deepEqual(await left(), earlier);
      return body.error.details?.reason;
    }

    for (const form of taken)
      test(`takes ${JSON.stringify(form)}`, async () => {
        const { status, body } = await send(world, form);
        assert.equal(status, makes ? 201 : 200, JSON.stringify(body));
        assert.partialDeepStrictEqual(body, form);
      });

    const all = [
      ...rules,
      ...rulesOfNames,
      ...(makes ? rulesOfMaking : []),
      ...(makes && !door.endsWith('pages') ? [ruleOfScopes] : []),
      ...(isBounded ? bounds : []),
    ];
    for (const rule of all)
      test(`refuses ${JSON.stringify(rule[0])} by name`, () => assertRefused(rule));

    // A key reaches neither of these kinds.
    if (!makes && !door.endsWith('by a key')) {
      const end = inDays(1);
      const fixed: Form[] = [{ name: 'x' }, { expires_at: end }, { models: ['fake/image'] }];
      for (const form of [...fixed, { expires_at: null }, { models: null, rpm: 5 }]) {
        const [field] = Object.keys(form);
        test(`does not give the studio's key ${JSON.stringify(form)}`, async () => {
          const { studio } = (await world.owner.call('GET', '/keys')).body;
          const rule: Rule = [form, field!, new RegExp(`${field} of the studio key`)];
          const reason = await assertRefused(rule, { ...world, key_id: studio.key_id });
          assert.equal(reason, 'studio_key_fixed');
        });
      }
      const limits: Form[] = [{ monthly_limit_usd_micro: '5' }, { open_jobs: 5 }];
      for (const form of [{ models: ['fake/image'] }, ...limits]) {
        const [field] = Object.keys(form);
        const toManager = () => ({ ...world, key_id: world.manager_id });
        if (!isBounded && field !== 'models')
          test(`sets the ceiling of later keys by ${field} of a key that manages keys`, async () => {
            assert.equal((await send(toManager(), form)).status, 200);
            const { ceilings } = (await world.owner.call('GET', '/keys')).body;
            const name = field === 'open_jobs' ? 'open_jobs_ceiling' : 'monthly_ceiling_usd_micro';
            assert.equal(ceilings[name], form[field!]);
          });
        else
          test(`gives no ${field} to a key that manages keys`, async () => {
            const rule: Rule = [form, field!, /spends nothing/];
            assert.equal(await assertRefused(rule, toManager()), 'key_spends_nothing');
          });
      }
    }

    if (!isBounded) {
      for (const [form] of bounds)
        test(`goes beyond the usual bound with ${JSON.stringify(form)}`, async () =>
          assert.partialDeepStrictEqual((await send(world, form)).body, form));
      return;
    }

    describe('below limits of the operator', () => {
      before(async () => {
        world = await openWorld();
        const set = { monthly_limit_usd_micro: 20_000n, rpm: 30, open_jobs: 3 };
        await limitKey(service.db, world.key_id, set);
      });
      const beyond: Rule[] = [
        [{ monthly_limit_usd_micro: '20001' }, 'monthly_limit_usd_micro', /at most 0\.02 USD/],
        [{ rpm: 31 }, 'rpm', /at most 30/],
        [{ open_jobs: 4 }, 'open_jobs', /at most 3/],
      ];
      for (const [form, param, words] of beyond) {
        const says = new RegExp(`operator has set .* ${words.source}`);
        test(`refuses ${JSON.stringify(form)}`, () => assertRefused([form, param, says]));
        const none = { [param]: null };
        if (!makes) test(`does not remove ${param}`, () => assertRefused([none, param, says]));
        else
          test(`has ${param} of its own`, async () => {
            const { body } = await send(world, none);
            assert.equal(Number(body[param]) + 1, Number(form[param]));
          });
      }
      test('takes less', async () => {
        const less = { monthly_limit_usd_micro: '0', rpm: 1, open_jobs: 1 };
        assert.partialDeepStrictEqual((await send(world, less)).body, less);
      });
    });
  });

test('a key with the limit 0 makes no call, and one with the highest makes them', async () => {
  const { owner } = await openWorld();
  const submit = async (monthly_limit_usd_micro: string) => {
    const { key } = (await owner.call('POST', '/keys', named({ monthly_limit_usd_micro }))).body;
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
