/** Inputs of `fare run`: a file's text, or its upload; what is given twice or is no text is refused. */
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { tinyPng } from '../../../server/test/kit/fake.ts';
import { withService } from '../../../server/test/kit/with-service.ts';
import { traces } from '../../../server/test/kit/traces.ts';
import { catalog, homeOf, refused, well, type Home } from './fare-kit.ts';

const fields = `${catalog}
  - id: fake/fields
    kind: image
    task: text-to-image
    name: Fields
    description: Fields of many types.
    price: { unit: image, usd: "0.01" }
    max: 4
    max_unit: images
    cost_usd: "0.004"
    upstream_model: fields
    input_schema:
      type: object
      properties:
        prompt: { type: string }
        seed: { type: integer }
        size: { type: object }
        words: { type: array, items: { type: string } }
        image_url: { type: string }
        image_urls: { type: array, items: { type: string } }
      required: [prompt]
    example: { prompt: a cat }
`;

let home: Home;
const { service, account } = withService({ running: true, catalog: fields, account: { usd: 50 } });
beforeEach(() => {
  home = homeOf(service, account.key);
  const files: Record<string, string | Buffer> = {
    'prompt.txt': '\ufeffa cat,\n@home on a mat\n',
    'seed.txt': '7\n',
    'size.json': '{ "width": 64 }\n',
    'words.json': '["a", "b"]',
    'word.txt': 'c\n',
    'a.png': tinyPng,
    'latin.txt': Buffer.from('caf\xe9', 'latin1'),
    'utf16.txt': Buffer.from('\ufeffcat', 'utf16le'),
    'nul.txt': 'a\0b',
    'big.txt': 'x'.repeat(1024 * 1024 + 1),
    'in.json': '{"prompt":"from a file","seed":1}',
  };
  for (const [name, bytes] of Object.entries(files))
    fs.writeFileSync(path.join(home.dir, name), bytes);
  fs.symlinkSync('loop', path.join(home.dir, 'loop'));
});

const run = (args: string[], stdin = '') =>
  home.run(['run', 'fake/fields', '--no-save', ...args], { stdin });
const lastInput = () => service.fake.starts.at(-1)!.input as Record<string, unknown>;

describe('key=@file', () => {
  const read: [args: string[], input: Record<string, unknown>, stdin?: string][] = [
    [['prompt=@prompt.txt'], { prompt: 'a cat,\n@home on a mat' }],
    [
      ['--set', 'prompt=@prompt.txt', 'seed=@seed.txt'],
      { prompt: 'a cat,\n@home on a mat', seed: 7 },
    ],
    [['prompt=x', 'size=@size.json'], { prompt: 'x', size: { width: 64 } }],
    [['prompt=x', 'words=@words.json'], { prompt: 'x', words: ['a', 'b'] }],
    [['prompt=x', 'words=a', 'words=@word.txt'], { prompt: 'x', words: ['a', 'c'] }],
    [['prompt=x', 'unknown=@size.json'], { prompt: 'x', unknown: { width: 64 } }],
    [['prompt=@-'], { prompt: 'from a pipe' }, 'from a pipe\n'],
    [['--prompt', '@prompt.txt'], { prompt: '@prompt.txt' }],
  ];
  for (const [args, input, stdin] of read)
    test(`in ${args.join(' ')} is the text of the file`, async () => {
      const ran = well(await run(args, stdin));
      assert.deepEqual(lastInput(), input);
      assert.doesNotMatch(ran.stderr, /Uploaded/);
    });

  test('is an upload in a media field', async () => {
    const media = ['image_url=@a.png', 'image_urls=@a.png', 'image_urls=https://example.com/b.png'];
    const ran = well(await run(['prompt=x', ...media, 'more_url=@a.png']));
    assert.equal(ran.stderr.match(/Uploaded/g)?.length, 1);
    const { image_url, image_urls, more_url } = lastInput();
    assert.match(String(image_url), /^file_/);
    assert.equal((image_urls as string[]).length, 2);
    assert.ok(more_url);
  });
});

describe('a pipe with a name', { skip: process.platform === 'win32' }, () => {
  let writer: ChildProcess;
  afterEach(() => writer.kill());

  /** As `<(cat FILE)` of a shell. In a process of its own, because it waits for a reader. */
  function pipeOf(file: string): string {
    execFileSync('mkfifo', ['pipe'], { cwd: home.dir });
    writer = spawn('sh', ['-c', `exec cat ${file} > pipe`], { cwd: home.dir });
    return path.join(home.dir, 'pipe');
  }

  const uploads: [args: string[], media: string[]][] = [
    [['image_url=@pipe'], ['image_url']],
    [['--image', 'pipe'], ['image_url']],
    [
      ['image_url=@pipe', 'more_url=@pipe'],
      ['image_url', 'more_url'],
    ],
  ];
  for (const [args, media] of uploads)
    test(`is uploaded once by ${args.join(' ')}`, async () => {
      pipeOf('a.png');
      const ran = well(await run(['prompt=x', ...args]));
      assert.equal(ran.stderr.match(/Uploaded pipe, \d+ B, image\/png/g)?.length, 1, ran.all);
      for (const name of media) assert.match(String(lastInput()[name]), /^file_/);
    });

  test('is uploaded by fare upload', async () => {
    const ran = well(await home.run(['upload', pipeOf('a.png')]));
    assert.match(ran.stdout, /^file_[0-9a-f]{32}\n$/);
  });

  test('that is empty is refused before anything is spent', async () => {
    pipeOf('/dev/null');
    const before = await traces(service);
    refused(await run(['prompt=x', 'image_url=@pipe']), 2, /empty/);
    assert.deepEqual(await traces(service), before);
  });
});

