import assert from 'node:assert/strict';
import { isLong } from '../../kit/long.ts';
import type { Reply } from '../../kit/service.ts';
import { cancel, marker, post, type Row, type World } from './row.ts';

/**
 * JSON that is broken, hostile or only unusual. `lib/json.long.test.ts` has the whole grammar;
 * these rows send one of each kind over HTTP.
 */

const mebi = 1024 * 1024;

/** The calls that read JSON, each with a valid body to which members can be added. */
const targets = [
  {
    path: '/v1/estimate',
    good: `{"model_id":"fake/image","input":{"prompt":"${marker}"}}`,
    status: 200,
    // An estimate also takes the body of a chat.
    maxBytes: 10 * mebi,
  },
  {
    path: '/v1/chat/completions',
    good: `{"model":"fake/chat","messages":[{"role":"user","content":"${marker}"}]}`,
    status: 200,
    maxBytes: 10 * mebi,
  },
  { path: '/v1/queue/fake/image', good: `{"prompt":"${marker}"}`, status: 202, maxBytes: mebi },
];
type Target = (typeof targets)[number];

const nested = (open: string, inner: string, close: string, depth: number) =>
  open.repeat(depth) + inner + close.repeat(depth);

const keys = (length: number) => Array.from({ length }, (_, i) => `"k${i}":${i}`).join();

/** Texts of a member that make the whole body invalid. */
const brokenMembers: [name: string, text: string][] = [
  ['a trailing comma', '"a":1,'],
  ['a comment', '"a":1 /* why */'],
  ['NaN', '"a":NaN'],
  ['single quotes', "'a':1"],
  ['a key without quotes', 'a:1'],
  ['no value', '"a":'],
  ['1e400', '"a":1e400'],
  ['a number of 10,000 digits', `"a":${'9'.repeat(10_000)}`],
  ['a leading zero', '"a":01'],
  ['a big integer', '"a":1n'],
  ['a tab in a text', '"a":"b\tc"'],
  ['half an escape', '"a":"\\u00"'],
  ['a text without end', '"a":"b'],
  ['a list without end', '"a":[1,2'],
  ['\\u0000 in a text', String.raw`"a":"b\u0000c"`],
  ['\\u0000 in a key', String.raw`"a\u0000":1`],
  ['\\u0000 deep inside', String.raw`"a":[{"b":["\u0000"]}]`],
  ['half a surrogate pair', String.raw`"a":"\ud800"`],
  ['the halves in the wrong order', String.raw`"a":"\udc00\ud800"`],
  ['half a surrogate pair in a key', String.raw`"\ud83d":1`],
  ['__proto__', '"__proto__":{"isAdmin":true}'],
  ['__proto__ in disguise', String.raw`"\u005f_proto__":1`],
  ['__proto__ deep inside', '"a":[{"__proto__":null}]'],
  ['constructor.prototype', '"constructor":{"prototype":{"isAdmin":true}}'],
  ['70 lists', `"a":${nested('[', '', ']', 70)}`],
  ['10,000 lists', `"a":${nested('[', '', ']', 10_000)}`],
  ['10,000 objects', `"a":${nested('{"a":', '1', '}', 10_000)}`],
  ['200,000 open lists', `"a":${'['.repeat(200_000)}`],
  ['100,000 open objects', `"a":${'{"a":'.repeat(100_000)}`],
  ['a list of 100,001', `"a":[${'0,'.repeat(100_000)}0]`],
  ['10,001 keys', keys(10_001)],
];

const brokenBodies: [name: string, body: string][] = [
  ['nothing', ''],
  ['a blank', ' '],
  ['a byte order mark', '\uFEFF{}'],
  ['a list of an object', '[{}]'],
  ['a text', '"x"'],
  ['a number', '1'],
  ['null', 'null'],
  ['an open brace', '{'],
  ['a brace too many', '{}}'],
  ['lines of JSON', '{}\n{}'],
  ['a form', 'prompt=x&num_images=1'],
  ['markup', '<prompt>x</prompt>'],
  ['a guard against theft', ")]}',\n{}"],
];

/** A valid body in other encodings than UTF-8. */
const brokenEncodings: [name: string, body: (good: string) => Buffer][] = [
  ['UTF-16, little end first', (good) => Buffer.from(good, 'utf16le')],
  ['UTF-16, big end first', (good) => Buffer.from(good, 'utf16le').swap16()],
  ['the byte FF', withBytes(0xff)],
  ['a NUL written in two bytes', withBytes(0xc0, 0x80)],
  ['a character cut in two', withBytes(0xe2, 0x82)],
  ['a surrogate written in UTF-8', withBytes(0xed, 0xa0, 0x80)],
  ['a character beyond the last', withBytes(0xf4, 0x90, 0x80, 0x80)],
  ['Latin-1', withBytes(0xe9)],
  ['a raw NUL', withBytes(0x00)],
  ['a body cut short', (good) => Buffer.from(good).subarray(0, -1)],
];

function withBytes(...bytes: number[]): (good: string) => Buffer {
  return (good) =>
    Buffer.concat([Buffer.from('{"a'), Buffer.from(bytes), Buffer.from(good.replace('{', '":1,'))]);
}

