/** Requests on the pages: the list with filters and paging, and a single request. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { createKey } from '../../kit/keys.ts';
import { requestIn } from '../../kit/states.ts';
import {
  before,
  person,
  stranger,
  withWebService,
  type Answer,
  type Person,
} from '../../kit/web.ts';

let ada: Person;
/** A second key of the same account. */
let second: { key: string; key_id: string };
/**
 * Requests, oldest first: one of each end, then twelve waiting, the last four by the second key.
 */
const made: string[] = [];

const { service, account } = withWebService();
before(async () => {
  const none = { monthly_limit_usd_micro: null, rpm: null, open_jobs: null };
  second = await createKey(service.db, { account_id: account.account_id, name: 'second', ...none });
  ada = await person(service, { [account.account_id]: 'read_only' });
  for (const state of ['COMPLETED', 'FAILED', 'CANCELLED'] as const)
    made.push(await requestIn(service, account, state));
  for (let i = 0; i < 12; i++) {
    const headers: Record<string, string> =
      i < 2 ? { 'x-metadata': JSON.stringify({ customer: `4${i}`, env: 'a=b' }) } : {};
    const { key } = i < 8 ? account : second;
    const model = i % 2 === 0 ? 'fake/image' : 'fake/film/text-to-video';
    const call = { key, body: { prompt: 'x' }, headers };
    made.push((await service.call('POST', `/v1/queue/${model}`, call)).body.request_id);
  }
});

const list = (query = '', who = ada) => who.of(account.account_id).call('GET', `/requests${query}`);
const read = (id: string, who = ada) => who.of(account.account_id).call('GET', `/requests/${id}`);
const idsOf = ({ body }: Answer): string[] => body.data.map((entry: any) => entry.request_id);
const newest = () => made.toReversed();

describe('the list', () => {
  test('is newest first, with what a page shows and no upstream', async () => {
    const reply = await list();
    assert.deepEqual(idsOf(reply), newest());
    assert.deepEqual(
      [reply.body.next_cursor, reply.body.previous_cursor, reply.body.looked_to],
      [null, null, null],
    );
    const [done] = reply.body.data.slice(-1);
    assert.deepEqual(
      [done.status, done.outputs.length, done.outputs[0].content_type, done.key_id, done.prompt],
      ['COMPLETED', 2, 'image/png', account.key_id, 'a cat'],
    );
    assert.equal((await fetch(done.outputs[1].thumbnail_url)).status, 200);
    const [failed] = reply.body.data.slice(-2);
    assert.deepEqual(failed.error, { code: 'upstream_failed', message: 'out of paint' });
    assert.ok(!reply.text.includes('"upstream"'));
  });

  test('pages to older requests and back to the same', async () => {
    const first = await list('?limit=6');
    const middle = await list(`?limit=6&cursor=${first.body.next_cursor}`);
    const last = await list(`?limit=6&cursor=${middle.body.next_cursor}`);
    assert.deepEqual([first, middle, last].flatMap(idsOf), newest());
    assert.equal(last.body.next_cursor, null);
    const back = await list(`?limit=6&cursor=${last.body.previous_cursor}`);
    assert.deepEqual(idsOf(back), idsOf(middle));
    const top = await list(`?limit=6&cursor=${back.body.previous_cursor}`);
    assert.deepEqual([idsOf(top), top.body.previous_cursor], [idsOf(first), null]);
  });

  const filters: [string, () => string, () => string[]][] = [
    ['a state', () => 'status=FAILED', () => [made[1]!]],
    ['a key', () => `key_id=${second.key_id}`, () => newest().slice(0, 4)],
    [
      'a model and a key',
      () => `model_id=fake/image&key_id=${second.key_id}`,
      () => [made[13]!, made[11]!],
    ],
    ['metadata', () => 'metadata=customer%3D41', () => [made[4]!]],
    ['metadata of several', () => 'metadata=env%3Da%3Db', () => [made[4]!, made[3]!]],
    ['metadata that none has', () => 'metadata=customer%3D4', () => []],
    ['a whole id', () => `id=${made[5]}`, () => [made[5]!]],
    ['an id in capitals', () => `id=${made[5]!.toUpperCase()}`, () => [made[5]!]],
    ['how ids begin', () => `id=${made[0]!.slice(0, 4)}`, newest],
    ['an id that nobody has', () => 'id=ffff', () => []],
    ['a day in the future', () => 'from=2099-01-01', () => []],
    ['all time until then', () => 'to=2099-01-01T00:00:00Z', newest],
  ];
  for (const [what, query, expected] of filters)
    test(`filtered by ${what} has these requests and no others`, async () => {
      assert.deepEqual(idsOf(await list(`?${query()}`)), expected());
    });

  test('finds by the numbers of a call, also if one looks like the beginning of an id', async () => {
    const own = await service.account();
    const owner = await person(service, { [own.account_id]: 'owner' });
    const find = async (text: string, more = '') =>
      idsOf(await owner.of(own.account_id).call('GET', `/requests?id=${text}${more}`));
    const submit = async (number: string) => {
      const headers = { 'x-request-id': number, 'idempotency-key': number };
      const call = { key: own.key, body: { prompt: 'x' }, headers };
      const reply = await service.call('POST', '/v1/queue/fake/image', call);
      return [reply.body.request_id, reply.headers.get('x-request-id')];
    };
    const [id, number] = await submit('12345678');
    const [, repeat] = await submit('12345678');
    const [other] = await submit('order-1');
    for (const text of [id, number, repeat, '12345678']) assert.deepEqual(await find(text), [id]);
    assert.deepEqual(await find('order-1'), [other]);
    assert.deepEqual(await find('order-1', '&status=FAILED'), []);
    assert.deepEqual(idsOf(await list(`?id=${number}`)), [], 'not of another account');
    const detail = await owner.of(own.account_id).call('GET', `/requests/${id}`);
    assert.deepEqual([detail.body.call_id, detail.body.caller_id], [number, '12345678']);
  });

  for (const [param, value] of [
    ['status', 'DONE'],
    ['key_id', 'x'],
    ['metadata', 'customer'],
    ['metadata', '=42'],
    ['id', 'not an id'],
    ['id', 'x'.repeat(129)],
    ['from', 'yesterday'],
    ['limit', '101'],
    ['cursor', 'x'],
    ['cursor', '-x'],
  ] as const)
    test(`names the parameter that is wrong: ${param}=${value.slice(0, 12)}`, async () => {
      const { status, body } = await list(`?${param}=${value}`);
      assert.deepEqual([status, body.error.param], [400, param]);
    });

  test('is not for strangers, nor for people of other accounts', async () => {
    assert.equal((await list('', stranger(service))).status, 401);
    assert.equal((await list('', await person(service))).status, 404);
    assert.equal((await read(made[0]!, await person(service))).status, 404);
  });

  test('offers the existing keys as a filter, by name', async () => {
    const { body } = await ada.of(account.account_id).call('GET', '/requests/choices');
    assert.deepEqual(
      body.keys.map(({ key_id, name }: any) => [key_id, name]),
      [
        [second.key_id, 'second'],
        [account.key_id, 'test'],
      ],
    );
    assert.ok(!JSON.stringify(body).includes('hash'));
  });
});

