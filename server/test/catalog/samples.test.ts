/** The operator's pictures of models: checked with the catalog, served by the service. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { checkFolder } from '../../src/catalog/check-folder.ts';
import { sampleMaxBytes } from '../../src/core/catalog/sample.ts';
import { tinyPng } from '../kit/fake.ts';
import { fakeCatalog, type Service } from '../kit/service.ts';
import { originOf, person, startWebService } from '../kit/web.ts';

let dir: string;
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'samples-'));
  await mkdir(join(dir, 'samples'));
  const files = {
    'boat.png': tinyPng,
    'empty.png': Buffer.alloc(0),
    'page.png': Buffer.from('<html><script>alert(1)</script>'),
    'drawing.png': Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>'),
    'huge.png': Buffer.concat([tinyPng, Buffer.alloc(sampleMaxBytes)]),
  };
  for (const [name, bytes] of Object.entries(files))
    await writeFile(join(dir, 'samples', name), bytes);
});
after(() => rm(dir, { recursive: true, force: true }));

const withSample = (sample: string) =>
  fakeCatalog.replace('  - id: fake/image\n', `  - id: fake/image\n    sample: ${sample}\n`);

async function problemsOf(sample: string): Promise<string[]> {
  await writeFile(join(dir, 'fake.yaml'), withSample(sample));
  const { problems } = await checkFolder({ dir, usableUpstreams: () => true });
  return problems.map(({ file, path, message, line }) => {
    assert.deepEqual([file, path], ['fake.yaml', '/models/0/sample'], message);
    assert.ok(line! > 1, message);
    return message;
  });
}

describe('the check of a catalog', () => {
  test('takes a picture that is there', async () => {
    assert.deepEqual(await problemsOf('samples/boat.png'), []);
  });

  const refused: Record<string, RegExp> = {
    'samples/nothing.png': /samples\/nothing\.png cannot be shown: .*no such file/,
    'samples/empty.png': /it is no PNG/,
    'samples/page.png': /it is no PNG/,
    'samples/drawing.png': /it is no PNG/,
    'samples/huge.png': /larger than 1048576 bytes/,
    '../boat.png': /sample/,
    'samples/../../boat.png': /sample/,
    '/etc/boat.png': /sample/,
    'https://example.com/boat.png': /sample/,
    'samples/boat.svg': /sample/,
    '""': /sample/,
  };
  for (const [sample, words] of Object.entries(refused))
    test(`refuses ${sample}`, async () => {
      const problems = await problemsOf(sample);
      assert.equal(problems.length, 1);
      assert.match(problems[0]!, words);
    });
});

describe('the service', () => {
  let service: Service;
  before(async () => {
    await writeFile(join(dir, 'fake.yaml'), withSample('samples/boat.png'));
    service = await startWebService({ env: { FAREBOX_CATALOG: dir } });
  });
  after(() => service.stop());
  const read = (path: string, headers = {}) => fetch(`${originOf(service)}${path}`, { headers });
  const path = '/models/fake/image/sample.png';

  test('serves it to everybody, as a picture and nothing else', async () => {
    const reply = await read(path);
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('content-type'), 'image/png');
    assert.equal(reply.headers.get('content-security-policy'), "default-src 'none'");
    assert.equal(reply.headers.get('x-content-type-options'), 'nosniff');
    assert.deepEqual(Buffer.from(await reply.arrayBuffer()), tinyPng);
    const etag = reply.headers.get('etag')!;
    assert.equal((await read(path, { 'if-none-match': etag })).status, 304);
    for (const other of ['fake/image/sample.svg', 'fake/video/sample.png', 'fake/image/sample.'])
      assert.equal((await read(`/models/${other}`)).status, 404, other);
  });

  test('shows it on the public pages and names it to the studio', async () => {
    for (const page of ['/', '/models', '/models/fake/image'])
      assert.match(
        await (await read(page)).text(),
        /<img class="cover" src="\/models\/fake\/image\/sample\.png"/,
      );
    assert.match(
      await (await read('/models/fake/image')).text(),
      /og:image" content="[^"]*sample\.png"/,
    );
    const account = await service.account();
    const who = await person(service, { [account.account_id]: 'read_only' });
    const { body } = await who.of(account.account_id).call('GET', '/studio/models');
    assert.deepEqual(body.samples, { 'fake/image': path });
  });

  test('a picture that was deleted meanwhile is missing, and the page stays', async () => {
    await unlink(join(dir, 'samples', 'boat.png'));
    assert.equal((await read(path)).status, 404);
    assert.equal((await read('/models/fake/image')).status, 200);
  });
});
