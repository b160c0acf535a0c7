import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { stringify } from 'yaml';
import { parseCatalogText } from '../../src/catalog/text.ts';
import { readOptions } from '../../src/upstreams/http-job/options.ts';
import { parsePath, valuesAt } from '../../src/upstreams/http-job/path.ts';
import { fill, fillPath } from '../../src/upstreams/http-job/template.ts';
import { plain } from './http-job-kit.ts';

/** The refusals of a catalog file with these options. */
function refusals(options: unknown): string[] {
  const upstream = { name: 'own', adapter: 'http-job', url: 'https://own.test', options };
  const { problems } = parseCatalogText(stringify({ upstream, models: [] }), 'own.yaml');
  return problems.map(({ message }) => message);
}

describe('a catalog file', () => {
  test('takes the smallest definition', () => {
    assert.deepEqual(refusals(plain), []);
  });

  test('needs options at all', () => {
    const text = stringify({
      upstream: { name: 'own', adapter: 'http-job', url: 'https://own.test' },
      models: [],
    });
    const [problem] = parseCatalogText(text, 'own.yaml').problems;
    assert.match(problem!.message, /^upstream.options is missing/);
  });

  const callback = (signature: unknown) => ({ ...plain, callback: { signature } });
  const cases: [string, Record<string, unknown>, RegExp][] = [
    ['nothing but a key', { auth: 'bearer' }, /options.submit is missing/],
    [
      'another word for auth',
      { ...plain, auth: 'basic' },
      /auth must be one of bearer, key \(or \{ header: NAME \} or \{ query: NAME \}\)/,
    ],
    ['two ways to hold the key', { ...plain, auth: { header: 'a', query: 'b' } }, /auth must NOT/],
    [
      'a misspelt option',
      { ...plain, outputz: [] },
      /options.outputz is not a known field; known fields are auth/,
    ],
    ['a misspelt value', { ...plain, submit: { path: '/j', body: '$inptu' } }, /submit.body must/],
    [
      'a value in a deep body',
      { ...plain, submit: { path: '/j', body: { a: [{ b: '$id' }] } } },
      /body.a.0.b must be: text to send, .* unless it is one of \$input/,
    ],
    [
      'a misspelt mark',
      { ...plain, submit: { path: '/j/{modle}', body: '$input' } },
      /submit.path must be: path below url/,
    ],
    [
      'an address as a path',
      { ...plain, submit: { path: 'https://x.test/j', body: '$input' } },
      /submit.path must be: path below url/,
    ],
    [
      'a query in a path',
      { ...plain, poll: { path: '/j?id={id}' } },
      /poll.path must be: path below url, without query/,
    ],
    ['code in a path', { ...plain, status: 'data.*.status' }, /status must be: path into a reply/],
    [
      'a wrong state',
      { ...plain, words: { ok: 'finished' } },
      /words.ok must be one of running, done, failed/,
    ],
    ['no outputs', { ...plain, outputs: [] }, /outputs must NOT have fewer/],
    [
      'an output without a path',
      { ...plain, outputs: [{ field: 'video' }] },
      /outputs.0.path is missing/,
    ],
    [
      'a meaning of its own',
      { ...plain, ok_when: { path: 'code', is: [0], else: { 1: 'sad' } } },
      /else.1 must be one of busy, account/,
    ],
    [
      'a rate of polls that hurts',
      { ...plain, poll: { path: '/{id}', every_seconds: 0.01 } },
      /every_seconds must be >= 0.5/,
    ],
    [
      'a file without its way back',
      { ...plain, files: { upload: { path: '/up' } } },
      /upload.reply is missing/,
    ],
    ['an unknown signature', callback('hmac'), /signature must be one of none, standard-webhooks/],
    [
      'a half signature',
      callback({ header: 'x-sig', signed: '{body}' }),
      /signature.encoding is missing/,
    ],
    [
      'a number for a price',
      { ...plain, cost_usd: { path: 'credits', each: 0.005 } },
      /each must be string/,
    ],
  ];
  for (const [name, options, message] of cases)
    test(`refuses ${name}, in words`, () => {
      const told = refusals(options);
      assert.ok(told.length >= 1);
      assert.ok(
        told.some((each) => message.test(each)),
        told.join('\n'),
      );
    });
});

