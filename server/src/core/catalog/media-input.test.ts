import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApiError } from '../errors.ts';
import { fileId } from '../request/file-id.ts';
import { invalid, mediaInputs, mediaInputsMax, type MediaInputs } from './media-input.ts';
import { brokenDataAddresses } from '../../../test/fixtures/data-addresses.ts';

const cat = '01890f5e-27c1-7d3a-9e4f-0123456789ab';
const dog = '01890f5e-27c1-7d3a-9e4f-0123456789ac';
const http = 'https://example.com/cat.png';

const found: [what: string, input: Record<string, unknown>, expected: Partial<MediaInputs>][] = [
  [
    'a file by its id',
    { image_url: fileId(cat) },
    { files: [{ path: '/image_url', id: cat, mentions: 1 }] },
  ],
  [
    'an address with the path of its field',
    { image_url: http },
    { urls: [{ path: '/image_url', url: http }] },
  ],
  [
    'HTTP in capitals',
    { video_url: 'HTTP://x.test/' },
    { urls: [{ path: '/video_url', url: 'HTTP://x.test/' }] },
  ],
  [
    'each of a list',
    { image_urls: [fileId(cat), http] },
    {
      files: [{ path: '/image_urls/0', id: cat, mentions: 1 }],
      urls: [{ path: '/image_urls/1', url: http }],
    },
  ],
  [
    'a field that is only called url',
    { loras: [{ url: http }] },
    { urls: [{ path: '/loras/0/url', url: http }] },
  ],
  [
    "OpenAI's nested form",
    { image_url: { url: http } },
    { urls: [{ path: '/image_url/url', url: http }] },
  ],
  [
    'deep inside',
    { a: [{ b: { mask_url: fileId(dog) } }] },
    { files: [{ path: '/a/0/b/mask_url', id: dog, mentions: 1 }] },
  ],
  [
    'behind names that a pointer has to escape',
    { 'a/b~c': { mask_url: fileId(dog) } },
    { files: [{ path: '/a~1b~0c/mask_url', id: dog, mentions: 1 }] },
  ],
  [
    'a list in a list',
    { image_urls: [[fileId(cat)], [fileId(dog)]] },
    {
      files: [
        { path: '/image_urls/0/0', id: cat, mentions: 1 },
        { path: '/image_urls/1/0', id: dog, mentions: 1 },
      ],
    },
  ],
  [
    'a file named twice, once',
    { image_url: fileId(cat), end_image_url: fileId(cat) },
    { files: [{ path: '/image_url', id: cat, mentions: 2 }] },
  ],
  [
    'two addresses that are alike, twice',
    { image_url: http, end_image_url: http },
    {
      urls: [
        { path: '/image_url', url: http },
        { path: '/end_image_url', url: http },
      ],
    },
  ],
];

const nothing: [what: string, input: Record<string, unknown>][] = [
  ['in a prompt that has an address in it', { prompt: `draw ${http}` }],
  ['in a prompt that is a file id', { prompt: fileId(cat) }],
  ['in a field whose name only begins like one', { url_count: 'no address', urlish: 'neither' }],
  ['in a field whose name only ends like one', { curl: 'straight' }],
  ['in a number, a null or a flag', { image_url: null, video_url: 7, audio_url: true }],
  ['in an empty text', { image_url: '' }],
  ['in a data address, which brings its bytes', { image_url: 'data:image/png;base64,AAAA' }],
  ['in a data address of bytes', { image_url: 'data:binary/octet-stream;base64,AAAA' }],
  ['in a sample, which the sandbox makes', { image_url: 'sandbox:photo' }],
  ['in the third of its samples', { video_urls: ['sandbox:film=3'] }],
  [
    'in an address in capitals that brings its bytes',
    { image_url: 'DATA:image/svg+xml;BASE64,AAAA' },
  ],
];

const refused: [what: string, value: string][] = [
  ['a path', '/etc/passwd'],
  ['another scheme', 'file:///etc/passwd'],
  ['ftp', 'ftp://example.com/x'],
  ['a script', 'javascript:alert(1)'],
  ['a name without a scheme', 'example.com/cat.png'],
  ['a file id with a letter too many', `${fileId(cat)}0`],
  ['a file id in capitals', fileId(cat).toUpperCase()],
  ['the bare UUID', cat],
  ['a sample that there is none of', 'sandbox:cat'],
  ['a word of the sandbox that asks for a fault', 'sandbox:fail'],
  ['a blank before the address', ` ${http}`],
];

describe('mediaInputs finds', () => {
  for (const [what, input, expected] of found) {
    test(what, () => assert.deepEqual(mediaInputs(input), { files: [], urls: [], ...expected }));
  }
});

describe('mediaInputs finds nothing', () => {
  for (const [what, input] of nothing) {
    test(what, () => assert.deepEqual(mediaInputs(input), { files: [], urls: [] }));
  }
});

const broken = brokenDataAddresses.map((text): [string, string] => [text.slice(0, 50), text]);

describe('mediaInputs refuses', () => {
  for (const [what, value] of [...refused, ...broken]) {
    test(what, () => {
      const error = refusal(() => mediaInputs({ refs: [{ image_url: value }] }));
      assert.equal(error.code, 'invalid_input');
      assert.equal(error.param, 'refs');
      const rule = /^\s*data:/.test(value) ? 'is a data: address without' : 'must be a file_id';
      assert.match(error.message, new RegExp(`^/refs/0/image_url ${rule}`));
      const [first, ...others] = error.details!.errors as { path: string; message: string }[];
      assert.equal(first!.path, '/refs/0/image_url');
      assert.deepEqual(others, []);
    });
  }

  test('one more than it takes, and no fewer', () => {
    const urls = (count: number) => ({
      image_urls: Array.from({ length: count }, (_, i) => `${http}?${i}`),
    });
    assert.equal(mediaInputs(urls(mediaInputsMax)).urls.length, mediaInputsMax);
    const error = refusal(() => mediaInputs(urls(mediaInputsMax + 1)));
    assert.deepEqual([error.code, error.param], ['invalid_input', 'input']);
    assert.equal((error.details!.errors as { path: string }[])[0]!.path, '');
  });
});

test('mediaInputs looks at no more references than it takes, however many there are', () => {
  const ids = Array.from({ length: 99_000 }, (_, i) =>
    fileId(`${cat.slice(0, 24)}${String(i).padStart(12, '0')}`),
  );
  let reads = 0;
  const counting = new Proxy(ids, {
    get(list, name, self) {
      if (typeof name === 'string' && /^\d+$/.test(name)) reads++;
      return Reflect.get(list, name, self);
    },
  });
  const error = refusal(() => mediaInputs({ image_urls: counting }));
  assert.match(error.message, /has more than 64 files and addresses/);
  assert.equal(reads, mediaInputsMax + 1);
});

test('a fault is blamed on the field that the caller wrote, whatever characters it has', () => {
  assert.equal(invalid('/a~1b~0c/mask_url', 'is bad').param, 'a/b~c');
  assert.equal(invalid('/~01/mask_url', 'is bad').param, '~1');
});

test('a fault of the whole input is not blamed on a field', () => {
  const error = invalid('', 'is too much');
  assert.deepEqual([error.message, error.param], ['The input is too much.', 'input']);
});

function refusal(work: () => unknown): ApiError {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof ApiError);
    return error;
  }
  throw new assert.AssertionError({ message: 'it was not refused' });
}
