import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import {
  assertRefusedAs,
  assertUnharmed,
  json,
  latin1,
  leavingNothing,
  send,
  type Sent,
} from '../kit/rough.ts';
import { startService, type Service, type TestAccount } from '../kit/service.ts';
import { requestIn } from '../kit/states.ts';

/** Ids and numbers in the path, byte for byte: each means exactly one thing, or nothing. */

const marker = 'PROMPT-MARKER-9d0a';
let service: Service;
let account: TestAccount;
let done: string;
before(async () => {
  service = await startService();
  account = await service.account();
  done = await requestIn(service, account, 'COMPLETED');
});
after(async () => {
  await service.audit();
  await service.stop();
});

const call = (line: string, sent?: Sent) => send(service, account, line, sent);

describe('a model id in the path', () => {
  const ids = [
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
  for (const id of ids) {
    test(`is exact or none: ${JSON.stringify(id.slice(0, 40))}`, async () => {
      await leavingNothing(service, async () => {
        assertRefusedAs(await call(`GET /v1/models/${id}`), ['not_found', 'bad_request'], 'entry');
        const submit = await call(`POST /v1/queue/${id}`, json(`{"prompt":"${marker}"}`));
        assertRefusedAs(submit, ['unknown_model', 'bad_request'], 'submit');
      });
    });
  }
});

test('a path that cannot be decoded is refused in our words, naming the way out', async () => {
  for (const path of ['/v1/models/%ZZ', '/v1/requests/%f', '/%']) {
    const reply = await call(`GET ${path}`);
    assertRefusedAs(reply, ['bad_request'], path);
    const { message } = reply!.body.error;
    assert.match(message, /^The path is not valid: .*% .*two hexadecimal digits/);
    assert.doesNotMatch(reply!.text, /FST_|url component/);
  }
});

describe('a request id in the path', () => {
  const ids = [
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
  for (const id of ids) {
    test(`is exact or none: ${JSON.stringify(id.slice(0, 40))}`, async () => {
      await leavingNothing(service, async () => {
        for (const rest of [
          '',
          '/status',
          '/status?wait=60',
          '/status/stream',
          '/response',
          '/output/0',
          '/output/0?exp=1&sig=x',
        ]) {
          const reply = await call(`GET /v1/requests/${id}${rest}`);
          assertRefusedAs(reply, ['not_found', 'bad_request'], rest);
        }
        for (const method of ['POST', 'PUT']) {
          assertRefusedAs(
            await call(`${method} /v1/requests/${id}/cancel`),
            ['not_found', 'bad_request'],
            method,
          );
        }
      });
    });
  }
});

describe('the number of an output', () => {
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
    '٠',
    '1000000',
    '%30%30',
    '0,1',
    '0;',
    '[0]',
  ];
  for (const index of indexes) {
    test(`is exact or none: ${index}`, async () => {
      assertRefusedAs(
        await call(
          `GET /v1/requests/${done}/output/${latin1(Buffer.from(index)).toString('latin1')}`,
        ),
        ['not_found', 'bad_request'],
        index,
      );
    });
  }

  const exps = [
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
  for (const exp of exps) {
    test(`is not opened by a link of exp=${exp}`, async () => {
      const path = `/v1/requests/${done}/output/0?exp=${exp}&sig=${'a'.repeat(43)}`;
      assertRefusedAs(
        await call(`GET ${path}`, { usual: ['Host: x', 'Connection: close'] }),
        ['unauthorized'],
        exp,
      );
    });
  }

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
  for (const range of ranges) {
    test(`with the range ${range.slice(0, 40)} is given whole, or refused`, async () => {
      const reply = await call(`GET /v1/requests/${done}/output/0`, {
        headers: [`Range: ${range}`],
      });
      assert.ok([200, 206, 416].includes(reply!.status), String(reply!.status));
    });
  }
});

test('after all that nothing is harmed', () => assertUnharmed(service, account, marker));
