import { createServer } from 'node:net';
import { parentPort } from 'node:worker_threads';
import { messageSize } from './load.ts';
import { fieldOf } from '../server/src/lib/unknown.ts';

/**
 * Answers every chat call at once with the same completion, as prepared bytes, to use little CPU.
 */
const reply = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_767_225_600,
  model: 'chat',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: 'It shows ships where the coast is, by night and in fog.',
      },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 24, completion_tokens: 14, total_tokens: 38 },
});
const bytes = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(reply)}\r\n\r\n${reply}`,
);

const server = createServer((socket) => {
  let buffered: Buffer = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on('data', (chunk) => {
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
    for (let size; (size = messageSize(buffered)) !== null && size <= buffered.length;) {
      buffered = buffered.subarray(size);
      socket.write(bytes);
    }
  });
  // The load may disconnect in the middle of a call.
  socket.on('error', () => socket.destroy());
});
server.listen(0, '127.0.0.1', () =>
  parentPort!.postMessage(Number(fieldOf(server.address(), 'port'))),
);
