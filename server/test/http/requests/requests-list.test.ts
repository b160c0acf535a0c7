import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { statuses } from '../../../src/core/request/request.ts';
import { sql } from '../../../src/lib/sql/sql.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { Reply } from '../../kit/service.ts';
import { before, withService } from '../../kit/with-service.ts';
import { requestIn } from '../../kit/states.ts';

/** GET /requests: the account's own, newest first, page by page. */

/** Ids of the requests, oldest first. */
const made: string[] = [];

const { service, account } = withService();
before(async () => {
  for (const state of ['COMPLETED', 'FAILED', 'CANCELLED'] as const) {
    made.push(await requestIn(service, account, state));
  }
  for (let i = 0; i < 4; i++) made.push(await submit('fake/film/text-to-video'));
  for (let i = 0; i < 18; i++) made.push(await submit('fake/image'));
});

async function submit(model: string, by = account): Promise<string> {
  const { body } = await by.post(`/v1/queue/${model}`, { prompt: 'x' });
  return body.request_id;
}

function list(query = '', by = account): Promise<Reply> {
  return by.get(`/v1/requests${query}`);
}

const idsOf = ({ body }: Reply): string[] =>
  body.data.map(({ request_id }: { request_id: string }) => request_id);

describe('the list', () => {
  test('is newest first, twenty without a limit', async () => {
    const reply = await list();
    assert.equal(reply.status, 200);
    assert.deepEqual(Object.keys(reply.body), ['data', 'next_cursor']);
    assert.deepEqual(idsOf(reply), made.toReversed().slice(0, 20));
    assert.equal(reply.body.next_cursor, made.toReversed()[19]);
  });

  test('has a line for each request with exactly the documented fields', async () => {
    const { body } = await list('?limit=100');
    const card = (await account.get(`/v1/requests/${made[0]}`)).body;
    const { output_urls: urls } = card;
    for (const field of ['input', 'output_urls', 'price', 'webhook']) delete card[field];
    const { outputs, ...line } = body.data.at(-1);
    const more = { error_code: null, prompt: 'a cat', favorite: false, output_count: 2 };
    assert.deepEqual(line, { ...card, ...more });
    assert.deepEqual(
      outputs.map(({ file_name: _, file_size: _size, ...output }: any) => output),
      urls.map((url: string, index: number) => ({
        index,
        field: 'images',
        url,
        thumbnail_url: `${url}&size=card`,
        content_type: 'image/png',
        width: 1,
        height: 1,
      })),
    );
    const failed = body.data.at(-2);
    assert.equal(failed.error_code, 'upstream_failed');
    assert.deepEqual(failed.error, { code: 'upstream_failed', message: 'out of paint' });
    assert.deepEqual([failed.outputs, failed.output_count], [[], 0]);
  });

  test('of an account without requests is empty', async () => {
    const { body } = await list('', await service.account());
    assert.deepEqual(body, { data: [], next_cursor: null });
  });

  test('holds what all keys of the account made, and nothing of another', async () => {
    const other = await service.account();
    const foreign = await submit('fake/image', other);
    assert.deepEqual(idsOf(await list('', other)), [foreign]);
    assert.ok(!idsOf(await list('?limit=100')).includes(foreign));
    // A cursor with another account's request is only a place in time.
    assert.deepEqual(idsOf(await list(`?cursor=${made[20]}`, other)), []);
  });
});

describe('pages', () => {
  for (const limit of [1, 2, 7, 24, 25, 26, 100]) {
    test(`of ${limit} give each request once, in order, and end`, async () => {
      const seen: string[] = [];
      let cursor: string | null = null;
      let pages = 0;
      do {
        const reply = await list(`?limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`);
        seen.push(...idsOf(reply));
        cursor = reply.body.next_cursor;
        assert.ok(++pages <= made.length, 'the pages do not end');
      } while (cursor !== null);
      assert.deepEqual(seen, made.toReversed());
      assert.equal(pages, Math.ceil(made.length / limit));
    });
  }

  test('go on where they were while new requests come', async () => {
    const own = await service.account();
    const old = [
      await submit('fake/image', own),
      await submit('fake/image', own),
      await submit('fake/image', own),
    ];
    const first = await list('?limit=2', own);
    await submit('fake/image', own);
    const second = await list(`?limit=2&cursor=${first.body.next_cursor}`, own);
    assert.deepEqual([...idsOf(first), ...idsOf(second)], old.toReversed());
    assert.equal(second.body.next_cursor, null);
  });

  test('do not depend on what the cursor became', async () => {
    assert.deepEqual(
      idsOf(await list(`?limit=3&cursor=${randomUUID().replace(/^../, 'ff')}`)),
      made.toReversed().slice(0, 3),
    );
  });
});

