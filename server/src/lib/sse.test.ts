import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { openEventStream, type EventStream, type EventStreamOptions } from './sse.ts';

/** Uses real sockets, because the bound applies to the bytes that wait for them. */

const usual: EventStreamOptions = {
  bufferMaxBytes: 64 * 1024,
  keepAliveMs: 60_000,
  stallMs: 60_000,
};
const kibibytes64 = 'x'.repeat(64 * 1024);

const server = createServer((_req, res) => arrived.resolve(res));
let arrived = Promise.withResolvers<ServerResponse>();
before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
after(() => {
  server.closeAllConnections();
  server.close();
});

interface Pair {
  raw: ServerResponse;
  /** The other end. It reads nothing before `flow`. */
  reader: Socket;
  open(options?: Partial<EventStreamOptions>): EventStream;
  /** Reads to the end of the connection. */
  text(): Promise<string>;
}

async function pair(): Promise<Pair> {
  arrived = Promise.withResolvers<ServerResponse>();
  const reader = connect((server.address() as AddressInfo).port, '127.0.0.1');
  reader.pause();
  reader.on('error', () => {});
  reader.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  const raw = await arrived.promise;
  return {
    raw,
    reader,
    open: (options) => openEventStream(raw, { 'x-request-id': 'req' }, { ...usual, ...options }),
    text: () =>
      new Promise((resolve) => {
        const chunks: Buffer[] = [];
        reader.on('data', (chunk) => chunks.push(chunk));
        reader.once('close', () => resolve(Buffer.concat(chunks).toString('utf8')));
        reader.resume();
      }),
  };
}

function closed(stream: EventStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.closed.aborted) resolve();
    stream.closed.addEventListener('abort', () => resolve());
  });
}

/** Sends until the stream refuses, without waiting for the reader. */
function flood(stream: EventStream): number {
  for (let sent = 0; sent < 2_000; sent++) if (!stream.send(kibibytes64)) return sent;
  return Infinity;
}

test('events, names and comments come in their form, and the end is one', async () => {
  const { open, text } = await pair();
  const stream = open();
  assert.equal(stream.send('{"a":1}'), true);
  assert.equal(stream.send('{"b":2}', 'status'), true);
  assert.equal(stream.comment('hm'), true);
  assert.equal(await stream.drained(), true);
  stream.end();
  assert.equal(stream.send('late'), false);
  const [head, ...body] = (await text()).split('\r\n');
  assert.equal(head, 'HTTP/1.1 200 OK');
  const whole = body.join('\r\n');
  assert.match(whole, /^content-type: text\/event-stream; charset=utf-8\r$/m);
  assert.match(whole, /^cache-control: no-store\r$/m);
  assert.match(whole, /^x-accel-buffering: no\r$/m);
  assert.match(whole, /^x-request-id: req\r$/m);
  assert.match(whole, /data: \{"a":1\}\n\n[^]*event: status\ndata: \{"b":2\}\n\n[^]*: hm\n\n/);
  assert.doesNotMatch(whole, /late/);
  await closed(stream);
});

test('the first event leaves at once, with the headers', async () => {
  const { open, raw, text } = await pair();
  const stream = open();
  const waiting = () => raw.socket!.writableLength;
  assert.deepEqual([raw.socket!.bytesWritten, stream.send('first'), waiting()], [0, true, 0]);
  stream.send('second');
  assert.ok(waiting() > 0, 'each later event is not a write of its own');
  stream.end();
  assert.match(await text(), /HTTP\/1.1 200[^]*first[^]*second/);
  await closed(stream);
});

test('a comment is sent by itself now and then', async () => {
  const { open, reader } = await pair();
  const stream = open({ keepAliveMs: 10 });
  let text = '';
  reader.on('data', (chunk) => (text += chunk.toString()));
  reader.resume();
  while (text.split(': keep-alive\n\n').length < 4) await once(reader, 'data');
  stream.end();
  // Its timer would keep this process alive.
  await closed(stream);
});

test('a reader that does not read is cut once more than the bound waits for it', async () => {
  const { open, raw, reader } = await pair();
  const stream = open();
  const sent = flood(stream);
  assert.ok(sent < 2_000, 'it was never cut');
  assert.ok(
    raw.writableLength <= usual.bufferMaxBytes + 2 * kibibytes64.length,
    'more waits than may',
  );
  assert.equal(stream.send('x'), false);
  assert.equal(stream.comment('x'), false);
  assert.equal(await stream.drained(), false);
  await closed(stream);
  reader.destroy();
});

test('one event may be larger than the bound', async () => {
  const { open, text } = await pair();
  const stream = open();
  const large = 'y'.repeat(40 * usual.bufferMaxBytes);
  assert.equal(stream.send(large), true);
  const read = text();
  assert.equal(await stream.drained(), true);
  assert.equal(stream.send('after it'), true);
  stream.end();
  const whole = await read;
  assert.ok(whole.includes(large) && whole.includes('after it'));
});

test('a sender that waits for its reader is told when it takes nothing for too long', async () => {
  const { open, reader } = await pair();
  const stream = open({ stallMs: 50, bufferMaxBytes: 1024 ** 3 });
  let reads = true;
  for (let sent = 0; reads && sent < 2_000; sent++) {
    stream.send(kibibytes64);
    reads = await stream.drained();
  }
  assert.equal(reads, false, 'it was never cut');
  await closed(stream);
  reader.destroy();
});

test('a reader that does not even take the end is cut', async () => {
  const { open, reader } = await pair();
  const stream = open({ stallMs: 50, bufferMaxBytes: 1024 ** 3 });
  for (let sent = 0; sent < 500; sent++) stream.send(kibibytes64);
  stream.end();
  await closed(stream);
  reader.destroy();
});

test('a reader that leaves ends it', async () => {
  const { open, reader } = await pair();
  const stream = open();
  assert.equal(stream.closed.aborted, false);
  reader.destroy();
  await closed(stream);
  assert.equal(stream.send('x'), false);
  assert.equal(await stream.drained(), false);
  stream.end();
});

test('a reader that left before it was opened ends it too, once its opener can listen', async () => {
  const { open, reader, raw } = await pair();
  reader.destroy();
  await once(raw, 'close');
  const stream = open();
  await closed(stream);
  assert.equal(stream.send('x'), false);
});

test('the head comes at once, before there is any event', async () => {
  const { open, reader } = await pair();
  const stream = open();
  const head = once(reader, 'data');
  reader.resume();
  assert.match(String((await head)[0]), /^HTTP\/1\.1 200 OK/);
  stream.end();
});