describe('options that contradict themselves are refused', () => {
  const calling = { path: '/j', body: { a: '$input', b: '$callback_url' } };
  const signed = { header: 'x-sig', signed: '{body}', encoding: 'hex' };
  const cases: [string, Record<string, unknown>, RegExp][] = [
    [
      'the input goes nowhere',
      { submit: { path: '/j', body: { model: '$model' } } },
      /use \$input/,
    ],
    ['the poll names no job', { poll: { path: '/jobs' } }, /use \{id\} in its path/],
    ['a callback without its address', { callback: { signature: 'none' } }, /needs \$callback_url/],
    ['an address without a callback', { submit: calling }, /so the field callback is needed/],
    [
      'a callback where the reply names the address',
      { submit: calling, poll: { address: 'url' }, callback: { signature: 'none' } },
      /needs poll.path/,
    ],
    ['an id of ours that is not sent', { id: '$idempotency_key' }, /does not send/],
    [
      'a code that is good and bad',
      { ok_when: { path: 'code', is: [200], else: { 200: 'busy' } } },
      /200 both in "is" and in "else"/,
    ],
    [
      'a time that is not signed',
      { submit: calling, callback: { signature: { ...signed, timestamp_header: 'x-time' } } },
      /\{timestamp\} in signed needs/,
    ],
    [
      'a time from nowhere',
      { submit: calling, callback: { signature: { ...signed, signed: '{timestamp}.{body}' } } },
      /needs timestamp_header/,
    ],
    [
      'a signature over nothing',
      { submit: calling, callback: { signature: { ...signed, signed: 'hello' } } },
      /must contain \{body\} or \{handle\}/,
    ],
  ];
  for (const [name, changes, message] of cases)
    test(name, () => {
      assert.throws(() => readOptions({ ...plain, ...changes }), message);
    });
});

test('docs/upstreams.md builds a definition that holds at every step', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/upstreams.md'), 'utf8');
  const [, first] = /own\.yaml <<'END'\n([\s\S]*?)\nEND\n/.exec(page)!;
  const steps = [...page.matchAll(/```yaml\n( {4}[\s\S]*?)```/g)].map(([, step]) => step!);
  assert.equal(steps.length, 5);
  const last = '    outputs: [data.resultJson.resultUrls]\n';
  for (let n = 0; n <= steps.length; n++) {
    const added = steps.slice(0, n).join('');
    const text = first!.replace(last, last + added);
    const whole = added.includes('callback:')
      ? text.replace('input: $input }', () => 'input: $input, callBackUrl: $callback_url }')
      : text;
    const { upstream, rows, problems } = parseCatalogText(whole, 'own.yaml');
    assert.deepEqual(problems, []);
    assert.equal(rows.length, 1);
    assert.ok(readOptions(upstream!.options));
  }
});

describe('paths', () => {
  const reply = {
    data: { id: 7, result: '{"urls":["a","b"],"deep":"{\\"x\\":1}"}' },
    outputs: [{ url: 'u1' }, { url: null }, { url: 'u2' }],
  };
  const cases: [string, unknown[]][] = [
    ['data.id', [7]],
    ['outputs[1].url', []],
    ['outputs[0].url', ['u1']],
    ['outputs[].url', ['u1', 'u2']],
    ['data.result.urls[]', ['a', 'b']],
    ['data.result.deep.x', [1]],
    ['data.nothing.there', []],
    ['data.id.x', []],
    ['outputs.length', []],
    ['data.constructor.name', []],
    ['__proto__.toString', []],
  ];
  for (const [path, values] of cases)
    test(`${path} leads to ${JSON.stringify(values)}`, () => {
      assert.deepEqual(valuesAt(reply, parsePath(path)), values);
    });

  test('a reply that is a list', () => {
    assert.deepEqual(valuesAt([{ id: 1 }], parsePath('[0].id')), [1]);
  });

  for (const wrong of ['', '.', 'a..b', 'a.', '$.a', 'a[*]', 'a[-1]', 'a b', 'a[99999]', 'a()'])
    test(`"${wrong}" is none`, () => assert.throws(() => parsePath(wrong), /is not a path/));

  test('long paths and wide replies are bounded', () => {
    assert.throws(() => parsePath(Array(40).fill('a').join('.')), /more than 16 steps/);
    const wide = Array.from({ length: 1000 }, () => Array(1000).fill('x'));
    assert.equal(valuesAt(wide, parsePath('[][]')).length, 256);
  });
});

describe('bodies', () => {
  const values = { input: { prompt: 'x', keep: null, webhook: 'evil' }, model: 'm', none: null };

  test('a value keeps its type, and what is null goes with its field', () => {
    const body = { a: '$input', b: ['$model', '$none', 'text'], c: '$none', d: { e: '$none' } };
    assert.deepEqual(fill(body, values), { a: values.input, b: ['m', 'text'], d: {} });
  });

  test('own fields win over an input that is spread in, even when they are left out', () => {
    const body = { webhook: '$none', prompt: '$model', '...': '$input' };
    assert.deepEqual(fill(body, values), { keep: null, prompt: 'm' });
  });

  test('an input cannot climb out of a path', () => {
    assert.equal(
      fillPath('/v1/{model}/{id}', { model: 'a/b c', id: 'x/../y?z' }),
      '/v1/a/b%20c/x%2F..%2Fy%3Fz',
    );
    for (const values of [{ model: '../admin' }, { model: 'a//b' }, { model: '.' }, { model: '' }])
      assert.throws(() => fillPath('/v1/{model}', values), /cannot be used in a path/);
  });
});