describe('a filter', () => {
  const filters: [string, () => string, () => string[]][] = [
    ['by state', () => '?status=FAILED', () => [made[1]!]],
    [
      'by a state that many have',
      () => '?status=IN_QUEUE&limit=100',
      () => made.slice(3).toReversed(),
    ],
    ['by a state that none has', () => '?status=IN_PROGRESS', () => []],
    ['by model', () => '?model_id=fake/film/text-to-video', () => made.slice(3, 7).toReversed()],
    [
      'by model, encoded',
      () => '?model_id=fake%2Ffilm%2Ftext-to-video',
      () => made.slice(3, 7).toReversed(),
    ],
    ['by a model that is not listed any more', () => '?model_id=gone/model', () => []],
    ['by both', () => '?model_id=fake/image&status=COMPLETED', () => [made[0]!]],
    [
      'with a limit',
      () => '?model_id=fake/film/text-to-video&limit=2',
      () => made.slice(5, 7).toReversed(),
    ],
    ['by key', () => `?key_id=${account.key_id}&limit=100`, () => made.toReversed()],
    ['by a key that made none', () => `?key_id=${randomUUID()}`, () => []],
    ['by a year long ago', () => '?from=2001-01-01&to=2002-01-01', () => []],
    ['by everything until tomorrow', () => `?to=${day(1)}&limit=100`, () => made.toReversed()],
    ['by everything since tomorrow', () => `?from=${day(1)}`, () => []],
    ['by everything since yesterday', () => `?from=${day(-1)}&limit=100`, () => made.toReversed()],
    ['by an empty stretch of time', () => `?from=${day(-1)}&to=${day(-1)}`, () => []],
    [
      'by all time there is',
      () => '?from=1970-01-01&to=9999-12-31T23:59-23:59&limit=100',
      () => made.toReversed(),
    ],
    ['by a stretch that runs backwards', () => `?from=${day(1)}&to=${day(-1)}`, () => []],
  ];
  for (const [name, query, expected] of filters) {
    test(name, async () => {
      const reply = await list(query());
      assert.equal(reply.status, 200, reply.text);
      assert.deepEqual(idsOf(reply), expected());
    });
  }

  test('by time means created_at as it is shown: from its first moment, and not its last', async () => {
    const { body } = await list('?limit=100');
    const shown = body.data as { request_id: string; created_at: string }[];
    const times = [...new Set(shown.map(({ created_at }) => created_at))].sort();
    assert.ok(times.length > 3);
    const within = (from: string, to: string) =>
      shown
        .filter(({ created_at }) => created_at >= from && created_at < to)
        .map(({ request_id }) => request_id);
    for (const [i, from] of times.entries()) {
      const to = times[i + 2] ?? times.at(-1)!;
      const query = `?limit=100&from=${from}&to=${to}`;
      assert.deepEqual(idsOf(await list(query)), within(from, to), query);
    }
    const [from, to] = [times[1]!, times.at(-1)!];
    const other = from.replace('Z', '%2B00:00');
    const reply = await list(`?limit=100&from=${other}&to=${to}`);
    assert.deepEqual(idsOf(reply), within(from, to));
  });

  test('by a time without its zone is refused, and says what is missing', async () => {
    for (const from of ['2026-11-22T00:00:00', '2026-11-22T00:00:00+02:00', '2026-02-30', 'now']) {
      const { message, param } = assertRefused(await list(`?from=${from}`), 'bad_request');
      assert.match(message, /a date, or a time with Z or an offset \(write \+ as %2B\)/);
      assert.equal(param, 'from');
    }
    for (const from of ['2026-11-22', '2026-11-22T00:00:00Z', '2026-11-22T00:00:00%2B02:00'])
      assert.equal((await list(`?from=${from}`)).status, 200);
  });

  test('by time uses created_at even if the id was made some seconds before or after', async () => {
    const own = await service.account();
    const id = await submit('fake/image', own);
    const shift = (seconds: number) =>
      service.db.run(sql`update requests set created_at = created_at + ${seconds} * interval '1 s'
        where id = ${id}`);
    for (const seconds of [-50, 50]) {
      await shift(seconds);
      const at: string = (await list('', own)).body.data[0].created_at;
      const after = new Date(Date.parse(at) + 1).toISOString();
      assert.deepEqual(idsOf(await list(`?from=${at}&to=${after}`, own)), [id]);
      assert.deepEqual(idsOf(await list(`?to=${at}`, own)), []);
      assert.deepEqual(idsOf(await list(`?from=${after}`, own)), []);
      await shift(-seconds);
    }
  });

  test('goes on through its pages', async () => {
    const first = await list('?model_id=fake/film/text-to-video&limit=3');
    const second = await list(
      `?model_id=fake/film/text-to-video&limit=3&cursor=${first.body.next_cursor}`,
    );
    assert.deepEqual([...idsOf(first), ...idsOf(second)], made.slice(3, 7).toReversed());
    assert.equal(second.body.next_cursor, null);
  });
});

