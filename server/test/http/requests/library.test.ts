import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from '../../../src/lib/sql/sql.ts';
import { missing } from '../../examples/example-kit.ts';
import { images } from '../../kit/fake.ts';
import { requestIn } from '../../kit/states.ts';
import {
  before,
  originOf,
  person,
  withWebService,
  type Answer,
  type Person,
} from '../../kit/web.ts';

/** The library: what an account's jobs have made, found by its words. */

let owner: Person;
let colleague: Person;
let reader: Person;
/** Completed jobs by their prompts, oldest first. */
const made = new Map<string, string>();
const prompts = [
  'a lighthouse at dawn',
  'A Lighthouse in FOG, long exposure',
  'قطة على السطح',
  '🦊 in the snow 100% real_life',
  'кот на крыше',
  `${'very '.repeat(190)}long, and a needle at its end`,
];

const { service, account } = withWebService();
before(async () => {
  owner = await person(service, { [account.account_id]: 'owner' });
  colleague = await person(service, { [account.account_id]: 'developer' });
  reader = await person(service, { [account.account_id]: 'read_only' });
  service.fake.behave.poll = () => ({ state: 'done', result: images(2) });
  for (const prompt of prompts) {
    const body = { prompt, num_images: 2 };
    made.set(prompt, (await account.post('/v1/queue/fake/image', body)).body.request_id);
    await service.work();
    await service.wakeAll();
    await service.work();
  }
  await requestIn(service, account, 'FAILED');
  await requestIn(service, account, 'IN_QUEUE');
});

const library = (query = '', who = owner, of = account.account_id) =>
  who.of(of).call('GET', `/library${query}`);
const found = ({ body }: Answer): string[] => body.data.map((entry: any) => entry.request_id);
const idsOf = (...texts: string[]) => texts.map((text) => made.get(text)!);
const newest = () => idsOf(...prompts.toReversed());

describe('the library', () => {
  test('has the completed jobs, newest first, with what a wall shows', async () => {
    const reply = await library();
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(found(reply), newest());
    const entry = reply.body.data.at(-1);
    assert.deepEqual(
      [entry.prompt, entry.favorite, entry.outputs.length, entry.output_count],
      [prompts[0], false, 2, 2],
    );
    assert.equal((await fetch(entry.outputs[1].thumbnail_url)).status, 200);
    assert.equal(reply.body.data[0].prompt.length, 500);
    assert.ok(reply.text.length < 30_000, 'a long prompt is cut');
  });

  test('pages to older ones', async () => {
    const first = await library('?limit=4');
    const second = await library(`?limit=4&cursor=${first.body.next_cursor}`);
    assert.deepEqual([...found(first), ...found(second)], newest());
    assert.equal(second.body.next_cursor, null);
  });

  const searches: [words: string, expected: number[]][] = [
    ['lighthouse', [1, 0]],
    ['LIGHTHOUSE fog', [1]],
    ['exposure light', [1]],
    ['قطة', [2]],
    ['🦊', [3]],
    ['100%', [3]],
    ['%', [3]],
    ['real_', [3]],
    ['a_lighthouse', []],
    ['\\', []],
    ['КРЫШЕ', [4]],
    ['very long', []],
    ['nothing', []],
  ];
  for (const [words, expected] of searches)
    test(`finds ${words} where all words are in the prompt`, async () => {
      const reply = await library(`?q=${encodeURIComponent(words)}`);
      assert.deepEqual(found(reply), idsOf(...expected.map((at) => prompts[at]!)), reply.text);
    });

  const filters: [query: string, all: boolean][] = [
    ['kind=image', true],
    ['kind=video', false],
    ['model_id=fake/image', true],
    ['model_id=none', false],
    ['from=2099-01-01', false],
    ['to=2099-01-01', true],
    ['favorites=true', false],
  ];
  for (const [query, all] of filters)
    test(`filtered by ${query} has ${all ? 'all' : 'none'}`, async () => {
      assert.deepEqual(found(await library(`?${query}`)), all ? newest() : []);
    });

  for (const [param, value] of [
    ['kind', 'text'],
    ['q', 'x'.repeat(201)],
    ['from', 'yesterday'],
    ['limit', '101'],
    ['cursor', 'x'],
    ['query', 'x'],
  ] as const)
    test(`names the parameter that is wrong: ${param}`, async () => {
      const { status, body } = await library(`?${param}=${value}`);
      assert.equal(status, 400);
      assert.ok(body.error.param === param || body.error.message.includes(param));
    });

  test('is not for people of other accounts', async () => {
    assert.equal((await library('', await person(service))).status, 404);
  });

  test('keeps a line whose files are deleted, and drops it with its input', async () => {
    const id = made.get(prompts[4]!)!;
    await account.post('/v1/queue/fake/image', { prompt: 'later' });
    const path = `/v1/requests/${id}/output`;
    await service.call('DELETE', path, { key: account.key });
    const line = (await library('?q=кот')).body.data[0];
    assert.deepEqual([line.request_id, line.outputs, line.output_count], [id, [], 2]);
    await owner.of(account.account_id).call('PUT', `/requests/${id}/favorite`);
    await service.db.run(sql`update request_inputs set prompt = null where request_id = ${id}`);
    assert.ok(!found(await library()).includes(id));
    assert.deepEqual(found(await library('?favorites=true')), [id]);
    await service.db.run(sql`
      update request_inputs set prompt = 'кот на крыше' where request_id = ${id}`);
    await owner.of(account.account_id).call('DELETE', `/requests/${id}/favorite`);
  });
});

