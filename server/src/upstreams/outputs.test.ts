import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { collectMedia } from './outputs.ts';

const bytes = Buffer.from('the bytes of a picture, which are long enough to be no name');
const base64 = bytes.toString('base64');
const address = 'https://cdn.test/a.png';
const picture = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), bytes]).toString('base64');
const page = 'https://example.com/about';

/** The media as `field: what`, and the other fields. */
function collected(output: unknown) {
  const { media, fields } = collectMedia(output, 'out');
  const told = media.map(({ field, source }) => {
    if ('url' in source) return `${field}: ${source.url}`;
    return `${field}: ${Buffer.from(source.bytes).equals(bytes) ? 'bytes' : 'others'}`;
  });
  return { told, fields };
}

/** Two pictures, of which the last is `bytes`. `thought`: whether each is a thought. */
const gemini = (...thought: [boolean, boolean]) => {
  const parts = [Buffer.alloc(90, 7), bytes].map((data, i) => ({
    ...(thought[i] && { thought: true }),
    inlineData: { mimeType: 'image/png', data: data.toString('base64') },
  }));
  return { candidates: [{ content: { parts } }] };
};

const cases: [what: string, output: unknown, told: string[], fields?: object][] = [
  ['an address', address, [`out: ${address}`]],
  ['an address in white space', ` ${address}\n`, [`out: ${address}`]],
  ['an address in quotation marks', `"${address}"`, [`out: ${address}`]],
  ['an address in angle brackets', { video_url: `<${page}>` }, [`video_url: ${page}`]],
  ['an address in backticks', { video_url: `\`${page}\`` }, [`video_url: ${page}`]],
  ['an address as HTML has it', { url: `${page}?a=1&amp;b=2` }, [`out: ${page}?a=1&b=2`]],
  ['a quoted sentence is a text', `"see ${page}"`, [], { text: `"see ${page}"` }],
  ["Gemini's thoughts beside its picture", gemini(true, false), ['inlineData: bytes']],
  ["Gemini's thoughts alone", gemini(true, true), ['inlineData: bytes'], { thought: true }],
  ["Gemini's two pictures", gemini(false, false), ['inlineData: others', 'inlineData: bytes']],
  ['a page is a text', page, [], { text: page }],
  ['an object with an address', { url: page }, [`out: ${page}`]],
  ['names are kept', { images: [{ url: page }], seed: 7 }, [`images: ${page}`], { seed: 7 }],
  ['an empty address beside bytes', { url: '', b64_json: base64 }, ['out: bytes']],
  ['a relative address beside bytes', { url: 'a.png', b64_json: base64 }, ['out: bytes']],
  ['an address beside empty bytes', { url: page, b64_json: '' }, [`out: ${page}`]],
  ['bytes that are a data: address', { b64_json: `data:x/y;base64,${base64}` }, ['out: bytes']],
  ['bytes that are an address', { b64_json: page }, [`out: ${page}`]],
  ['an address that is base64', { url: base64 }, ['out: bytes']],
  [
    'a word in place of an address',
    { images: [{ url: 'output' }] },
    [],
    { images: [{ url: 'output' }] },
  ],
  ['hexadecimal bytes', { b64_json: bytes.toString('hex') }, ['out: bytes']],
  ['base64 in lines', { b64_json: base64.replaceAll(/.{20}/g, '$&\r\n') }, ['out: bytes']],
  ['bytes that are none', { images: [{ b64_json: '!' }] }, [], { images: [{ b64_json: '!' }] }],
  ['empty places', [null, '', {}, address, { url: null }, []], [`out: ${address}`]],
  ['only empty places', { images: [null, { url: '' }] }, [], { images: [null, { url: '' }] }],
  [
    'a reason in an empty place',
    { images: [{ url: page }, { url: null, error: { message: 'filtered' } }] },
    [`images: ${page}`],
    { left_out: ['filtered'] },
  ],
  [
    'reasons of two lists',
    { a: [address, { error: 'one' }], b: [address, { detail: 'two' }] },
    [`a: ${address}`, `b: ${address}`],
    { left_out: ['one', 'two'] },
  ],
  ['an address under its own name', [{ id: '1', image_url: page }], [`out: ${page}`]],
  ['bytes under their own name', [{ image: base64 }, { base64 }], ['out: bytes', 'out: bytes']],
  [
    'the film of an item, not its cover',
    [{ cover_url: address, coverImageUrl: address, video_url: page }],
    [`out: ${page}`],
  ],
  [
    'an address without an extension beside one with',
    [address, page],
    [`out: ${address}`, `out: ${page}`],
  ],
  [
    'words around an address are a text',
    ['see ', address, ' and go'],
    [],
    { text: `see ${address} and go` },
  ],
  ['an address at the upstream', { url: '/files/1' }, ['out: /files/1']],
  ['an address without a scheme', { images: [{ url: '//cdn.test/1' }] }, ['images: //cdn.test/1']],
  ['a path in a text', '/files/1.png', [], { text: '/files/1.png' }],
  ['base64 that begins like a path', { url: `/9j/${base64}` }, ['out: others']],
  ['media inside an object', { output: { images: [{ url: page }] } }, [`images: ${page}`], {}],
  [
    'media inside lists of objects',
    { id: 1, data: { results: [{ image: { url: page }, seed: 7 }, { video: { url: address } }] } },
    [`image: ${page}`, `video: ${address}`],
    { id: 1, seed: 7 },
  ],
  [
    'what lies beside media is not searched',
    { video: { url: page }, input: { image: { url: address } } },
    [`video: ${page}`],
    { input: { image: { url: address } } },
  ],
  ['lists in lists', [[address], [[{ url: page }]]], [`out: ${address}`, `out: ${page}`]],
  ['an address in a field that names it', { video_url: page }, [`video_url: ${page}`]],
  ['base64 in a field that names it', { image: base64, seed: 7 }, ['image: bytes'], { seed: 7 }],
  [
    'base64 in a list',
    { images: [base64, 'blocked'] },
    ['images: bytes'],
    { left_out: ['blocked'] },
  ],
  [
    'addresses of the job are not its media',
    { status_url: page, urls: { get: page } },
    [],
    {
      status_url: page,
      urls: { get: page },
    },
  ],
  [
    'the film of an object, not only its cover',
    { thumbnail_url: address, data: { videoUrl: page } },
    [`thumbnail_url: ${address}`, `videoUrl: ${page}`],
  ],
  [
    'names in camel case',
    { videos: [{ coverUrl: address, resultUrl: page }] },
    [`videos: ${page}`],
  ],
  ['an extension of sounds', 'https://cdn.test/a.opus', ['out: https://cdn.test/a.opus']],
  ['a list without extensions', { data: { outputs: [page] } }, [`outputs: ${page}`]],
  ['bytes after the end of a head', { b64_json: `image/png;base64,${base64}` }, ['out: bytes']],
  [
    'Kling',
    { data: { task_id: '1', task_result: { videos: [{ id: '1', url: page }] } } },
    [`videos: ${page}`],
    { task_id: '1' },
  ],
  ['Luma', { assets: { video: page, image: null } }, [`video: ${page}`], { image: null }],
  [
    'Gemini',
    {
      candidates: [
        {
          content: {
            parts: [{ text: 'a' }, { inlineData: { mimeType: 'image/png', data: base64 } }],
          },
        },
      ],
    },
    ['inlineData: bytes'],
    { text: 'a' },
  ],
  [
    'Veo',
    { response: { generateVideoResponse: { generatedSamples: [{ video: { uri: page } }] } } },
    [`video: ${page}`],
  ],
  [
    'Imagen',
    { predictions: [{ bytesBase64Encoded: base64 }, { raiFilteredReason: 'no' }] },
    ['predictions: bytes'],
    { left_out: ['no'] },
  ],
  [
    'MiniMax',
    { data: { image_urls: [page, page] } },
    [`image_urls: ${page}`, `image_urls: ${page}`],
  ],
  [
    'DashScope',
    { output: { choices: [{ message: { role: 'assistant', content: [{ image: page }] } }] } },
    [`content: ${page}`],
    { role: 'assistant' },
  ],
  [
    'Leonardo',
    { generations_by_pk: { generated_images: [{ url: page, nsfw: false }], status: 'COMPLETE' } },
    [`generated_images: ${page}`],
    { status: 'COMPLETE' },
  ],
  [
    'Freepik',
    { data: { generated: [page, address] } },
    [`generated: ${page}`, `generated: ${address}`],
  ],
  [
    'Hunyuan',
    { Response: { ResultImage: [page], JobStatusCode: '5' } },
    [`ResultImage: ${page}`],
    { JobStatusCode: '5' },
  ],
  [
    "Google's own client",
    { generatedVideos: [{ video: { videoBytes: base64 } }] },
    ['video: bytes'],
  ],
  [
    'PiAPI',
    { output: { works: [{ cover: { resource: address }, video: { resource: page } }] } },
    [`video: ${page}`],
    { cover: { resource: address } },
  ],
  [
    'OpenAI responses',
    { output: [{ type: 'reasoning' }, { type: 'image_generation_call', result: base64 }] },
    ['output: bytes'],
  ],
  [
    'RunPod',
    { output: { message: picture, status: 'success' } },
    ['message: others'],
    { status: 'success' },
  ],
  ['nodes of ComfyUI', { outputs: { 9: { images: [{ url: page }] } } }, [`images: ${page}`]],
  ['a picture by its first bytes', picture, ['out: others']],
  ['other base64 is a text', base64, [], { text: base64 }],
  [
    'an object as JSON text',
    { resultJson: JSON.stringify({ resultUrls: [page] }) },
    [`resultUrls: ${page}`],
  ],
  ['a list as JSON text', JSON.stringify([address, page]), [`out: ${address}`, `out: ${page}`]],
  [
    'a JSON answer of a model is a text',
    { output: JSON.stringify({ image_url: page }) },
    [],
    { output: JSON.stringify({ image_url: page }) },
  ],
  [
    'addresses with commas',
    { image_urls: `${page}, ${address}` },
    [`image_urls: ${page}`, `image_urls: ${address}`],
  ],
  [
    'addresses in an item',
    { images: [{ url: [page, address] }] },
    [`images: ${page}`, `images: ${address}`],
  ],
  ['a picture in Markdown', `![a cat](${address} "cat")`, [`out: ${address}`]],
  ['a link in Markdown to a page', `[more](${page})`, [], { text: `[more](${page})` }],
  ['paths at the upstream', { images: ['/view/a.png'] }, ['images: /view/a.png']],
  ['numbers are no places', { sizes: [1, 2], ok: true }, [], { sizes: [1, 2], ok: true }],
  ['facts are no places', { labels: [{ name: 'cat' }] }, [], { labels: [{ name: 'cat' }] }],
];

describe('media in an output', () => {
  for (const [what, output, told, fields = {}] of cases)
    test(what, () => assert.deepEqual(collected(output), { told, fields }));
});