function day(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
}

describe('a parameter that is wrong', () => {
  const wrong: [string, string[]][] = [
    [
      'limit',
      [
        '0',
        '-1',
        '101',
        '1.5',
        '1e1',
        '0x5',
        'ten',
        '',
        ' 5',
        '%2B5',
        '05',
        '9'.repeat(30),
        '5&limit=6',
      ],
    ],
    ['status', ['DONE', 'in_queue', '', 'IN_QUEUE,FAILED', 'FAILED&status=FAILED']],
    ['cursor', ['x', '', '0', "'", 'A'.repeat(36), '00000000-0000-0000-0000-00000000000G']],
    [
      'from',
      [
        'yesterday',
        '',
        '0',
        '1700000000',
        '2026-13-01',
        '2026-02-30',
        '2026-02-30T00:00:00Z',
        '2025-02-29T12:00:00+02:00',
        '2026-01-01T1:00Z',
        '2026-1-1',
        '2026-01-01T00:00:00',
        '99999-01-01',
        '2026-01-01T99:00:00Z',
      ],
    ],
    ['to', ['now', '1969-12-31', '2026-01-01T00:00Z+1']],
    ['key_id', ['', 'x', 'A'.repeat(36)]],
    ['model_id', ['', '%00', 'a'.repeat(301), 'a&model_id=b']],
  ];
  for (const [param, values] of wrong) {
    for (const value of values) {
      test(`is told by its name: ${param}=${value.slice(0, 30)}`, async () => {
        assert.equal(assertRefused(await list(`?${param}=${value}`), 'bad_request').param, param);
      });
    }
  }

  test('with a fixed set of values gets an error that lists them', async () => {
    for (const value of ['', 'DONE', 'x'.repeat(400)]) {
      const { message } = assertRefused(await list(`?status=${value}`), 'bad_request');
      for (const one of statuses) assert.match(message, new RegExp(`\\b${one}\\b`));
    }
  });

  for (const query of ['customer=42', 'model=fake/image', 'limit=1&__proto__=2', 'metadata=42'])
    test(`is told that there is none such, and which there are: ${query}`, async () => {
      const { message, param, details } = assertRefused(await list(`?${query}`), 'bad_request');
      assert.equal(param, query.split('&').at(-1)!.split('=')[0]);
      const allowed =
        'status, model_id, key_id, person_id, from, to, call_id, limit, cursor, metadata.NAME';
      assert.equal(message, `There is no parameter ${param}. Allowed: ${allowed}.`);
      assert.deepEqual(details.allowed, allowed.split(', '));
    });
});
