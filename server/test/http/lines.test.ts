/** A text of a caller on one line: the same rule at every door. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { before, operatorOf, person, withWebService, type Person } from '../kit/web.ts';
import { logRows, operatorKey } from './operator/world.ts';

const { service } = withWebService();
let key: string;
let operator: Person;
let somebody: Person;
let owner: Pick<Person, 'call'>;
let account_id: string;
before(async () => {
  key = (await operatorKey(service)).key;
  account_id = (await service.account({ usd: 100 })).account_id;
  somebody = await person(service, { [account_id]: 'owner' });
  owner = somebody.of(account_id);
  operator = await operatorOf(service);
});

interface Door {
  field: string;
  max: number;
  send: (field: object) => Promise<{ status: number; body: any }>;
  /** The kept text, if the reply does not have it: the log has it. */
  logged?: true;
  /** An empty text is none. */
  takesNone?: true;
}
const logged = true;
const operate = (path: string, body: object) =>
  service.call('POST', `/v1/operator${path}`, { key, body });
let made = 0;
const credit = (field: object) => {
  const usual = { amount_usd_micro: '1', source: 'paid', reference: `credit ${++made}` };
  return operate(`/accounts/${account_id}/credits`, { ...usual, ...field });
};

const doors: Record<string, Door> = {
  'the name of a key': {
    field: 'name',
    max: 100,
    send: (body) => owner.call('POST', '/keys', body),
  },
  'the name of a key of the operator': {
    field: 'name',
    max: 100,
    send: (body) =>
      operator.call('POST', '/api/operator/operator-keys', { scopes: ['read'], ...body }),
    logged,
  },
  'the name of a person': {
    field: 'name',
    max: 100,
    send: (body) => somebody.call('PATCH', '/api/me', body),
  },
  'the name of an account': {
    field: 'name',
    max: 100,
    send: (body) => owner.call('PATCH', '/account', body),
  },
  'the reference of a credit': { field: 'reference', max: 255, send: credit, logged },
  'the note of a credit': { field: 'note', max: 1000, send: credit, logged },
  'the reason of a correction': {
    field: 'reason',
    max: 1000,
    send: (field) =>
      operate(`/accounts/${account_id}/adjustments`, {
        amount_usd_micro: '1',
        reference: `correction ${++made}`,
        ...field,
      }),
    logged,
  },
  'the note of vouchers': {
    field: 'note',
    max: 200,
    send: (field) => operate('/vouchers', { amount_usd_micro: '1', count: 1, ...field }),
    logged,
    takesNone: true,
  },
  'the note of unknown outcomes': {
    field: 'note',
    max: 1000,
    send: (field) =>
      operate('/unknown/resolve', {
        upstream: 'fake',
        since: '2026-01-01T00:00:00.000Z',
        outcome: 'ran',
        cost_usd_micro: '1',
        ...field,
      }),
    logged,
  },
};

for (const [about, { field, max, send, logged, takesNone }] of Object.entries(doors))
  describe(about, () => {
    const taken = [
      '🐈'.repeat(max),
      'x'.repeat(max),
      '  Ёж & co, «№ 1» ',
      '👩‍🚀'.replace('\u200D', ''),
    ];
    for (const text of taken)
      test(`takes ${text.length} of ${text.slice(0, 20)}`, async () => {
        const { status, body } = await send({ [field]: text });
        assert.ok(status === 200 || status === 201, JSON.stringify(body));
        const { details, target } = (await logRows(service)).at(-1) ?? {};
        assert.equal(logged ? (details?.[field] ?? target) : body[field], text.trim());
      });

    const refused = ['x'.repeat(max + 1), '🐈'.repeat(max + 1)];
    refused.push(
      ...['\n', '\t', '\0', '\u0007', '\u200b', '\u202e', '\u2028'].map((c) => `a${c}b`),
    );
    for (const text of takesNone ? refused : ['', '  ', ...refused])
      test(`refuses ${text.length} of ${JSON.stringify(text.slice(0, 20))}`, async () => {
        const rows = (await logRows(service)).length;
        const { status, body } = await send({ [field]: text });
        assert.deepEqual([status, body.error?.param], [400, field]);
        assert.match(body.error.message, new RegExp(`${max} characters|NUL`));
        assert.equal((await logRows(service)).length, rows);
      });
  });
