import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { createFetch } from '../../src/lib/outbound/fetch.ts';
import { tcp } from './outbound.ts';

/** `100 Continue` that nobody has asked for, as proxies and older servers send it. */

const fetch = createFetch({ guard: false });
after(() => fetch.close());
const go = 'HTTP/1.1 100 Continue\r\n\r\n';
const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

/** Answers each POST on the connection with the next of these lists of pieces. */
async function answering(...replies: (string | Buffer)[][]) {
  const counts = { posts: 0 };
  const server = await tcp((socket: Socket) => {
    let got = '';
    socket.on('data', async (bytes) => {
      got += bytes;
      if (!got.endsWith('\r\n\r\n{}')) return;
      got = '';
      for (const piece of replies[counts.posts++] ?? []) {
        socket.write(piece);
        await wait(1);
      }
    });
  });
  const send = () =>
    fetch.request({ url: server.url, method: 'POST', body: '{}', maxBytes: 1000, timeoutMs: 5000 });
  return { server, counts, send };
}

describe('a reply', () => {
  const pieces: Record<string, string[]> = {
    'after one': [go, ok],
    'in one packet with it': [go + ok],
    'after three': [go + go, go, ok],
    'after one with headers and no reason': ['HTTP/1.1 100\r\nvia: a\r\nx: b\r\n\r\n', ok],
    'after one of HTTP/1.0': ['HTTP/1.0 100 Continue\r\n\r\n', ok],
    'after it and other interim ones': [
      `HTTP/1.1 102 Processing\r\n\r\n${go}HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n`,
      ok,
    ],
    'byte by byte': [...(go + ok)],
    'without one, byte by byte': [...ok],
    'whose body repeats it': ['HTTP/1.1 200 OK\r\ncontent-length: 27\r\n\r\n', `${go}ok`],
  };
  for (const [how, parts] of Object.entries(pieces))
    test(`${how} is read whole, and nothing is sent twice`, async () => {
      const { counts, send } = await answering(parts, parts);
      for (const posts of [1, 2]) {
        const { status, body } = await send();
        const text = Buffer.from(body).toString();
        assert.deepEqual([status, text], [200, how.includes('body') ? `${go}ok` : 'ok']);
        assert.equal(counts.posts, posts);
      }
    });

  test('that never comes after one is missing all the same', async () => {
    const { server } = await answering([go]);
    const call = { url: server.url, method: 'POST', body: '{}', maxBytes: 1000, timeoutMs: 300 };
    await assert.rejects(fetch.request(call), { kind: 'timeout' });
  });
});
