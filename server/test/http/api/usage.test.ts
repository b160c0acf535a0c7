import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { sql } from '../../../src/lib/sql/sql.ts';
import { createKey } from '../../kit/keys.ts';
import { completion } from '../../kit/fake.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { TestAccount } from '../../kit/service.ts';
import { before, withService } from '../../kit/with-service.ts';
import { chargedRequest, ok, operatorKey } from '../operator/world.ts';

/**
 * Sums of an account's usage by day, model, key, person and metadata. A prompt token of fake/chat costs one
 * micro-USD, a completion token two, and an image 10,000.
 */

/** A second key of the same account. */
let second: { key: string; key_id: string };
let other: TestAccount;
const day = (daysAgo: number) =>
  new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);
const names = new Map<unknown, string>();

const { service, account: own } = withService();
before(async () => {
  other = await service.account();
  const { account_id } = own;
  second = await createKey(service.db, { account_id, name: 'second' });
  names.set(own.key_id, 'first').set(second.key_id, 'second');
  names.set(day(0), 'today').set(day(3), 'past').set(null, '-');
  const customer = (value: string) => ({ customer: value });
  const past = await chat(own.key, customer('1'));
  await service.db.run(sql`update request_results set created_at = created_at - interval '3 days'
    where request_id = ${past}`);
  await chat(own.key, { ...customer('1'), env: 'live' });
  await chat(second.key, customer('2'), {
    prompt_tokens: 100,
    completion_tokens: 10,
    prompt_tokens_details: { cached_tokens: 60 },
    completion_tokens_details: { reasoning_tokens: 7 },
  });
  service.fake.behave.chat = () => ({ outcome: 'not_accepted', message: 'full' });
  await post('/v1/chat/completions', own.key, chatBody, customer('1'));
  service.fake.behave = {};
  await cancelled();
  const image = await chargedRequest(service, own);
  await chat(other.key, customer('1'));
  const operator = await operatorKey(service);
  const refund = { amount_usd_micro: '4000', reference: 'r', reason: 'it was black' };
  const at = `/v1/operator/requests/${image}/refunds`;
  ok(await service.call('POST', at, { key: operator.key, body: refund }), 201);
});

const chatBody = { model: 'fake/chat', messages: [{ role: 'user', content: 'x' }], max_tokens: 10 };

function post(path: string, key: string, body: object, metadata: Record<string, string>) {
  const headers = { 'x-metadata': JSON.stringify(metadata) };
  return service.call('POST', path, { key, body, headers });
}

async function chat(
  key: string,
  metadata: Record<string, string>,
  usage: Record<string, unknown> = { prompt_tokens: 5, completion_tokens: 2 },
): Promise<string> {
  service.fake.behave.chat = () => ({ outcome: 'reply', reply: completion('hi', usage) });
  const reply = await post('/v1/chat/completions', key, chatBody, metadata);
  service.fake.behave = {};
  return ok(reply).id.replace('chatcmpl-', '');
}

async function cancelled(): Promise<void> {
  const { request_id } = ok(await post('/v1/queue/fake/image', own.key, { prompt: 'x' }, {}), 202);
  ok(await own.post(`/v1/requests/${request_id}/cancel`));
}

/** The lines of all pages, read one line a page. */
async function linesOf(query: string, key = own.key): Promise<any[]> {
  const lines: any[] = [];
  for (let at = ''; ;) {
    const { data, next_cursor } = ok(
      await service.call('GET', `/v1/usage?limit=1&${query}${at}`, { key }),
    );
    lines.push(...data);
    if (next_cursor === null) return lines;
    at = `&cursor=${next_cursor}`;
  }
}

/** A line as text: its groups, completed/requests, charge, and tokens if there are any. */
function shown(line: any): string {
  const { day: on, model_id, key_id, metadata, completed, failed, requests, ...sums } = line;
  assert.equal(completed + failed, requests);
  const { input_tokens, output_tokens, cached_tokens, reasoning_tokens } = sums;
  const groups = [on, model_id, key_id, ...Object.values(metadata)].map(
    (value) => names.get(value) ?? value,
  );
  const tokens = [input_tokens, output_tokens, cached_tokens, reasoning_tokens];
  const counted = tokens.some((n) => n > 0) ? ` ${tokens.join('/')}` : '';
  return `${groups.join(' ')}: ${completed}/${requests} ${sums.charged_usd_micro}${counted}`;
}

