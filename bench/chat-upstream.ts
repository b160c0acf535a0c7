import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort } from 'node:worker_threads';

/** Answers every chat call at once with the same completion. */
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
const head = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(reply) };
const server = createServer((req, res) => {
  req.resume();
  req.once('end', () => res.writeHead(200, head).end(reply));
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () =>
  parentPort!.postMessage((server.address() as AddressInfo).port),
);
