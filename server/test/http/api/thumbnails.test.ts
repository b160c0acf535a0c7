import { readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import sharp from 'sharp';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { before, withService } from '../../kit/with-service.ts';
import { image } from '../../storage/media-fixtures.ts';

/** Small versions of outputs, at the address of the output with `size`. */

const large = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: '#a04020' } });
const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="4" height="3"/>');

let id: string;
/** Paths of the outputs' links. */
let links: string[];

const { service, account } = withService();
before(async () => {
  [id, links] = await completed([
    await large(1600, 900).png().toBuffer(),
    await image('gif'),
    await large(300, 300).avif().toBuffer(),
    svg,
  ]);
});

async function completed(files: Buffer[]): Promise<[id: string, links: string[]]> {
  const media = files.map((bytes) => ({ field: 'images', source: { bytes } }));
  service.fake.behave.poll = () => ({ state: 'done', result: { media, fields: {} } });
  const { body } = await account.post('/v1/queue/fake/image', { prompt: 'x' });
  await service.work();
  service.fake.behave = {};
  const card = (await account.get(`/v1/requests/${body.request_id}`)).body;
  return [body.request_id, card.output_urls.map((url: string) => pathOf(url))];
}

function pathOf(url: string): string {
  const { pathname, search } = new URL(url);
  return pathname + search;
}

const fetchIt = (path: string, headers: Record<string, string> = {}) =>
  service.call('GET', path, { headers });

/** Files in the storage of this request. */
const stored = async (request_id = id) =>
  readdir(join(service.dir, 'media', 'outputs', request_id)).catch(() => []);

describe('a thumbnail', () => {
  const sizes: [what: string, at: number, size: string, width: number, height: number][] = [
    ['shows the whole picture', 0, 'card', 640, 360],
    ['is a square for lines of lists', 0, 'square', 128, 128],
    ['of an AVIF is not larger than it', 2, 'card', 300, 300],
  ];
  for (const [what, at, size, width, height] of sizes)
    test(what, async () => {
      const reply = await fetchIt(`${links[at]}&size=${size}`);
      assert.deepEqual([reply.status, reply.headers.get('content-type')], [200, 'image/webp']);
      const made = await sharp(reply.bytes).metadata();
      assert.deepEqual([made.width, made.height], [width, height]);
    });

  test('of a moving picture shows its first one', async () => {
    assert.equal((await fetchIt(`${links[1]}&size=card`)).status, 200);
  });

  test('is made once, and stored beside its picture', async () => {
    const [own, [link]] = await completed([await large(900, 900).png().toBuffer()]);
    const [name] = await stored(own);
    const first = await fetchIt(`${link}&size=card`);
    const path = join(service.dir, 'media', 'outputs', own, `${name}.card.webp`);
    const { mtimeMs } = await stat(path);
    const again = await Promise.all([1, 2, 3].map(() => fetchIt(`${link}&size=card`)));
    for (const { bytes } of again) assert.ok(bytes.equals(first.bytes));
    assert.equal((await stat(path)).mtimeMs, mtimeMs, 'made again');
  });

  test('is kept by browsers until its picture is deleted, and never changes', async () => {
    const reply = await fetchIt(`${links[0]}&size=card`);
    const [, seconds] = /^private, max-age=(\d+), immutable$/.exec(
      reply.headers.get('cache-control')!,
    )!;
    assert.ok(Number(seconds) > 86_000 && Number(seconds) <= 86_400, seconds);
    const known = { 'if-none-match': reply.headers.get('etag')! };
    assert.equal((await fetchIt(`${links[0]}&size=card`, known)).status, 304);
    assert.equal((await fetchIt(`${links[0]}&size=square`, known)).status, 200, 'another size');
    assert.equal((await fetchIt(links[0]!, known)).status, 200, 'the picture itself');
  });

  test('needs the link or the key that its picture needs', async () => {
    const [path] = links[0]!.split('?');
    assertRefused(await fetchIt(`${path}?size=card`), 'unauthorized');
    assertRefused(await fetchIt(`${links[0]}x&size=card`), 'unauthorized');
    const other = await service.account();
    assertRefused(await other.get(`${path}?size=card`), 'not_found');
    assert.equal((await account.get(`${path}?size=card`)).status, 200);
  });

  test('does not exist of what is no picture, nor in another size', async () => {
    assertRefused(await fetchIt(`${links[3]}&size=card`), 'not_found');
    const { param } = assertRefused(await fetchIt(`${links[0]}&size=huge`), 'bad_request');
    assert.equal(param, 'size');
  });

  test('does not exist of a picture that cannot be decoded, but is no 404 in an outage', async () => {
    const [own, [link]] = await completed([await large(700, 700).png().toBuffer()]);
    const [name] = await stored(own);
    const folder = join(service.dir, 'media', 'outputs', own);
    const unreadable = join(folder, `${name}.square.webp`);
    await symlink(unreadable, unreadable);
    assert.ok((await fetchIt(`${link}&size=square`)).status >= 500);
    await writeFile(join(folder, name!), 'no picture');
    assertRefused(await fetchIt(`${link}&size=card`), 'not_found');
  });

  test('goes with its picture', async () => {
    const [own, [link]] = await completed([await large(800, 800).png().toBuffer()]);
    await fetchIt(`${link}&size=card`);
    assert.equal((await stored(own)).length, 2);
    await service.db.run(
      rawSql(
        `update requests set completed_at = completed_at - interval '2 days',
           expires_at = now(), wake_at = now() where id = $1`,
        [own],
      ),
    );
    assertRefused(await account.get(`${link!.split('?')[0]}?size=card`), 'expired');
    await service.work();
    assert.deepEqual(await stored(own), []);
  });

  test('that is finished after its picture was deleted is not left behind', async () => {
    const [own, [link]] = await completed([await large(4000, 4000).png().toBuffer()]);
    const asked = fetchIt(`${link}&size=card`);
    const path = link!.split('?')[0]!;
    await service.db.run(
      rawSql(`update requests set expires_at = completed_at, wake_at = now() where id = $1`, [own]),
    );
    await service.work();
    await asked;
    assert.deepEqual(await stored(own), []);
    assertRefused(await account.get(`${path}?size=card`), 'expired');
  });
});
