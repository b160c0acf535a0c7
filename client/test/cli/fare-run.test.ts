/** `fare run` prints the id before it waits, and replaces no file. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, test } from 'node:test';
import { images, tinyPng } from '../../../server/test/kit/fake.ts';
import { inShort, inLong } from '../../../server/test/kit/long.ts';
import { withService } from '../../../server/test/kit/with-service.ts';
import { catalog, homeOf, refused, well, type Home } from './fare-kit.ts';

let home: Home;
const { service, account } = withService({ running: true, catalog, account: { usd: 50 } });
beforeEach(() => {
  service.fake.behave = {};
  home = homeOf(service, account.key);
});

let startsBefore = 0;
beforeEach(() => (startsBefore = service.fake.starts.length));
const nothingStarted = () => assert.equal(service.fake.starts.length, startsBefore);

const cat = ['run', 'fake/image', '--prompt', 'a cat on a mat'];

describe('fare run', () => {
  test('saves the output under a name of its prompt, and prints the path alone', async () => {
    const ran = well(await home.start(cat).ended);
    assert.match(ran.stdout, /^a-cat-on-a-mat-[0-9a-f]{6}\.png\n$/);
    assert.deepEqual(fs.readFileSync(path.join(home.dir, ran.stdout.trim())), tinyPng);
    assert.match(ran.stderr, /^\$0\.01 for fake\/image\nRequest [0-9a-f-]{36}\n/);
    assert.match(ran.stderr, /Charged \$0\.01\n$/);
    // A pipe gets no escape sequences.
    assert.ok(!ran.all.includes('\u001B'));
  });

  test('with --json: one value on stdout, with figures, output and files', async () => {
    service.fake.behave.poll = () => ({ state: 'done', result: images(2) });
    const ran = well(await home.run([...cat, 'num_images=2', '-o', 'two.png', '--json', '-q']));
    const { output, files, request_id, ...rest } = ran.json;
    assert.deepEqual(rest, {
      model_id: 'fake/image',
      status: 'COMPLETED',
      quoted_usd_micro: '20000',
      charged_usd_micro: '20000',
    });
    assert.equal(ran.stderr, '');
    assert.deepEqual(
      files.map((file: { path: string; size: number }) => [path.basename(file.path), file.size]),
      [
        ['two-1.png', tinyPng.length],
        ['two-2.png', tinyPng.length],
      ],
    );
    assert.match(request_id, /^[0-9a-f-]{36}$/);
    assert.equal(output.images.length, 2);
    assert.deepEqual(fs.readdirSync(home.dir).sort(), ['two-1.png', 'two-2.png']);
  });

  test('an existing file is never replaced, and the error comes before money is spent', async () => {
    fs.writeFileSync(path.join(home.dir, 'mine.png'), 'mine');
    refused(await home.run([...cat, '-o', 'mine.png']), 2, /mine\.png already exists[^]*--force/);
    assert.equal(fs.readFileSync(path.join(home.dir, 'mine.png'), 'utf8'), 'mine');
    refused(await home.run([...cat, '-o', 'no/such/x.png']), 2, /no folder no\/such/);
    nothingStarted();
    well(await home.run([...cat, '-o', 'mine.png', '--force']));
    assert.deepEqual(fs.readFileSync(path.join(home.dir, 'mine.png')), tinyPng);
    assert.deepEqual(fs.readdirSync(home.dir), ['mine.png'], 'something was left beside it');
  });

  inLong(
    'a file that appeared meanwhile keeps its bytes: the output gets a free name',
    async () => {
      const file = path.join(home.dir, 'x.png');
      service.fake.behave.poll = () => {
        fs.writeFileSync(file, 'theirs');
        return { state: 'done', result: images(1) };
      };
      assert.equal(well(await home.run([...cat, '-o', 'x.png'])).stdout, 'x_2.png\n');
      assert.equal(fs.readFileSync(file, 'utf8'), 'theirs');
    },
  );

  inLong(
    'input comes from a file, from stdin, from flags and pairs, each read by the schema',
    async () => {
      const input = { prompt: 'from a file', extra: { deep: [1] } };
      fs.writeFileSync(path.join(home.dir, 'in.json'), JSON.stringify(input));
      const image = ['run', 'fake/image', '--no-save'];
      well(await home.run([...image, '--input', 'in.json', 'num_images=2', '--max-usd', '1']));
      well(await home.run([...image, '--input', '-', 'x=y=z'], { stdin: '{"prompt":"007"}' }));
      well(
        await home.run([...image, '--prompt', '-', '--set', 'seed=7', 'on=true'], { stdin: '8\n' }),
      );
      well(await home.run([...image, 'prompt=9']));
      assert.deepEqual(
        service.fake.starts.slice(startsBefore).map((start) => start.input),
        [
          { ...input, num_images: 2 },
          { prompt: '007', x: 'y=z', num_images: 1 },
          { prompt: '8', seed: 7, on: true, num_images: 1 },
          { prompt: '9', num_images: 1 },
        ],
      );
    },
  );

  inLong('a local file is uploaded once, however often it stands in the input', async () => {
    fs.writeFileSync(path.join(home.dir, 'a.png'), tinyPng);
    const twice = ['--image', './a.png', 'mask_url=@./a.png', '--no-save'];
    const ran = well(await home.run([...cat, ...twice]));
    assert.equal(ran.stderr.match(/Uploaded a\.png, 70 B, image\/png/g)?.length, 1);
    const { image_url, mask_url } = service.fake.starts.at(-1)!.input as Record<string, string>;
    assert.ok(image_url);
    assert.equal(mask_url, image_url);
  });

  test('invalid arguments are refused before anything is spent', async () => {
    const wrong: [string[], RegExp][] = [
      [['fake/imag', '--prompt', 'x'], /no model fake\/imag[^]*mean fake\/image/],
      [['fake/image', 'num_images=9', '--prompt', 'x'], /num_images/],
      [['fake/image', '--webhook', 'http://127.0.0.1/', '--prompt', 'x'], /public/],
      [['fake/image', '--image', 'gone.png'], /no file gone\.png/],
      [['fake/image', '--colour', 'red'], /unknown option '--colour'/],
      [['fake/chat', '--prompt', 'x'], /text model[^]*fare chat/],
      [['fake/image', '--prompt', 'x', 'a b'], /"a b" is not an input/],
      [['fake/image', '--prompt', 'x', '--video', 'v.mp4'], /no --video|no file/],
      [['fake/image', '--input', 'gone.json'], /gone\.json cannot be read/],
      [['fake/image', 'num_images=1'], /prompt[^]*fare model/],
      [[], /missing required argument/],
    ];
    for (const [args, says] of inShort(5, wrong))
      refused(await home.run(['run', ...args]), 2, says);
    nothingStarted();
    assert.deepEqual(fs.readdirSync(home.jobsFolder), [], 'a refused submit was kept');
  });

  test('a job that fails: exit 1, its reason, nothing charged, nothing saved', async () => {
    const before = await service.balance(account);
    service.fake.behave.poll = () => ({
      state: 'failed',
      code: 'upstream_rejected',
      message: 'No cats.',
    });
    const ran = refused(await home.run([...cat, '--json']), 1, /failed: .*Nothing was charged/);
    assert.equal(ran.json.error.code, 'upstream_rejected');
    assert.match(ran.json.error.request_id, /^[0-9a-f-]{36}$/);
    assert.deepEqual(await service.balance(account), before);
    assert.deepEqual(fs.readdirSync(home.dir), []);
    refused(
      await home.run(['resume']),
      2,
      /No request that was run on this computer is still open/,
    );
  });
});
