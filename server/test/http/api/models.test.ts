import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { fakeCatalog } from '../../kit/service.ts';
import { withService } from '../../kit/with-service.ts';
import { until } from '../../kit/until.ts';

/** The catalog as callers see it: with and without a key, cacheable, with exact ids. */

const { service } = withService();

function get(path: string, headers: Record<string, string> = {}) {
  return service.call('GET', path, { headers });
}

describe('the list', () => {
  test('holds every row of the catalog, in the order of the file', async () => {
    const { status, body } = await get('/v1/models');
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body), ['object', 'data']);
    assert.equal(body.object, 'list');
    assert.deepEqual(
      body.data.map(({ id }: { id: string }) => id),
      ['fake/image', 'fake/film/text-to-video', 'fake/chat', 'fake/drain/chat'],
    );
  });

  test('shows the price and the input of an image model', async () => {
    const [entry] = (await get('/v1/models')).body.data;
    assert.deepEqual(entry, {
      id: 'fake/image',
      object: 'model',
      created: entry.created,
      owned_by: 'fake',
      name: 'Fake image',
      description: 'One cent an image.',
      kind: 'image',
      task: 'text-to-image',
      price: 0.01,
      unit: 'image',
      extras: [],
      max: 4,
      max_unit: 'images',
      resolutions: [],
      uncensored: false,
      status: 'live',
      median_seconds: null,
      input_schema: {
        type: 'object',
        properties: {
          prompt: { type: 'string', maxLength: 1000 },
          num_images: { type: 'integer' },
          image_url: { type: 'string' },
        },
        required: ['prompt'],
      },
      example: { prompt: 'a cat' },
    });
    assert.ok(Number.isSafeInteger(entry.created) && entry.created > 1_600_000_000);
  });

  test('shows the highest and each price of a model with several prices', async () => {
    const { body } = await get('/v1/models/fake/film/text-to-video');
    const { price, unit, price_by_resolution, resolutions, max, max_unit } = body;
    assert.deepEqual(
      { price, unit, price_by_resolution, resolutions, max, max_unit },
      {
        price: 0.1,
        unit: 'sec',
        price_by_resolution: { '480p': 0.05, '720p': 0.1 },
        resolutions: ['480p', '720p'],
        max: 10,
        max_unit: 'seconds',
      },
    );
  });

  test('shows both prices of a text model', async () => {
    const { body } = await get('/v1/models/fake/chat');
    assert.deepEqual(body.price, { input: 1, output: 2 });
    assert.equal(body.unit, '1M tokens');
    assert.equal(body.kind, 'text');
  });

  test("shows neither the upstream nor the operator's cost", async () => {
    const { text } = await get('/v1/models');
    assert.doesNotMatch(text, /upstream|cost|input_mapping|0\.004/);
  });

  test('shows examples that are accepted unchanged', async () => {
    const { key } = await service.account();
    for (const { id, kind, example } of (await get('/v1/models')).body.data) {
      const reply =
        kind === 'text'
          ? await service.call('POST', '/v1/chat/completions', {
              key,
              body: { model: id, ...example },
            })
          : await service.call('POST', `/v1/queue/${id}`, { key, body: example });
      assert.equal(reply.status, kind === 'text' ? 200 : 202, `${id}: ${reply.text}`);
    }
    await service.work();
  });
});