/** Unusual but valid members. */
const oddMembers: [name: string, text: string][] = [
  ['toJSON', '"toJSON":"x"'],
  ['then', '"then":{"then":1}'],
  ['hasOwnProperty', '"hasOwnProperty":1'],
  ['length', '"length":-1'],
  ['constructor alone', '"constructor":"x"'],
  ['prototype alone', '"prototype":{"a":1}'],
  ['toString and valueOf', '"toString":null,"valueOf":0'],
  ['__defineGetter__', '"__defineGetter__":1'],
  ['an empty key', '"":1'],
  ['a key of a dollar', '"$ref":"#/x","$where":"1"'],
  ['2^53 + 1', '"a":9007199254740993'],
  ['2^63 and 2^64', '"a":9223372036854775808,"b":18446744073709551616'],
  ['-0', '"a":-0'],
  ['the least number', '"a":5e-324'],
  ['the greatest number', '"a":1.7976931348623157e308'],
  ['400 decimals', `"a":0.${'1'.repeat(400)}`],
  ['a key given twice', '"a":1,"a":2'],
  ['all escapes', String.raw`"a":"\"\\\/\b\f\n\r\t\u0001\ud83d\ude00"`],
  ['text from right to left', '"a":"\u202Eabc\u202C\u200B\uFEFF\uFFFD\uFFFF"'],
  ['a key of 100,000 characters', `"${'k'.repeat(100_000)}":1`],
  ['60 lists', `"a":${nested('[', '', ']', 60)}`],
  ['9,000 keys', keys(9_000)],
  ['a list of 19,000', `"a":[${'0,'.repeat(19_000)}0]`],
  ['SQL', `"a":"'; drop table requests; --"`],
  ['white space of every kind', '\r\n\t "a" \r\n:\t1 '],
];

/** All calls read JSON with the same function, so each case goes to one of them in turn. */
function inTurn<T>(cases: T[], rowOf: (each: T, target: Target, i: number) => Row): Row[] {
  return cases.map((each, i) => rowOf(each, targets[i % targets.length]!, i));
}

const first = (good: string, text: string) => good.replace('{', `{${text},`);
const last = (good: string, text: string) => `${good.slice(0, -1)},${text}}`;
const sized = (good: string, bytes: number) => good + ' '.repeat(bytes - good.length);

export const refused: Row[] = [
  ...inTurn(brokenMembers, ([name, text], { path, good }, i) => [
    `JSON with ${name}`,
    post(path, (i % 2 === 0 ? first : last)(good, text)),
    ['bad_request'],
  ]),
  ...inTurn(brokenBodies, ([name, body], { path }) => [
    `a body of ${name}`,
    post(path, body),
    ['bad_request'],
  ]),
  ...inTurn(brokenEncodings, ([name, body], { path, good }) => [
    `JSON with ${name}`,
    post(path, body(good)),
    ['bad_request'],
  ]),
  ...targets.map(({ path, good, maxBytes }): Row => [
    `a byte too many for ${path}`,
    post(path, sized(good, maxBytes + 1)),
    ['payload_too_large'],
  ]),
  [
    'a webhook given twice, the last one not public',
    post(
      '/v1/queue/fake/image',
      '{"prompt":"x","webhook_url":"https://93.184.216.34/","webhook_url":"http://10.0.0.1/"}',
    ),
    ['bad_webhook_url'],
  ],
];

/** If a body has a field twice, the last value counts. */
const twice: [name: string, model: string, input: string, price: string][] = [
  ['count', 'fake/image', '"prompt":"x","num_images":4,"num_images":1', '10000'],
  [
    'length',
    'fake/film/text-to-video',
    '"prompt":"x","duration_seconds":10,"duration_seconds":1,"resolution":"720p","resolution":"480p"',
    '50000',
  ],
  [
    'webhook',
    'fake/image',
    '"prompt":"x","webhook_url":"http://10.0.0.1/","webhook_url":"https://93.184.216.34/"',
    '10000',
  ],
];

export const taken: Row[] = [
  ...oddMembers.flatMap(([name, text], i): Row[] => {
    const submit = targets[2]!;
    const other = targets[i % 2]!;
    const body = first(submit.good, text);
    const again: Row = [
      `JSON with ${name} of ${other.path}`,
      post(other.path, first(other.good, text)),
      [200],
    ];
    return [
      [
        `JSON with ${name}, kept as it is`,
        post(submit.path, body),
        [submit.status],
        (reply, world) => assertKept(reply, world, body),
      ],
      ...(isLong ? [again] : []),
    ];
  }),
  ...targets.map(({ path, good, status, maxBytes }): Row => [
    `just the bytes that ${path} may have`,
    post(path, sized(good, maxBytes)),
    [status],
    (reply, world) => status === 202 && cancel(reply, world),
  ]),
  ...twice.map(([name, model, input, price]): Row => [
    `a ${name} given twice`,
    post(`/v1/queue/${model}`, `{${input}}`),
    [202],
    async (reply, world) => {
      assert.equal(reply.body.quoted_usd_micro, price);
      await cancel(reply, world);
    },
  ]),
  [
    'a model given twice',
    post('/v1/estimate', '{"model_id":"fake/none","model_id":"fake/image","input":{}}'),
    [200],
    (reply) => assert.equal(reply.body.price_usd_micro, '10000'),
  ],
];

/** Asserts that the input is kept as `JSON.stringify` writes it (-0 becomes 0), without nulls. */
async function assertKept(reply: Reply, world: World, body: string): Promise<void> {
  const path = `/v1/requests/${reply.body.request_id}`;
  const card = await world.service.call('GET', path, { key: world.account.key });
  const written = JSON.parse(JSON.stringify(JSON.parse(body)));
  const given = Object.entries(written).filter(([, value]) => value !== null);
  assert.deepEqual(card.body.input, Object.fromEntries(given));
  await cancel(reply, world);
}
