import { createServer } from 'node:net';
import { parentPort } from 'node:worker_threads';
import { messageSize } from './load.ts';
import { fieldOf } from '../server/src/lib/unknown.ts';

/**
 * Answers every chat call at once with the same completion, as prepared bytes, to use little CPU.
 */
const head = { id: 'chatcmpl-1', created: 1_767_225_600, model: 'chat' };
const content = 'It shows ships where the coast is, by night and in fog.';
const usage = { prompt_tokens: 24, completion_tokens: 14, total_tokens: 38 };
const whole = bytesOf(
  'application/json',
  JSON.stringify({
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage,
  }),
);

const chunkOf = (choices: object[], more: object = {}) =>
  `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
const streamed = bytesOf(
  'text/event-stream',
  [
    ...content
      .match(/\S+\s*/g)!
      .map((word) => chunkOf([{ index: 0, delta: { content: word }, finish_reason: null }])),
    chunkOf([{ index: 0, delta: {}, finish_reason: 'stop' }]),
    chunkOf([], { usage }),
    'data: [DONE]\n\n',
  ].join(''),
);

function bytesOf(type: string, body: string): Buffer {
  const length = Buffer.byteLength(body);
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n${body}`,
  );
}

const server = createServer((socket) => {
  let buffered: Buffer = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on('data', (chunk) => {
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
    for (let size; (size = messageSize(buffered)) !== null && size <= buffered.length;) {
      const isStream = buffered.subarray(0, size).includes('"stream":true');
      buffered = buffered.subarray(size);
      socket.write(isStream ? streamed : whole);
    }
  });
  // The load may disconnect in the middle of a call.
  socket.on('error', () => socket.destroy());
});
server.listen(0, '127.0.0.1', () =>
  parentPort!.postMessage(Number(fieldOf(server.address(), 'port'))),
);
