import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonPieces } from './json-pieces.ts';

async function* pieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function dataOf(bytes: AsyncIterable<Uint8Array>, maxChars = 1_000): Promise<string[]> {
  const read: string[] = [];
  const pieces = jsonPieces(maxChars, (_value, text) => read.push(text));
  for await (const chunk of bytes) pieces.add(chunk);
  pieces.end();
  return read;
}

const forms = {
  'line feeds': 'data: a\n\nid: 1\ndata: b\ndata: ü\n\n',
  'carriage returns': 'data: a\r\rid: 1\rdata: b\rdata: ü\r\r',
  both: 'data: a\r\n\r\nid: 1\r\ndata: b\r\ndata: ü\r\n\r\n',
  'comments and no last line': ': one\n\ndata: a\n\n: two\ndata: b\n: three\ndata: ü',
};
for (const [name, text] of Object.entries(forms))
  test(`a stream with ${name} is the same events, however it is cut`, async () => {
    for (let size = 1; size <= text.length + 1; size++)
      assert.deepEqual(await dataOf(pieces(text, size)), ['a', 'b\nü'], `pieces of ${size}`);
  });

test('each character is searched a few times only, in however many pieces it comes', async (t) => {
  let searched = 0;
  const count = (text: unknown, from: unknown = 0) => {
    searched += String(text).length - Number(from);
  };
  const { indexOf, split } = String.prototype;
  t.mock.method(String.prototype, 'indexOf', function (this: string, what: string, from?: number) {
    count(this, from);
    return indexOf.call(this, what, from);
  });
  t.mock.method(String.prototype, 'split', function (this: string, at: string, limit?: number) {
    count(this);
    return Reflect.apply(split, this, [at, limit]);
  });
  for (const text of [`data: ${'x'.repeat(20_000)}\n\n`, 'data: x\n'.repeat(1_000)]) {
    searched = 0;
    await dataOf(pieces(text, 40), 200_000);
    assert.ok(searched < 5 * text.length, `pieces: ${searched} of ${text.length}`);
    searched = 0;
    await dataOf(pieces(text, text.length), 200_000);
    assert.ok(searched < 5 * text.length, `at once: ${searched} of ${text.length}`);
  }
});

test('an event above the limit ends the stream, and comments within it change nothing', async () => {
  for (const text of [
    `data: ${'x'.repeat(2_000)}\n\n`,
    'data: x\n: still here\n'.repeat(200),
    `: ${'x'.repeat(2_000)}\n\n`,
  ])
    for (const size of [10, text.length])
      await assert.rejects(dataOf(pieces(text, size)), /longer than 1000/);
  const many = 'data: x\n\n: still here\n\n'.repeat(200);
  assert.equal((await dataOf(pieces(many, 10))).length, 200);
});

test("Python's numbers are null, but not inside texts, however long or cut these are", () => {
  const quotes = '\\"a NaN'.repeat(300_000);
  const values: unknown[] = [];
  for (const text of [
    `{"a": NaN, "b": -Infinity, "c": "${quotes}"}`,
    `{"a": NaN, "c": "${quotes}`,
  ]) {
    const read = jsonPieces(10_000_000, (value) => values.push(value));
    read.add(Buffer.from(text));
    read.end();
  }
  const c = quotes.replaceAll('\\', '');
  assert.deepEqual(values, [{ a: null, b: null, c }, undefined]);
});

test('a faulty value is parsed once, and a long or deep one is not mended', (t) => {
  const parse = t.mock.method(JSON, 'parse');
  const values: unknown[] = [];
  const deep = (levels: number) => `${'['.repeat(levels)}1,${']'.repeat(levels)}`;
  for (const text of [
    `data: ${'['.repeat(2_000)}\n${'event: a\n'.repeat(200)}`,
    `{"a": "${'x'.repeat(2 ** 20)}",}`,
    deep(257),
    deep(1),
  ]) {
    const read = jsonPieces(10_000_000, (value) => values.push(value));
    read.add(Buffer.from(text));
    read.end();
  }
  assert.deepEqual(values, [undefined, undefined, undefined, [1]]);
  assert.ok(parse.mock.callCount() < 50, String(parse.mock.callCount()));
});