describe('one entry', () => {
  const spellings: [string, string][] = [
    ['with its slashes', 'fake/film/text-to-video'],
    ['with slashes encoded', 'fake%2Ffilm%2Ftext-to-video'],
    ['with one slash encoded, in small letters', 'fake%2ffilm/text-to-video'],
    ['with letters encoded', 'f%61ke/film/text%2Dto%2Dvideo'],
    ['with a query behind', 'fake/film/text-to-video?x=1'],
  ];
  for (const [name, id] of spellings) {
    test(`is found ${name}`, async () => {
      const list = (await get('/v1/models')).body.data;
      const reply = await get(`/v1/models/${id}`);
      assert.equal(reply.status, 200);
      assert.deepEqual(reply.body, list[1]);
    });
  }

  const strangers: [string, string][] = [
    ['an unknown id', 'fake/none'],
    ['the beginning of an id', 'fake/film'],
    ['an id in capitals', 'FAKE/IMAGE'],
    ['two slashes', 'fake//image'],
    ['an id encoded twice', 'fake%252Fimage'],
    ['a blank behind', 'fake/image%20'],
    ['a NUL behind', 'fake/image%00'],
    ['a name that every object has', 'constructor'],
    ['another one', '__proto__'],
  ];
  test('is found with a slash at the end', async () => {
    assert.equal((await get('/v1/models/fake/image/')).body.id, 'fake/image');
  });

  for (const [name, id] of strangers) {
    test(`is not found by ${name}`, async () => {
      const reply = await get(`/v1/models/${id}`);
      assertRefused(reply, 'not_found');
      assert.equal(reply.headers.get('etag'), null);
    });
  }
});

describe('with a key', () => {
  const listed = async (key: string, query = '') => {
    const { status, body, headers } = await service.call('GET', `/v1/models${query}`, { key });
    assert.equal(status, 200);
    return { ids: body.data.map(({ id }: { id: string }) => id), headers };
  };

  test('that is limited to some models, the list has only these, from the next call on', async () => {
    const all = (await get('/v1/models')).body.data.map(({ id }: { id: string }) => id);
    const { key, key_id } = await service.account({ models: ['fake/image', 'fake/chat'] });
    const { ids, headers } = await listed(key);
    assert.deepEqual(ids, ['fake/image', 'fake/chat']);
    assert.deepEqual((await listed(key, '?kind=text')).ids, ['fake/chat']);
    assert.equal(headers.get('cache-control'), 'private, no-cache');
    const etag = headers.get('etag')!;
    assert.notEqual(etag, (await get('/v1/models')).headers.get('etag'));
    const kept = { key, headers: { 'if-none-match': etag } };
    assert.equal((await service.call('GET', '/v1/models', kept)).status, 304);
    await service.db.run(rawSql(`update keys set models = '{fake/image}' where id = $1`, [key_id]));
    assert.deepEqual((await service.call('GET', '/v1/models', kept)).body.data.length, 1);
    await service.db.run(rawSql('update keys set models = null where id = $1', [key_id]));
    assert.deepEqual((await listed(key)).ids, all);
  });

  test('that is unknown, wrong or revoked, it is the list for everybody', async () => {
    const all = (await get('/v1/models')).text;
    const { key, key_id } = await service.account({ models: ['fake/image'] });
    await service.db.run(rawSql('update keys set revoked_at = now() where id = $1', [key_id]));
    for (const each of [key, 'sk-1234'])
      assert.equal((await service.call('GET', '/v1/models', { key: each })).text, all);
    const { headers } = await service.call('GET', '/v1/models', { key });
    assert.equal(headers.get('cache-control'), 'public, max-age=60');
    assert.match(headers.get('vary')!, /authorization/, 'no cache mixes the two up');
    assert.match((await get('/v1/models')).headers.get('vary')!, /authorization/);
  });
});

