import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventsOf, parsed } from './events.ts';

const text =
  '\u{feff}: keep-alive\r\n\r\nevent: status\r\ndata: {"a":1}\r\n\r\n' +
  'data: grüße €\rdata:two\r\r' +
  'id: 7\nretry: 5\nevent: end\ndata\ndata: x\n\n' +
  'event: lost\n\ndata: cut off';
const expected = [
  { event: 'status', data: '{"a":1}' },
  { event: 'message', data: 'grüße €\ntwo' },
  { event: 'end', data: '\nx' },
];

async function read(chunks: Uint8Array[]): Promise<unknown[]> {
  async function* bytes() {
    yield* chunks;
  }
  const found = [];
  for await (const event of eventsOf(bytes())) found.push(event);
  return found;
}

test('events are the same wherever their bytes are cut', async () => {
  const bytes = new TextEncoder().encode(text);
  assert.deepEqual(await read([bytes]), expected);
  assert.deepEqual(await read(Array.from(bytes, (byte) => Uint8Array.of(byte))), expected);
  for (let at = 0; at <= bytes.length; at++)
    assert.deepEqual(await read([bytes.subarray(0, at), bytes.subarray(at)]), expected, `${at}`);
});

test('an event that is no JSON is an unexpected reply', () => {
  assert.deepEqual(parsed('{"a":1}'), { a: 1 });
  assert.throws(() => parsed('<html>'), { code: 'unexpected_reply' });
});