describe('a favorite', () => {
  const mark = (who: Person, id: string, method = 'PUT') =>
    who.of(account.account_id).call(method, `/requests/${id}/favorite`);

  test('is the same for all people of the account, on every device', async () => {
    const [id] = idsOf(prompts[0]!) as [string];
    for (let n = 0; n < 2; n++) assert.deepEqual((await mark(owner, id)).body, { favorite: true });
    assert.deepEqual(found(await library('?favorites=true', colleague)), [id]);
    assert.deepEqual(found(await library('?favorites=true&q=dawn', colleague)), [id]);
    assert.deepEqual(found(await library('?favorites=true&q=fog', colleague)), []);
    assert.equal((await library('?q=dawn', reader)).body.data[0].favorite, true);
    const [line] = (await account.get('/v1/requests?status=COMPLETED&limit=100')).body.data.slice(
      -1,
    );
    assert.deepEqual([line.request_id, line.favorite], [id, true]);
    for (let n = 0; n < 2; n++)
      assert.deepEqual((await mark(colleague, id, 'DELETE')).body, { favorite: false });
    assert.deepEqual(found(await library('?favorites=true')), []);
  });

  test('is refused to readers and strangers, and of what is no job of the account', async () => {
    const [id] = idsOf(prompts[0]!) as [string];
    assert.equal((await mark(reader, id)).status, 403);
    const other = await service.account();
    const foreign = (await other.post('/v1/queue/fake/image', { prompt: 'x' })).body.request_id;
    for (const odd of [foreign, 'x', '0'.repeat(36)])
      assert.equal((await mark(owner, odd)).status, 404);
    assert.deepEqual(found(await library('?favorites=true')), []);
  });
});

describe('the ZIP', () => {
  async function zipped(ids: string[], who = owner) {
    const cookie = [...who.cookies].map((pair) => pair.join('=')).join('; ');
    const address = `${originOf(service)}/api/accounts/${account.account_id}/library/zip?ids=${ids}`;
    const reply = await fetch(address, { headers: { cookie } });
    return { reply, bytes: Buffer.from(await reply.arrayBuffer()) };
  }

  // Python has a reader of ZIPs that we did not write.
  const skip = missing('python3', '-c', 'import zipfile');
  test('has the files of the chosen requests, named by their words', { skip }, async () => {
    const chosen = [prompts[1]!, prompts[2]!, prompts[3]!];
    const { reply, bytes } = await zipped(idsOf(...chosen), reader);
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('content-type'), 'application/zip');
    assert.equal(Number(reply.headers.get('content-length')), bytes.length);
    const dir = mkdtempSync(join(tmpdir(), 'farebox-zip-'));
    try {
      writeFileSync(join(dir, 'a.zip'), bytes);
      const list = `import zipfile,sys; z=zipfile.ZipFile('a.zip'); assert z.testzip() is None; z.extractall('out'); print('\\n'.join(z.namelist()))`;
      const names = execFileSync('python3', ['-c', list], { cwd: dir, encoding: 'utf8' });
      assert.equal(names.trim().split('\n').length, 6);
      for (const start of ['A Lighthouse in FOG', 'قطة على السطح', '🦊 in the snow 100% real_life'])
        assert.ok(names.includes(start), `${start} in ${names}`);
      const [first] = readdirSync(join(dir, 'out'));
      const [url] = (await account.get(`/v1/requests/${idsOf(prompts[1]!)[0]}`)).body.output_urls;
      const original = Buffer.from(await (await fetch(url)).arrayBuffer());
      assert.ok(readFileSync(join(dir, 'out', first!)).equals(original));
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  test('leaves out what is deleted, and what belongs to others', async () => {
    const own = idsOf(prompts[0]!)[0]!;
    const other = await service.account();
    const foreign = await requestIn(service, other, 'COMPLETED');
    const { reply } = await zipped([own, foreign]);
    const { reply: alone } = await zipped([own]);
    assert.equal(reply.headers.get('content-length'), alone.headers.get('content-length'));
    assert.equal((await zipped([foreign])).reply.status, 410);
    assert.equal((await zipped(idsOf(prompts[4]!))).reply.status, 410, 'deleted above');
  });

  test('is refused without ids, with odd ones, and with too many', async () => {
    const many = Array.from({ length: 101 }, () => idsOf(prompts[0]!)[0]!);
    for (const ids of [[], ['x'], ['0'.repeat(36)], many])
      assert.equal((await zipped(ids)).reply.status, 400, String(ids).slice(0, 40));
  });
});