const wrong: [name: string, args: string[], says: RegExp, stdin?: Buffer][] = [
  ['an image as a text', ['prompt=@a.png'], /a\.png is not text in UTF-8[^]*image_url/],
  ['an image as an unknown field', ['prompt=x', 'mask=@a.png'], /a\.png is not text/],
  ['Latin-1', ['prompt=@latin.txt'], /latin\.txt is not text in UTF-8/],
  ['UTF-16', ['prompt=@utf16.txt'], /utf16\.txt is not text in UTF-8/],
  ['a NUL', ['prompt=@nul.txt'], /nul\.txt is not text in UTF-8/],
  ['a file that is too large', ['prompt=@big.txt'], /big\.txt is larger than 1 MiB/],
  ['an endless file', ['prompt=@/dev/zero'], /\/dev\/zero is larger than 1 MiB/],
  ['a folder', ['prompt=@.'], /\. is a folder/],
  ['a missing file', ['prompt=@home'], /home cannot be read|no file home[^]*--prompt/],
  ['stdin as an upload', ['prompt=x', 'image_url=@-'], /image_url=\$\(fare upload -\)/],
  ['stdin as an image', ['prompt=x', '--image', '-'], /--image "\$\(fare upload -\)"/],
  ['no path', ['prompt=@'], /prompt=@ names no file/],
  ['no path of an upload', ['prompt=x', 'image_url=@'], /image_url=@ names no file/],
  ['a link to itself as a text', ['prompt=@loop'], /loop cannot be read/],
  ['a link to itself as an upload', ['prompt=x', 'image_url=@loop'], /loop cannot be read/],
  ['stdin twice', ['prompt=@-', 'size=@-'], /stdin/],
  ['an input twice', ['prompt=x', 'prompt=y'], /prompt is given twice/],
  ['an option and an input', ['--prompt', 'x', 'prompt=y'], /prompt is given twice/],
  ['an option twice', ['--prompt', 'x', '--prompt', 'y'], /--prompt[^]*given twice/],
  ['--set and a value', ['prompt=x', 'seed=1', '--set', 'seed=2'], /seed is given twice/],
  ['two lists', ['prompt=x', 'words=["a"]', 'words=["b"]'], /words is given twice/],
  ['an item after a list', ['prompt=x', 'words=["a"]', 'words=b'], /words is given twice/],
  [
    '--image and its field',
    ['prompt=x', '--image', 'a.png', 'image_url=@a.png'],
    /image_url is given twice/,
  ],
  [
    '--images and their field',
    ['prompt=x', '--image', 'a.png', '--image', 'a.png', 'image_urls=@a.png'],
    /image_urls is given twice/,
  ],
  ['--max-usd twice', ['prompt=x', '--max-usd', '1', '--max-usd', '2'], /--max-usd[^]*given twice/],
  [
    'a metadata name twice',
    ['prompt=x', '--metadata', 'a=1', '--metadata', 'a=2'],
    /a is given twice/,
  ],
  ['bytes on stdin', ['--prompt', '-'], /stdin is not text in UTF-8/, Buffer.from([0xff, 0xfe])],
  [
    'half a character on stdin',
    ['--input', '-'],
    /stdin is not text in UTF-8/,
    Buffer.from('{"prompt":"é"}').subarray(0, 12),
  ],
];
describe('refused before anything is spent:', () => {
  for (const [name, args, says, stdin] of wrong)
    test(name, async () => {
      const before = await traces(service);
      const call = ['run', 'fake/fields', '--no-save', ...args];
      refused(await home.run(call, stdin && { stdin }), 2, says);
      assert.deepEqual(await traces(service), before);
    });

  test('a chat with bytes that are no text', async () => {
    const before = await traces(service);
    const stdin = Buffer.from('caf\xe9', 'latin1');
    refused(await home.run(['chat', '-'], { stdin }), 2, /stdin is not text in UTF-8/);
    refused(await home.run(['chat', 'caf\ufffd']), 2, /not in UTF-8/);
    assert.deepEqual(await traces(service), before);
  });
});

test('a value beside --input replaces the one in it, and says so', async () => {
  const ran = well(await run(['--input', 'in.json', 'prompt=mine', '--set', 'seed=3']));
  assert.deepEqual(lastInput(), { prompt: 'mine', seed: 3 });
  assert.match(ran.stderr, /prompt replaces the one in in\.json/);
  assert.match(ran.stderr, /seed replaces the one in in\.json/);
});