const cases: [query: string, lines: string[]][] = [
  ['by=day', ['past - -: 1/1 9 5/2/0/0', 'today - -: 3/4 6129 105/12/60/7']],
  ['by=model', ['- fake/chat -: 3/4 138 110/14/60/7', '- fake/image -: 1/1 6000']],
  ['by=key', ['- - first: 3/4 6018 10/4/0/0', '- - second: 1/1 120 100/10/60/7']],
  [
    'by=metadata.customer',
    ['- - - -: 1/1 6000', '- - - 1: 2/3 18 10/4/0/0', '- - - 2: 1/1 120 100/10/60/7'],
  ],
  [
    'by=metadata.customer,model,day',
    [
      'past fake/chat - 1: 1/1 9 5/2/0/0',
      'today fake/chat - 1: 1/2 9 5/2/0/0',
      'today fake/chat - 2: 1/1 120 100/10/60/7',
      'today fake/image - -: 1/1 6000',
    ],
  ],
  [
    'by=metadata.env,metadata.customer',
    [
      '- - - - -: 1/1 6000',
      '- - - - 1: 1/2 9 5/2/0/0',
      '- - - - 2: 1/1 120 100/10/60/7',
      '- - - live 1: 1/1 9 5/2/0/0',
    ],
  ],
  ['by=metadata.Customer', ['- - - -: 4/5 6138 110/14/60/7']],
  ['by=day&metadata.customer=1', ['past - -: 1/1 9 5/2/0/0', 'today - -: 1/2 9 5/2/0/0']],
  ['by=day&metadata.customer=1&metadata.env=live', ['today - -: 1/1 9 5/2/0/0']],
  ['by=day&model_id=fake/image', ['today - -: 1/1 6000']],
  ['by=metadata.customer&key_id=SECOND', ['- - - 2: 1/1 120 100/10/60/7']],
  ['by=key&key_id=OTHER', []],
  ['by=day&metadata.customer=3', []],
  ['by=day&from=PAST&to=TODAY', ['past - -: 1/1 9 5/2/0/0']],
  ['by=day&from=TODAY', ['today - -: 3/4 6129 105/12/60/7']],
  ['by=day&from=2020-01-01&to=2020-02-01', []],
];
for (const [query, lines] of cases)
  test(`${query} gives ${lines.length} lines of the account's own requests`, async () => {
    const asked = query
      .replace('SECOND', second.key_id)
      .replace('OTHER', other.key_id)
      .replace('PAST', day(3))
      .replace('TODAY', day(0));
    assert.deepEqual((await linesOf(asked)).map(shown), lines);
    const byOther = await linesOf(asked, second.key);
    assert.deepEqual(byOther.map(shown), lines, 'each key of the account reads the same');
  });

test('every grouping adds up to the charges in the ledger, less the refunds', async () => {
  const [booked] = await service.db.run<{ sum: bigint }>(sql`
    select sum(case kind when 'charge' then amount_usd_micro else -amount_usd_micro end)::bigint as sum
       from transfers where account_id = ${own.account_id} and (kind = 'charge' or refunded_id is not null)`);
  const groups = ['day', 'model', 'key', 'metadata.customer', 'metadata.env'];
  const all = groups.map((_, i) => groups.slice(i).join(','));
  for (const by of [...groups, ...all]) {
    const lines = await linesOf(`by=${by}`);
    const sum = lines.reduce((total, line) => total + BigInt(line.charged_usd_micro), 0n);
    assert.deepEqual([by, sum], [by, booked!.sum]);
  }
});

test("another account's key reads its own usage only", async () => {
  assert.deepEqual((await linesOf('by=metadata.customer,key', other.key)).map(shown), [
    `- - ${other.key_id} 1: 1/1 9 5/2/0/0`,
  ]);
});

describe('a call is refused, by the name of what is wrong', () => {
  const wrong: [query: string, param: string][] = [
    ['', 'by'],
    ['by=', 'by'],
    ['by=account', 'by'],
    ['by=day,', 'by'],
    ['by=metadata', 'by'],
    ['by=metadata.', 'by'],
    [`by=metadata.${'n'.repeat(65)}`, 'by'],
    ['by=metadata.a,metadata.b,metadata.c', 'by'],
    ['by=metadata.%00', 'by'],
    ['by=day&from=2020-02-30', 'from'],
    ['by=day&from=2020-01-01&to=2020-02-02', 'from'],
    ['by=day&key_id=7', 'key_id'],
    ['by=day&model_id=', 'model_id'],
    ['by=day&limit=1001', 'limit'],
    ['by=day&cursor=x', 'cursor'],
    ['by=day,model&cursor=WyJhIl0', 'cursor'],
    ['by=day&metadata.=1', 'metadata.'],
    ['by=day&customer=42', 'customer'],
    ['by=day&model=fake/chat', 'model'],
    ['by=day&key=1', 'key'],
    ['by=day&tz=UTC', 'tz'],
  ];
  for (const [query, param] of wrong)
    test(query, async () => {
      const reply = await own.get(`/v1/usage?${query}`);
      assert.equal(assertRefused(reply, 'bad_request').param, param);
    });

  test('the grouping that is missing is told with its values', async () => {
    const { message } = assertRefused(await own.get('/v1/usage'), 'bad_request');
    assert.match(message, /^by is missing\. .*day, model, key, person and metadata\.NAME/);
  });

  test('metadata under one name is told that it may be given once', async () => {
    for (const list of ['usage?by=day&', 'requests?']) {
      const at = `/v1/${list}metadata.customer=42&metadata.customer=7`;
      const reply = await own.get(at);
      const { message, param } = assertRefused(reply, 'bad_request');
      assert.equal(param, 'metadata.customer');
      assert.equal(message, 'metadata.customer must be given once.');
    }
  });
});
