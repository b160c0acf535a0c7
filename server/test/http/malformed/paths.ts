import assert from 'node:assert/strict';
import { isLong } from '../../kit/long.ts';
import { json } from '../../kit/rough.ts';
import { marker, sent, type Row } from './row.ts';

/** Ids and numbers in the path, byte for byte: each means exactly one thing, or nothing. */

const modelIds = [
  '../requests',
  '..%2frequests',
  '%2e%2e/requests',
  '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
  '....//',
  './fake/image',
  'fake/../fake/image',
  'fake/./image',
  'fake//image',
  '/fake/image',
  'fake%2f%2fimage',
  'fake\\image',
  'fake%5cimage',
  'fake/image%00',
  '%00',
  'fake/image%0d%0aX:y',
  'fake/image%20',
  '%20fake/image',
  'fake/image;a=b',
  'fake/image%3f',
  'fake/image%23',
  '%',
  '%z',
  '%zz',
  '%f',
  '%ff',
  '%c0%ae%c0%ae',
  '%e2%82',
  '%ed%a0%80',
  'fake%252fimage',
  'FAKE/IMAGE',
  'f%C3%A4ke/image',
  'fa%CC%88ke/image',
  'f%D0%B0ke/image',
  '%F0%9F%90%88',
  'fake/%E2%80%AEegami',
  'fake/image%E2%80%8B',
  '\xe9',
  '\xff\xfe',
  '%EF%BB%BFfake/image',
  '*',
  '~',
  "'%20or%20'1'='1",
  'constructor',
  '__proto__',
  'toString',
  'a/'.repeat(300),
  'a'.repeat(599),
  'a'.repeat(5_000),
  '%61'.repeat(2_000),
];

const requestIds = [
  '..',
  '%2e%2e',
  'x',
  '0',
  '-1',
  '%00',
  '%',
  '%zz',
  '%ff',
  '\xe9',
  '*',
  '%F0%9F%90%88',
  'a'.repeat(599),
  'a'.repeat(700),
  'a'.repeat(10_000),
  "1'%20or%20'1'='1",
  '00000000-0000-0000-0000-000000000000',
  '%2F',
  'status',
  '%20',
  '{}',
  ';',
  '[object%20Object]',
];
const callsOfRequest: [method: string, rest: string][] = [
  ['GET', ''],
  ['GET', '/status'],
  ['GET', '/status?wait=60'],
  ['GET', '/status/stream'],
  ['GET', '/response'],
  ['GET', '/output/0'],
  ['GET', '/output/0?exp=1&sig=x'],
  ['POST', '/cancel'],
  ['PUT', '/cancel'],
];

/** All calls read the id with the same function, so in the short form each id goes to one call. */
const callsFor = (i: number) =>
  isLong ? callsOfRequest : [callsOfRequest[i % callsOfRequest.length]!];

const indexes = [
  '-1',
  '00',
  '01',
  '1e1',
  '0x1',
  '0.0',
  '9223372036854775808',
  '18446744073709551616',
  '%2B1',
  '+0',
  '%200',
  '0%20',
  '%00',
  'NaN',
  'x',
  Buffer.from('٠').toString('latin1'),
  '1000000',
  '%30%30',
  '0,1',
  '0;',
  '[0]',
];

const expiries = [
  '',
  '1&sig=',
  'x',
  '-1',
  '1e9',
  '0x1',
  '99999999999999999999',
  '1&exp=2',
  '%00',
  '01',
];

const ranges = [
  'bytes=0-0,2-3',
  'bytes=0-,0-',
  'bytes=18446744073709551616-',
  'bytes=-0',
  'bytes=5-2',
  'bytes=x-y',
  'bytes=',
  'lines=1-2',
  'bytes=0-18446744073709551616',
  `bytes=${'0-1,'.repeat(1_000)}`,
];

export const refused: Row[] = [
  ...modelIds.flatMap((id): Row[] => [
    [`a model ${shown(id)}`, sent(`GET /v1/models/${id}`), ['not_found', 'bad_request']],
    [
      `a submit to ${shown(id)}`,
      sent(`POST /v1/queue/${id}`, json(`{"prompt":"${marker}"}`)),
      ['unknown_model', 'bad_request'],
    ],
  ]),
  ...['/v1/models/%ZZ', '/v1/requests/%f', '/%'].map((path): Row => [
    `a path that cannot be decoded, ${path}`,
    sent(`GET ${path}`),
    ['bad_request'],
    ({ text, body }) => {
      const { message } = body.error;
      assert.match(message, /^The path is invalid: .*% .*two hexadecimal digits/);
      assert.doesNotMatch(text, /FST_|url component/);
    },
  ]),
  ...requestIds.flatMap((id, i) =>
    callsFor(i).map(([method, rest]): Row => [
      `${method} of request ${shown(id)}${rest}`,
      sent(`${method} /v1/requests/${id}${rest}`),
      ['not_found', 'bad_request'],
    ]),
  ),
  ...indexes.map((index): Row => [
    `an output ${shown(index)}`,
    sent(({ done }) => `GET /v1/requests/${done}/output/${index}`),
    ['not_found', 'bad_request'],
  ]),
  ...expiries.map((exp): Row => [
    `an output's link with exp=${exp}`,
    sent(({ done }) => `GET /v1/requests/${done}/output/0?exp=${exp}&sig=${'a'.repeat(43)}`, {
      usual: ['Host: x', 'Connection: close'],
    }),
    ['unauthorized'],
  ]),
  ...ranges.map((range): Row => [
    `an output's range ${shown(range)}`,
    sent(({ done }) => `GET /v1/requests/${done}/output/0`, { headers: [`Range: ${range}`] }),
    [200, 206, 416],
  ]),
];

function shown(id: string): string {
  return JSON.stringify(id.slice(0, 40));
}