describe('caching', () => {
  test('the list has an ETag, and may be cached for a minute', async () => {
    const { headers } = await get('/v1/models');
    // Weak, because it is also the ETag of the compressed bytes.
    assert.match(headers.get('etag')!, /^W\/"[\w-]+"$/);
    assert.equal(headers.get('cache-control'), 'public, max-age=60');
  });

  const same: [string, (etag: string) => string][] = [
    ['the tag', (etag) => etag],
    ['the strong form', (etag) => etag.replace('W/', '')],
    ['one of several', (etag) => `"a", ${etag},"b"`],
    ['any', () => '*'],
  ];
  for (const path of ['/v1/models', '/v1/models/fake/image']) {
    for (const [name, spell] of same) {
      test(`${path} is not sent again to whoever has it: ${name}`, async () => {
        const etag = (await get(path)).headers.get('etag')!;
        const reply = await get(path, { 'if-none-match': spell(etag) });
        assert.equal(reply.status, 304);
        assert.equal(reply.text, '');
        assert.equal(reply.headers.get('etag'), etag);
        assert.equal(reply.headers.get('cache-control'), 'public, max-age=60');
      });
    }
    test(`${path} is sent to whoever has another`, async () => {
      const reply = await get(path, { 'if-none-match': '"other"' });
      assert.equal(reply.status, 200);
      assert.ok(reply.text.length > 100);
    });
    test(`HEAD ${path} tells the same without the body`, async () => {
      const whole = await get(path);
      const head = await service.call('HEAD', path);
      assert.equal(head.status, 200);
      assert.equal(head.text, '');
      for (const name of ['etag', 'content-type', 'content-length', 'cache-control']) {
        assert.equal(head.headers.get(name), whole.headers.get(name), name);
      }
    });
  }

  test('a new catalog has a new ETag; the old one is no longer valid', async () => {
    const old = (await get('/v1/models')).headers.get('etag')!;
    const dearer = fakeCatalog.replace('usd: "0.01"', 'usd: "0.02"');
    writeFileSync(join(service.dir, 'catalog', 'fake.yaml'), dearer);
    const etag = await until('the catalog is reloaded', async () => {
      const now = (await get('/v1/models')).headers.get('etag');
      return now !== old && now;
    });
    const reply = await get('/v1/models/fake/image', { 'if-none-match': old });
    assert.equal(reply.status, 200);
    assert.equal(reply.body.price, 0.02);
    assert.equal(reply.headers.get('etag'), etag);
  });

  test('a broken file leaves the last good catalog in force', async () => {
    const old = (await get('/v1/models')).text;
    const lines = service.log.length;
    writeFileSync(join(service.dir, 'catalog', 'fake.yaml'), 'models: [');
    await until('it is noticed', () => service.log.length > lines);
    assert.equal((await get('/v1/models')).text, old);
  });

  test('options that do not fit together leave the last good definition in force', async () => {
    const { base, app, dir } = service;
    const file = join(dir, 'catalog', 'own.yaml');
    const text = (poll: string, usd: string) => `
upstream:
  name: own
  adapter: http-job
  url: http://127.0.0.1:9
  options:
    auth: bearer
    submit: { path: /jobs, body: $input }
    id: id
    poll: { path: "${poll}" }
    status: status
    outputs: [url]
models:
  - id: own/image
    kind: image
    task: text-to-image
    name: Own
    price: { unit: image, usd: "${usd}" }
    input_schema: { type: object, properties: { prompt: { type: string } } }
    example: { prompt: hi }
`;
    const own = async () =>
      (await service.call('GET', '/v1/models/own/image', { base })).body.price;
    writeFileSync(file, text('/jobs/{id}', '0.01'));
    await app.catalog.reload();
    assert.equal(await own(), 0.01);
    // With this definition a job could not be polled.
    writeFileSync(file, text('/jobs', '0.02'));
    await app.catalog.reload();
    const problems = app.catalog.problems();
    assert.deepEqual([await own(), app.catalog.current().hidden], [0.01, []]);
    const told = problems.find((problem) => problem.file === 'own.yaml');
    assert.match(
      told!.message,
      /^the upstream own: poll does not send the id of the job: use \{id\} in /,
    );
    assert.equal(told!.line, 3);
    assert.ok(
      service.log.some((line) => /last good definition and rows stay/.test(line)),
      'the log does not say so',
    );
    writeFileSync(file, text('/jobs/{id}', '0.03'));
    await app.catalog.reload();
    assert.equal(await own(), 0.03);
  });
});