describe('the page of a request', () => {
  test('that is completed: input, history, outputs and cost', async () => {
    const { body, text } = await read(made[0]!);
    assert.deepEqual(body.input, { prompt: 'a cat', num_images: 2 });
    assert.deepEqual([body.quoted_usd_micro, body.charged_usd_micro], ['20000', '20000']);
    assert.equal(body.quote.breakdown[0].amount_usd_micro, '20000');
    assert.deepEqual(
      body.outputs.map(({ content_type, width, field }: any) => [field, content_type, width]),
      Array.from({ length: 2 }, () => ['images', 'image/png', 1]),
    );
    assert.equal((await fetch(body.outputs[1].url)).status, 200);
    assert.deepEqual(body.output, { seed: 7 });
    assert.deepEqual(
      body.attempts.map(({ outcome }: any) => outcome),
      ['accepted'],
    );
    assert.equal(Date.parse(body.expires_at) - Date.parse(body.completed_at) > 23 * 3600e3, true);
    for (const secret of ['upstream', 'cost_usd', 'handle', 'storage_key'])
      assert.ok(!text.includes(`"${secret}`), secret);
  });

  test('that failed: why, and that nothing was charged', async () => {
    const { body } = await read(made[1]!);
    assert.deepEqual(body.error, { code: 'upstream_failed', message: 'out of paint' });
    assert.deepEqual([body.charged_usd_micro, body.outputs], ['0', []]);
  });

  test('that waits: its place in the queue', async () => {
    assert.equal((await read(made[3]!)).body.queue_position, 0);
  });

  test('with expired outputs: their facts, without links', async () => {
    const id = made[0]!;
    const shift = (days: number) =>
      service.db.run(
        rawSql(
          `update requests set completed_at = completed_at + $2 * interval '1 day',
             expires_at = expires_at + $2 * interval '1 day' where id = $1`,
          [id, days],
        ),
      );
    await shift(-2);
    const { body } = await read(id);
    assert.deepEqual(
      body.outputs.map(({ url, file_name }: any) => [url, typeof file_name]),
      Array.from({ length: 2 }, () => [null, 'string']),
    );
    assert.ok(Date.parse(body.expires_at) < Date.now());
    const [entry] = (await list(`?id=${id}`)).body.data;
    assert.deepEqual([entry.outputs, entry.output_count, entry.expires_at], [[], 2, null]);
    await shift(2);
  });

  test('of another account, or that is none, is not found', async () => {
    const other = await service.account();
    const foreign = await other.post('/v1/queue/fake/image', { prompt: 'x' });
    for (const id of [foreign.body.request_id, 'x', '0'.repeat(36)])
      assert.equal((await read(id)).status, 404);
  });

  test('can be cancelled by developers, and not by read-only people', async () => {
    const id = made[14]!;
    const path = `/v1/requests/${id}/cancel`;
    assert.equal((await ada.of(account.account_id).call('POST', path)).status, 403);
    assert.equal((await read(id)).body.status, 'IN_QUEUE');
    const dev = await person(service, { [account.account_id]: 'developer' });
    assert.equal((await dev.of(account.account_id).call('POST', path)).status, 200);
    assert.equal((await read(id)).body.status, 'CANCELLED');
  });
});
